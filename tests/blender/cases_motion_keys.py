# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion as Original Keys: the file's frames and curves on the channels of its bones.

The judge samples the file's keys in float64 and lays bone upon bone, without IK and appends: those
are left to constraints, which these models lack where nothing else is said.
"""

import bpy
import case
import numpy as np
import scene
from cases_motion import rig
from cases_motion_clear import ClearCase
from cases_motion_merge import laid
from cases_sliders import change, morph
from files import motion_file, pmx_file
from judges import pose_twin
from mathutils import Matrix

FRAMES = (0, 4, 13, 30)
EXACT = 60  # steps along a curve
MOVED = 1e-4  # of the file's units
TURNED = np.radians(0.15)  # between keys: how far the dance's largest turns are off
IK = "右足ＩＫ"


def turn(random, most):
    axis = random.normal(size=3)
    return tuple(pose_twin.about(axis, random.uniform(-most, most)))


def curves(random):
    return motion_file.block(random.integers(1, 127, (4, 4)).tolist())


def dance(pmx, seed=3, most=1.2, names=None, frames=FRAMES):
    """Keys of all bones on the same frames, each axis with its own curve."""
    r = np.random.default_rng(seed)
    bones = [
        motion_file.BoneKey(
            name, frame, tuple(r.uniform(-1, 1, 3).tolist()), turn(r, most), curves(r)
        )
        for name in names or [bone.name for bone in pmx.bones]
        for frame in frames
    ]
    morphs = [
        motion_file.MorphKey(name, frame, float(r.uniform(0, 1)))
        for name, times in (("あ", (0, 10, 30)), ("まとめ", (0, 7, 21)), ("い", (5, 30)))
        for frame in times
    ]
    return motion_file.Keys("踊り", bones, morphs)


class OwnCase(ClearCase):
    def setUp(self):
        super().setUp()
        self.keys = dance(self.scene.pmx)
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(self.keys))

    def imported(self, path=None, **options):
        return super().imported(path, **{"mode": "ORIGINAL", **options})

    def worlds(self, keys, frame):
        """(B, 4, 4) transforms of the bones by the file's keys, in the file's space."""
        bones = self.scene.pmx.bones
        motion = motion_file.read(motion_file.write_vmd(keys))
        t, q, _ = pose_twin.sample(self.scene.pmx, motion, frame, EXACT)
        laid = pose_twin.Rig(bones, t, q, np.pi)
        for i in pose_twin.evaluation_order(bones):
            laid.place(i)
        return laid.world

    def assert_keys_stand(self, keys, frame, shown=None, moved=MOVED, turned=1e-5):
        bpy.context.scene.frame_set(int(frame if shown is None else shown))
        to_file = np.linalg.inv(scene.TO_BLENDER)
        armature = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        rests = [np.array(bone.position) for bone in self.scene.pmx.bones]
        for name, wanted, rest in zip(
            self.scene.bone_names, self.worlds(keys, frame), rests, strict=True
        ):
            bone = armature.pose.bones[name]
            change = np.array(bone.matrix) @ np.linalg.inv(np.array(bone.bone.matrix_local))
            change = to_file @ change @ scene.TO_BLENDER
            self.assertLessEqual(
                np.abs(change[:3, :3] - wanted[:3, :3]).max(), turned, f"{name}, {frame}"
            )
            place = change @ np.append(rest, 1)
            self.assertLessEqual(np.abs(place[:3] - wanted[:3, 3]).max(), moved, f"{name}, {frame}")

    def keyed(self, path):
        """{frame} of the curves of a path."""
        found = [c for c in self.curves(self.armature) if c.data_path == path]
        return {round(p.co.x, 3) for curve in found for p in curve.keyframe_points}


class OwnKeys(OwnCase):
    def test_bones_equal_the_file_at_keys(self):
        self.imported(frame_start=0)
        for frame in FRAMES:
            self.assert_keys_stand(self.keys, frame)

    def test_places_between_the_keys_are_exact(self):
        keys = self.keys._replace(
            bones=[k._replace(rotation=(0, 0, 0, 1)) for k in self.keys.bones]
        )
        self.imported(self.write("moved.vmd", motion_file.write_vmd(keys)), frame_start=0)
        for frame in range(31):
            self.assert_keys_stand(keys, frame)

    def test_turns_between_the_keys_are_close(self):
        keys = self.keys._replace(
            bones=[k._replace(translation=(0, 0, 0)) for k in self.keys.bones if k.name == "左腕"]
        )
        self.imported(self.write("turned.vmd", motion_file.write_vmd(keys)), frame_start=0)
        for frame in range(31):
            self.assert_keys_stand(keys, frame, turned=TURNED, moved=8 * TURNED)

    def test_half_a_turn_is_within_three_degrees(self):
        r = np.random.default_rng(8)
        for _ in range(5):
            ends = [pose_twin.IDENTITY, pose_twin.about(r.normal(size=3), np.radians(179))]
            keys = motion_file.Keys(
                bones=[
                    motion_file.BoneKey("左腕", frame, rotation=tuple(end), block=curves(r))
                    for frame, end in zip((0, 40), ends, strict=True)
                ]
            )
            path = self.write("half.vmd", motion_file.write_vmd(keys))
            self.imported(path, frame_start=0, replace=True)
            for frame in range(0, 41, 5):
                self.assert_keys_stand(keys, frame, turned=np.radians(3), moved=8 * np.radians(3))

    def test_only_the_frames_of_the_file_are_keyed(self):
        self.imported(frame_start=1)
        paths = {curve.data_path for curve in self.curves(self.armature)}
        self.assertEqual(len(paths), 2 * len(self.scene.pmx.bones))
        for path in paths:
            self.assertEqual(self.keyed(path), {frame + 1 for frame in FRAMES})
        keys = self.mesh.data.shape_keys.animation_data.action
        counts = {
            c.data_path.split('"')[1]: len(c.keyframe_points)
            for c in self.curves(self.mesh.data.shape_keys)
        }
        self.assertIsNotNone(keys)
        # あ has keys at 0, 10 and 30, and its group at 0, 7 and 21; い at 5 and 30 and the group.
        self.assertEqual(counts["あ"], 5)
        self.assertEqual(counts["い"], 5)

    def test_unchanged_channels_have_keyframes_at_both_ends(self):
        bones = [k._replace(translation=(0, 1, 0)) for k in self.keys.bones]
        path = self.write("still.vmd", motion_file.write_vmd(motion_file.Keys("", bones, [])))
        self.imported(path)
        ends = {FRAMES[0] + 1, FRAMES[-1] + 1}
        self.assertEqual(self.keyed('pose.bones["腕.L"].location'), ends)
        self.assertEqual(len(self.keyed('pose.bones["腕.L"].rotation_quaternion')), 4)

    def test_at_another_rate(self):
        bpy.context.scene.render.fps = 60
        self.imported(frame_start=10)
        self.assertEqual(bpy.context.scene.frame_end, 70)
        for frame in FRAMES:
            self.assert_keys_stand(self.keys, frame, shown=10 + 2 * frame)

    def test_shape_keys_and_their_groups(self):
        self.imported(frame_start=0)
        morphs = {track.name: track for track in self.loaded()[1].morphs}
        for frame in (0, 3, 7, 12, 21, 30):
            group = pose_twin.morph_at(morphs["まとめ"], frame)
            shown = self.shown(frame)
            for name, ratio in (("あ", 0.5), ("い", -0.25)):
                wanted = pose_twin.morph_at(morphs[name], frame) + ratio * group
                self.assertAlmostEqual(shown[name], wanted, places=5, msg=f"{name}, {frame}")

    def test_keys_of_a_bone_with_a_fixed_axis_turn_about_it(self):
        pmx = rig()
        pmx.bones[1].fixed_axis = (0.6, 0.8, 0)
        scene.clear()
        self.scene = scene.Scene(pmx)
        self.armature = self.scene.armature
        self.model_path = self.write("axis.pmx", pmx_file.write(pmx))
        self.imported(frame_start=0)
        for frame in FRAMES:
            self.assert_keys_stand(self.keys, frame)

    def roll(self):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in self.armature.data.edit_bones:
            bone.roll += 1.0
        bpy.ops.object.mode_set(mode="OBJECT")

    def test_rotated_bones_equal_the_file_at_keys(self):
        self.roll()
        self.imported(frame_start=0)
        for frame in FRAMES:
            self.assert_keys_stand(self.keys, frame)

    def test_places_of_bones_that_lie_across_are_close_between_the_keys(self):
        self.roll()
        bones = [k for k in self.keys.bones if k.name == "左腕"]
        keys = motion_file.Keys(bones=[k._replace(rotation=(0, 0, 0, 1)) for k in bones])
        self.imported(self.write("moved.vmd", motion_file.write_vmd(keys)), frame_start=0)
        for frame in range(31):
            self.assert_keys_stand(keys, frame, moved=0.1)

    def test_mirrored(self):
        mirror = Matrix.Diagonal((-1, 1, 1, 1))
        self.armature.data.transform(mirror)
        self.mesh.data.transform(mirror, shape_keys=True)
        self.imported(frame_start=0)
        to_blender = np.array(mirror) @ scene.TO_BLENDER
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            armature = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            worlds = self.worlds(self.keys, frame)
            for name, wanted in zip(self.scene.bone_names, worlds, strict=True):
                place = np.array(armature.pose.bones[name].head)
                expected = (to_blender @ wanted[:, 3])[:3]
                self.assertLessEqual(np.abs(place - expected).max(), MOVED * scene.SCALE)

    def test_constraints_go_on_and_ik_switches_are_their_influence(self):
        knee = self.armature.pose.bones["ひざ.R"]
        ik = knee.constraints.new("IK")
        ik.target, ik.subtarget, ik.chain_count = self.armature, "足ＩＫ.R", 2
        limit = self.armature.pose.bones["足.R"].constraints.new("LIMIT_ROTATION")
        limit.name = "mmd_ik_limit_override"
        ik.influence = 0.75
        states = ((0, 1), (5, 1), (9, 0), (20, 1))
        switches = [motion_file.PropertyKey(f, 1, [(IK, on)]) for f, on in states]
        path = self.write(
            "switch.vmd", motion_file.write_vmd(self.keys._replace(properties=switches))
        )
        before = self.state()
        self.imported(path, frame_start=0)
        self.assertFalse(ik.mute or limit.mute)
        for frame, on in ((0, 1), (8, 1), (9, 0), (19, 0), (20, 1), (30, 1)):
            bpy.context.scene.frame_set(frame)
            self.assertEqual((ik.influence, limit.influence), (on, on), frame)
        found = self.keyed('pose.bones["ひざ.R"].constraints["IK"].influence')
        self.assertEqual(found, {0, 9, 20})
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(before, self.state())

    def state(self):
        bones = self.armature.pose.bones
        return [(c.mute, c.influence) for bone in bones for c in bone.constraints]

    def test_a_pose(self):
        keys = motion_file.Keys("", [k for k in self.keys.bones if k.frame == 0], [])
        path = self.write("立ち.vpd", motion_file.write_vpd(keys))
        knee = self.armature.pose.bones["ひざ.R"].constraints.new("LIMIT_SCALE")
        self.imported(path)
        self.assertIsNone(self.armature.animation_data)
        self.assertFalse(knee.mute)
        self.assert_keys_stand(keys, 0, shown=7)


class PosedOverSolved(OwnCase):
    def test_constraints_muted_for_solved_keys_stay_muted(self):
        follow = self.armature.pose.bones["ひじ.L"].constraints.new("COPY_ROTATION")
        follow.target, follow.subtarget = self.armature, "センター"
        self.imported(mode="SOLVED")
        self.assertTrue(follow.mute)
        self.imported(self.vpd())
        self.assertTrue(follow.mute)
        bpy.ops.mmdskin.clear_motion()
        self.imported(self.vpd())
        self.assertFalse(follow.mute)


class Merged(OwnCase):
    """A second file replaces the tracks that it has keys for, from its first key on, as in MMD."""

    def second(self):
        names = ["左腕", IK]
        keys = dance(self.scene.pmx, 9, names=names, frames=(12, 20, 33))
        morphs = [motion_file.MorphKey("あ", 6, 0.2), motion_file.MorphKey("あ", 12, 0.9)]
        return keys._replace(morphs=morphs)

    def assert_merged_plays(self):
        merged = laid(self.keys, self.second())
        for frame in sorted({*FRAMES, 12, 20, 33}):
            # Bones that turn between keys of theirs are close only.
            self.assert_keys_stand(merged, frame, turned=TURNED, moved=0.02)

    def import_second(self, **options):
        path = self.write("second.vmd", motion_file.write_vmd(self.second()))
        self.assertEqual(self.imported(path, frame_start=0, **options), {"FINISHED"})

    def test_own_keys_over_own_keys(self):
        self.imported(frame_start=0)
        self.import_second()
        self.assert_merged_plays()
        self.assertEqual(self.keyed('pose.bones["腕.L"].rotation_quaternion'), {0, 4, 12, 20, 33})
        self.assertEqual(self.keyed('pose.bones["ひじ.L"].location'), set(FRAMES))

    def test_the_way_to_the_first_new_key_is_its_curve(self):
        keys = [
            motion_file.Keys(bones=[motion_file.BoneKey("左腕", frame, (x, 0, 0), block=bend)])
            for frame, x, bend in (
                (0, 1, None),
                (20, 5, motion_file.block([(100, 5, 120, 60)] * 4)),
            )
        ]
        for part in keys:
            path = self.write("part.vmd", motion_file.write_vmd(part))
            self.imported(path, frame_start=0)
        for frame in range(21):
            self.assert_keys_stand(laid(*keys), frame)

    def test_unchanged_channels_hold_until_their_last_key(self):
        keys = [
            motion_file.Keys(bones=[motion_file.BoneKey("左腕", *one) for one in of_part])
            for of_part in (((0, (1, 2, 0)), (5, (1, 2, 0)), (10, (1, 2, 0))), ((20, (5, 0, 3)),))
        ]
        for part in keys:
            path = self.write("part.vmd", motion_file.write_vmd(part))
            self.imported(path, frame_start=0)
        for frame in range(21):
            self.assert_keys_stand(laid(*keys), frame)

    def test_original_keys_over_solved_ones_replace_all_keys(self):
        self.imported(frame_start=0, mode="SOLVED")
        self.import_second()
        self.assert_merged_plays()
        self.assertEqual(self.keyed('pose.bones["ひじ.L"].location'), set(FRAMES))

    def test_solved_keys_over_original_ones_replace_all_keys(self):
        self.imported(frame_start=0)
        self.import_second(mode="SOLVED")
        merged = motion_file.write_vmd(laid(self.keys, self.second()))
        self.motion_path = self.write("merged.vmd", merged)
        self.assert_plays((0, 9, 12, 17, 30, 33), start=0)

    def test_replaced(self):
        self.imported(frame_start=0)
        self.import_second(replace=True)
        self.assertEqual(self.keyed('pose.bones["ひじ.L"].location'), set())
        self.assertEqual(self.keyed('pose.bones["腕.L"].location'), {12, 20, 33})

    def test_everything_is_restored(self):
        arm = self.armature.pose.bones["腕.L"]
        arm.rotation_mode = "XZY"
        for frame in (1, 7, 30):
            arm.rotation_euler.x = 0.1 * frame
            arm.keyframe_insert("rotation_euler", frame=frame)
            arm.keyframe_insert("location", frame=frame)
        arm.driver_add("rotation_quaternion", 1).driver.expression = "0.5"
        bpy.context.scene.frame_set(6)
        second = self.write("second.vmd", motion_file.write_vmd(self.second()))
        self.assert_comes_back({}, {"path": second}, {"path": second, "mode": "SOLVED"})
        self.assert_comes_back({"mode": "SOLVED"}, {"path": second}, {"replace": True})


class KeptKeys(OwnCase):
    def test_bones_that_the_file_lacks_stay(self):
        bone = self.armature.pose.bones["手首.L"]
        bone.location.x = 0.25
        bone.keyframe_insert("location", frame=3)
        names = [bone.name for bone in self.scene.pmx.bones if bone.name != "左手首"]
        keys = dance(self.scene.pmx, names=names)
        self.imported(self.write("part.vmd", motion_file.write_vmd(keys)))
        self.assertEqual(self.keyed('pose.bones["手首.L"].location'), {3})
        self.assertEqual(bone.location.x, 0.25)

    def test_reports(self):
        with case.reports() as said:
            self.imported()
        self.assertEqual(
            said, ["Info: Keyed 9 bones and 3 shape keys with 36 keyframes from the file"]
        )


class Sliders(OwnCase):
    """A model of our importer, which has a slider for every morph that acts."""

    def setUp(self):
        super().setUp()
        pmx = self.scene.pmx
        turn = (0.5, 1, -2, 0.0, 0.6, 0.0, 0.8)
        pmx.materials = [pmx_file.Material("肌", index_count=pmx.triangles.size)]
        pmx.morphs = [
            pmx.morphs[0],
            morph("骨", "bone", [1], [turn]),
            morph("赤", "material", [0], [change(0, diffuse=(1, 0, 0, 1))]),
            morph("混合", "group", [0, 2], [0.5, 0.25]),
            morph("組", "group", [1, 2], [1, 0.5]),
        ]
        self.model_path = self.write("模型.pmx", pmx_file.write(pmx))
        self.weights = {"あ": 0.25, "骨": 0.5, "赤": 0.125, "混合": 0.75, "組": 1.0}
        keys = [
            motion_file.MorphKey(name, frame, weight * frame / 10)
            for name, weight in self.weights.items()
            for frame in (0, 10)
        ]
        self.keys = self.keys._replace(morphs=keys)
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(self.keys))
        scene.clear()
        bpy.ops.mmdskin.import_model(filepath=self.model_path)
        self.armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        self.mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        scene.select(self.armature)

    def values(self, frame):
        bpy.context.scene.frame_set(frame)
        keys = self.mesh.data.shape_keys.key_blocks
        return {
            name: keys[name].value if name in keys else self.armature[name] for name in self.weights
        }

    def assert_values(self, frame, expected):
        found = self.values(frame)
        for name, value in expected.items():
            self.assertAlmostEqual(found[name], value, places=6, msg=f"{name}, {frame}")

    def test_have_the_keys_of_the_file(self):
        self.imported(model_path="", frame_start=0)
        for frame in (0, 5, 10):
            shares = {name: weight * frame / 10 for name, weight in self.weights.items()}
            self.assert_values(frame, shares)
        curves = [*self.curves(self.armature), *self.curves(self.mesh.data.shape_keys)]
        paths = ("[", "key_blocks")
        counts = [len(c.keyframe_points) for c in curves if c.data_path.startswith(paths)]
        self.assertEqual(counts, [2] * len(self.weights))

    def test_solved_keys_do_not_key_bone_morphs_and_keep_groups(self):
        self.imported(model_path="", frame_start=0, mode="SOLVED")
        red = 0.125 + 0.25 * 0.75 + 0.5 * 1.0
        self.assert_values(10, {"あ": 0.25 + 0.5 * 0.75, "赤": red, "骨": 0, "混合": 0, "組": 0})
        self.assert_values(4, {"赤": 0.4 * red})
        self.assert_plays((0, 6, 10, 30), start=0)

    def test_solved_keys_warn_of_no_constraints_of_bone_morphs(self):
        with case.reports() as said:
            self.imported(model_path="", mode="SOLVED")
        self.assertTrue(any(text.startswith("Info: Muted ") for text in said), said)
        self.assertFalse(any(text.startswith("Warning") for text in said), said)

    def test_of_a_pose(self):
        morphs = [motion_file.MorphKey("赤", 0, 0.5), motion_file.MorphKey("組", 0, 1.0)]
        keys = motion_file.Keys("", [k for k in self.keys.bones if k.frame == 0], morphs)
        path = self.write("立ち.vpd", motion_file.write_vpd(keys))
        self.imported(path, model_path="")
        self.assert_values(1, {"赤": 0.5, "組": 1.0, "骨": 0})
        bpy.ops.mmdskin.clear_motion()
        self.imported(path, model_path="", mode="SOLVED")
        self.assert_values(1, {"赤": 1.0, "組": 0.0, "骨": 0})

    def test_are_restored(self):
        self.armature["赤"] = 0.75
        self.armature.update_tag()
        bpy.context.scene.frame_set(3)
        self.assert_comes_back({"model_path": ""}, {"model_path": "", "mode": "SOLVED"})
        self.assertEqual(self.armature["赤"], 0.75)


class SolvedLive(OwnCase):
    """With the pose source "MMD's IK", the file's keys give the same result as the file in MMD."""

    def setUp(self):
        super().setUp()
        pmx = self.scene.pmx
        pmx.morphs = [pmx.morphs[0], morph("まとめ", "group", [0, 2], [0.5, -0.25]), pmx.morphs[2]]
        self.model_path = self.write("模型.pmx", pmx_file.write(pmx))
        states = ((0, 1), (4, 0), (13, 1))
        switches = [motion_file.PropertyKey(frame, 1, [(IK, on)]) for frame, on in states]
        data = motion_file.write_vmd(self.keys._replace(properties=switches))
        self.motion_path = self.write("踊り.vmd", data)
        scene.clear()
        bpy.ops.mmdskin.import_model(filepath=self.model_path)
        self.armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        self.mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        scene.select(self.armature)

    def test_at_the_keys(self):
        self.armature.mmdskin.source = "IK"
        self.imported(model_path="", frame_start=0)
        self.assertEqual(self.armature.mmdskin.source, "IK")
        self.armature.mmdskin.preview = True
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            shown = scene.evaluated_positions(self.mesh)
            self.assert_close(shown, self.of_file([frame])[0])
        self.armature.mmdskin.preview = False
