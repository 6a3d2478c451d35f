# SPDX-License-Identifier: GPL-3.0-or-later
"""Clear Motion removes what motion imports wrote, and restores exactly what they replaced."""

import json
import os

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_motion import addon, dance
from cases_motion_import import ImportCase, faster
from files import motion_file


class ClearCase(ImportCase):
    def assert_comes_back(self, *imports):
        before = fingerprint.of_file(), self.settings()
        for options in imports:
            self.assertEqual(self.imported(**options), {"FINISHED"})
        self.assertTrue(fingerprint.differences(before[0], fingerprint.of_file()))
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before[0], fingerprint.of_file()), [])
        self.assertEqual(before[1], self.settings())

    def settings(self):
        settings = self.armature.mmdskin
        names = ("source", "model_path", "motion_path", "motion_start", "motion_real_time")
        return [getattr(settings, name) for name in names]

    def vpd(self):
        keys = dance(self.scene.pmx)
        keys = keys._replace(bones=keys.bones[2:8:2], morphs=[motion_file.MorphKey("あ", 0, 0.5)])
        return self.write("立ち.vpd", motion_file.write_vpd(keys))


class Overridden(ClearCase):
    """A library override of a linked model, whose mesh stays in the other file."""

    def setUp(self):
        super().setUp()
        path = os.path.join(self.folder.name, "model.blend")
        bpy.data.libraries.write(path, {self.armature, self.mesh})
        scene.clear()
        with bpy.data.libraries.load(path, link=True) as (there, wanted):
            wanted.objects = there.objects
        context = bpy.context
        for obj in wanted.objects:
            context.scene.collection.objects.link(obj)
        linked = next(obj for obj in wanted.objects if obj.type == "MESH")
        # The armature comes along, as the mesh hangs from it.
        linked.override_hierarchy_create(context.scene, context.view_layer, do_fully_editable=True)
        own = [obj for obj in bpy.data.objects if obj.override_library]
        self.mesh = next(obj for obj in own if obj.type == "MESH")
        self.armature = next(obj for obj in own if obj.type == "ARMATURE")
        scene.select(self.mesh)

    def test_bones_are_restored_and_shape_keys_are_reported(self):
        for mode in ("SOLVED", "ORIGINAL"):
            bpy.context.scene.frame_set(1)
            before = scene.evaluated_positions(self.mesh)
            with case.reports() as said:
                self.imported(mode=mode)
            self.assertTrue(
                any("are linked from another file and are not animated" in line for line in said),
                said,
            )
            bpy.context.scene.frame_set(9)
            moved = np.abs(scene.evaluated_positions(self.mesh) - before).max()
            self.assertGreater(moved, 0.1)
            self.assertIsNone(self.mesh.data.shape_keys.animation_data)
            bpy.ops.mmdskin.clear_motion()
            bpy.context.scene.frame_set(1)
            self.assertTrue(np.array_equal(scene.evaluated_positions(self.mesh), before))


class Clears(ClearCase):
    def test_a_motion(self):
        self.assert_comes_back({})

    def test_two_motions(self):
        second = self.write("second.vmd", motion_file.write_vmd(faster(self.scene.pmx)))
        self.assert_comes_back({}, {"path": second, "frame_start": 30})

    def test_a_pose(self):
        scene.pose(self.scene)
        self.assert_comes_back({"path": self.vpd()})

    def test_a_motion_source(self):
        self.assert_comes_back({"mode": "FILE", "frame_start": 5})
        self.assertEqual(self.armature.mmdskin.source, "ARMATURE")

    def test_a_motion_source_that_keyframes_took_over_from(self):
        self.assert_comes_back({"mode": "FILE"}, {})

    def test_keyframes_of_the_user(self):
        """Curves with handles, a modifier and a group; other rotation modes; driven keys."""
        arm = self.armature.pose.bones["腕.L"]
        arm.rotation_mode = "XZY"
        for frame, angle in ((1, 0.1), (7, 0.6), (30, -0.3)):
            arm.rotation_euler = (angle, 2 * angle, 0)
            arm.keyframe_insert("rotation_euler", frame=frame)
            arm.keyframe_insert("location", frame=frame)
        curve = self.curves(self.armature)[0]
        curve.keyframe_points[1].handle_left_type = "FREE"
        curve.keyframe_points[1].handle_left = (5, 0.9)
        curve.modifiers.new("NOISE").strength = 0.1
        keys = self.mesh.data.shape_keys
        keys.key_blocks["い"].driver_add("value").driver.expression = "0.25"
        keys.key_blocks["あ"].value = 0.5
        keys.key_blocks["あ"].keyframe_insert("value", frame=4)
        knee = self.armature.pose.bones["ひざ.R"]
        for name, mute in (("on", False), ("off", True)):
            constraint = knee.constraints.new("COPY_ROTATION")
            constraint.name, constraint.mute, constraint.target = name, mute, self.armature
            constraint.subtarget = "腕.L"
        scene.pose(self.scene)
        bpy.context.scene.frame_set(6)
        self.assert_comes_back({}, {"replace": True})

    def test_an_action_that_others_use(self):
        self.armature.keyframe_insert("location", frame=1)
        other = scene.Scene(self.scene.pmx, "other").armature
        other.animation_data_create().action = self.armature.animation_data.action
        scene.select(self.armature)
        self.assert_comes_back({})
        self.assertEqual(self.armature.animation_data.action, other.animation_data.action)

    def test_undo_of_the_clearing(self):
        self.imported()
        bpy.ops.ed.undo_push(message="imported")
        name = self.armature.name
        bpy.ops.mmdskin.clear_motion("EXEC_DEFAULT", True)
        bpy.ops.ed.undo()
        self.armature = bpy.data.objects[name]
        self.assert_plays((1, 7, 16))
        scene.select(self.armature)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertIsNone(self.armature.animation_data)

    def test_a_saved_file(self):
        before = self.armature.pose.bones["腕.L"].rotation_mode
        self.imported()
        path = self.folder.name + "/saved.blend"
        bpy.data.libraries.write(path, {self.armature, self.mesh, self.scene.root})
        scene.clear()
        with bpy.data.libraries.load(path) as (theirs, ours):
            ours.objects = theirs.objects
        for obj in ours.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.armature = next(obj for obj in ours.objects if obj.type == "ARMATURE")
        bpy.context.view_layer.update()
        self.assert_plays((1, 7, 16))
        scene.select(self.armature)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertIsNone(self.armature.animation_data)
        self.assertEqual(self.armature.pose.bones["腕.L"].rotation_mode, before)

    def test_a_record_of_0_3(self):
        """It had a member for each kind of thing that an import changes, in place of data paths."""
        scene.pose(self.scene)
        knee = self.armature.pose.bones["ひざ.R"]
        own = knee.constraints.new("COPY_ROTATION")
        own.target, own.subtarget = self.armature, "腕.L"
        bpy.context.view_layer.update()
        for mode in ("SOLVED", "ORIGINAL"):
            before = fingerprint.of_file()
            self.imported(mode=mode)
            for block in (self.armature, self.mesh.data.shape_keys):
                self.store_as_in_0_3(block)
            self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
            bpy.context.view_layer.update()
            self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def store_as_in_0_3(self, block):
        state = json.loads(block["mmdskin_motion"])
        values, old = state.pop("values"), {"constraints": [], "influences": []}
        channels = addon().blender.actions.BONE_CHANNELS
        for bone in self.armature.pose.bones:
            start = f'pose.bones["{bone.name}"]'
            if f"{start}.location" in values:
                members = [values.pop(f"{start}.{name}") for name in channels]
                old.setdefault("bones", {})[bone.name] = members
            for one in bone.constraints:
                path = f'{start}.constraints["{one.name}"]'
                if f"{path}.mute" in values:
                    self.assertFalse(values.pop(f"{path}.mute"))
                    old["constraints"].append([bone.name, one.name])
                if f"{path}.influence" in values:
                    influence = values.pop(f"{path}.influence")
                    old["influences"].append([bone.name, one.name, influence])
        for key in self.mesh.data.shape_keys.key_blocks:
            start = f'key_blocks["{key.name}"]'
            if f"{start}.value" in values:
                names = "value", "slider_min", "slider_max"
                members = [values.pop(f"{start}.{name}") for name in names]
                old.setdefault("keys", {})[key.name] = members
        self.assertEqual(values, {})
        self.assertGreater(len(old), 2)
        block["mmdskin_motion"] = json.dumps({**state, **old})

    def test_a_record_of_a_newer_version(self):
        self.imported()
        self.armature["mmdskin_motion"] = json.dumps({"version": 99})
        before = fingerprint.of_file()
        for operator in (bpy.ops.mmdskin.clear_motion, self.imported):
            with self.assertRaisesRegex(RuntimeError, "saved by a newer version of MMD Skin"):
                operator()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])


class Keeps(ClearCase):
    def test_keyframes_of_the_user_since(self):
        self.imported()
        self.armature.keyframe_insert("location", frame=3)
        action = self.armature.animation_data.action
        with case.reports() as said:
            bpy.ops.mmdskin.clear_motion()
        self.assertIn(f"Warning: Edited keyframes were kept in action '{action.name}'", said)
        self.assertTrue(action.use_fake_user)

    def assert_kept(self, clear):
        """The user's edits are in an action that `clear` keeps, and reports."""
        action = self.armature.animation_data.action
        point = self.curves(self.armature)[0].keyframe_points[0]
        point.co.y += 0.25
        value = point.co.y
        with case.reports() as said:
            self.assertEqual(clear(), {"FINISHED"})
        self.assertIn(f"Warning: Edited keyframes were kept in action '{action.name}'", said)
        self.assertTrue(action.use_fake_user)
        self.assertNotEqual(self.playing(), action)
        kept = [curve.keyframe_points[0].co.y for curve in self.addon_curves(action)]
        self.assertIn(value, kept)

    def playing(self):
        data = self.armature.animation_data
        return data and data.action

    def addon_curves(self, action):
        return addon().blender.actions.curves_of(action)

    def test_a_key_that_the_user_has_moved(self):
        for mode in ("SOLVED", "ORIGINAL"):
            with self.subTest(mode=mode):
                self.imported(mode=mode)
                self.assert_kept(bpy.ops.mmdskin.clear_motion)

    def test_a_key_that_the_user_has_moved_before_replacing(self):
        self.imported()
        self.assert_kept(lambda: self.imported(replace=True))

    def test_a_key_that_the_user_has_moved_before_the_other_form(self):
        self.imported()
        self.assert_kept(lambda: self.imported(mode="ORIGINAL"))

    def test_a_key_that_the_user_has_moved_before_merging(self):
        self.imported()
        second = self.write("second.vmd", motion_file.write_vmd(faster(self.scene.pmx)))

        def merge_and_clear():
            self.imported(second, frame_start=30)
            return bpy.ops.mmdskin.clear_motion()

        self.assert_kept(merge_and_clear)

    def test_nothing_if_nothing_was_edited(self):
        second = self.write("second.vmd", motion_file.write_vmd(faster(self.scene.pmx)))
        for mode in ("SOLVED", "ORIGINAL"):
            self.imported(mode=mode)
            self.imported(second, frame_start=30, mode=mode)
            bpy.ops.mmdskin.clear_motion()
            self.assertEqual(len(bpy.data.actions), 0)

    def test_keys_whose_file_is_gone(self):
        first = self.write("first.vmd", motion_file.write_vmd(dance(self.scene.pmx)))
        self.imported(first)
        os.remove(first)
        action = self.armature.animation_data.action
        self.imported(mode="ORIGINAL", frame_start=30)
        self.assertNotEqual(self.playing(), action)
        self.assertTrue(action.use_fake_user)
        self.assertTrue(len(self.addon_curves(action)))

    def test_an_action_that_the_user_has_chosen_since(self):
        self.imported()
        chosen = bpy.data.actions.new("chosen")
        self.armature.animation_data.action = chosen
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(self.armature.animation_data.action, chosen)

    def test_an_action_that_strips_play_is_named(self):
        self.imported()
        data = self.armature.animation_data
        name = data.action.name
        data.nla_tracks.new().strips.new("strip", 1, data.action)
        data.action = None
        with case.reports() as said:
            bpy.ops.mmdskin.clear_motion()
        self.assertIn(f"Warning: NLA strips still play the action '{name}': remove them", said)
        self.assertEqual(len(data.nla_tracks[0].strips), 1)

    def test_the_end_of_the_scene_that_another_motion_needs(self):
        other = scene.Scene(self.scene.pmx, "other")
        scene.select(other.armature)
        self.imported(frame_start=40)
        self.assertEqual(bpy.context.scene.frame_end, 55)
        scene.select(self.armature)
        self.imported(frame_start=50)
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(bpy.context.scene.frame_end, 65)

    def test_an_end_that_a_removed_motion_had_extended(self):
        self.imported(frame_start=40)
        end = bpy.context.scene.frame_end
        del self.armature["mmdskin_motion"], self.mesh.data.shape_keys["mmdskin_motion"]
        self.imported()
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(bpy.context.scene.frame_end, end)

    def test_all_models(self):
        other = scene.Scene(self.scene.pmx, "other")
        for armature in (self.armature, other.armature):
            scene.select(armature)
            self.imported()
        bpy.ops.mmdskin.clear_motion(all_models=True)
        for armature in (self.armature, other.armature):
            self.assertIsNone(armature.animation_data)


class Refused(ClearCase):
    def test_no_motion(self):
        with case.reports() as said:
            self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"CANCELLED"})
        self.assertEqual(said, ["Warning: This model has no imported motion to clear"])

    def test_tweak_mode(self):
        self.imported()
        data = self.armature.animation_data
        strip = data.nla_tracks.new().strips.new("strip", 1, data.action)
        data.action = None
        data.use_tweak_mode = True
        if not data.use_tweak_mode:
            self.skipTest("tweak mode needs the strip's editor here")
        strip.select = True
        for operator in (self.imported, bpy.ops.mmdskin.clear_motion):
            with self.assertRaisesRegex(RuntimeError, "is in NLA Tweak Mode: leave it first"):
                operator()
        data.use_tweak_mode = False
