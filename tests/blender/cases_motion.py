# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion evaluated by the add-on moves a model of the scene like the model's file."""

import concurrent.futures
import math
import os
import sys
import tempfile

import bpy
import case
import numpy as np
import scene
from files import motion_file, pmx_file
from mathutils import Matrix

FRAMES = (0, 3, 7.5, 12, 40)


def addon():
    return sys.modules["addon_package"]


def rig():
    """A leg with IK, an arm, an append rotation, and the kinds of morphs that change vertices."""
    pmx = case.small_model()
    ik = pmx_file.IK(7, 20, 2.0, [pmx_file.IKLink(6), pmx_file.IKLink(5)])
    pmx.bones = [
        pmx_file.Bone("センター", position=(0, 8, 0)),
        pmx_file.Bone("左腕", position=(0, 10, 0), parent=0),
        pmx_file.Bone("左ひじ", position=(4, 10, 0), parent=1),
        pmx_file.Bone("左手首", position=(8, 10, 0.5), parent=2),
        pmx_file.Bone("右腕", position=(-1, 10, 0.2), parent=0),
        pmx_file.Bone("右足", position=(-1, 8, 0.1), parent=0),
        pmx_file.Bone("右ひざ", position=(-1, 4, -0.3), parent=5),
        pmx_file.Bone("右足首", position=(-1, 0.5, 0.4), parent=6),
        pmx_file.Bone("右足ＩＫ", position=(-1, 0.5, 0.4), parent=-1, ik=ik),
    ]
    pmx.bones[4].append = pmx_file.Append(1, -0.5)
    count = len(pmx.positions)
    pmx.bone_indices[: count // 6, 0] = 6
    pmx.bone_indices[count // 6 : count // 4, 0] = 4
    pmx.deform[: count // 4] = 0

    def vertex_morph(name, step, offset):
        indices = np.arange(0, count, step)
        values = np.full((len(indices), 3), offset, np.float32)
        return pmx_file.Morph(name, kind=1, indices=indices, values=values)

    def parent_morph(name, kind, *children):
        numbers, values = zip(*children, strict=True)
        return pmx_file.Morph(
            name, kind=kind, indices=np.array(numbers), values=np.float32(values).reshape(-1, 1)
        )

    pmx.version = 2.1
    pmx.morphs = [
        vertex_morph("あ", 3, (0.3, 0, 0)),
        parent_morph("まとめ", 0, (0, 0.5), (2, -0.25), (4, 1.0), (5, 0.5)),
        vertex_morph("い", 4, (0, 0.2, 0.1)),
        vertex_morph("う", 5, (0, 0, -0.4)),
        parent_morph("中のまとめ", 0, (3, 1.0)),
        parent_morph("切替", 9, (3, 0.75), (2, 0.5)),
    ]
    return pmx


def dance(pmx, bones=None):
    """Two keys for each bone and morph of the model, with rotation and translation."""
    random = np.random.default_rng(4)
    keys = motion_file.Keys("踊り", [], [])
    for name in bones or [bone.name for bone in pmx.bones]:
        for frame in (0, 15):
            turn = np.append(random.uniform(-0.4, 0.4, 3), 1)
            turn = tuple(turn / np.linalg.norm(turn))
            place = tuple(random.uniform(-0.5, 0.5, 3))
            keys.bones.append(motion_file.BoneKey(name, frame, place, turn))
    for morph in pmx.morphs:
        for frame, weight in zip((0, 15), random.uniform(0.3, 1, 2), strict=True):
            keys.morphs.append(motion_file.MorphKey(morph.name, frame, weight))
    return keys


class MotionCase(case.Case):
    """A model of the scene, its file and a motion for it."""

    def setUp(self):
        scene.clear()
        self.scene = scene.Scene(rig())
        self.mesh, self.armature = self.scene.mesh, self.scene.armature
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model_path = self.write("模型.pmx", pmx_file.write(self.scene.pmx))
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(dance(self.scene.pmx)))
        bpy.context.view_layer.update()

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def open(self, start=0, **options):
        paths = options.pop("model", self.model_path), options.pop("motion", self.motion_path)
        motion_source = addon().pose.motion_source
        return motion_source.load(self.armature, motion_source.Settings(*paths, start, **options))

    def matrices(self, source, bones, frames):
        """(F, B, 4, 4) of bones of the scene, from rest to pose."""
        return source.rig.matrices(source.posed(source.motion_frames(frames)), bones)

    def known(self, source, names):
        """Whether the file has a morph for each of these shape keys."""
        return [name in source.keys for name in names]

    def loaded(self):
        mmdskin = addon().blender.native.load()
        return mmdskin.load_model(self.model_path), mmdskin.load_motion(self.motion_path)

    def of_file(self, frames=FRAMES):
        """(F, V, 3) positions from the file, in Blender's axes and scale."""
        model, motion = self.loaded()
        pose = model.pose(motion, np.array(frames, np.float64))
        positions = addon().blender.native.load().skin(model, pose, normals=False).positions
        return scene.in_blender(positions.reshape(-1, 3)).reshape(positions.shape)

    def of_scene(self, source, frames=FRAMES, mesh=None):
        """(F, V, 3) positions of the mesh in the scene under the motion."""
        ready = addon().pose.skinner.Skinner(mesh or self.mesh, self.armature)
        matrices = self.matrices(source, ready.bones, frames)
        return ready.skinned(matrices, source.key_values(ready.keys, frames))[0]

    def assert_follows(self, source, placed=None):
        expected = self.of_file()
        if placed is not None:
            placed = np.array(placed)
            expected = expected @ placed[:3, :3].T + placed[:3, 3]
        self.assert_close(self.of_scene(source), expected)

    def assert_motion_error(self, words, **options):
        with self.assertRaises(addon().blender.user_error.UserError) as caught:
            self.open(**options)
        self.assertIn(words, str(caught.exception))


class Follows(MotionCase):
    def test_the_file(self):
        source = self.open()
        self.assert_follows(source)
        self.assertGreater(np.ptp(self.of_scene(source), axis=0).max(), 0.05)

    def test_at_any_position_of_the_model(self):
        scene.transform(self.scene.root, (3, 1, -2), (1, 2, 3), (2, 2, 2))
        self.assert_follows(self.open())

    def test_with_applied_transforms(self):
        turned = Matrix.Rotation(0.7, 4, "Z") @ Matrix.Rotation(-0.4, 4, "X")
        for placed in (
            Matrix.Scale(12.5, 4),
            Matrix.Translation((1, 2, 3)) @ turned @ Matrix.Scale(0.3, 4),
            Matrix.Diagonal((-1, 1, 1, 1)),
            Matrix.Diagonal((-1, 1, 1, 1)) @ turned,
            Matrix.Diagonal((1.5, 0.7, 2, 1)) @ turned,
        ):
            with self.subTest(placed=placed):
                scene.clear()
                self.scene = scene.Scene(rig())
                self.mesh, self.armature = self.scene.mesh, self.scene.armature
                self.armature.data.transform(placed)
                self.mesh.data.transform(placed, shape_keys=True)
                expected = self.of_file() @ np.array(placed)[:3, :3].T + np.array(placed)[:3, 3]
                actual = self.of_scene(self.open())
                scales = [placed.col[i].length for i in range(3)]
                # SDEF turns points, which a skewed space has no word for.
                even = max(scales) < 1.001 * min(scales)
                chosen = (self.scene.pmx.deform != scene.SDEF) | even
                bar = case.BAR * scene.SCALE * max(scales)
                self.assert_close(actual[:, chosen], expected[:, chosen], bar)

    def test_although_the_rest_pose_is_turned(self):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in self.armature.data.edit_bones:
            bone.roll += 1.0
            bone.tail = bone.head + (bone.tail - bone.head).cross((0.3, 1, 0.2))
        bpy.ops.object.mode_set(mode="OBJECT")
        self.assert_follows(self.open())

    def test_although_one_bone_was_moved(self):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        bone = self.armature.data.edit_bones[3]
        bone.head.z += 0.1
        bpy.ops.object.mode_set(mode="OBJECT")
        self.assert_follows(self.open())

    def test_bones_renamed_since_the_import(self):
        for keep in (self.keep_ours, self.keep_mmd_tools):
            for number, name in enumerate(self.scene.bone_names):
                bone = self.armature.pose.bones[name]
                keep(bone, self.scene.pmx.bones[number].name)
                bone.name = f"Bone {number}"
                self.scene.bone_names[number] = bone.name
            self.assert_follows(self.open())

    def keep_ours(self, bone, name):
        bone[addon().scene.mmd_tools.NAME] = name

    def keep_mmd_tools(self, bone, name):
        if addon().scene.mmd_tools.NAME in bone:
            del bone[addon().scene.mmd_tools.NAME]
        bone["mmd_bone"] = {"name_j": name}

    def test_bones_of_the_same_name(self):
        self.same_names()
        self.assert_follows(self.open())

    def same_names(self):
        pmx = rig()
        pmx.bones[2].name = pmx.bones[3].name = "同じ"
        scene.clear()
        self.scene = scene.Scene(pmx)
        self.mesh, self.armature = self.scene.mesh, self.scene.armature
        for bone in self.armature.pose.bones:
            if bone.name.startswith("同じ"):
                bone[addon().scene.mmd_tools.NAME] = "同じ"
        self.model_path = self.write("同じ.pmx", pmx_file.write(pmx))

    def test_bones_of_the_same_name_that_were_renamed(self):
        self.same_names()
        for number, name in enumerate(self.scene.bone_names):
            bone = self.armature.pose.bones[name]
            bone[addon().scene.mmd_tools.NAME] = self.scene.pmx.bones[number].name
            bone["mmd_bone_id"] = number
            bone.name = self.scene.bone_names[number] = f"Bone {9 - number}"
        self.assert_follows(self.open())

    def test_a_bone_that_was_added_moves_with_its_parent(self):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        bones = self.armature.data.edit_bones
        for name, parent in (("hat", bones["ひじ.L"]), ("free", None)):
            bone = bones.new(name)
            bone.tail, bone.parent = (0, 0, 1), parent
        bpy.ops.object.mode_set(mode="OBJECT")
        hat, elbow, free = self.matrices(self.open(), ["hat", "ひじ.L", "free"], [9])[0]
        self.assertTrue(np.array_equal(hat, elbow))
        self.assertTrue(np.array_equal(free, np.eye(4)))

    def test_a_pose(self):
        keys = dance(self.scene.pmx)._replace(morphs=[])
        keys = keys._replace(bones=[k._replace(name=k.name) for k in keys.bones[::2]])
        self.motion_path = self.write("立ち.vpd", motion_file.write_vpd(keys))
        self.assert_follows(self.open())

    def test_pmd_and_real_models(self):
        for name, motion in (
            ("miku_v2.pmd", "wavefile_v2.vmd"),
            ("巡音ルカ_sdefr.pmx", "realize_motion.vmd"),
        ):
            with self.subTest(model=name):
                self.model_path = str(case.shared_model(name))
                self.motion_path = str(case.shared_model(motion))
                model, played = self.loaded()
                self.armature = armature_of(model)
                frames = np.arange(0, 3000, 173.0)
                poses = model.pose(played, frames).bone_matrices.astype(np.float64)
                to_blender = scene.TO_BLENDER
                expected = to_blender @ poses @ np.linalg.inv(to_blender)
                names = [f"bone {number}" for number in range(len(model.bones))]
                source = self.open()
                actual = self.matrices(source, names, frames)
                # What a difference of matrices does to a point of the model.
                heights = np.abs(model.positions).max(axis=0)
                reach = np.append(scene.in_blender(heights[None])[0], 1)
                error = (np.abs(actual - expected)[..., :3, :] * reach).sum(axis=-1).max()
                self.assertLessEqual(error, case.BAR * scene.SCALE)


def armature_of(model):
    """An armature with the bones of a `mmdskin.Model`, as mmd_tools names and places them."""
    armature = bpy.data.objects.new("real", bpy.data.armatures.new("real"))
    bpy.context.scene.collection.objects.link(armature)
    scene.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for number, record in enumerate(model.bones):
        bone = armature.data.edit_bones.new(f"bone {number}")
        bone.head = scene.to_blender(record.position)
        bone.tail = bone.head + scene.to_blender((0, 1, 0))
    bpy.ops.object.mode_set(mode="OBJECT")
    names = addon().scene.names.unique(bone.name for bone in model.bones)
    for number, name in enumerate(names):
        armature.pose.bones[f"bone {number}"]["mmd_bone"] = {"name_j": name}
    return armature


class Frames(MotionCase):
    def test_start(self):
        self.assert_close(self.of_scene(self.open(start=101), [101, 108.5]), self.of_file([0, 7.5]))

    def test_real_time(self):
        source = self.open(start=10, real_time=True, fps=60)
        self.assert_close(self.of_scene(source, [10, 16, 25]), self.of_file([0, 3, 7.5]))
        self.assertEqual(source.scene_range, (10, 40))

    def test_frame_by_frame(self):
        source = self.open(start=10, real_time=False, fps=60)
        self.assert_close(self.of_scene(source, [10, 16]), self.of_file([0, 6]))

    def test_before_and_after_the_motion(self):
        self.assert_close(self.of_scene(self.open(), [-20, 1000]), self.of_file([0, 15]))

    def test_a_single_frame(self):
        self.assertEqual(self.matrices(self.open(), ["ひじ.L"], 3.5).shape, (1, 1, 4, 4))
        self.assertEqual(self.open().key_values(["あ"], 3.5).shape, (1, 1))

    def test_no_bones_and_no_keys(self):
        self.assertEqual(self.matrices(self.open(), [], [1, 2]).shape, (2, 0, 4, 4))
        self.assertEqual(self.open().key_values([], [1, 2]).shape, (2, 0))


class Keys(MotionCase):
    def test_names_that_are_known(self):
        known = self.known(self.open(), ["あ", "まとめ", "切替", "お客様", "い"])
        self.assertEqual(known, [True, True, False, False, True])

    def test_values_of_names_that_are_not_known(self):
        values = self.open().key_values(["お客様", "まとめ", "あ"], [3])[0]
        self.assertEqual(values[:2].tolist(), [0, 0])
        self.assertGreater(values[2], 0)

    def test_names_that_our_importer_gave(self):
        keys = ["A", "all", "", "", "", ""]
        self.scene.root["mmd_morphs"] = [{"key": key} for key in keys]
        source = self.open()
        self.assertEqual(self.known(source, ["あ", "A", "all"]), [False, True, True])
        self.assertGreater(source.key_values(["A"], [3])[0, 0], 0)

    def english(self):
        """The model's file with English morph names, two of them equal."""
        names = ("Ah", "All", "Smile", "Smile", "Inner", "")
        for morph, name in zip(self.scene.pmx.morphs, names, strict=True):
            morph.name_english = name
        self.model_path = self.write("english.pmx", pmx_file.write(self.scene.pmx))
        return self.open()

    def test_english_names_of_the_file(self):
        before = self.open().key_values(["あ", "い", "う"], [3])[0].tolist()
        source = self.english()
        names = ["Ah", "Smile", "Smile.001"]
        self.assertEqual(self.known(source, [*names, "All"]), [True] * 4)
        self.assertEqual(source.key_values(names, [3])[0].tolist(), before)
        self.assertTrue(source.has_key_track("Ah"))

    def test_english_names_of_a_model_that_our_importer_made(self):
        keys = ["あ", "まとめ", "い", "う", "中のまとめ", ""]
        self.scene.root["mmd_morphs"] = [{"key": key} for key in keys]
        known = self.known(self.english(), ["Ah", "あ", "Smile.001", "う"])
        self.assertEqual(known, [True] * 4)

    def test_japanese_names_override_english_ones(self):
        self.scene.pmx.morphs[3].name_english = "あ"
        self.model_path = self.write("english.pmx", pmx_file.write(self.scene.pmx))
        source = self.open()
        values = source.key_values(["あ", "う"], [3])[0]
        self.assertEqual(values[0], self.open(model=self.model_path).key_values(["あ"], [3])[0, 0])
        self.assertNotEqual(values[0], values[1])

    def test_names_that_mmd_tools_lists(self):
        before = self.open().key_values(["あ", "い", "う"], [3])[0].tolist()
        listed = [{"name": name, "name_e": ""} for name in ("口", "い", "眉")]
        self.scene.root["mmd_root"] = {"vertex_morphs": listed}
        source = self.open()
        self.assertEqual(source.key_values(["口", "い", "眉"], [3])[0].tolist(), before)
        listed[0]["name_e"] = "of another morph"  # moved by hand
        self.scene.root["mmd_root"] = {"vertex_morphs": listed}
        self.assertEqual(self.known(self.open(), ["口", "眉"]), [False, True])

    def test_flips_of_every_size(self):
        pmx = self.scene.pmx
        for weight in (-1, 0, 0.2, 0.34, 0.5, 0.67, 1, 3):
            for name in ("切替", "まとめ"):
                keys = [motion_file.MorphKey(name, 0, weight)]
                data = motion_file.write_vmd(dance(pmx)._replace(morphs=keys))
                self.motion_path = self.write(f"{name}{weight}.vmd", data)
                self.assert_follows(self.open())

    def test_model_without_morphs(self):
        self.scene.pmx.morphs = []
        self.model_path = self.write("無.pmx", pmx_file.write(self.scene.pmx))
        source = self.open()
        self.assertEqual(source.key_values(["あ"], [1, 2]).tolist(), [[0], [0]])
        self.assertIn("あ", source.unmatched.morphs)


class ModelFile(MotionCase):
    def test_path_that_the_importer_kept(self):
        self.armature.mmdskin.model_path = self.model_path
        self.assert_follows(self.open(model=""))

    def test_path_that_the_importer_kept_and_that_leads_nowhere_now(self):
        self.armature.mmdskin.model_path = "/gone.pmx"
        self.scene.root["import_folder"] = self.folder.name
        self.assert_follows(self.open(model=""))

    def test_folder_that_mmd_tools_kept(self):
        other = rig()
        for bone in other.bones:
            bone.name += " another"
        self.write("a.pmx", pmx_file.write(other))
        self.write("b.pmx", b"broken")
        self.scene.root["import_folder"] = self.folder.name
        source = self.open(model="")
        self.assertEqual(source.rig.path, self.model_path)

    def test_folder_of_the_textures(self):
        material = bpy.data.materials.new("skin")
        material.use_nodes = True
        image = bpy.data.images.new("tex", 1, 1)
        image.source, image.filepath = "FILE", os.path.join(self.folder.name, "tex", "a.png")
        material.node_tree.nodes.new("ShaderNodeTexImage").image = image
        self.mesh.data.materials.append(material)
        self.assertEqual(self.open(model="").rig.path, self.model_path)

    def test_is_read_again_when_it_has_changed(self):
        self.open()
        pmx = self.scene.pmx
        pmx.bones[8].ik = None
        self.model_path = self.write("模型.pmx", pmx_file.write(pmx))
        self.assert_follows(self.open())


class Refused(MotionCase):
    def test_no_motion(self):
        self.assert_motion_error("No motion file selected", motion="")

    def test_missing_files(self):
        # Then the system's own words.
        self.assert_motion_error("'gone.vmd' cannot be opened: ", motion="/gone.vmd")
        self.assert_motion_error("'gone.pmx' cannot be opened: ", model="/gone.pmx")

    def test_broken_motion(self):
        with open(self.motion_path, "rb") as file:
            path = self.write("切れた.vmd", file.read()[:300])
        self.assert_motion_error("'切れた.vmd' cannot be read: bones[", motion=path)

    def test_broken_model(self):
        path = self.write("broken.pmx", b"PMX nonsense")
        self.assert_motion_error("'broken.pmx' cannot be read: ", model=path)

    def test_model_as_motion(self):
        self.assert_motion_error("cannot be read: header", motion=self.model_path)

    def test_unknown_model(self):
        self.assert_motion_error("choose its .pmx or .pmd", model="")

    def test_model_with_other_bones(self):
        pmx = rig()
        for bone in pmx.bones[1:]:
            bone.name += "?"
        path = self.write("other.pmx", pmx_file.write(pmx))
        self.assert_motion_error("1 of its 9 bones found", model=path)

    def test_model_with_bones_elsewhere(self):
        pmx = rig()
        places = np.random.default_rng(1).uniform(0, 10, (9, 3))
        for bone, place in zip(pmx.bones, places, strict=True):
            bone.position = tuple(place)
        path = self.write("other.pmx", pmx_file.write(pmx))
        self.assert_motion_error("same names but different positions", model=path)

    def test_motion_of_another_model(self):
        keys = motion_file.Keys("x", [motion_file.BoneKey("しっぽ", 0)], [])
        path = self.write("tail.vmd", motion_file.write_vmd(keys))
        self.assert_motion_error("does not animate any bone or morph", motion=path)

    def test_motion_of_the_camera(self):
        keys = motion_file.Keys("x", [], [], [motion_file.CameraKey(0)])
        path = self.write("camera.vmd", motion_file.write_vmd(keys))
        self.assert_motion_error("cannot animate a model", motion=path)


class Threads(MotionCase):
    def test_one_motion_in_several_threads(self):
        source = self.open()
        names = self.scene.bone_names

        def evaluate(frame):
            return self.matrices(source, names, [frame]), source.key_values(["あ", "い"], [frame])

        frames = [math.sin(i) * 10 + 10 for i in range(200)]
        expected = [evaluate(frame) for frame in frames]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for found, known in zip(pool.map(evaluate, frames), expected, strict=True):
                self.assertTrue(np.array_equal(found[0], known[0]))
                self.assertTrue(np.array_equal(found[1], known[1]))
