# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion of the light: imported keys as they were, other suns as shown."""

import math
import os
import sys

import bpy
import numpy as np
import scene
from cases_export_motion_keys import bits, differences
from cases_look_light import COLORS, DIRECTIONS, FRAMES
from cases_motion import MotionCase
from files import motion_file

LIGHT = [motion_file.LightKey(*key) for key in zip(FRAMES, COLORS, DIRECTIONS, strict=True)]
SHADOW = [motion_file.ShadowKey(0, 1, 0.01), motion_file.ShadowKey(20, 2, 0.05)]


def records(path):
    with open(path, "rb") as file:
        keys = motion_file.keys(file.read())
    return {
        **{("light", k.frame): bits([*k.color, *k.direction]) for k in keys.light},
        **{("shadow", k.frame): (k.mode, *bits([k.distance])) for k in keys.shadow},
        **{("camera", k.frame): k for k in keys.camera},
    }


class ExportLightCase(MotionCase):
    def setUp(self):
        super().setUp()
        scene, self.light = bpy.context.scene, sys.modules["addon_package"].scene.light
        self.addCleanup(self.remove_lights)
        self.remove_lights()
        scene.render.fps, scene.camera = 30, None
        scene.frame_start, scene.frame_end, scene.use_preview_range = 1, 31, False
        self.path = os.path.join(self.folder.name, "照明.vmd")
        self.out = os.path.join(self.folder.name, "out.vmd")

    def remove_lights(self):
        bpy.data.batch_remove([obj for obj in bpy.data.objects if obj.type == "LIGHT"])
        self.light.remove_unused(bpy.context.scene)

    def imported(self, **keys):
        with open(self.path, "wb") as file:
            file.write(motion_file.write_vmd(motion_file.Keys(**keys)))
        done = bpy.ops.mmdskin.import_motion(filepath=self.path, types={"LIGHT"})
        self.assertEqual(done, {"FINISHED"})
        return self.light.of_scene(bpy.context.scene)

    def exported(self, **options):
        options = {"filepath": self.out, "content": "CAMERA", **options}
        self.assertEqual(bpy.ops.mmdskin.export_motion(**options), {"FINISHED"})
        with open(self.out, "rb") as file:
            found = motion_file.read(file.read())
        self.assertEqual(found.name, "カメラ・照明")
        return found

    def sun(self):
        sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
        bpy.context.scene.collection.objects.link(sun)
        return sun

    def turning_sun(self):
        sun = self.sun()
        bpy.context.scene.frame_end = 91
        keys = (1, 0.2, (1, 1, 1)), (46, 1.1, (1, 0.5, 0.2)), (91, 0.7, (0, 0, 1))
        for frame, angle, color in keys:
            sun.rotation_euler, sun.data.color = (angle, 0.3 * angle, angle - 1), color
            sun.keyframe_insert("rotation_euler", frame=frame)
            sun.data.keyframe_insert("color", frame=frame)
        return sun


class Light(ExportLightCase):
    def test_an_unchanged_import_is_written_key_for_key(self):
        for fps in (30, 24):
            with self.subTest(fps=fps):
                self.remove_lights()
                bpy.context.scene.render.fps = fps
                self.imported(light=LIGHT, shadow=SHADOW)
                self.exported()
                self.assertEqual(differences(records(self.path), records(self.out)), set())

    def test_self_shadow_alone(self):
        self.imported(shadow=SHADOW)
        self.exported()
        self.assertEqual(differences(records(self.path), records(self.out)), set())

    def test_a_range_cuts_lines(self):
        self.imported(light=LIGHT, shadow=SHADOW)
        found = self.exported(range="CUSTOM", frame_start=6, frame_end=26)
        self.assertEqual(found.light.frames.tolist(), [0, 5, 6, 20])
        self.assertEqual(found.shadow.frames.tolist(), [0, 15])
        share = (25 - 11) / (30 - 11)
        for track, values in (("colors", COLORS), ("directions", DIRECTIONS)):
            start, end = np.array(values[2:], float)
            wanted = [(np.array(values[0]) + values[1]) / 2, start + share * (end - start)]
            found_values = getattr(found.light, track)[[0, -1]]
            self.assertLessEqual(np.abs(found_values - wanted).max(), 1e-5)

    def test_a_sun_that_turns_is_within_tolerance(self):
        sun = self.turning_sun()
        found = self.exported().light
        self.assertLess(len(found.frames), 45)
        for number in range(91):
            bpy.context.scene.frame_set(number + 1)
            ahead = -np.array(sun.matrix_world)[:3, 2][[0, 2, 1]]
            direction, color = (
                np.array([np.interp(number, found.frames, one) for one in np.array(column).T])
                for column in (found.directions, found.colors)
            )
            with self.subTest(frame=number):
                self.assertLessEqual(np.abs(direction - ahead).max(), 0.00201)
                self.assertLessEqual(np.abs(color - sun.data.color).max(), 0.00201)

    def test_a_sun_at_rest_has_one_key(self):
        self.sun().rotation_euler = (math.pi / 2, 0, 0)  # along Blender's y
        found = self.exported().light
        self.assertEqual(found.frames.tolist(), [0])
        self.assertLessEqual(np.abs(found.directions[0] - (0, 0, 1)).max(), 1e-6)
        self.assertEqual(found.colors[0].tolist(), [1, 1, 1])

    def test_eased_keyframes_of_the_mmd_light_are_fitted(self):
        sun = self.light.ensure(bpy.context.scene)
        for frame, x in ((1, 0.0), (31, 8.0)):
            sun.location.x = x
            sun.keyframe_insert("location", index=0, frame=frame)
        self.assert_follows(sun)

    def test_keyframes_of_equal_values_with_elastic_easing_are_fitted(self):
        sun = self.light.ensure(bpy.context.scene)
        for frame in (1, 31):
            sun.location.x = 2
            sun.keyframe_insert("location", index=0, frame=frame)
        (curve,) = scene.curves(sun)
        curve.keyframe_points[0].interpolation = "ELASTIC"
        curve.keyframe_points[0].amplitude, curve.keyframe_points[0].period = 4, 10
        self.assert_follows(sun)

    def test_keyframes_of_equal_values_stay_with_other_interpolation(self):
        sun = self.light.ensure(bpy.context.scene)
        for frame in (1, 11, 31):
            sun.location.x = 2
            sun.keyframe_insert("location", index=0, frame=frame)
        (curve,) = scene.curves(sun)
        for kind in ("CONSTANT", "SINE", "BACK", "BOUNCE"):
            with self.subTest(kind=kind):
                for point in curve.keyframe_points:
                    point.interpolation = kind
                self.assertEqual(self.exported().light.frames.tolist(), [0, 10, 30])

    def assert_follows(self, sun):
        found = self.exported().light
        self.assertGreater(len(found.frames), 2)
        for number in range(31):
            bpy.context.scene.frame_set(number + 1)
            x = np.interp(number, found.frames, np.array(found.directions)[:, 0])
            self.assertLessEqual(abs(x - self.light.direction(sun.location).x), 0.00201)

    def test_without_the_option_or_a_light(self):
        self.turning_sun()
        for options in ({"light": False}, {}):
            with self.subTest(**options), self.assertRaises(RuntimeError) as caught:
                self.exported(**options)
            self.assertIn("The scene has no camera", str(caught.exception))
            self.remove_lights()

    def test_the_untouched_mmd_light_is_not_written(self):
        self.light.ensure(bpy.context.scene)
        camera = bpy.data.objects.new("free", bpy.data.cameras.new("free"))
        bpy.context.scene.collection.objects.link(camera)
        bpy.context.scene.camera = camera
        found = self.exported()
        self.assertEqual((len(found.light.frames), len(found.shadow.frames)), (0, 0))
        self.assertEqual(len(found.camera.frames), 1)
