# SPDX-License-Identifier: GPL-3.0-or-later
"""A live model that is appended, linked or overridden in a session without live models."""

import os
import sys

import bpy
import case
import numpy as np
import scene
from cases_preview_truth import problem
from live import Live


def addon():
    return sys.modules["addon_package"]


class Arriving(Live):
    live = True  # in its own file

    def setUp(self):
        super().setUp()
        folder = case.folder(self)
        self.addCleanup(scene.clear)
        self.path = os.path.join(folder, "library.blend")
        empty = os.path.join(folder, "empty.blend")
        self.armature.mmdskin.preview = self.live
        self.finish_its_file()
        bpy.ops.wm.save_as_mainfile(filepath=self.path, copy=True)
        scene.clear()
        for kind in (bpy.data.shape_keys, bpy.data.materials):
            bpy.data.batch_remove(list(kind))
        bpy.ops.wm.save_as_mainfile(filepath=empty)
        bpy.ops.wm.open_mainfile(filepath=empty)  # as in a new session
        self.assertEqual(addon().preview.switch.live_meshes(), [])

    def finish_its_file(self):
        """What else is in the file of the model."""

    def bring(self, link):
        with bpy.data.libraries.load(self.path, link=link) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.find(here.objects)

    def find(self, objects):
        self.mesh = next(obj for obj in objects if obj.type == "MESH")
        self.armature = next(obj for obj in objects if obj.type == "ARMATURE")
        self.scene.armature = self.armature
        scene.select(self.mesh)

    def override(self):
        self.bring(link=True)
        root = self.armature.parent
        root.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        self.find([obj for obj in bpy.data.objects if obj.override_library])

    def plain(self):
        """The mesh with the Armature modifier only, without anything of the add-on."""
        with bpy.data.libraries.load(self.path) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        mesh = next(obj for obj in here.objects if obj.type == "MESH")
        for modifier in mesh.modifiers[1:]:
            modifier.show_viewport = False
        shown = scene.evaluated_positions(mesh)
        bpy.data.batch_remove(here.objects)
        return shown


class Arrives(Arriving):
    def test_appended(self):
        self.bring(link=False)
        self.assert_live()
        bpy.context.scene.frame_set(8)
        self.assert_live()
        self.assertTrue(self.armature.mmdskin.preview)
        self.assertIsNone(problem(self.mesh))

    def test_appended_by_the_menu(self):
        objects = os.path.join(self.path, "Object")
        bpy.ops.wm.append(directory=objects, filename="model_mesh")
        self.find(bpy.data.objects)
        self.assert_live()

    def test_appended_and_at_once_on_another_frame(self):
        self.bring(link=False)
        bpy.context.scene.frame_set(8)
        self.assert_live()

    def test_overridden(self):
        self.override()
        bpy.context.scene.frame_set(8)
        self.assert_live()
        self.assertTrue(self.armature.mmdskin.preview)
        self.assertIsNone(problem(self.mesh))

    def test_an_override_is_switched_off_and_on(self):
        plain = self.plain()
        self.override()
        self.assert_live()
        for _ in range(2):
            bpy.ops.mmdskin.preview(action="DISABLE")
            self.assertFalse(self.armature.mmdskin.preview)
            self.assertIsNone(problem(self.mesh))
            self.assert_close(scene.evaluated_positions(self.mesh), plain, 0)
            bpy.ops.mmdskin.preview(action="ENABLE")
            self.assertTrue(self.armature.mmdskin.preview)
            self.assert_live()

    def test_an_override_without_its_nodes_is_switched_off(self):
        self.override()
        for group in list(bpy.data.node_groups):
            bpy.data.node_groups.remove(group)
        done = bpy.ops.mmdskin.preview(action="DISABLE")
        self.assertEqual(done, {"FINISHED"})
        self.assertFalse(self.armature.mmdskin.preview)

    def test_an_override_keeps_its_own_switch_and_deformation(self):
        self.override()
        self.armature.mmdskin.preview = False
        self.armature.mmdskin.deformation = "DUAL_QUATERNION"
        folder = os.path.dirname(self.path)
        path = os.path.join(folder, "overriding.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.find([obj for obj in bpy.data.objects if obj.override_library])
        self.assertFalse(self.armature.mmdskin.preview)
        self.assertEqual(self.armature.mmdskin.deformation, "DUAL_QUATERNION")
        self.armature.mmdskin.deformation = "MMD"
        self.armature.mmdskin.preview = True
        self.assert_live()

    def test_an_override_has_its_own_deformation(self):
        self.override()
        shown = scene.evaluated_positions(self.mesh)
        self.armature.mmdskin.deformation = "DUAL_QUATERNION"
        self.assertGreater(np.abs(scene.evaluated_positions(self.mesh) - shown).max(), 1e-4)

    def test_an_override_says_that_it_keeps_the_pose_source_of_its_file(self):
        self.override()
        self.armature.mmdskin.source = "MOTION"
        self.assert_live()
        self.assertIn("uses the Pose Source of its own file: change it there", problem(self.mesh))
        self.armature.mmdskin.source = "ARMATURE"
        self.assertIsNone(problem(self.mesh))


class NotLiveInItsFile(Arriving):
    live = False

    def test_as_an_override_its_error_says_what_to_do(self):
        self.override()
        with self.assertRaisesRegex(RuntimeError, "MMD Skinning is off in its own file"):
            bpy.ops.mmdskin.preview(action="ENABLE")
        self.assertFalse(self.armature.mmdskin.preview)
        self.assertIn("turn it on there", problem(self.mesh))

    def test_appended_it_can_be_switched_on(self):
        self.bring(link=False)
        self.armature.mmdskin.preview = True
        self.assert_live()
