# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake shows exactly the result of MMD's formulas for the pose, in any scene."""

import sys
import unittest

import bpy
import case
import numpy as np
import scene
from files import pmx_file
from sample import model as sample

QDEF = 4


def skinned(model, matrices):
    """The result of `mmdskin.skin` for a PMX file, in Blender's axes and scale."""
    addon = sys.modules["addon_package"]
    mmdskin = addon.blender.native.load()
    return scene.in_blender(
        mmdskin.skin(mmdskin.load_model(str(model)), matrices, normals=False).positions
    )


class Positions(case.Case):
    def expected(self):
        return skinned(case.write_model(self, self.scene.pmx), self.scene.bake_inputs())

    def baked(self):
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        return scene.evaluated_positions(self.mesh)

    def test_equal_skinning_of_the_file(self):
        expected = self.expected()
        self.assert_close(self.baked(), expected)

    def test_differ_from_the_armature_modifier(self):
        before = scene.evaluated_positions(self.mesh)
        self.assertGreater(np.abs(self.baked() - before).max(), 1e-3)

    def test_do_not_depend_on_the_place_of_the_model(self):
        expected = self.expected()
        scene.transform(self.scene.root, (3, -2, 5), (0.3, 1.0, -2.0), (2, 2, 2))
        self.assert_close(self.baked(), expected)

    def test_do_not_depend_on_a_moved_and_scaled_parent_of_the_root(self):
        expected = self.expected()
        parent = bpy.data.objects.new("stage", None)
        bpy.context.scene.collection.objects.link(parent)
        scene.transform(parent, (1, 2, 3), (1, 0, 0), (0.5, 0.5, 0.5))
        self.scene.root.parent = parent
        self.assert_close(self.baked(), expected)

    def test_follow_a_mesh_moved_against_the_armature(self):
        world = self.expected() + np.float32([0, 0, 0])
        scene.transform(self.mesh, (0.2, -0.1, 0.3), (0.5, 0, 0))
        before = self.baked()
        shown = (
            before @ np.array(self.mesh.matrix_world)[:3, :3].T
            + np.array(self.mesh.matrix_world)[:3, 3]
        )
        rest = scene.in_blender(self.scene.pmx.positions)
        moved = (
            rest @ np.array(self.mesh.matrix_world)[:3, :3].T
            + np.array(self.mesh.matrix_world)[:3, 3]
        )
        self.assertGreater(np.abs(shown - world).max(), 0.01)
        linear = self.linear(moved, rest)
        self.assert_close(shown[linear], self.armature_in_world(moved)[linear], 1e-5)

    def linear(self, moved, rest):
        return self.scene.pmx.deform != scene.SDEF

    def armature_in_world(self, moved):
        """The linear blend of points in world space, with the armature's matrices."""
        matrices = scene.TO_BLENDER @ self.scene.bake_inputs() @ np.linalg.inv(scene.TO_BLENDER)
        indices = np.maximum(self.scene.pmx.bone_indices, 0)
        weights = self.scene.pmx.bone_weights / self.scene.pmx.bone_weights.sum(1, keepdims=True)
        blend = np.einsum("vk,vkij->vij", weights, matrices[indices])
        points = np.concatenate([moved, np.ones((len(moved), 1))], 1)
        return np.einsum("vij,vj->vi", blend, points)[:, :3]

    def test_start_from_the_mixed_shape_keys(self):
        key = self.mesh.data.shape_keys.key_blocks["ふくらみ"]
        key.value = 0.7
        morph = self.scene.pmx.morphs[0]
        self.scene.pmx.positions[morph.indices] += np.float32(0.7) * morph.values
        expected = self.expected()
        self.assert_close(self.baked(), expected)

    def test_survive_changes_of_key_values(self):
        expected = self.baked()
        self.mesh.data.shape_keys.key_blocks["ふくらみ"].value = 1.0
        self.assert_close(scene.evaluated_positions(self.mesh), expected, 0)

    def test_ignore_sdef_keys_of_value_one(self):
        expected = self.expected()
        for name in ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1"):
            self.mesh.data.shape_keys.key_blocks[name].value = 1.0
        self.assert_close(self.baked(), expected)

    def test_ignore_the_sdef_driver_of_mmd_tools(self):
        expected = self.expected()
        bind_like_mmd_tools(self.mesh)
        self.assert_close(self.baked(), expected)

    def test_use_the_renamed_bone(self):
        expected = self.expected()
        self.scene.armature.data.bones["ひじ.L"].name = "elbow"
        self.scene.bone_names[2] = "elbow"
        self.assert_close(self.baked(), expected)

    def test_reach_modifiers_after_the_armature(self):
        subdivision = self.mesh.modifiers.new("smooth", "SUBSURF")
        baked = self.baked()
        self.assertGreater(len(baked), len(self.mesh.data.vertices))
        subdivision.show_viewport = False
        self.assert_close(scene.evaluated_positions(self.mesh), self.expected())

    def test_leave_out_bones_that_do_not_deform(self):
        self.scene.armature.data.bones["ひじ.L"].use_deform = False
        pmx = self.scene.pmx
        removed = pmx.bone_indices == 2
        pmx.bone_weights[removed], pmx.bone_indices[removed] = 0, -1
        pmx.deform[:] = 2
        expected = self.expected()
        self.assert_close(self.baked(), expected)

    def test_respect_the_vertex_group_of_the_modifier(self):
        self.mesh.shape_key_clear()  # all linear now
        self.mesh.modifiers[0].vertex_group = "mmd_vertex_order"
        for invert in (False, True):
            self.mesh.modifiers[0].invert_vertex_group = invert
            expected = scene.evaluated_positions(self.mesh)
            self.assert_close(self.baked(), expected, 1e-6)
            bpy.ops.mmdskin.clear_bake()

    def test_keep_vertices_without_a_bone(self):
        for group in self.mesh.vertex_groups:
            group.remove([5])
        self.assert_close(self.baked()[5], scene.in_blender(self.scene.pmx.positions)[5], 1e-7)


class RealModel(case.Case):
    def test_sdef_model_equals_skinning_of_the_file(self):
        path = case.shared_model("初音ミク_sdefr.pmx")
        scene.clear()
        built = scene.Scene(pmx_file.read(path))
        scene.pose(built, degrees=40)
        expected = skinned(path, built.bake_inputs())
        bpy.ops.mmdskin.bake()
        difference = np.abs(scene.evaluated_positions(built.mesh) - expected).max() / scene.SCALE
        print(f"\nlargest difference from skin(): {difference:.2e} model units")
        self.assertLessEqual(difference, case.BAR)

    def test_sample_model_equals_skinning_of_the_file(self):
        scene.clear()
        pmx = sample.sample()
        built = scene.Scene(pmx)
        scene.pose(built, degrees=60)
        expected = skinned(case.write_model(self, pmx), built.bake_inputs())
        bpy.ops.mmdskin.bake()
        held = pmx.deform != QDEF  # mmd_tools loses QDEF
        self.assert_close(scene.evaluated_positions(built.mesh)[held], expected[held])


class ShapeKeyMix(case.Case):
    """The baked mix of keys is the one that Blender shows without the Armature modifier."""

    def setUp(self):
        super().setUp()
        rest = scene.in_blender(self.scene.pmx.positions)
        numbers = np.random.default_rng(3)
        for name, value in (("a", 0.5), ("b", -0.25), ("c", 1.0)):
            key = scene.add_key(self.mesh, name, rest + numbers.normal(0, 0.02, rest.shape))
            key.slider_min, key.value = -1, value
        self.keys = self.mesh.data.shape_keys.key_blocks

    def assert_mix(self):
        # In the rest pose every vertex stays where the keys put it.
        self.scene.armature.data.pose_position = "REST"
        modifier = self.mesh.modifiers[0]
        modifier.show_viewport = False
        shown = scene.evaluated_positions(self.mesh)
        modifier.show_viewport = True
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), shown, 5e-7)

    def test_values(self):
        self.assert_mix()

    def test_muted_key(self):
        self.keys["a"].mute = True
        self.assert_mix()

    def test_key_relative_to_another(self):
        self.keys["b"].relative_key = self.keys["a"]
        self.assert_mix()

    def test_key_with_vertex_group(self):
        self.keys["c"].vertex_group = "mmd_vertex_order"
        self.assert_mix()

    def test_pinned_key(self):
        self.mesh.active_shape_key_index = self.keys.find("b")
        self.mesh.show_only_shape_key = True
        self.assert_mix()

    def test_pinned_key_with_vertex_group(self):
        self.keys["c"].vertex_group = "mmd_vertex_order"
        self.mesh.active_shape_key_index = self.keys.find("c")
        self.mesh.show_only_shape_key = True
        self.assert_mix()

    def test_driven_key(self):
        driver = self.keys["a"].driver_add("value").driver
        variable = driver.variables.new()
        variable.name = "slider"
        variable.targets[0].id_type, variable.targets[0].id = "OBJECT", self.scene.root
        variable.targets[0].data_path = "location.x"
        driver.expression = "slider"
        self.scene.root.location.x = 0.8
        self.assert_mix()

    def test_animated_key(self):
        self.keys["a"].keyframe_insert("value", frame=1)
        self.keys["a"].value = 1.0
        self.keys["a"].keyframe_insert("value", frame=11)
        bpy.context.scene.frame_set(7)
        self.assert_mix()

    def test_mesh_without_keys(self):
        self.mesh.shape_key_clear()
        self.assert_mix()


def bind_like_mmd_tools(obj):
    """The SDEF driver as in a scene: a key, and a mask group that the modifier inverts."""
    keys = obj.data.shape_keys.key_blocks
    rest = np.empty(3 * len(obj.data.vertices), np.float32)
    keys["mmd_sdef_c"].data.foreach_get("co", rest)
    group = obj.vertex_groups.new(name="mmd_sdef_mask")
    group.add(
        [i for i, c in enumerate(keys["mmd_sdef_c"].data) if c.co != keys["Basis"].data[i].co],
        1,
        "REPLACE",
    )
    key = scene.add_key(obj, "mmd_sdef_skinning", rest.reshape(-1, 3) + np.float32(0.1))
    key.vertex_group = "mmd_sdef_mask"
    key.driver_add("value").driver.expression = "1.0"
    modifier = obj.modifiers["mmd_armature"]
    modifier.vertex_group, modifier.invert_vertex_group = "mmd_sdef_mask", True
    bpy.context.view_layer.update()


if __name__ == "__main__":
    unittest.main()
