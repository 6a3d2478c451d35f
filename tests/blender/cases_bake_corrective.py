# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrective keys make the Armature modifier give MMD's result in the chosen poses."""

import math
import re
import sys

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_bake import skinned
from mathutils import Quaternion


class Corrective(case.Case):
    """The elbow and the wrist of the small model are bent by hand."""

    def setUp(self):
        super().setUp()
        scene.clear()
        self.scene = scene.Scene(case.small_model())
        self.mesh = self.scene.mesh
        self.path = case.write_model(self, self.scene.pmx)

    def bend(self, **degrees):
        for name, angle in degrees.items():
            bone = self.scene.armature.pose.bones[{"elbow": "ひじ.L", "arm": "腕.L"}[name]]
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Quaternion((0, 0, 1), math.radians(angle))
        bpy.context.view_layer.update()

    def key_poses(self, poses):
        """{frame: bends}, as keyframes."""
        for frame, bends in poses.items():
            self.bend(**bends)
            for bone in self.scene.armature.pose.bones:
                bone.rotation_mode = "QUATERNION"
                bone.keyframe_insert("rotation_quaternion", frame=frame)

    def expected(self):
        return skinned(self.path, self.scene.bake_inputs())

    def bake(self, **options):
        done = bpy.ops.mmdskin.bake(target="CORRECTIVE", **options)
        self.assertEqual(done, {"FINISHED"})

    def bake_frames(self, first, last, step=1, **options):
        self.bake(range="CUSTOM", frame_start=first, frame_end=last, step=step, **options)

    def assert_exact(self):
        expected = self.expected()
        self.assert_close(scene.evaluated_positions(self.mesh), expected)

    def assert_exact_at(self, frames):
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            self.assert_exact()

    def assert_nearly_exact_at(self, frames):
        """Within 1 % of the error of the modifier alone in its worst frame."""
        left = self.farthest_off(frames)
        for key in self.baked_keys():
            key.mute = True
        self.assertLess(left, self.farthest_off(frames) / 100)

    def farthest_off(self, frames):
        """The largest distance of a vertex from MMD's result, in Blender units."""
        longest = []
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            off = scene.evaluated_positions(self.mesh) - self.expected()
            longest.append(np.linalg.norm(off, axis=1).max())
        return max(longest)

    def difference(self):
        return np.abs(scene.evaluated_positions(self.mesh) - self.expected()).max() / scene.SCALE

    def baked_keys(self):
        return [k for k in self.mesh.data.shape_keys.key_blocks if k.name.startswith("MMD ")]

    def driven_keys(self):
        return [key for key in self.baked_keys() if key.name != "MMD Rest"]


class Driven(Corrective):
    def test_are_exact_in_the_pose(self):
        self.bend(elbow=70)
        self.assertGreater(self.difference(), 0.01)
        self.bake()
        self.assert_exact()

    def test_the_armature_modifier_stays_on(self):
        self.bend(elbow=70)
        self.bake()
        modifier = self.mesh.modifiers[0]
        self.assertEqual((modifier.show_viewport, modifier.show_render), (True, True))

    def test_do_nothing_at_rest(self):
        self.bend(elbow=70)
        self.bake()
        self.bend(elbow=0)
        self.assertEqual([key.value for key in self.baked_keys()], [0.0])
        self.assert_exact()

    def test_halve_the_error_between_poses(self):
        self.bend(elbow=80)
        before = self.difference()
        self.bake()
        self.bend(elbow=40)
        self.assertLess(self.difference(), before / 2)

    def test_help_beyond_the_greatest_angle(self):
        self.bend(elbow=80)
        before = self.difference()
        self.bend(elbow=40)
        self.bake()
        self.bend(elbow=80)
        self.assertLess(self.difference(), before / 2)

    def test_do_not_run_away_from_poses_that_nobody_baked(self):
        self.bend(elbow=3)
        self.bake()
        self.bend(elbow=120)
        self.assertEqual([key.value for key in self.baked_keys()], [2.0])

    def test_several_bends_of_a_joint(self):
        self.key_poses({1: {"elbow": 0}, 11: {"elbow": 30}, 21: {"elbow": 90}, 31: {"elbow": 60}})
        self.bake_frames(1, 31, 10)
        self.assert_nearly_exact_at((1, 11, 21, 31))

    def test_two_joints_at_once(self):
        self.key_poses(
            {
                1: {"elbow": 50, "arm": 20},
                11: {"elbow": 20, "arm": 70},
                21: {"elbow": 90, "arm": 0},
                31: {"elbow": 0, "arm": 40},
            }
        )
        self.bake_frames(1, 31, 10)
        self.assert_nearly_exact_at((1, 11, 21, 31))

    def test_do_not_depend_on_the_pose_of_other_joints(self):
        self.bend(elbow=70)
        self.bake()
        self.bend(elbow=70, arm=50)
        self.assert_exact()

    def test_follow_inverse_kinematics(self):
        bones = self.scene.armature.pose.bones
        target = bpy.data.objects.new("target", None)
        bpy.context.scene.collection.objects.link(target)
        target.location = scene.to_blender((4, 12, 3))
        ik = bones["ひじ.L"].constraints.new("IK")
        ik.target, ik.chain_count = target, 2
        bpy.context.view_layer.update()
        self.bake()
        self.assert_exact()

    def test_single_poses_gather(self):
        self.bend(elbow=40)
        self.bake()
        bpy.context.scene.frame_set(2)
        self.bend(elbow=80)
        self.bake()
        self.assertEqual(len(self.driven_keys()), 2)
        for angle in (40, 80):
            self.bend(elbow=angle)
            self.assert_exact()

    def test_baking_a_frame_again_replaces_its_keys(self):
        self.bend(elbow=40)
        self.bake()
        self.bend(elbow=80)
        self.bake()
        self.assertEqual(len(self.baked_keys()), 1)
        self.assert_exact()

    def key_turns(self, turns):
        """{frame: (axis, degrees)} of the elbow."""
        bone = self.scene.armature.pose.bones["ひじ.L"]
        bone.rotation_mode = "QUATERNION"
        for frame, (axis, degrees) in turns.items():
            bone.rotation_quaternion = Quaternion(axis, math.radians(degrees))
            bone.keyframe_insert("rotation_quaternion", frame=frame)

    def test_have_values_that_every_program_knows_and_do_nothing_at_rest(self):
        turns = {1: ((0, 0, 1), 0), 11: ((0, 0, 1), 80), 21: ((0, 1, 0), 60), 31: ((1, 2, 0), -70)}
        self.key_turns(turns)
        self.bake_frames(1, 31, 10)
        for frame in range(1, 32, 5):
            bpy.context.scene.frame_set(frame)
            for key in self.baked_keys():
                self.assertGreater(key.value, -0.01)
                self.assertLess(key.value, 1.01)
        bpy.context.scene.frame_set(1)
        self.assert_exact()

    def test_are_not_driven_by_joints_that_do_not_move(self):
        """The error of a translated bone does not depend on its rotation."""
        bone = self.scene.armature.pose.bones["ひじ.L"]
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion((0, 0, 1), math.radians(0.1))
        bone.scale = (1.5, 0.7, 1.0)
        bpy.context.view_layer.update()
        self.assertGreater(self.difference(), 0.001)
        self.bake()
        self.assertEqual(self.baked_keys(), [])

    def test_have_expressions_that_blender_holds(self):
        functions = sys.modules["addon_package"].bake.joint_fit
        coefficients = np.full(functions.COUNT, -1.0) * np.linspace(1, 0.1234, functions.COUNT)
        for scale in (1e-5, 1, 123456):
            function = functions.Function.near(coefficients * scale, 0.12345)
            self.assertLess(len(function.expression), 256)

    def test_the_same_angle_about_several_axes(self):
        x, y, z = np.eye(3)
        self.key_turns({1: (z, 0), 11: (z, 50), 21: (y, 50), 31: (z, -50), 41: (x + y, 80)})
        self.bake_frames(1, 41, 10)
        self.assert_nearly_exact_at((1, 11, 21, 31, 41))
        curves = self.mesh.data.shape_keys.animation_data.drivers
        self.assertEqual({curve.driver.is_simple_expression for curve in curves}, {True})

    def test_are_as_good_in_frames_that_nobody_looked_at(self):
        """Bakes every fourth frame and compares the ones halfway between."""
        turns = {}
        for number, frame in enumerate(range(1, 62, 12)):
            axis = np.sin([1 + number, 2.5 * number, 4 + 3 * number])
            turns[frame] = (axis, 110 * np.sin(2 * number))
        self.key_turns(turns)
        before = self.farthest_off(range(1, 62))
        self.bake_frames(1, 61, 4)
        looked_at, others = range(1, 62, 2), range(2, 62, 2)
        fitted = self.farthest_off(looked_at)
        self.assertLess(fitted, before / 50)
        self.assertLess(self.farthest_off(others), 2 * fitted)

    def test_the_keys_of_the_user_keep_working(self):
        self.bend(elbow=70)
        self.bake()
        morph = self.scene.pmx.morphs[0]
        self.mesh.data.shape_keys.key_blocks["ふくらみ"].value = 1.0
        before = self.scene.pmx.positions.copy()
        self.scene.pmx.positions[morph.indices] += morph.values
        self.path = case.write_model(self, self.scene.pmx)
        self.scene.pmx.positions[:] = before
        linear = self.scene.pmx.deform != scene.SDEF
        shown = scene.evaluated_positions(self.mesh)
        self.assert_close(shown[linear], self.expected()[linear])

    def test_drivers_need_no_permission_for_scripts(self):
        self.bend(elbow=70)
        self.bake()
        curves = self.mesh.data.shape_keys.animation_data.drivers
        self.assertEqual([curve.driver.is_simple_expression for curve in curves], [True])

    def test_clear_brings_everything_back(self):
        self.bend(elbow=70)
        before = fingerprint.of_file()
        self.bake()
        self.assertTrue(fingerprint.differences(before, fingerprint.of_file()))
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_model_at_rest_needs_none(self):
        with case.unchanged(self):
            with case.reports() as said:
                self.bake()
            self.assertIn("'model_mesh' needs no corrective keys", "".join(said))
            self.assertEqual(self.baked_keys(), [])
            bpy.ops.mmdskin.clear_bake()

    def test_single_poses_gather_behind_one_that_needs_none(self):
        self.bake()
        self.bend(elbow=70)
        self.bake()
        self.assert_exact()

    def test_a_vertex_group_of_the_modifier_is_respected(self):
        self.mesh.modifiers[0].vertex_group = "mmd_vertex_order"
        self.bend(elbow=70)
        self.bake()
        corrective = scene.evaluated_positions(self.mesh)
        bpy.ops.mmdskin.bake(target="SHAPE_KEYS")
        self.assert_close(corrective, scene.evaluated_positions(self.mesh))

    def test_vertices_of_more_than_four_bones(self):
        bpy.ops.object.mode_set(mode="OBJECT")
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        bone = self.scene.armature.data.edit_bones.new("fifth")
        bone.head, bone.tail = (0, 0, 0), (0, 0, 1)
        bpy.ops.object.mode_set(mode="OBJECT")
        scene.select(self.mesh)
        four = [i for i, kind in enumerate(self.scene.pmx.deform) if kind == 2]
        self.mesh.vertex_groups.new(name="fifth").add(four, 0.05, "REPLACE")
        self.bend(elbow=70)
        self.bake()
        corrective = scene.evaluated_positions(self.mesh)
        bpy.ops.mmdskin.bake(target="SHAPE_KEYS")
        self.assert_close(corrective, scene.evaluated_positions(self.mesh))


class Chosen(Corrective):
    """Driven keys that reduce the error enough."""

    POSES = {
        1: {"elbow": 0},
        11: {"elbow": 30},
        21: {"elbow": 90, "arm": 40},
        31: {"elbow": 60, "arm": 10},
    }

    def setUp(self):
        super().setUp()
        self.key_poses(self.POSES)
        self.before = self.farthest_off(range(1, 32, 5))

    def chosen(self, **options):
        """Bake; returns the joints and indices of the keys, and the reports."""
        with case.reports() as said:
            self.bake_frames(1, 31, 10, **options)
        return {tuple(key.name.split()[1:]) for key in self.baked_keys()}, "".join(said)

    def test_the_most_effective_one_comes_first(self):
        keys, _ = self.chosen(max_keys=1)
        self.assertEqual(keys - {("Rest",)}, {("ひじ.L", "1")})

    def test_scripts_choose_their_number_by_its_former_name(self):
        keys, _ = self.chosen(most=1)
        self.assertEqual(keys - {("Rest",)}, {("ひじ.L", "1")})

    def test_each_further_one_takes_more(self):
        left = [self.before]
        for most in (2, 3, 4):
            keys, _ = self.chosen(max_keys=most)
            self.assertLessEqual(len(keys), most)
            left.append(self.farthest_off(range(1, 32, 5)))
            bpy.ops.mmdskin.clear_bake()
        self.assertEqual(left, sorted(left, reverse=True))
        self.assertLess(left[-1], left[0] / 4)

    def test_none_where_errors_are_within_the_tolerance(self):
        before = fingerprint.of_file()
        keys, _ = self.chosen(tolerance=2 * self.before)
        self.assertEqual(keys, set())
        bpy.ops.mmdskin.clear_bake()
        bpy.context.scene.frame_set(31)
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_errors_end_within_the_tolerance(self):
        keys, _ = self.chosen(tolerance=self.before / 2)
        self.assertTrue(keys)
        self.assertLess(self.farthest_off(range(1, 32, 5)), self.before / 2)

    def test_their_effect_is_reported(self):
        for most in (1, 40):
            keys, said = self.chosen(max_keys=most)
            report = re.search(r"'model_mesh' reduced from (\S+) to (\S+) with (\d+) keys?", said)
            before, after, count = map(float, report.groups())
            self.assertEqual(count, len(keys))
            self.assertAlmostEqual(before / self.before, 1, delta=0.05)
            shown = self.farthest_off(range(1, 32, 5))
            self.assertAlmostEqual(after, shown, delta=0.05 * shown + case.BAR * scene.SCALE)
            bpy.ops.mmdskin.clear_bake()

    def test_keyed_ones_are_offered_where_driven_ones_bring_little(self):
        _, said = self.chosen(tolerance=2 * self.before)
        self.assertIn("Driven keys barely improve 'model_mesh'", said)
        self.assertIn("set Corrective to Keyed", said)

    def test_a_range_without_frames_between(self):
        self.bake_frames(1, 31)
        self.assert_nearly_exact_at((11, 21, 31))


class Keyed(Corrective):
    def test_are_exact_at_every_frame_of_a_dance(self):
        self.key_poses({1: {"elbow": 0}, 11: {"elbow": 90, "arm": 30}, 21: {"elbow": -40}})
        self.bake_frames(1, 21, corrective="KEYED")
        self.assert_exact_at(range(1, 22))

    def test_need_no_key_at_rest(self):
        self.key_poses({1: {"elbow": 0}, 11: {"elbow": 90}})
        self.bake_frames(1, 11, 10, corrective="KEYED")
        self.assertEqual([key.name for key in self.baked_keys()], ["MMD 0011"])
        self.assert_exact_at((1, 11))

    def test_a_single_pose(self):
        self.bend(elbow=70)
        self.bake(corrective="KEYED")
        self.assert_exact()


class Refused(Corrective):
    def refused(self, words):
        self.assert_refused(words, target="CORRECTIVE")

    def test_preserve_volume(self):
        self.mesh.modifiers[0].use_deform_preserve_volume = True
        self.refused("has Preserve Volume on: turn it off first")

    def test_bone_envelopes(self):
        self.mesh.modifiers[0].use_bone_envelopes = True
        self.refused("uses Bone Envelopes")

    def test_envelope_of_a_bone(self):
        self.scene.armature.data.bones["ひじ.L"].use_envelope_multiply = True
        self.refused("Bone 'ひじ.L' has Envelope Multiply on")

    def test_bendy_bone(self):
        self.scene.armature.data.bones["ひじ.L"].bbone_segments = 3
        self.refused("Bone 'ひじ.L' is a bendy bone")

    def test_modifier_that_is_off(self):
        self.mesh.modifiers[0].show_render = False
        self.refused("is disabled")

    def test_pinned_key(self):
        self.mesh.show_only_shape_key = True
        self.refused("shows only its active shape key")

    def test_two_armature_modifiers(self):
        self.mesh.modifiers.new("again", "ARMATURE").object = self.scene.armature
        self.refused("has 2 Armature modifiers")


class Folded(Corrective):
    def test_a_fold_that_no_key_can_undo_is_reported(self):
        self.bend(elbow=180)
        self.bake()
        self.assertTrue(np.isfinite(scene.evaluated_positions(self.mesh)).all())
