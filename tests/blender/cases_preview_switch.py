# SPDX-License-Identifier: GPL-3.0-or-later
"""Live on and off: files, registration, restored datablocks, errors."""

import os
import sys
import tempfile

import bpy
import case
import fingerprint
import scene
from cases_bake import bind_like_mmd_tools, skinned
from live import BAR, Live


class Files(Live):
    """Saved live, and opened again."""

    def reopen(self, change=lambda: None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "live.blend")
            bpy.context.scene.frame_set(7)
            bpy.ops.wm.save_as_mainfile(filepath=path)
            change()
            bpy.ops.wm.open_mainfile(filepath=path)
        self.mesh = bpy.data.objects["model_mesh"]
        self.armature = self.scene.armature = bpy.data.objects["model_arm"]

    def test_opened_file_is_live(self):
        self.reopen()
        self.assert_live()
        bpy.context.scene.frame_set(3)
        self.assert_live()

    def test_opened_file_can_be_switched_off(self):
        self.reopen()
        self.armature.mmdskin.preview = False
        self.assertEqual(list(self.mesh.data.attributes.keys()).count("mmdskin"), 0)
        self.assertIsNone(self.mesh.data.animation_data)

    def test_opened_without_scripts_is_live(self):
        allowed = bpy.context.preferences.filepaths.use_scripts_auto_execute
        bpy.context.preferences.filepaths.use_scripts_auto_execute = False
        try:
            self.reopen()
        finally:
            bpy.context.preferences.filepaths.use_scripts_auto_execute = allowed
        self.assert_live()

    def test_opened_without_the_function_shows_the_armature_modifier(self):
        addon = sys.modules["addon_package"]
        self.reopen(addon.preview.switch.unregister)
        try:
            self.assert_plain()
        finally:
            addon.preview.switch.register()
            addon.preview.switch.functions.recompile()
        self.assert_live()

    def test_undo_and_redo(self):
        bpy.ops.ed.undo_push(message="live")
        self.bones["腕.L"].rotation_quaternion = (1, 0.5, 0, 0)
        bpy.ops.ed.undo_push(message="turned")
        for step in (bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.undo):
            step()
            self.mesh = bpy.data.objects["model_mesh"]
            self.armature = self.scene.armature = bpy.data.objects["model_arm"]
            self.assert_live()

    def test_undo_after_a_script_that_switches_it(self):
        """Such a script pushes no step: its nodes are in none, though undo keeps the mesh object."""
        push, undo = bpy.ops.ed.undo_push, bpy.ops.ed.undo
        for act in (push, True, push, push, False, undo, False, push, push, True, undo):
            if isinstance(act, bool):
                self.armature.mmdskin.preview = act
            else:
                act()
            self.mesh = bpy.data.objects["model_mesh"]
            self.armature = self.scene.armature = bpy.data.objects["model_arm"]
            scene.evaluated_positions(self.mesh)  # crashed
        self.armature.mmdskin.preview = True
        self.assert_live()


class Registration(Live):
    def test_disabling_shows_the_armature_modifier_enabling_the_true_shape(self):
        addon = sys.modules["addon_package"]
        for _ in range(2):
            addon.preview.switch.unregister()
            self.assert_plain()
            addon.preview.switch.register()
            addon.preview.switch.functions.recompile()
            self.assert_live()

    def test_whole_add_on_twice(self):
        addon = sys.modules["addon_package"]
        for _ in range(2):
            addon.unregister()
            bpy.context.view_layer.update()
            addon.register()
            addon.preview.switch.functions.recompile()
            bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
            self.assert_live()
            self.assertTrue(self.armature.mmdskin.preview)


class Off(case.Case):
    """When turned off, every datablock is restored."""

    def assert_same(self, change=lambda: None):
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        self.scene.armature.mmdskin.preview = True
        self.assertTrue(self.scene.armature.mmdskin.preview)
        self.assertNotEqual(before, fingerprint.of_file())
        change()
        self.scene.armature.mmdskin.preview = False
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_plain(self):
        self.assert_same()

    def test_after_frames(self):
        self.assert_same(lambda: [bpy.context.scene.frame_set(n) for n in (1, 5, 1)])

    def test_switched_on_twice(self):
        self.assert_same(lambda: setattr(self.scene.armature.mmdskin, "preview", True))

    def test_with_modifiers_behind(self):
        self.mesh.modifiers.new("smooth", "SUBSURF")
        self.mesh.modifiers.new("thick", "SOLIDIFY")
        self.assert_same()

    def test_with_the_users_own_driver_on_the_mesh(self):
        self.mesh.data["number"] = 1.0
        self.mesh.data.driver_add('["number"]').driver.expression = "2"
        self.assert_same()

    def test_with_the_sdef_driver_of_mmd_tools(self):
        bind_like_mmd_tools(self.mesh)
        self.assert_same()

    def test_without_keys(self):
        self.mesh.shape_key_clear()
        self.assert_same()

    def test_group_is_kept_for_another_model(self):
        other = scene.Scene(case.small_model(), "second")
        other.armature.mmdskin.preview = True
        self.assert_same()
        other.armature.mmdskin.preview = False
        self.assertEqual(list(bpy.data.node_groups), [])

    def test_mute_of_the_sdef_driver_while_on(self):
        bind_like_mmd_tools(self.mesh)
        self.scene.armature.mmdskin.preview = True
        expected = skinned(case.write_model(self, self.scene.pmx), self.scene.bake_inputs())
        self.assert_close(scene.evaluated_positions(self.mesh), expected, BAR)
        self.assertEqual(self.mesh.modifiers["mmd_armature"].vertex_group, "")

    def test_while_its_collection_is_excluded(self):
        collection = bpy.data.collections.new("other")
        bpy.context.scene.collection.children.link(collection)
        collection.objects.link(self.mesh)
        bpy.context.scene.collection.objects.unlink(self.mesh)
        layer = bpy.context.view_layer.layer_collection.children["other"]

        def switch_off():
            layer.exclude = True
            self.scene.armature.mmdskin.preview = False
            layer.exclude = False

        self.assert_same(switch_off)

    def test_while_another_object_shares_the_mesh(self):
        def share():
            twin = self.mesh.copy()
            bpy.context.scene.collection.objects.link(twin)
            self.scene.armature.mmdskin.preview = False
            self.assertEqual(twin.modifiers.keys(), self.mesh.modifiers.keys())
            bpy.data.objects.remove(twin)

        self.assert_same(share)

    def test_stays_on_in_edit_mode(self):
        settings = self.scene.armature.mmdskin
        for mode in ("EDIT", "OBJECT"):  # changes attributes by itself
            bpy.ops.object.mode_set(mode=mode)

        def try_in_edit_mode():
            scene.select(self.mesh)
            bpy.ops.object.mode_set(mode="EDIT")
            settings.preview = False
            self.assertTrue(settings.preview)
            self.assertTrue(sys.modules["addon_package"].preview.switch.is_live(self.mesh))
            bpy.ops.object.mode_set(mode="OBJECT")

        self.assert_same(try_in_edit_mode)


class Refused(case.Case):
    def assert_refused(self, words):
        before = fingerprint.of_file()
        self.scene.armature.mmdskin.preview = True
        self.assertFalse(self.scene.armature.mmdskin.preview)
        preview = sys.modules["addon_package"].preview
        self.assertIn(words, str(preview.driver_function.live_of(self.scene.armature).error))
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_modifier_before_the_armature(self):
        self.mesh.modifiers.new("wave", "WAVE")
        with bpy.context.temp_override(object=self.mesh):
            bpy.ops.object.modifier_move_to_index(modifier="wave", index=0)
        self.assert_refused("Modifier 'wave'")

    def test_mesh_of_two_objects(self):
        bpy.context.scene.collection.objects.link(self.mesh.copy())
        self.assert_refused("used by 2 objects")

    def test_absolute_keys(self):
        self.mesh.data.shape_keys.use_relative = False
        self.assert_refused("absolute shape keys")

    def test_no_bone_of_the_groups_names(self):
        for group in self.mesh.vertex_groups:
            group.name = f"x{group.name}"
        self.assert_refused("has no vertex group")

    def test_baked_model(self):
        bpy.ops.mmdskin.bake()
        self.assert_refused("clear the bake first")

    def test_attribute_of_the_user(self):
        self.mesh.data.attributes.new("mmdskin", "FLOAT", "FACE")
        self.assert_refused("has an attribute named 'mmdskin'")

    def test_no_vertices(self):
        self.mesh.shape_key_clear()
        self.mesh.data.clear_geometry()
        bpy.context.view_layer.update()
        self.assert_refused("has no vertices")

    def test_edit_mode(self):
        scene.select(self.mesh)
        bpy.ops.object.mode_set(mode="EDIT")
        self.assert_refused("in Edit or Sculpt Mode")
