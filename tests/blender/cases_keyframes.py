# SPDX-License-Identifier: GPL-3.0-or-later
"""Many keyframes written and read at once: as if Blender's own functions did it one by one."""

import sys
import unittest.mock

import bpy
import case
import numpy as np
import scene

MEMBERS = ("co", "handle_left", "handle_right")


class ManyKeyframes(case.Case):
    def setUp(self):
        scene.clear()
        self.blender = sys.modules["addon_package"].blender
        numbers = np.random.default_rng(3)
        self.frames = np.cumsum(numbers.uniform(1, 3, 300)).astype(np.float32)
        self.values = numbers.uniform(-5, 5, 300).astype(np.float32)
        self.object = bpy.data.objects.new("keyed", None)
        bpy.context.scene.collection.objects.link(self.object)
        self.holder, _ = self.blender.actions.channels(self.object)
        self.curve = self.new_curve(0)

    def new_curve(self, index):
        return self.holder.fcurves.new("location", index=index)

    def write(self, curve, handles=None):
        self.blender.fcurves.write(curve, self.frames, self.values, handles)

    def read(self, curve):
        """{member: (K, 2)}, one by one."""
        points = curve.keyframe_points
        return {name: np.array([getattr(one, name) for one in points]) for name in MEMBERS}

    def assert_same(self, one, other):
        for name in MEMBERS:
            np.testing.assert_array_equal(one[name], other[name], name)

    def test_straight_keyframes_are_those_that_blender_makes(self):
        self.write(self.curve)
        other = self.new_curve(1)
        other.keyframe_points.add(len(self.frames))
        kinds = {point.handle_left_type for point in self.curve.keyframe_points}
        for point, frame, value in zip(
            other.keyframe_points, self.frames, self.values, strict=True
        ):
            point.interpolation, point.co = "LINEAR", (frame, value)
            point.handle_left_type = point.handle_right_type = next(iter(kinds))
        other.update()
        self.assertEqual(len(kinds), 1)
        self.assert_same(self.read(self.curve), self.read(other))

    def test_no_curve_gets_none_as_its_group(self):
        """Blender prints an error to the console for it."""
        curve = unittest.mock.Mock(spec_set=["data_path"])  # refuses other attributes
        holder = unittest.mock.MagicMock()
        holder.fcurves.new.return_value = curve
        self.assertEqual(self.blender.actions.Curves(holder).ensure("value"), [curve])

    def test_straight_keyframes_are_joined_by_lines(self):
        self.write(self.curve)
        for at in np.linspace(self.frames[0], self.frames[-1], 777):
            expected = np.interp(at, self.frames, self.values)
            # Blender's frames are float32: 3e-5 apart here, on slopes of up to 10.
            self.assertAlmostEqual(self.curve.evaluate(at), expected, delta=1e-3)

    def test_free_handles_are_stored_as_given(self):
        left, right = (np.stack([self.frames + by, self.values * by], 1) for by in (-0.1, 0.1))
        self.write(self.curve, self.blender.fcurves.Handles(left, right))
        found = self.read(self.curve)
        np.testing.assert_array_equal(found["handle_left"], left.astype(np.float32))
        np.testing.assert_array_equal(found["handle_right"], right.astype(np.float32))
        np.testing.assert_array_equal(found["co"], np.stack([self.frames, self.values], 1))

    def test_members_are_read_as_blender_gives_them(self):
        self.write(self.curve)
        self.curve.keyframe_points[150].handle_left = 5, 6
        points, expected = self.blender.fcurves.points(self.curve), self.read(self.curve)
        for name, found in zip(MEMBERS, (points.co, points.left, points.right), strict=True):
            np.testing.assert_array_equal(found, expected[name], name)

    def test_another_layout_of_blenders_memory_changes_nothing(self):
        self.write(self.curve)
        with unittest.mock.patch.object(
            self.blender.arrays, "floats", lambda *_: np.zeros((300, 3, 2))
        ):
            other = self.new_curve(1)
            self.write(other)
            points = self.blender.fcurves.points(self.curve)
        self.assert_same(self.read(self.curve), self.read(other))
        np.testing.assert_array_equal(points.co, self.read(self.curve)["co"])

    def test_one_moved_keyframe_changes_the_digest(self):
        self.write(self.curve)
        before = self.blender.fcurves.digest([self.curve], with_handles=False)
        self.curve.keyframe_points[150].co.y += 0.001
        after = self.blender.fcurves.digest([self.curve], with_handles=False)
        self.assertNotEqual(before, after)

    def test_samples_before_the_first_written_frame_stay_as_keyframes(self):
        self.write(self.curve)
        self.curve.convert_to_samples(1, 401)
        self.assertEqual(len(self.curve.sampled_points), 400)
        for frames, kept in ((np.arange(400, 410), 399), (np.arange(200, 203), 199)):
            self.blender.fcurves.write(self.curve, frames, np.full(len(frames), 7.0))
            places = self.read(self.curve)["co"]
            expected = np.interp(np.arange(1, kept + 1), self.frames, self.values)
            np.testing.assert_array_equal(places[:kept, 0], np.arange(1, kept + 1))
            np.testing.assert_allclose(places[:kept, 1], expected, atol=1e-3)
            np.testing.assert_array_equal(places[kept:, 0], frames)
            np.testing.assert_array_equal(places[kept:, 1], 7)

    def test_the_scene_shows_keyframes_that_replace_others(self):
        self.write(self.curve)
        scene_now = bpy.context.scene
        frame = round(float(self.frames[150]))
        scene_now.frame_set(frame)
        for shift in (7, 20):
            self.values += np.float32(shift)
            self.write(self.curve)
            bpy.context.view_layer.update()
            depsgraph = bpy.context.evaluated_depsgraph_get()
            shown = self.object.evaluated_get(depsgraph).location.x
            expected = np.interp(frame, self.frames, self.values)
            self.assertAlmostEqual(shown, float(expected), delta=1e-4)
