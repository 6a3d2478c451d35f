# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Pose: the pose of the current frame, as MMD shows it after loading the file."""

import os
import re

import bpy
import numpy as np
from cases_export_motion import ExportCase
from files import motion_file


class Pose(ExportCase):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder.name, "姿勢.vpd")

    def exported(self, **options):
        options = {"filepath": self.out, "model_path": self.model_path, **options}
        self.assertEqual(bpy.ops.mmdskin.export_pose(**options), {"FINISHED"})
        with open(self.out, "rb") as file:
            return motion_file.read(file.read())

    def test_a_pose_by_hand_as_shown(self):
        bone = self.armature.pose.bones["腕.L"]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler, bone.location = (0.3, 1, -0.2), (0.1, 0, 0.05)
        self.mesh.data.shape_keys.key_blocks["あ"].value = 0.5
        for form in ("AUTO", "SOLVED_BOTH"):
            with self.subTest(form=form):
                self.exported(bones=form)
                frame = bpy.context.scene.frame_current
                self.assert_plays_alike([frame], [0], 1e-3)

    def test_the_current_frame_of_a_dance(self):
        self.imported()
        bpy.context.scene.frame_set(9)
        self.exported()
        self.assert_plays_alike([9], [0], 1e-3)

    def test_a_pose_file_comes_back(self):
        keys = self.vpd_keys()
        path = self.write("立ち.vpd", motion_file.write_vpd(keys))
        self.imported(path, mode="ORIGINAL")
        found = {
            t.name: (t.translations[0], t.rotations[0])
            for t in self.exported(bones="AS_KEYED").bones
        }
        for key in keys.bones:
            self.assertLessEqual(np.abs(found[key.name][0] - key.translation).max(), 2e-6)
            self.assertLessEqual(np.abs(found[key.name][1] - key.rotation).max(), 2e-6)

    def vpd_keys(self):
        turn = (0.1, 0.2, 0.3, np.sqrt(1 - 0.14))
        bones = [
            motion_file.BoneKey(name, 0, (0.5, -1, 2), turn) for name in ("左腕", "右足", "左手首")
        ]
        return motion_file.Keys("", bones, [])

    def test_lines_end_as_mmd_writes_them(self):
        self.exported()
        with open(self.out, "rb") as file:
            data = file.read()
        self.assertTrue(data.startswith(b"Vocaloid Pose Data file\r\n"))
        self.assertIsNone(re.search(rb"[^\r]\n", data))
        self.assertIn("右足ＩＫ".encode("cp932"), data)
