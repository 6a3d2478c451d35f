# SPDX-License-Identifier: GPL-3.0-or-later
"""A baked range plays back the result of skinning the file at each frame."""

import os
import struct
import sys

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_bake import bind_like_mmd_tools, skinned

TARGETS = (("SHAPE_KEYS", {}), ("MESH_CACHE", {}), ("CORRECTIVE", {"corrective": "KEYED"}))


def go_to(frame):
    bpy.context.scene.frame_set(int(frame // 1), subframe=frame % 1)


class Range(case.Case):
    """The small model goes through three poses between frames 1 and 21."""

    def setUp(self):
        super().setUp()
        animate(self.scene)
        bpy.context.scene.frame_set(4)
        self.folder = case.folder(self)

    def expected(self, frames):
        """{frame: positions} by `mmdskin.skin` on the file, at parts of frames, too."""
        here = bpy.context.scene.frame_current
        path = case.write_model(self, self.scene.pmx)
        result = {}
        for frame in frames:
            go_to(frame)
            result[frame] = skinned(path, self.scene.bake_inputs())
        bpy.context.scene.frame_set(here)
        return result

    def bake(self, target, **options):
        options = {"range": "CUSTOM", "frame_start": 1, "frame_end": 21, **options}
        if target == "MESH_CACHE":
            options.setdefault("folder", self.folder)
        self.assertEqual(bpy.ops.mmdskin.bake(target=target, **options), {"FINISHED"})

    def assert_plays(self, expected, bar=case.BAR * scene.SCALE):
        for frame, positions in expected.items():
            go_to(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), positions, bar)

    def assert_all_play(self, expected, targets=TARGETS, **options):
        for target, more in targets:
            with self.subTest(target):
                self.bake(target, **more, **options)
                self.assert_plays(expected)
                bpy.ops.mmdskin.clear_bake()

    def names(self):
        return [key.name for key in self.mesh.data.shape_keys.key_blocks if "MMD" in key.name]


def animate(built, frames=(1, 11, 21), degrees=50.0):
    """Key a different pose at each frame."""
    for number, frame in enumerate(frames):
        scene.pose(built, seed=number + 1, degrees=degrees)
        for name in built.bone_names:
            bone = built.armature.pose.bones[name]
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            bone.keyframe_insert("location", frame=frame)


class Playback(Range):
    def test_every_frame(self):
        self.assert_all_play(self.expected(range(1, 22)))

    def test_every_third_frame(self):
        self.assert_all_play(self.expected(range(1, 22, 3)), step=3)

    def test_a_range_that_starts_below_zero(self):
        expected = self.expected((-3, -1, 1, 3))
        self.assert_all_play(expected, frame_start=-3, frame_end=3, step=2)

    def test_a_single_frame(self):
        self.assert_all_play(self.expected((7,)), frame_start=7, frame_end=7)

    def test_stretched_time(self):
        render = bpy.context.scene.render
        render.frame_map_old, render.frame_map_new = 100, 150
        self.addCleanup(setattr, render, "frame_map_new", 100)
        self.assert_all_play(self.expected(range(1, 22, 4)), step=4)

    def test_the_range_of_the_scene(self):
        current = bpy.context.scene
        before = current.frame_start, current.frame_end
        current.frame_start, current.frame_end = 5, 9
        expected = self.expected(range(5, 10))
        self.bake("SHAPE_KEYS", range="SCENE")
        current.frame_start, current.frame_end = before
        self.assert_plays(expected)
        self.assertIn("MMD 0005", self.mesh.data.shape_keys.key_blocks)
        self.assertNotIn("MMD 0010", self.mesh.data.shape_keys.key_blocks)

    def test_the_preview_range_of_the_scene_where_it_is_on(self):
        current = bpy.context.scene
        self.addCleanup(setattr, current, "use_preview_range", False)
        current.use_preview_range = True
        current.frame_preview_start, current.frame_preview_end = 9, 12
        self.scene.armature.mmdskin.range = "SCENE"
        addon = sys.modules["addon_package"]
        self.assertEqual(addon.bake.frames.count_of(self.scene.armature.mmdskin, current), 4)
        expected = self.expected(range(9, 13))
        for target, more in TARGETS:
            with self.subTest(target):
                self.bake(target, range="SCENE", **more)
                self.assertEqual(addon.bake.bake_state.state_of(self.mesh).frames, [9, 12])
                self.assert_plays(expected)
                bpy.ops.mmdskin.clear_bake()

    def test_first_and_last_frame_are_held_outside_of_the_range(self):
        expected = self.expected((5, 9))
        held = {2: expected[5], 15: expected[9]}
        self.assert_all_play(held, TARGETS[:2], frame_start=5, frame_end=9)

    def test_between_two_baked_frames_is_their_mean(self):
        expected = self.expected((5, 9))
        between = {
            7: (expected[5] + expected[9]) / 2,
            5.5: expected[5] + (expected[9] - expected[5]) / 8,
        }
        self.assert_all_play(between, TARGETS[:2], frame_start=5, frame_end=9, step=4)

    def test_animated_morphs_are_baked_in(self):
        key = self.mesh.data.shape_keys.key_blocks["ふくらみ"]
        for frame, value in ((1, 0.0), (21, 1.0)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
        morph, rest = self.scene.pmx.morphs[0], self.scene.pmx.positions.copy()
        expected = {}
        for frame in (1, 8, 21):
            bpy.context.scene.frame_set(frame)
            self.scene.pmx.positions[:] = rest
            self.scene.pmx.positions[morph.indices] += np.float32(key.value) * morph.values
            expected |= self.expected((frame,))
        self.assert_all_play(expected)

    def test_a_model_under_the_sdef_driver_of_mmd_tools(self):
        bind_like_mmd_tools(self.mesh)
        self.assert_all_play(self.expected((1, 8, 21)))

    def test_baking_another_target_replaces_the_first(self):
        expected = self.expected((1, 8, 21))
        for target, more in (*TARGETS, *TARGETS[::-1]):
            with self.subTest(target):
                self.bake(target, **more)
                self.assert_plays(expected)


class ShapeKeys(Range):
    def test_are_named_after_their_frames(self):
        self.bake("SHAPE_KEYS", step=10)
        self.assertEqual(self.names(), ["MMD 0001", "MMD 0011", "MMD 0021"])

    def test_a_new_range_replaces_the_old(self):
        self.bake("SHAPE_KEYS", step=10)
        self.bake("SHAPE_KEYS", frame_start=5, frame_end=6)
        self.assertEqual(self.names(), ["MMD 0005", "MMD 0006"])

    def test_a_single_pose_replaces_a_range(self):
        self.bake("SHAPE_KEYS", step=10)
        self.bake("SHAPE_KEYS", range="CURRENT")
        self.assertEqual(self.names(), ["MMD 0004"])

    def test_values_are_one_at_their_frame_and_zero_at_the_others(self):
        self.bake("SHAPE_KEYS", step=10)
        keys = self.mesh.data.shape_keys.key_blocks
        for frame in (1, 11, 21):
            bpy.context.scene.frame_set(frame)
            values = {name: keys[name].value for name in self.names()}
            self.assertEqual(values, {name: float(name == f"MMD {frame:04d}") for name in values})


class MeshCache(Range):
    def test_the_file_is_a_pc2_of_all_frames(self):
        expected = self.expected((1, 4, 7))
        self.bake("MESH_CACHE", frame_end=9, step=3)
        (name,) = os.listdir(self.folder)
        with open(os.path.join(self.folder, name), "rb") as file:
            data = file.read()
        header = struct.unpack_from("<12siiffi", data)
        count = len(self.mesh.data.vertices)
        self.assertEqual(header, (b"POINTCACHE2\0", 1, count, 1.0, 3.0, 3))
        frames = np.frombuffer(data, "<f4", offset=32).reshape(3, count, 3)
        for frame, positions in zip(frames, expected.values(), strict=True):
            self.assert_close(frame, positions)

    def test_is_beside_the_blend_with_a_relative_path(self):
        path = os.path.join(self.folder, "踊り.blend")
        name = self.mesh.name
        bpy.ops.wm.save_as_mainfile(filepath=path)
        self.addCleanup(forget_file)
        expected = self.expected((1, 8, 21))
        self.bake("MESH_CACHE", folder="")
        self.assertTrue(os.path.exists(os.path.join(self.folder, f"踊り_{name}.pc2")))
        modifier = next(m for m in self.mesh.modifiers if m.type == "MESH_CACHE")
        self.assertEqual(modifier.filepath, f"//踊り_{name}.pc2")
        self.assert_plays(expected)

    def test_plays_after_saving_and_loading(self):
        expected = self.expected((1, 8, 21))
        self.bake("MESH_CACHE")
        name = self.mesh.name
        path = os.path.join(self.folder, "saved.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.addCleanup(forget_file)
        self.mesh = bpy.data.objects[name]
        self.assert_plays(expected)

    def test_replaces_the_armature_modifier_at_its_position(self):
        self.mesh.modifiers.new("smooth", "SMOOTH")
        self.bake("MESH_CACHE")
        self.assertEqual(
            [m.type for m in self.mesh.modifiers], ["ARMATURE", "MESH_CACHE", "SMOOTH"]
        )
        self.assertFalse(self.mesh.modifiers[0].show_viewport)

    def test_leaves_no_other_file_than_the_one_for_undo(self):
        for _ in range(3):
            self.bake("MESH_CACHE")
        stem = self.stem() or "untitled"
        names = [f"{stem}_{self.mesh.name}.{number}.pc2" for number in (2, 3)]
        self.assertEqual(sorted(os.listdir(self.folder)), names)

    def stem(self):
        return os.path.splitext(os.path.basename(bpy.data.filepath))[0]

    def test_undo_of_a_second_one_plays_the_first(self):
        expected = self.expected((1, 8, 21))
        self.bake("MESH_CACHE")
        bpy.ops.ed.undo_push(message="baked")
        self.bake("MESH_CACHE", frame_start=5, frame_end=9)
        bpy.ops.ed.undo_push(message="baked again")
        bpy.ops.ed.undo()
        self.mesh = bpy.data.objects["model_mesh"]
        self.assert_plays(expected)

    def test_what_a_saved_file_plays_stays(self):
        self.bake("MESH_CACHE")
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "saved.blend"))
        self.addCleanup(forget_file)
        (saved,) = (name for name in os.listdir(self.folder) if name.endswith(".pc2"))
        for _ in range(3):
            self.bake("MESH_CACHE")
        caches = [name for name in os.listdir(self.folder) if name.endswith(".pc2")]
        self.assertIn(saved, caches)
        self.assertEqual(len(caches), 3)

    def test_what_is_there_already_stays(self):
        name = f"{self.stem() or 'untitled'}_{self.mesh.name}"
        with open(os.path.join(self.folder, f"{name}.pc2"), "w") as file:
            file.write("of somebody else")
        os.mkdir(os.path.join(self.folder, f"{name}.2.pc2"))
        expected = self.expected((1, 8, 21))
        self.bake("MESH_CACHE")
        self.assert_plays(expected)
        with open(os.path.join(self.folder, f"{name}.pc2")) as file:
            self.assertEqual(file.read(), "of somebody else")
        self.assertTrue(os.path.exists(os.path.join(self.folder, f"{name}.3.pc2")))

    def test_objects_whose_names_give_the_same_file_have_two(self):
        other = scene.Scene(case.small_model(), "other")
        self.mesh.name, other.mesh.name = "a/b", "a_b"
        self.bake("MESH_CACHE", all_models=True)
        self.assertEqual(len(os.listdir(self.folder)), 2)
        played = [
            next(m.filepath for m in obj.modifiers if m.type == "MESH_CACHE")
            for obj in (self.mesh, other.mesh)
        ]
        self.assertEqual(len(set(played)), 2)

    def test_folder_of_a_script_is_stored_as_an_absolute_path(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        expected = self.expected((1, 8))
        self.bake("MESH_CACHE", folder=".")
        modifier = next(m for m in self.mesh.modifiers if m.type == "MESH_CACHE")
        if bpy.data.filepath:
            self.assertTrue(modifier.filepath.startswith("//"), modifier.filepath)
        else:
            self.assertTrue(os.path.isabs(modifier.filepath), modifier.filepath)
        os.chdir(here)
        self.assert_plays(expected)

    def test_file_of_a_process_that_died_is_removed(self):
        name = f"{self.stem() or 'untitled'}_{self.mesh.name}.pc2"
        left = os.path.join(self.folder, f"{name}.99999999-0.mmdskin-new")
        with open(left, "wb"):
            pass
        os.utime(left, (0, 0))  # on Windows it stays for a minute
        self.bake("MESH_CACHE")
        self.assertEqual(os.listdir(self.folder), [name])

    def test_clear_keeps_the_file(self):
        self.bake("MESH_CACHE")
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_a_name_that_no_file_can_have_is_changed(self):
        self.mesh.name = 'a/b:"c"'
        self.bake("MESH_CACHE")
        (name,) = os.listdir(self.folder)
        self.assertTrue(name.endswith("_a_b__c_.pc2"), name)


class Restored(Range):
    """Clear Bake restores every datablock."""

    def assert_restored(self, targets=TARGETS):
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        for target, more in targets:
            with self.subTest(target):
                self.bake(target, step=5, **more)
                self.assertTrue(fingerprint.differences(before, fingerprint.of_file()))
                bpy.ops.mmdskin.clear_bake()
                self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_model(self):
        self.assert_restored()

    def test_a_mesh_without_keys(self):
        self.mesh.shape_key_clear()
        self.assert_restored(TARGETS[:2])  # without SDEF there is nothing to correct

    def test_keys_with_an_action_of_the_user(self):
        key = self.mesh.data.shape_keys.key_blocks["ふくらみ"]
        for frame, value in ((1, 0.0), (21, 1.0)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
        bpy.context.scene.frame_set(4)
        self.assert_restored()

    def test_keys_with_a_driver_of_the_user(self):
        key = self.mesh.data.shape_keys.key_blocks["ふくらみ"]
        key.driver_add("value").driver.expression = "0.25"
        self.assert_restored()

    def test_keys_whose_action_was_taken_away(self):
        keys = self.mesh.data.shape_keys
        keys.key_blocks["ふくらみ"].keyframe_insert("value", frame=1)
        keys.animation_data.action = None
        self.assert_restored()

    def test_keys_in_the_nonlinear_editor(self):
        keys = self.mesh.data.shape_keys
        keys.key_blocks["ふくらみ"].keyframe_insert("value", frame=1)
        action = keys.animation_data.action
        keys.animation_data.action = None
        keys.animation_data.nla_tracks.new().strips.new("strip", 1, action)
        self.assert_restored()

    def test_an_action_without_curves(self):
        keys = self.mesh.data.shape_keys
        keys.animation_data_create().action = bpy.data.actions.new("empty")
        self.assert_restored()

    def test_the_sdef_driver_of_mmd_tools(self):
        bind_like_mmd_tools(self.mesh)
        self.assert_restored()

    def test_the_active_modifier(self):
        smooth = self.mesh.modifiers.new("smooth", "SMOOTH")
        self.mesh.modifiers.active = smooth
        self.assert_restored()

    def test_curves_that_the_user_added_since_stay(self):
        self.bake("SHAPE_KEYS", step=5)
        keys = self.mesh.data.shape_keys
        keys.key_blocks["ふくらみ"].keyframe_insert("value", frame=3)
        bpy.ops.mmdskin.clear_bake()
        self.assertIsNotNone(keys.animation_data.action)

    def test_values_changed_without_a_keyframe_survive(self):
        bone = self.scene.armature.pose.bones[1]
        bone.rotation_quaternion = (0.5, 0.5, 0.5, 0.5)
        self.scene.armature["user"] = 0.0
        self.scene.armature.keyframe_insert('["user"]', frame=1)
        self.scene.armature["user"] = 3.0
        self.assert_restored()
        self.assertEqual(tuple(bone.rotation_quaternion), (0.5, 0.5, 0.5, 0.5))
        self.assertEqual(self.scene.armature["user"], 3.0)


class Undo(Range):
    def test_one_step_takes_a_range_back(self):
        for target, more in TARGETS:
            with self.subTest(target):
                bpy.ops.ed.undo_push(message="before")
                before = fingerprint.of_file()
                options = {"range": "CUSTOM", "frame_start": 1, "frame_end": 9, **more}
                options["folder"] = self.folder
                bpy.ops.mmdskin.bake("EXEC_DEFAULT", True, target=target, **options)
                self.assertTrue(fingerprint.differences(before, fingerprint.of_file()))
                bpy.ops.ed.undo()
                self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])


def forget_file():
    """Make the file unsaved again without loading another."""
    scene.clear()
