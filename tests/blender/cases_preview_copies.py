# SPDX-License-Identifier: GPL-3.0-or-later
"""Live meshes that are duplicated, shared, or replaced by what their modifiers give."""

import sys

import bpy
import case
import numpy as np
import scene
from cases_panel import redraw
from live import BAR, Live


def addon():
    return sys.modules["addon_package"]


def problem(obj):
    model = addon().scene.scene_model.model_of(obj, bpy.context.view_layer)
    return addon().preview.switch.problem_of(model)


class Copies(Live):
    """A second armature, posed otherwise, with a second mesh object."""

    def duplicate(self, *objects, linked=False):
        scene.select(objects[0])
        for obj in objects:
            obj.select_set(True)
        bpy.ops.object.duplicate(linked=linked)
        copies = {obj.type: obj for obj in bpy.context.selected_objects}
        self.other, self.twin = copies["ARMATURE"], copies["MESH"]
        self.bend()

    def bend(self):
        self.other.animation_data_clear()
        self.other.pose.bones["ひじ.L"].rotation_euler = (0, 0, 1.5)
        bpy.context.scene.frame_set(7)

    def assert_twin_is_live(self):
        """It shows what the first one shows in the same pose."""
        self.assertEqual(case.live_errors(), [])
        shown = scene.evaluated_positions(self.twin)
        self.assertGreater(np.abs(shown - scene.evaluated_positions(self.mesh)).max(), 0.01)
        self.armature.animation_data_clear()
        self.bones["ひじ.L"].rotation_euler = (0, 0, 1.5)
        self.assert_close(shown, scene.evaluated_positions(self.mesh), BAR)
        self.assert_live()

    def assert_left_to_the_armature(self, obj):
        shown = scene.evaluated_positions(obj)
        obj.modifiers["MMD Skin"].show_viewport = False
        self.assert_close(shown, scene.evaluated_positions(obj), 0)
        obj.modifiers["MMD Skin"].show_viewport = True

    def test_a_linked_duplicate_with_its_own_armature_is_reported(self):
        self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
        self.assertEqual(self.twin.data, self.mesh.data)
        for obj in (self.mesh, self.twin):
            self.assert_left_to_the_armature(obj)
            self.assertIn("used by 2 objects: make it single-user", problem(obj))

    def test_a_linked_duplicate_that_was_removed_is_forgotten(self):
        self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
        scene.evaluated_positions(self.mesh)
        bpy.data.objects.remove(self.twin)
        bpy.context.scene.frame_set(8)
        self.assert_live()
        self.assertIsNone(problem(self.mesh))

    def test_a_linked_duplicate_with_the_same_armature_is_live(self):
        twin = self.mesh.copy()
        bpy.context.scene.collection.objects.link(twin)
        bpy.context.scene.frame_set(7)
        self.assert_live()
        self.assert_close(scene.evaluated_positions(twin), self.expected(), BAR)

    def test_a_single_user_copy_follows_its_own_armature(self):
        self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
        self.twin.data = self.twin.data.copy()
        bpy.context.scene.frame_set(7)
        self.assert_twin_is_live()
        self.assertTrue(self.other.mmdskin.preview)
        self.other.mmdskin.preview = False
        self.assertFalse(addon().preview.switch.is_live(self.twin))
        self.assert_live()

    def test_one_click_makes_a_linked_duplicate_live(self):
        """The panel of either model has the button; both are live then, each with its own armature."""
        for number in range(2):
            self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
            scene.evaluated_positions(self.mesh)
            buttons = [text for text in redraw(self.twin) if text == ("mmdskin.own_meshes", None)]
            self.assertEqual(len(buttons), 1)
            scene.select((self.twin, self.mesh)[number])
            self.assertEqual(bpy.ops.mmdskin.own_meshes(), {"FINISHED"})
            self.assertNotEqual(self.twin.data, self.mesh.data)
            for armature in (self.armature, self.other):
                self.assertTrue(armature.mmdskin.preview)
            self.assert_live()
            for obj in (self.twin, self.mesh):
                self.assertNotIn(("mmdskin.own_meshes", None), redraw(obj))
            for obj in (self.other, self.twin):
                bpy.data.objects.remove(obj)
        self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
        bpy.ops.mmdskin.own_meshes()
        self.assert_twin_is_live()

    def test_one_click_gives_both_models_meshes_of_their_own(self):
        """One of them keeps the mesh that they shared."""
        self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
        meshes = len(bpy.data.meshes)
        self.mesh.select_set(True)
        self.assertEqual(bpy.ops.mmdskin.own_meshes(), {"FINISHED"})
        self.assertNotEqual(self.twin.data, self.mesh.data)
        self.assertEqual(len(bpy.data.meshes), meshes + 1)
        self.assert_twin_is_live()

    def test_a_copied_mesh_stays_live_without_the_first_object(self):
        self.duplicate(self.scene.root, self.armature, self.mesh, linked=True)
        self.twin.data = self.twin.data.copy()
        addon().preview.driver_function.forget(self.mesh.data)
        bpy.data.objects.remove(self.mesh)  # its mesh stays: Blender 3.4 crashes without it
        for frame in (8, 9):
            bpy.context.scene.frame_set(frame)
        self.mesh, self.armature, self.scene.armature = self.twin, self.other, self.other
        self.assert_live()

    def test_a_copy_below_the_same_root_is_a_model_of_its_own(self):
        self.duplicate(self.armature, self.mesh)
        self.assertEqual(self.other.parent, self.scene.root)
        self.assert_twin_is_live()
        scene.select(self.twin)
        bpy.ops.mmdskin.preview(action="DISABLE")
        self.assertFalse(self.other.mmdskin.preview)
        self.assertTrue(self.armature.mmdskin.preview)


class Applied(Live):
    """Blender writes what the driver wrote to the user's mesh when a modifier is applied."""

    def setUp(self):
        super().setUp()
        scene.select(self.mesh)
        self.mesh.shape_key_clear()
        bpy.context.scene.frame_set(6)
        scene.evaluated_positions(self.mesh)

    def stored(self):
        return np.array([one.vector for one in self.mesh.data.attributes["mmdskin"].data])

    def test_armature_modifier(self):
        bpy.ops.object.modifier_apply(modifier="mmd_armature")
        applied = np.array([vertex.co for vertex in self.mesh.data.vertices], np.float32)
        for frame in (6, 2, 15):
            bpy.context.scene.frame_set(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), applied, 0)
        self.assertIn("has no Armature modifier", str(case.live_errors()))
        self.assertFalse(self.stored().any())

    def test_another_modifier(self):
        self.mesh.modifiers.new("subdivision", "SUBSURF").subdivision_type = "SIMPLE"
        bpy.ops.object.modifier_apply(modifier="subdivision")
        scene.evaluated_positions(self.mesh)
        for frame in (6, 2, 15):
            bpy.context.scene.frame_set(frame)
            self.assertFalse(self.stored().any())
        self.assertEqual(case.live_errors(), [])
        live = scene.evaluated_positions(self.mesh)
        self.armature.mmdskin.preview = False
        self.armature.mmdskin.preview = True
        self.assert_close(live, scene.evaluated_positions(self.mesh), 0)
        for vertex in self.mesh.data.vertices:  # later edits are seen
            vertex.co.y += 1
        self.mesh.data.update()
        bpy.context.scene.frame_set(15)
        self.assertGreater(np.abs(live - scene.evaluated_positions(self.mesh)).max(), 0.5)


class Painted(Live):
    def test_texture_paint_mode_shows_the_live_mesh(self):
        """Blender copies the mesh then, without its drivers."""
        scene.select(self.mesh)
        self.assert_live()
        for mode in ("TEXTURE_PAINT", "OBJECT"):
            bpy.ops.object.mode_set(mode=mode)
            scene.evaluated_positions(self.mesh)
            self.assert_live()

    def test_a_mesh_that_is_left_to_the_armature_is_not_evaluated_for_ever(self):
        self.mesh.modifiers.remove(self.mesh.modifiers["mmd_armature"])
        bpy.app.driver_namespace.pop(addon().preview.driver_function.FUNCTION)
        self.addCleanup(addon().preview.switch.functions.install)
        self.mesh.data.update_tag()
        updates = []

        def count(_, depsgraph):
            updates.extend(one for one in depsgraph.updates if isinstance(one.id, bpy.types.Mesh))

        bpy.app.handlers.depsgraph_update_post.append(count)
        self.addCleanup(bpy.app.handlers.depsgraph_update_post.remove, count)
        for _ in range(6):
            bpy.context.view_layer.update()
        self.assertLessEqual(len(updates), 2)
