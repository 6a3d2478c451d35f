# SPDX-License-Identifier: GPL-3.0-or-later
"""Solved keys at frame rates whose frames are not those of the motion: its end, and its jumps."""

import math
import os

import bpy
import numpy as np
from cases_motion import addon
from cases_motion_files import FORMS, FilesCase
from files import motion_file

RATES = ((24, 1), (25, 1), (50, 1), (60, 1), (24, 1.001), (60, 1.001), (30, 1), (12, 1))
JUMP = "飛.vmd"


class Ends(FilesCase):
    """x and a morph jump at the end of the motion, from frame 90 to 91; a turn does before."""

    def setUp(self):
        super().setUp()
        turned = (0, math.sin(0.5), 0, math.cos(0.5))
        bones = [
            *(
                motion_file.BoneKey("センター", frame, (x, 0, 0))
                for frame, x in ((0, 0), (90, 0), (91, 2))
            ),
            *(motion_file.BoneKey("頭", frame) for frame in (0, 42, 44)),
            motion_file.BoneKey("頭", 43, rotation=turned),
        ]
        morphs = [motion_file.MorphKey("あ", frame, w) for frame, w in ((0, 0), (90, 0), (91, 1))]
        self.write_motion(JUMP, bones, morphs)

    def tearDown(self):
        super().tearDown()
        bpy.context.scene.render.fps_base = 1

    def at(self, fps, base):
        bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base
        bpy.context.scene.frame_end = 10
        return 1 + 91 * fps / base / 30

    def test_the_last_pose_is_shown_from_the_first_whole_frame_after_it(self):
        for form in FORMS:
            for rate in RATES:
                with self.subTest(form=form, rate=rate):
                    end = math.ceil(self.at(*rate) - 1e-6)
                    self.play(JUMP, form)
                    self.assertEqual(bpy.context.scene.frame_end, end)
                    for frame in (end, end + 1, end + 30):
                        self.assert_plays(2, 1, 0, frame)
                    bpy.ops.mmdskin.clear_motion()

    def test_exports_have_the_jumps(self):
        for rate in RATES[:-1]:
            with self.subTest(rate=rate):
                self.at(*rate)
                self.play(JUMP, "SOLVED")
                path = os.path.join(self.folder, "out.vmd")
                bpy.ops.mmdskin.export_motion(filepath=path, bones="SOLVED_BOTH")
                native = addon().blender.native.load()
                model, saved = self.write_path("見本.pmx"), native.load_motion(path)
                model = native.load_model(model)
                frames = np.arange(92)
                pose = model.pose(saved, frames)
                expected = model.pose(native.load_motion(self.write_path(JUMP)), frames)
                self.assert_close(pose.bone_matrices, expected.bone_matrices, 0.03)
                self.assert_close(pose.morph_weights, expected.morph_weights, 0.03)
                bpy.ops.mmdskin.clear_motion()

    def write_path(self, name):
        return os.path.join(self.folder, name)
