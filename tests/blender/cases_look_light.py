# SPDX-License-Identifier: GPL-3.0-or-later
"""The light and self-shadow of a VMD as keyframes of the scene's MMD light."""

import sys

import bpy
import numpy as np
from cases_motion import MotionCase
from files import motion_file

FRAMES = (0, 10, 11, 30)
COLORS = ((0.6, 0.5, 0.4), (1, 0, 0), (0, 0, 1), (0.2, 0.4, 0.6))
DIRECTIONS = ((-0.5, -1, 0.5), (0.3, -0.9, 0), (0, -1, 0.2), (1, -0.5, -1))


class Light(MotionCase):
    def setUp(self):
        super().setUp()
        bpy.context.scene.render.fps = 30
        self.addCleanup(setattr, bpy.context.scene.render, "fps", 24)
        light = sys.modules["addon_package"].scene.light
        self.addCleanup(light.remove_unused, bpy.context.scene)
        keys = [motion_file.LightKey(*key) for key in zip(FRAMES, COLORS, DIRECTIONS, strict=True)]
        shadows = [motion_file.ShadowKey(0, 1, 0.01), motion_file.ShadowKey(20, 2, 0.05)]
        self.path = self.write(
            "light.vmd", motion_file.write_vmd(motion_file.Keys(light=keys, shadow=shadows))
        )
        self.assertEqual(bpy.ops.mmdskin.import_motion(filepath=self.path), {"FINISHED"})
        self.sun = light.of_scene(bpy.context.scene)

    def test_color_and_direction_are_linear_and_cut_on_adjacent_frames(self):
        for frame in (0, 4, 10, 10.5, 11, 15.25, 30, 40):
            color, direction = at(frame)
            shown_color, shown_direction = self.shown(frame)
            with self.subTest(frame=frame):
                self.assertLessEqual(np.abs(shown_color - color).max(), 1e-5)
                self.assertLessEqual(np.abs(shown_direction - direction).max(), 1e-5)

    def test_self_shadow_is_kept(self):
        for frame, mode, distance in ((0, 1, 9000.0), (10, 1, 7000.0), (20, 2, 5000.0)):
            bpy.context.scene.frame_set(frame + 1)
            self.assertEqual(self.sun["mmd_shadow_mode"], mode)
            self.assertAlmostEqual(self.sun["mmd_shadow_distance"], distance, delta=0.5)

    def test_the_sun_shines_along_the_direction(self):
        bpy.context.scene.frame_set(1)
        found = self.sun.evaluated_get(bpy.context.evaluated_depsgraph_get())
        ahead = -np.array(found.matrix_world)[:3, 2]
        expected = np.array(DIRECTIONS[0])[[0, 2, 1]]
        self.assertLessEqual(np.abs(ahead - expected / np.linalg.norm(expected)).max(), 1e-5)

    def shown(self, frame):
        """The color and MMD's direction that materials read."""
        time = frame + 1
        bpy.context.scene.frame_set(int(time), subframe=time % 1)
        found = bpy.context.scene.evaluated_get(bpy.context.evaluated_depsgraph_get())
        towards = np.array(found["mmd_light_direction"][:])
        return np.array(found["mmd_light_color"][:]), -towards[[0, 2, 1]]


def at(frame):
    """MMD's color and direction at a frame, by hand."""
    place = max(i for i, key in enumerate(FRAMES) if key <= frame)
    values = [np.array(column, float) for column in (COLORS, DIRECTIONS)]
    following = min(place + 1, len(FRAMES) - 1)
    span = FRAMES[following] - FRAMES[place]
    share = (frame - FRAMES[place]) / span if span > 1 else 0.0
    return [value[place] + (value[following] - value[place]) * share for value in values]
