# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports and simulations go through the scene's frames as bakes do: objects that follow a bone are where
they are shown, and modifiers that no pose depends on are off.
"""

import os
import unittest

import bpy
import numpy as np
import scene
from cases_attach import Attached
from cases_bake_evaluation import moving_cube
from files import motion_file
from judges import pose_twin
from keyed_physics import Keyed


class Watched(unittest.TestCase):
    """Looks at a cube, which a modifier moves with the frame, at each frame of an operation."""

    def watched(self, cube, function):
        seen = set()

        def look(*_):
            evaluated = cube.evaluated_get(bpy.context.evaluated_depsgraph_get())
            positions = np.empty(24, np.float32)
            evaluated.data.vertices.foreach_get("co", positions)
            seen.add(round(float(positions[::3].mean()), 2))

        bpy.app.handlers.frame_change_post.append(look)
        try:
            self.assertEqual(function(), {"FINISHED"})
        finally:
            bpy.app.handlers.frame_change_post.remove(look)
        return seen

    def assert_off(self, function):
        """The last look is after the frame was restored."""
        frame = bpy.context.scene.frame_current
        cube = moving_cube("stage")
        shown = self.watched(
            cube, lambda: {"FINISHED"} if not bpy.context.scene.frame_set(4) else 0
        )
        self.assertEqual(shown, {4.0})
        bpy.context.scene.frame_set(3)
        self.assertEqual(self.watched(cube, function), {0.0, 3.0})
        self.assertAlmostEqual(scene.evaluated_positions(cube)[:, 0].mean(), 3, 4)
        bpy.context.scene.frame_set(frame)


class Exported(Attached, Watched):
    def export(self, content):
        self.out = os.path.join(self.folder.name, "書出.vmd")
        scene.select(self.mesh)
        options = {"filepath": self.out, "content": content, "scale": scene.SCALE}
        return bpy.ops.mmdskin.export_motion(**options)

    def test_a_camera_that_follows_a_bone_of_a_motion_file(self):
        self.play_motion()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, 12
        bpy.context.scene.render.fps = 30
        camera = bpy.data.objects.new("eye", bpy.data.cameras.new("eye"))
        bpy.context.scene.collection.objects.link(camera)
        bpy.context.scene.camera = camera
        camera.location = self.vertex("腕.R")
        bpy.context.view_layer.update()
        self.attach("腕.R", camera)
        self.assertEqual(self.export("CAMERA"), {"FINISHED"})
        with open(self.out, "rb") as file:
            track = motion_file.read(file.read()).camera
        seen = []
        for frame in (0, 3, 7, 12):
            bpy.context.scene.frame_set(frame)
            shown = np.array(camera.matrix_world.translation)
            position = np.asarray(pose_twin.camera_at(track, frame, 60)[0])
            self.assert_close(position[[0, 2, 1]] * scene.SCALE, shown, 0.05 * scene.SCALE)
            seen.append(shown)
        self.assertGreater(np.ptp(np.array(seen), axis=0).max(), scene.SCALE / 2)

    def test_modifiers_of_others_are_off(self):
        bone = self.armature.pose.bones["腕.R"]
        for frame, angle in ((1, 0.0), (5, 0.5)):
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = (np.cos(angle), np.sin(angle), 0, 0)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 5
        self.assert_off(lambda: self.export("MODEL"))


class Simulated(Keyed, Watched):
    def test_modifiers_of_others_are_off(self):
        self.assert_off(lambda: bpy.ops.mmdskin.simulate())
