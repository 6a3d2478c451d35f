# SPDX-License-Identifier: GPL-3.0-or-later
"""The first minute: an imported model shows MMD's deformation, a motion plays, the panel says so."""

import os
import sys

import bpy
import case
import imported
import numpy as np
import scene
from cases_motion import dance, rig
from cases_panel import drawn_texts
from files import motion_file


class FirstMinute(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = rig()
        self.path = self.write(self.pmx)
        self.motion = self.write(motion_file.write_vmd(dance(self.pmx)), "踊り.vmd")

    def shown(self):
        return scene.evaluated_positions(self.model.mesh)

    def test_a_motion_plays_at_once(self):
        addon = sys.modules["addon_package"]
        for mode in ("SOLVED", "ORIGINAL", "FILE"):
            with self.subTest(mode=mode):
                scene.clear()
                self.model = self.load(self.path, live=True)
                self.assertTrue(self.model.armature.mmdskin.preview)
                # As the import has left it: its root is active.
                self.assertEqual(bpy.context.active_object, self.model.root)
                bpy.ops.mmdskin.import_motion(filepath=self.motion, mode=mode, frame_start=0)
                bpy.context.scene.frame_set(0)
                before = self.shown()
                bpy.context.scene.frame_set(9)
                self.assertGreater(np.ptp(self.shown() - before, axis=0).max(), 0.01)
                self.assertEqual(case.live_errors(), [])
                if mode != "ORIGINAL":  # whose IK is Blender's
                    mmdskin = addon.blender.native.load()
                    model = mmdskin.load_model(self.path)
                    frame = 9 * 30 / bpy.context.scene.render.fps
                    pose = model.pose(mmdskin.load_motion(self.motion), [frame])
                    out = mmdskin.skin(model, pose, normals=False).positions[0]
                    self.assert_close(self.shown(), scene.in_blender(out), 1e-4 * scene.SCALE)

    def test_without_a_mesh_nothing_is_turned_on(self):
        model = self.load(self.path, live=True, types={"ARMATURE"})
        self.assertFalse(model.armature.mmdskin.preview)

    def test_scripts_decide_themselves(self):
        self.assertFalse(self.load(self.path).armature.mmdskin.preview)


class Panel(FirstMinute):
    """The sentence after the model's name."""

    def says(self, words):
        texts = drawn_texts(self.model.mesh)
        self.assertIn(words, texts[1])

    def test_each_state(self):
        self.model = self.load(self.path)
        settings = self.model.armature.mmdskin
        self.says("Turn MMD Skinning on")
        settings.preview = True
        self.says("or import a motion")
        bpy.ops.mmdskin.import_motion(filepath=self.motion, mode="FILE")
        self.says(f"Shows '{os.path.basename(self.motion)}', live")
        settings.source = "IK"
        self.says("with MMD's IK")
        settings.source = "ARMATURE"
        self.model.armature.pose.bones[0].keyframe_insert("location", frame=1)
        self.says("the armature's animation")
        scene.select(self.model.mesh)
        bpy.ops.mmdskin.bake()
        self.says("Shows the bake")
