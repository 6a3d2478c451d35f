# SPDX-License-Identifier: GPL-3.0-or-later
"""The light and self-shadow of a VMD as keyframes of the scene's MMD light."""

import sys

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_motion import MotionCase, dance
from cases_transaction import Transaction
from files import motion_file

FRAMES = (0, 10, 11, 30)
COLORS = ((0.6, 0.5, 0.4), (1, 0, 0), (0, 0, 1), (0.2, 0.4, 0.6))
DIRECTIONS = ((-0.5, -1, 0.5), (0.3, -0.9, 0), (0, -1, 0.2), (1, -0.5, -1))


class LightCase(MotionCase):
    """A motion with keys of the light and the self-shadow."""

    def setUp(self):
        super().setUp()
        bpy.data.batch_remove([*bpy.data.lights, *bpy.data.actions])
        bpy.context.scene.render.fps = 30
        self.addCleanup(self.remove_light)
        keys = [motion_file.LightKey(*key) for key in zip(FRAMES, COLORS, DIRECTIONS, strict=True)]
        shadows = [motion_file.ShadowKey(0, 1, 0.01), motion_file.ShadowKey(20, 2, 0.05)]
        self.keys = motion_file.Keys(light=keys, shadow=shadows)
        self.path = self.write("light.vmd", motion_file.write_vmd(self.keys))

    def import_light(self, path=""):
        result = bpy.ops.mmdskin.import_motion(
            filepath=path or self.path, model_path=self.model_path
        )
        self.assertEqual(result, {"FINISHED"})
        return result

    @property
    def sun(self):
        return light().of_scene(bpy.context.scene)

    def keyed_sun(self):
        """A light with keyframes of the user."""
        sun = light().ensure(bpy.context.scene)
        for frame, x in ((2, 0.5), (40, 1.5)):
            sun.location.x, sun.data.color[1] = x, x / 2
            sun.keyframe_insert("location", frame=frame)
            sun.data.keyframe_insert("color", frame=frame)
        sun["mmd_shadow_mode"] = 1
        bpy.context.scene.frame_set(1)
        return sun

    def remove_light(self):
        bpy.data.batch_remove([obj for obj in bpy.data.objects if obj.name.startswith("MMD Light")])
        light().remove_unused(bpy.context.scene)


class Light(LightCase):
    def setUp(self):
        super().setUp()
        self.import_light()

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


class Cleared(LightCase):
    def test_a_light_that_the_import_made_is_removed(self):
        before = fingerprint.of_file()
        self.import_light()
        scene.select(self.sun)
        self.clear()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_keys_of_the_user_come_back(self):
        sun = self.keyed_sun()
        before = fingerprint.of_file()
        for _ in range(2):
            self.import_light()
        self.assertNotEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        scene.select(sun)
        self.clear()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_materials_still_follow_a_light_that_the_user_has_moved(self):
        sun = light().ensure(bpy.context.scene)
        sun.location.x = 3.0
        self.import_light()
        scene.select(sun)
        self.clear()
        self.assertEqual(sun.location.x, 3.0)
        sun.location.x = 4.0
        bpy.context.view_layer.update()
        self.assertEqual(bpy.context.scene[light().DIRECTION][0], 2.0)

    def test_it_goes_with_the_motion_of_the_same_file(self):
        keys = dance(self.scene.pmx)._replace(light=self.keys.light)
        both = self.write("both.vmd", motion_file.write_vmd(keys))
        scene.select(self.armature)
        bpy.context.scene.frame_end = 250
        self.import_light(both)
        self.import_light()
        scene.select(self.armature)
        self.clear()
        self.assertIsNone(self.sun)
        self.assertEqual(bpy.context.scene.frame_end, 250)

    def test_that_of_another_file_stays(self):
        scene.select(self.armature)
        self.import_light(self.motion_path)
        self.import_light()
        scene.select(self.armature)
        self.clear()
        self.assertIsNotNone(self.sun.animation_data.action)

    def test_edited_keys_are_kept(self):
        self.import_light()
        action = self.sun.data.animation_data.action
        self.sun.data.color = (0, 1, 0)
        self.sun.data.keyframe_insert("color", frame=5)
        scene.select(self.sun)
        self.clear()
        self.assertIn(action, list(bpy.data.actions))
        self.assertEqual(len(bpy.data.actions), 1)

    def clear(self):
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        bpy.context.scene.frame_set(1)


class AllOrNothing(LightCase, Transaction):
    def setUp(self):
        super().setUp()
        self.kept = case.folder(self)
        bpy.context.scene.frame_end = 10

    def test_a_light_with_keys_of_the_user(self):
        self.keyed_sun()
        self.assert_all_or_nothing(self.import_light)

    def test_a_cleared_light(self):
        self.keyed_sun()
        self.import_light()
        scene.select(self.sun)
        self.assert_all_or_nothing(bpy.ops.mmdskin.clear_motion)


def light():
    return sys.modules["addon_package"].scene.light


def at(frame):
    """MMD's color and direction at a frame, by hand."""
    place = max(i for i, key in enumerate(FRAMES) if key <= frame)
    values = [np.array(column, float) for column in (COLORS, DIRECTIONS)]
    following = min(place + 1, len(FRAMES) - 1)
    span = FRAMES[following] - FRAMES[place]
    share = (frame - FRAMES[place]) / span if span > 1 else 0.0
    return [value[place] + (value[following] - value[place]) * share for value in values]
