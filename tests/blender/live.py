# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the preview cases: a moving model with the preview on."""

import math
import sys

import bpy
import case
import scene

HEIGHT = 20 * scene.SCALE  # of a model
BAR = 1e-5 * HEIGHT


class Live(case.Case):
    """The elbow rotates by 4 degrees per frame and a key follows a curve; the preview is on."""

    def setUp(self):
        super().setUp()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
        self.file = case.write_model(self, self.scene.pmx)
        self.bones = self.scene.armature.pose.bones
        elbow = self.bones["ひじ.L"]
        elbow.rotation_mode = "XYZ"
        for frame in (1, 21):
            elbow.rotation_euler = (0.2, 0, math.radians(4 * frame))
            elbow.keyframe_insert("rotation_euler", frame=frame)
        self.key = self.mesh.data.shape_keys.key_blocks["ふくらみ"]
        for frame, value in ((1, 0.0), (21, 1.0)):
            self.key.value = value
            self.key.keyframe_insert("value", frame=frame)
        bpy.context.scene.frame_set(1)
        self.armature = self.scene.armature
        self.armature.mmdskin.preview = True

    def expected(self):
        """Expected positions in mesh space, for the scene's current pose and key value."""
        matrices = self.scene.bake_inputs()
        addon = sys.modules["addon_package"]
        mmdskin = addon.blender.native.load()
        value = (
            self.mesh.data.shape_keys.evaluated_get(bpy.context.evaluated_depsgraph_get())
            .key_blocks["ふくらみ"]
            .value
        )
        out = mmdskin.skin(mmdskin.load_model(self.file), matrices, [value], normals=False)
        return scene.in_blender(out.positions)

    def assert_live(self, bar=BAR):
        scene.evaluated_positions(self.mesh)
        self.assertEqual(case.live_errors(), [])
        self.assert_close(scene.evaluated_positions(self.mesh), self.expected(), bar)

    def assert_plain(self):
        """Checks that the Armature modifier's result is shown."""
        shown = scene.evaluated_positions(self.mesh)
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        self.assert_close(shown, scene.evaluated_positions(self.mesh), 0)
        self.mesh.modifiers["MMD Skin"].show_viewport = True
