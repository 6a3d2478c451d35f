# SPDX-License-Identifier: GPL-3.0-or-later
"""Sliders included in a bake are at 0, as exporters need, and lose nothing."""

import os
import sys
import tempfile
from unittest import mock

import bpy
import case
import fingerprint
import scene

SLIDER = "ふくらみ"


class Sliders(case.Case):
    def setUp(self):
        super().setUp()
        self.slider.value = 0.5

    @property
    def keys(self):
        return self.mesh.data.shape_keys

    @property
    def slider(self):
        return self.keys.key_blocks[SLIDER]

    def key(self, values):
        for frame, value in values.items():
            self.slider.value = value
            self.slider.keyframe_insert("value", frame=frame)
        bpy.context.scene.frame_set(1)

    def drive(self, expression="frame / 10"):
        self.slider.driver_add("value").driver.expression = expression
        bpy.context.scene.frame_set(1)

    def put_in_a_strip(self):
        data = self.keys.animation_data
        strip = data.nla_tracks.new().strips.new("blink", 1, data.action)
        if hasattr(strip, "action_slot"):
            strip.action_slot = data.action_slot
        data.action = None
        bpy.context.scene.frame_set(1)

    def bake(self, first=None, last=None):
        options = {"range": "CUSTOM", "frame_start": first, "frame_end": last} if first else {}
        self.assertEqual(bpy.ops.mmdskin.bake(**options), {"FINISHED"})

    def assert_at_zero(self, frames):
        """The values as Blender evaluates them, muted or not: exporters read these."""
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            for key in self.keys.key_blocks:
                if key.mute:
                    self.assertEqual((frame, key.name, key.value), (frame, key.name, 0.0))

    def assert_cleared(self, before):
        bpy.context.scene.frame_set(1)
        bpy.ops.mmdskin.clear_bake()
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def assert_at_zero_until_cleared(self, first=None, last=None):
        before = fingerprint.of_file()
        self.bake(first, last)
        self.assert_at_zero(range(first or 1, (last or 1) + 1))
        self.assert_cleared(before)


class AtZero(Sliders):
    def test_of_a_frame(self):
        self.assert_at_zero_until_cleared()

    def test_with_keyframes(self):
        self.key({1: 0.2, 4: 0.8})
        self.assert_at_zero_until_cleared(1, 4)

    def test_with_a_driver(self):
        self.drive()
        self.assert_at_zero_until_cleared(1, 4)

    def test_in_a_strip_of_the_nla(self):
        self.key({1: 0.2, 4: 0.8})
        self.put_in_a_strip()
        self.assert_at_zero_until_cleared(1, 4)

    def test_that_the_user_had_muted(self):
        self.slider.mute = True
        self.assert_at_zero_until_cleared()

    def test_whose_range_has_no_zero(self):
        for limits in ((0.2, 0.8), (-0.9, -0.1), (0.3, 10.0)):
            with self.subTest(limits):
                self.slider.slider_min = -10.0
                self.slider.slider_max = limits[1]
                self.slider.slider_min = limits[0]
                self.slider.value = sum(limits) / 2
                before = fingerprint.of_file()
                self.bake()
                self.assert_at_zero([1])
                self.bake()
                self.assert_at_zero([1])
                self.assert_cleared(before)

    def test_with_keyframes_and_a_range_without_zero(self):
        self.key({1: 0.2, 4: 0.8})
        self.slider.slider_min = 0.1
        self.assert_at_zero_until_cleared(1, 4)

    def test_of_an_earlier_frame(self):
        self.bake()
        bpy.context.scene.frame_set(2)
        self.bake()
        values = {key.name: key.value for key in self.keys.key_blocks[1:] if key.value}
        self.assertEqual(values, {"MMD 0002": 1.0})

    def test_muted_ones_beside_corrective_keys(self):
        self.slider.mute = True
        before = fingerprint.of_file()
        bpy.ops.mmdskin.bake(target="CORRECTIVE")
        self.assertEqual(self.slider.value, 0.0)
        self.assert_cleared(before)


class Kept(Sliders):
    def test_another_bake_has_the_same_face(self):
        self.bake()
        first = scene.evaluated_positions(self.mesh)
        self.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), first, 0)

    def test_another_bake_follows_the_same_keyframes(self):
        self.key({1: 0.2, 4: 0.8})
        self.bake(1, 4)
        bpy.context.scene.frame_set(3)
        first = scene.evaluated_positions(self.mesh)
        self.bake(3, 3)
        self.assert_close(scene.evaluated_positions(self.mesh), first, 0)
        self.assert_at_zero(range(1, 5))

    def test_another_bake_follows_the_same_driver(self):
        self.drive()
        self.bake(1, 4)
        bpy.context.scene.frame_set(3)
        first = scene.evaluated_positions(self.mesh)
        self.bake(3, 3)
        self.assert_close(scene.evaluated_positions(self.mesh), first, 0)

    def test_another_bake_that_fails_changes_nothing(self):
        self.key({1: 0.2, 4: 0.8})
        self.bake(1, 4)
        with case.unchanged(self):
            skinner = sys.modules["addon_package"].pose.skinner
            broken = mock.patch.object(skinner.Skinner, "skinned", side_effect=ValueError("broken"))
            with broken, self.assertRaises(RuntimeError):
                self.bake(1, 4)

    def test_a_slider_moved_after_the_bake_stays_there(self):
        self.bake()
        self.slider.value = 0.25
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(self.slider.value, 0.25)

    def share(self):
        """Another mesh that plays the action of this one; its Key."""
        other = scene.Scene(case.small_model(), "second").mesh.data.shape_keys
        data, mine = other.animation_data_create(), self.keys.animation_data
        data.action = mine.action
        if hasattr(data, "action_slot"):
            data.action_slot = mine.action_slot
        scene.select(self.mesh)
        bpy.context.scene.frame_set(1)
        return other

    def test_others_that_play_the_same_action_go_on(self):
        self.key({1: 0.2, 4: 0.8})
        other = self.share()
        before = fingerprint.of_file()
        self.bake(1, 4)
        self.assert_at_zero(range(1, 5))
        self.assertAlmostEqual(other.key_blocks[SLIDER].value, 0.8, places=5)
        self.assert_cleared(before)

    def test_others_that_play_the_action_of_a_strip_go_on(self):
        self.key({1: 0.2, 4: 0.8})
        other = self.share()
        self.put_in_a_strip()
        before = fingerprint.of_file()
        self.bake(1, 4)
        self.assert_at_zero(range(1, 5))
        self.assertAlmostEqual(other.key_blocks[SLIDER].value, 0.8, places=5)
        self.assert_cleared(before)

    def test_keyframes_made_on_the_copy_of_a_shared_action(self):
        self.key({1: 0.2, 4: 0.8})
        other = self.share()
        bpy.ops.mmdskin.bake()
        self.slider.value = 0.6
        self.slider.keyframe_insert("value", frame=9)
        bpy.ops.mmdskin.clear_bake()
        bpy.context.scene.frame_set(9)
        self.assertAlmostEqual(self.slider.value, 0.6, places=5)
        self.assertAlmostEqual(other.key_blocks[SLIDER].value, 0.8, places=5)

    def test_an_action_of_another_file_is_not_written(self):
        self.key({1: 0.2, 4: 0.8})
        data = self.keys.animation_data
        name, slot = data.action.name, getattr(data, "action_slot", None)
        slot = slot and slot.identifier
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "actions.blend")
            bpy.data.libraries.write(path, {data.action})
            bpy.data.actions.remove(data.action)
            with bpy.data.libraries.load(path, link=True) as (_, linked):
                linked.actions = [name]
            self.addCleanup(bpy.data.libraries.remove, bpy.data.libraries[0])
            data.action = linked.actions[0]
            if slot:
                data.action_slot = data.action.slots[slot]
            bpy.context.scene.frame_set(1)
            before = fingerprint.of_file()
            self.bake(1, 4)
            self.assert_at_zero(range(1, 5))
            self.assertIsNone(self.keys.animation_data.action.library)
            self.assert_cleared(before)
            self.assertEqual(self.keys.animation_data.action, linked.actions[0])
