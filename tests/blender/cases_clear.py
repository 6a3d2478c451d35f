# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking again replaces or adds keys, and Clear Bake restores every bit."""

import os
import tempfile

import bpy
import case
import scene
from cases_bake import bind_like_mmd_tools


def bake(frame=None):
    if frame is not None:
        bpy.context.scene.frame_set(frame)
    return bpy.ops.mmdskin.bake()


def key_names(obj):
    return [key.name for key in obj.data.shape_keys.key_blocks]


class Keys(case.Case):
    def test_named_after_the_frame(self):
        bake(120)
        self.assertEqual(key_names(self.mesh)[-1], "MMD 0120")

    def test_the_baked_key_has_value_one(self):
        bake()
        key = self.mesh.data.shape_keys.key_blocks["MMD 0001"]
        self.assertEqual((key.value, key.mute), (1.0, False))

    def test_baking_the_same_frame_again_replaces_the_key(self):
        bake(5)
        names = key_names(self.mesh)
        scene.pose(self.scene, seed=2)
        bake(5)
        self.assertEqual(key_names(self.mesh), names)

    def test_baking_again_takes_the_new_pose(self):
        bake(5)
        scene.pose(self.scene, seed=2)
        bake(5)
        again = scene.evaluated_positions(self.mesh)
        bpy.ops.mmdskin.clear_bake()
        bake(5)
        self.assert_close(scene.evaluated_positions(self.mesh), again, 0)

    def test_only_the_newest_of_two_frames_acts(self):
        bake(5)
        bpy.ops.mmdskin.clear_bake()
        scene.pose(self.scene, seed=2)
        bake(6)
        alone = scene.evaluated_positions(self.mesh)
        bpy.ops.mmdskin.clear_bake()
        scene.pose(self.scene)
        bake(5)
        scene.pose(self.scene, seed=2)
        bake(6)
        self.assertEqual(key_names(self.mesh)[-2:], ["MMD 0005", "MMD 0006"])
        self.assert_close(scene.evaluated_positions(self.mesh), alone, 0)

    def test_a_key_of_the_same_name_made_by_hand_is_kept(self):
        before = scene.evaluated_positions(self.mesh)
        scene.add_key(self.mesh, "MMD 0001", scene.in_blender(self.scene.pmx.positions) + 1)
        bake()
        bpy.ops.mmdskin.clear_bake()
        self.assertIn("MMD 0001", key_names(self.mesh))
        self.assert_close(scene.evaluated_positions(self.mesh), before, 0)

    def test_keys_made_after_the_bake_enter_the_next(self):
        bake()
        first = scene.evaluated_positions(self.mesh)
        rest = scene.in_blender(self.scene.pmx.positions)
        scene.add_key(self.mesh, "later", rest + 0.05).value = 1.0
        bake()
        self.assertGreater(abs(scene.evaluated_positions(self.mesh) - first).max(), 0.04)


class Clear(case.Case):
    def assert_restored(self, frames=(1,)):
        bpy.context.view_layer.update()
        before, shown = case.state(self.mesh), scene.evaluated_positions(self.mesh)
        for frame in frames:
            bake(frame)
        self.assertNotEqual(before, case.state(self.mesh))
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertEqual(before, case.state(self.mesh))
        self.assert_close(scene.evaluated_positions(self.mesh), shown, 0)

    def test_restores_a_model(self):
        self.assert_restored()

    def test_restores_after_several_bakes(self):
        self.assert_restored(frames=(1, 2, 1, 3))

    def test_restores_a_mesh_without_keys(self):
        self.mesh.shape_key_clear()
        self.assert_restored()
        self.assertIsNone(self.mesh.data.shape_keys)

    def test_restores_a_mesh_with_only_a_basis(self):
        self.mesh.shape_key_clear()
        self.mesh.shape_key_add(name="Basis")
        self.assert_restored()

    def test_restores_muted_keys_values_and_the_active_one(self):
        keys = self.mesh.data.shape_keys.key_blocks
        keys["mmd_sdef_r0"].mute = True
        keys["ふくらみ"].value = 0.123
        self.mesh.active_shape_key_index = 2
        self.assert_restored()

    def test_restores_a_pinned_key(self):
        self.mesh.active_shape_key_index = 4
        self.mesh.show_only_shape_key = True
        self.assert_restored()

    def test_restores_a_modifier_that_was_off_in_renders(self):
        self.mesh.modifiers[0].show_render = False
        self.assert_restored()

    def test_restores_a_modifier_that_was_off(self):
        self.mesh.modifiers[0].show_viewport = False
        self.assert_restored()

    def test_restores_the_sdef_driver_of_mmd_tools(self):
        bind_like_mmd_tools(self.mesh)
        self.assert_restored()

    def test_switches_the_modifier_off_in_viewport_and_renders(self):
        bake()
        modifier = self.mesh.modifiers[0]
        self.assertEqual((modifier.show_viewport, modifier.show_render), (False, False))

    def test_without_a_bake_changes_nothing(self):
        before = case.state(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"CANCELLED"})
        self.assertEqual(before, case.state(self.mesh))

    def test_leaves_keys_that_were_made_after_the_bake(self):
        bake()
        scene.add_key(self.mesh, "later", scene.in_blender(self.scene.pmx.positions))
        bpy.ops.mmdskin.clear_bake()
        self.assertIn("later", key_names(self.mesh))

    def test_leaves_keys_made_after_the_bake_of_a_mesh_without_keys(self):
        self.mesh.shape_key_clear()
        bake()
        scene.add_key(self.mesh, "later", scene.in_blender(self.scene.pmx.positions))
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertEqual(key_names(self.mesh), ["Basis", "later"])

    def test_works_when_all_but_the_baked_key_were_removed_by_hand(self):
        bake()
        for name in key_names(self.mesh):
            if not name.startswith("MMD "):
                self.mesh.shape_key_remove(self.mesh.data.shape_keys.key_blocks[name])
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertIsNone(self.mesh.data.shape_keys)

    def test_works_when_a_baked_key_was_removed_by_hand(self):
        bake()
        self.mesh.shape_key_remove(self.mesh.data.shape_keys.key_blocks["MMD 0001"])
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertTrue(self.mesh.modifiers[0].show_viewport)

    def test_works_when_every_key_was_removed_by_hand(self):
        bake()
        self.mesh.shape_key_clear()
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertTrue(self.mesh.modifiers[0].show_viewport)

    def test_works_after_saving_and_loading(self):
        before = case.state(self.mesh)
        bake()
        name = self.mesh.name
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "baked.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path)
            bpy.ops.wm.open_mainfile(filepath=path)
        mesh = bpy.data.objects[name]
        scene.select(mesh)
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(before, case.state(mesh))


class Undo(case.Case):
    """As a script that asks for an undo step; the windowed test presses Ctrl-Z."""

    def test_one_step_takes_the_bake_back(self):
        name = self.mesh.name
        before = case.state(self.mesh)
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.mmdskin.bake("EXEC_DEFAULT", True)
        self.assertNotEqual(before, case.state(self.mesh))
        bpy.ops.ed.undo()
        self.assertEqual(before, case.state(bpy.data.objects[name]))
