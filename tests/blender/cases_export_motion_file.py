# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion of a model that a motion file animates: the keys of that file."""

import os

import bpy
import numpy as np
from cases_export_motion import TOLERANCE, ExportCase, addon
from cases_export_motion_keys import differences, records
from cases_motion import dance
from cases_motion_keys import IK
from files import motion_file


class MotionFile(ExportCase):
    def setUp(self):
        super().setUp()
        keys = dance(self.scene.pmx)
        curves = [[3, 9, 80, 120], [20, 20, 107, 107], [60, 0, 60, 127], [10, 30, 90, 90]]
        bones = [
            key._replace(block=motion_file.block(curves)) if key.name != "左ひじ" else key
            for key in keys.bones
        ]
        states = [motion_file.PropertyKey(f, 1, [(IK, on)]) for f, on in ((0, 1), (4, 0), (9, 1))]
        self.keys = keys._replace(bones=bones, properties=states)
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(self.keys))
        self.assertEqual(self.imported(mode="FILE"), {"FINISHED"})

    def of_motion(self, numbers):
        """(F, V, 3) positions by the motion file, in its units."""
        model, motion = self.loaded()
        pose = model.pose(motion, np.asarray(numbers, float))
        return addon().blender.native.load().skin(model, pose, normals=False).positions

    def test_its_keys_are_written_byte_for_byte(self):
        for fps in (30, 24, 60):
            with self.subTest(fps=fps):
                bpy.context.scene.render.fps = fps
                bpy.context.scene.frame_end = 2 * fps
                self.exported()
                self.assertEqual(differences(records(self.motion_path), records(self.out)), set())

    def test_a_part_of_it_plays_alike(self):
        motion = self.exported(range="CUSTOM", frame_start=4, frame_end=12)
        self.assertEqual(motion.frame_range[0], 0)
        miss = np.linalg.norm(self.posed(range(9)) - self.of_motion(range(3, 12)), axis=-1)
        self.assertLessEqual(miss.max(), TOLERANCE)
        ik = motion.properties
        self.assertEqual(ik.frames.tolist(), [0, 1, 6])
        self.assertEqual(ik.ik_enabled[:, 0].tolist(), [True, False, True])

    def test_a_part_of_it_has_the_keys_of_the_file(self):
        more = [
            k._replace(frame=f, rotation=(0, 0, 0, 1)) for k in self.keys.bones[::2] for f in (5, 9)
        ]
        keys = self.keys._replace(bones=[*self.keys.bones, *more])
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(keys))
        self.assertEqual(self.imported(mode="FILE", replace=True), {"FINISHED"})
        self.exported(range="CUSTOM", frame_start=4, frame_end=12)
        found, written = records(self.motion_path), records(self.out)
        kept = [key for key in found if key[0] == "bone" and key[2] == 9]
        self.assertEqual(len(kept), len(self.keys.bones) // 2)
        for kind, name, frame in kept:
            with self.subTest(name=name):
                self.assertEqual(written[kind, name, frame - 3], found[kind, name, frame])

    def test_all_keyframes_are_those_of_the_file(self):
        bpy.context.scene.frame_end = 2
        self.exported(range="ACTION")
        self.assertEqual(differences(records(self.motion_path), records(self.out)), set())

    def test_at_another_speed_it_plays_alike(self):
        bpy.context.scene.render.fps = 25
        self.armature.mmdskin.motion_real_time = False  # 25 frames of the file in a second
        self.exported()
        numbers = np.arange(17)
        miss = np.linalg.norm(self.posed(numbers) - self.of_motion(numbers * 25 / 30), axis=-1)
        self.assertLessEqual(miss.max(), TOLERANCE)

    def test_solved_keys_have_its_morphs(self):
        self.mesh.data.shape_keys.key_blocks["い"].value = 1
        self.exported(bones="SOLVED_FK")
        miss = np.linalg.norm(self.posed(range(16)) - self.of_motion(range(16)), axis=-1)
        # A weight may be off by 0.002, and three morphs move a vertex by up to 0.4 units.
        self.assertLessEqual(miss.max(), TOLERANCE + 0.003)

    def test_animated_visibility_is_added(self):
        for frame, hidden in ((1, False), (7, True)):
            self.mesh.hide_render = hidden
            self.mesh.keyframe_insert("hide_render", frame=frame)
        track = self.exported().properties
        self.assertEqual(track.frames.tolist(), [0, 4, 6, 9])
        self.assertEqual(track.visible.tolist(), [True, True, False, False])
        self.assertEqual(track.ik_enabled[:, 0].tolist(), [True, False, False, True])

    def test_a_pose_as_keyed_is_that_of_the_file(self):
        bpy.context.scene.frame_set(16)
        path = os.path.join(self.folder.name, "a.vpd")
        options = {"filepath": path, "model_path": self.model_path, "bones": "AS_KEYED"}
        self.assertEqual(bpy.ops.mmdskin.export_pose(**options), {"FINISHED"})
        found = {track.name: track for track in motion_file.read(path).bones}
        (key,) = [k for k in self.keys.bones if k.name == "右足ＩＫ" and k.frame == 15]
        np.testing.assert_allclose(found["右足ＩＫ"].translations[0], key.translation, atol=1e-5)
        np.testing.assert_allclose(found["右足ＩＫ"].rotations[0], key.rotation, atol=1e-5)

    def test_huge_numbers_are_refused(self):
        keys = [key._replace(translation=(1e11, 0, 0)) for key in self.keys.bones]
        path = self.write("遠方.vmd", motion_file.write_vmd(self.keys._replace(bones=keys)))
        self.assertEqual(self.imported(path, mode="FILE", replace=True), {"FINISHED"})
        part = {"range": "CUSTOM", "frame_start": 3, "frame_end": 9}  # whole, it is copied
        self.assert_refused("cannot be made: bones", **part)
        pose = os.path.join(self.folder.name, "a.vpd")
        options = {"filepath": pose, "model_path": self.model_path, "bones": "AS_KEYED"}
        with self.assertRaisesRegex(RuntimeError, "cannot be made: bones"):
            bpy.ops.mmdskin.export_pose(**options)
