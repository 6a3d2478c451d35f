# SPDX-License-Identifier: GPL-3.0-or-later
"""Dance, lips and face come as separate files: together they play, in whichever form each is imported."""

import itertools
import os
import shutil

import bpy
import case
import imported
import numpy as np
import scene
from cases_bake_range import forget_file
from cases_motion import addon, dance
from cases_physics import ShowsCase
from files import motion_file, pmx_file

FORMS = ("SOLVED", "ORIGINAL", "FILE")
DANCE, LIPS, FACE = "踊り.vmd", "口.vmd", "表情.vmd"


def small_pmx():
    """Six vertices, the last of which follow a child; the morphs move the first two."""
    pmx = pmx_file.PMX(bones=[pmx_file.Bone("センター"), pmx_file.Bone("頭", parent=0)])
    count = 6
    pmx.positions = np.float32([(i, 0, 0) for i in range(count)])
    pmx.normals = np.float32([(0, 0, -1)] * count)
    pmx.uvs = np.full((count, 2), 0.5, "f4")
    pmx.additional_uvs = np.zeros((count, 0, 4), "f4")
    pmx.deform, pmx.edge_scales = np.zeros(count, np.uint8), np.ones(count, np.float32)
    pmx.bone_indices = np.tile(np.int32([0, -1, -1, -1]), (count, 1))
    pmx.bone_indices[4:, 0] = 1
    pmx.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    pmx.sdef = np.zeros((count, 3, 3), np.float32)
    pmx.triangles = np.arange(count, dtype=np.int32).reshape(-1, 3)
    pmx.materials = [pmx_file.Material("肌", diffuse=(0.8, 0.4, 0.8, 1), index_count=count)]
    pmx.morphs = [
        pmx_file.Morph(
            name, kind=1, indices=np.array([vertex]), values=np.float32([(0, offset, 0)])
        )
        for name, vertex, offset in (("あ", 0, 1), ("まばたき", 1, 2))
    ]
    return pmx


class FilesCase(imported.Case):
    def setUp(self):
        super().setUp()
        bpy.context.scene.render.fps = 30
        bpy.context.scene.frame_start, bpy.context.scene.use_preview_range = 1, False
        self.load_model()
        bone = motion_file.BoneKey("センター", 0, (2, 0, 0), (0, 0, 0, 1))
        self.write_motion(
            DANCE, bones=[bone, motion_file.BoneKey("センター", 9, (4, 0, 0), (0, 0, 0, 1))]
        )
        self.write_motion(LIPS, morphs=[motion_file.MorphKey("あ", 0, 1.0)])
        self.write_motion(FACE, morphs=[motion_file.MorphKey("まばたき", 0, 0.5)])

    def tearDown(self):
        bpy.context.scene.render.fps = 24

    def load_model(self, live=True):
        model = self.load(self.write(small_pmx()), live=live)
        self.armature, self.mesh = model.armature, model.mesh
        self.settings = self.armature.mmdskin
        scene.select(self.armature)

    def write_motion(self, name, bones=(), morphs=()):
        keys = motion_file.Keys("", list(bones), list(morphs))
        return self.write(motion_file.write_vmd(keys), name)

    def play(self, name, form="FILE", **options):
        path = os.path.join(self.folder, name)
        done = bpy.ops.mmdskin.import_motion(filepath=path, mode=form, **options)
        self.assertEqual(done, {"FINISHED"})

    def offsets(self, frame=1):
        """(6, 3) of the vertices, from their rest, in the file's axes and units."""
        bpy.context.scene.frame_set(frame)
        shown = scene.in_file(scene.evaluated_positions(self.mesh))
        self.assertEqual(case.live_errors(), [])
        return shown - small_pmx().positions

    def assert_plays(self, dance=2, lips=1, face=0.5, frame=1):
        expected = np.zeros((6, 3))
        expected[:, 0] = dance
        expected[0, 1], expected[1, 1] = lips, 2 * face
        self.assert_close(self.offsets(frame), expected, 1e-4)

    def find_model(self):
        self.armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        self.mesh = next(obj for obj in self.armature.children if obj.type == "MESH")
        self.settings = self.armature.mmdskin
        scene.select(self.armature)


class Files(FilesCase):
    def test_play_together_in_any_order_and_any_form(self):
        for names in itertools.permutations((DANCE, LIPS, FACE)):
            for form in FORMS:
                with self.subTest(names=names, form=form):
                    for name in names:
                        self.play(name, form)
                    self.assert_plays()
                    self.assert_plays(dance=4, frame=10)
                    bpy.ops.mmdskin.clear_motion()
                    self.assert_plays(0, 0, 0)

    def test_play_together_in_mixed_forms(self):
        for forms in itertools.permutations(FORMS):
            for names in ((DANCE, LIPS, FACE), (FACE, DANCE, LIPS)):
                with self.subTest(names=names, forms=forms):
                    for name, form in zip(names, forms, strict=True):
                        self.play(name, form)
                    self.assert_plays()
                    bpy.ops.mmdskin.clear_motion()
                    self.assertEqual(self.settings.source, "ARMATURE")
                    self.assert_plays(0, 0, 0)

    def test_are_chosen_together_in_one_dialog(self):
        for form in FORMS:
            with self.subTest(form=form):
                names = [{"name": name} for name in (DANCE, LIPS, FACE)]
                options = {"directory": self.folder, "files": names, "mode": form}
                self.assertEqual(bpy.ops.mmdskin.import_motion(**options), {"FINISHED"})
                self.assert_plays()
                bpy.ops.mmdskin.clear_motion()

    def test_one_of_them_that_is_refused_leaves_the_model_as_it_was(self):
        self.play(DANCE)
        self.write(b"Vocaloid Motion Data 0002", "broken.vmd")
        names = [{"name": name} for name in (LIPS, "broken.vmd")]
        with self.assertRaises(RuntimeError):
            bpy.ops.mmdskin.import_motion(directory=self.folder, files=names, mode="FILE")
        self.assert_plays(lips=0, face=0)

    def test_a_model_whose_bones_are_in_one_place_keeps_its_scale(self):
        model = self.load(os.path.join(self.folder, "見本.pmx"), scale=1.0, live=True)
        scene.select(model.armature)
        for form in FORMS:
            self.play(DANCE, form)
            bpy.context.scene.frame_set(1)
            moved = scene.evaluated_positions(model.mesh)[:, 0] - range(6)
            self.assert_close(moved, np.full(6, 2.0), 1e-5)

    def test_each_at_its_start(self):
        for fps, real_time in ((30, True), (60, True), (25, True), (24, False)):
            with self.subTest(fps=fps, real_time=real_time):
                bpy.context.scene.render.fps = fps
                self.play(DANCE, real_time=real_time)
                self.write_motion(
                    LIPS,
                    morphs=[motion_file.MorphKey("あ", 0, 0.0), motion_file.MorphKey("あ", 9, 1.0)],
                )
                self.play(LIPS, frame_start=8, real_time=real_time)
                rate = 30 / fps if real_time else 1
                for frame in (1, 4, 8, 11, 16, 30):
                    dance = 2 + 2 * np.clip((frame - 1) * rate / 9, 0, 1)
                    lips = np.clip((frame - 8) * rate / 9, 0, 1)
                    self.assert_plays(dance, lips, 0, frame)
                bpy.ops.mmdskin.clear_motion()

    def test_replace_leaves_the_last(self):
        for form in FORMS:
            self.play(DANCE, form)
            self.play(LIPS, "FILE", replace=True)
            self.assert_plays(0, 1, 0)
            bpy.ops.mmdskin.clear_motion()

    def test_a_file_that_the_user_chooses_plays_alone(self):
        self.play(DANCE)
        self.play(LIPS)
        self.settings.motion_path = os.path.join(self.folder, FACE)
        self.assert_plays(0, 0, 0.5)
        self.play(LIPS)  # which joins the chosen one
        self.assert_plays(0, 1, 0.5)

    def test_a_pose_plays_alone(self):
        self.play(DANCE)
        self.write(
            "Vocaloid Pose Data file\n\nx.osm;\n1;\n\nBone0{センター\n  1,0,0;\n  0,0,0,1;\n}\n".encode(
                "shift_jis"
            ),
            "pose.vpd",
        )
        self.play("pose.vpd")
        self.assert_plays(1, 0, 0)

    def test_survive_saving_and_moving_the_project(self):
        blend = os.path.join(self.folder, "dance.blend")
        self.addCleanup(forget_file)
        bpy.ops.wm.save_as_mainfile(filepath=blend)
        for name in (DANCE, LIPS, FACE):
            self.play(name)
        bpy.ops.wm.save_as_mainfile(filepath=blend)
        moved = f"{self.folder} 2"
        shutil.move(self.folder, moved)
        self.addCleanup(shutil.rmtree, moved)
        bpy.ops.wm.open_mainfile(filepath=os.path.join(moved, "dance.blend"))
        self.find_model()
        self.assert_plays()
        self.folder = moved
        self.play(LIPS, "SOLVED")
        self.assert_plays()

    def test_a_missing_one_is_named(self):
        self.play(DANCE)
        self.play(LIPS)
        os.remove(os.path.join(self.folder, DANCE))
        said = self.settings.motion_start
        self.settings.motion_start = said + 1
        bpy.context.scene.frame_set(2)
        scene.evaluated_positions(self.mesh)
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        self.assertIn(DANCE, addon().preview.switch.problem_of(model))

    def test_damaged_settings_are_ignored(self):
        self.play(LIPS)
        for text in ("[", "3", "[3]", '[["a", "b"]]', '[["a", "b", 1e999]]', '{"a": 1}'):
            self.settings.motion_earlier = text
            self.assert_plays(0, 1, 0)

    def test_bakes_and_exports_have_all(self):
        for name in (DANCE, LIPS, FACE):
            self.play(name)
        path = os.path.join(self.folder, "out.vmd")
        bpy.ops.mmdskin.export_motion(filepath=path)
        found = addon().blender.native.load().load_motion(path)
        tracks = {track.name: track for track in (*found.bones, *found.morphs)}
        self.assertEqual(tracks["センター"].translations[0].tolist(), [2, 0, 0])
        self.assertEqual((tracks["あ"].weights[0], tracks["まばたき"].weights[0]), (1, 0.5))
        bpy.context.scene.frame_end = 10
        bpy.ops.mmdskin.bake(range="SCENE")
        self.assert_plays()
        self.assert_plays(dance=4, frame=10)

    def test_bones_that_the_model_lacks_are_said_to_be_harmless(self):
        bones = [motion_file.BoneKey(name, 0, (2, 0, 0)) for name in ("センター", "袖", "裾")]
        self.write_motion(DANCE, bones=bones)
        with case.reports() as said:
            self.play(DANCE)
        lacks = "Info: The model lacks 2 bones of the motion, which are ignored as in MMD"
        self.assertTrue(any(lacks in one and "the other 1" in one for one in said), said)

    def test_a_simulation_is_outdated_by_a_change_of_any(self):
        def fingerprint():
            found = addon().pose.pose_source.settings_of(self.armature, bpy.context.scene)
            opened = addon().pose.pose_source.load(self.armature, found)
            return addon().physics.dependencies.fingerprint(opened, None)

        self.settings.physics = True
        self.play(LIPS, physics=True)
        known = {fingerprint()}
        self.play(DANCE, physics=True)
        known.add(fingerprint())
        self.play(DANCE, frame_start=3, physics=True)
        known.add(fingerprint())
        self.write_motion(LIPS, morphs=[motion_file.MorphKey("あ", 0, 0.25)])
        known.add(fingerprint())
        self.assertEqual(len(known), 4)


class Simulated(ShowsCase):
    """Hair that follows two files: together they are the motion of `ShowsCase`."""

    def test_a_simulation_follows_all_files(self):
        keys = dance(self.scene.pmx)
        parts = ([k for k in keys.bones if (k.name == "左腕") == on] for on in (False, True))
        paths = [
            self.write(f"{number}.vmd", motion_file.write_vmd(keys._replace(bones=of, morphs=[])))
            for number, of in enumerate(parts)
        ]
        whole = motion_file.write_vmd(keys._replace(morphs=[]))
        self.motion_path = self.write("both.vmd", whole)
        for fps in (30, 24):
            bpy.context.scene.render.fps = fps
            for path in paths:
                bpy.ops.mmdskin.import_motion(
                    filepath=path,
                    model_path=self.model_path,
                    mode="FILE",
                    frame_start=0,
                    physics=True,
                    replace=path == paths[0],
                )
            for frame in (0, 4, 12):
                bpy.context.scene.frame_set(frame)
                shown = scene.evaluated_positions(self.mesh)
                self.assert_close(shown, self.expected([frame * 30 / fps])[0])
            self.assertEqual(case.physics_problems(), [])
