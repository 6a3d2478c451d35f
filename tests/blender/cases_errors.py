# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that is not possible gives one sentence, and nothing is changed."""

import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
from unittest import mock

import bpy
import case
import scene


class Refused(case.Case):
    def test_no_active_object(self):
        bpy.context.view_layer.objects.active = None
        self.assert_refused("No active object")

    def test_object_without_a_model(self):
        prop = bpy.data.objects.new("cup", bpy.data.meshes.new("cup"))
        bpy.context.scene.collection.objects.link(prop)
        scene.select(prop)
        self.assert_refused("'cup' has no armature")

    def test_an_instance_says_what_to_select(self):
        collection = bpy.data.collections.new("cast")
        bpy.context.scene.collection.children.link(collection)
        for obj in (self.scene.root, *self.scene.root.children_recursive):
            collection.objects.link(obj)
        instance = bpy.data.objects.new("inst", None)
        instance.instance_type, instance.instance_collection = "COLLECTION", collection
        bpy.context.scene.collection.objects.link(instance)
        scene.select(instance)
        self.assert_refused("'inst' is an instance of 'model': select the model itself")

    def test_a_name_that_would_control_the_terminal(self):
        """Blender prints reports there."""
        prop = bpy.data.objects.new("\x1b[2J\x07\x9b", bpy.data.meshes.new("cup"))
        bpy.context.scene.collection.objects.link(prop)
        scene.select(prop)
        self.assert_refused(r"'\x1b[2J\x07\x9b' has no armature")

    def test_root_without_armature(self):
        root = bpy.data.objects.new("empty root", None)
        root["mmd_type"] = scene.KINDS["ROOT"]
        bpy.context.scene.collection.objects.link(root)
        scene.select(root)
        self.assert_refused("'empty root' has no armature")

    def test_armature_without_mesh(self):
        self.mesh.modifiers.clear()
        scene.select(self.scene.armature)
        self.assert_refused("has no mesh with an Armature modifier")

    def test_scene_without_model(self):
        self.mesh.modifiers.clear()
        self.assert_refused("This scene has no MMD model", all_models=True)

    def test_vertices_added_behind_the_keys(self):
        self.mesh.data.vertices.add(1)
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.bake()
        self.assertIn("has 204 points but the mesh has 205 vertices", str(caught.exception))

    def test_no_bone_of_the_groups_names(self):
        for bone in self.scene.armature.data.bones:
            bone.name = f"renamed {bone.name}"
        for group in self.mesh.vertex_groups:
            group.name = f"old {group.name}"
        self.assert_refused("'model' has no vertex group named after a deform bone")

    def test_mesh_used_by_two_objects(self):
        other = bpy.data.objects.new("twin", self.mesh.data)
        bpy.context.scene.collection.objects.link(other)
        self.assert_refused("used by 2 objects")

    def test_mesh_in_edit_mode(self):
        bpy.ops.object.mode_set(mode="EDIT")
        self.assert_refused("Switch to Object Mode first")

    def test_mesh_in_edit_mode_while_another_object_is_active(self):
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.context.view_layer.objects.active = self.scene.root
        self.assert_refused("is in Edit or Sculpt Mode")
        bpy.context.view_layer.objects.active = self.mesh

    def test_armature_in_edit_mode(self):
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        self.assert_refused("Switch to Object Mode first")

    def test_mesh_disabled_in_viewports(self):
        self.mesh.hide_viewport = True
        self.assert_refused("is disabled in viewports")

    def test_absolute_shape_keys(self):
        self.mesh.data.shape_keys.use_relative = False
        self.assert_refused("absolute shape keys")

    def test_deforming_modifier_before_the_armature(self):
        self.mesh.modifiers.new("wave", "WAVE")
        self.mesh.modifiers.move(1, 0) if hasattr(self.mesh.modifiers, "move") else None
        if self.mesh.modifiers[0].name != "wave":
            bpy.ops.object.modifier_move_up(modifier="wave")
        self.assert_refused("Modifier 'wave'")

    def test_armature_of_scale_zero(self):
        self.mesh.parent = None
        self.scene.root.scale = (0, 0, 0)
        self.assert_refused("has a scale of zero")

    def test_pose_that_is_not_finite(self):
        self.scene.armature.pose.bones[1].location[0] = float("nan")
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.bake()
        self.assertIn("cannot be skinned", str(caught.exception))

    def test_second_mesh_that_fails_leaves_the_first_untouched(self):
        copy = self.mesh.copy()
        copy.data = self.mesh.data.copy()
        bpy.context.scene.collection.objects.link(copy)
        copy.data.shape_keys.use_relative = False
        self.assert_refused("absolute shape keys")

    def test_linked_mesh(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "library.blend")
            bpy.data.libraries.write(path, {self.scene.root, self.scene.armature, self.mesh})
            name = self.mesh.name
            scene.clear()
            with bpy.data.libraries.load(path, link=True) as (_, to):
                to.objects = ["model", "model_arm", "model_mesh"]
            for obj in to.objects:
                bpy.context.scene.collection.objects.link(obj)
        self.mesh = next(obj for obj in bpy.data.objects if obj.name == name)
        scene.select(self.mesh)
        self.assert_refused("is linked from another file")


class NativeModule(case.Case):
    """The module is not usable: the error says what to do."""

    def setUp(self):
        super().setUp()
        self.native = sys.modules["addon_package"].blender.native
        self.native.shutdown()
        self.addCleanup(self.native.shutdown)

    def test_missing(self):
        with mock.patch.object(
            self.native.importlib, "import_module", side_effect=ModuleNotFoundError
        ):
            self.assert_refused("native module of MMD Skin is missing")

    def test_not_loadable(self):
        error = ImportError("GLIBC_2.99 not found")
        with mock.patch.object(self.native.importlib, "import_module", side_effect=error):
            self.assert_refused("cannot be loaded on this system: GLIBC_2.99 not found")

    def test_too_old(self):
        with mock.patch.object(self.native, "REQUIRED", "999.0.0"):
            self.assert_refused("restart Blender")

    def test_a_module_of_that_name_that_is_not_ours(self):
        with mock.patch.dict(sys.modules, {"mmdskin": mock.NonCallableMock(spec=[])}):
            self.assert_refused("restart Blender")

    def test_a_machine_that_no_wheel_is_for(self):
        with (
            self.as_classic_add_on(),
            mock.patch.object(self.native.classic.platform, "machine", return_value="riscv64"),
        ):
            self.assert_refused("on riscv64 with Python")

    def test_python_too_old(self):
        with self.as_classic_add_on(), mock.patch.object(sys, "version_info", (3, 9, 2)):
            self.assert_refused("with Python 3.9: it supports")

    def test_a_module_removed_by_a_virus_scanner_is_unpacked_again(self):
        folder = pathlib.Path(self.native.classic._unpacked("0.0.1"))
        self.addCleanup(shutil.rmtree, folder)
        (module,) = folder.glob("mmdskin/_mmdskin.*")
        module.unlink()
        self.assertEqual(pathlib.Path(self.native.classic._unpacked("0.0.1")), folder)
        self.assertTrue(module.exists())

    def test_a_damaged_wheel_leaves_nothing(self):
        wheel = pathlib.Path(case.folder(self), "damaged.whl")
        wheel.write_bytes(b"PK no zip")
        user = pathlib.Path(self.native.classic._user_folder())
        before = sorted(user.iterdir())
        error = sys.modules["addon_package"].blender.user_error.UserError
        here = mock.patch.object(self.native.classic, "_wheel", return_value=str(wheel))
        with here, self.assertRaises(error):
            self.native.classic._unpacked(self.native.REQUIRED)
        self.assertEqual(sorted(user.iterdir()), before)

    def test_wheels_of_an_older_version_are_passed_over(self):
        ours = pathlib.Path(self.native.classic._wheel(self.native.REQUIRED)).name
        older = ours.replace(self.native.REQUIRED, "0.0.9", 1)
        for names in ([ours, older], [older, ours]):
            with mock.patch.object(self.native.classic.os, "listdir", return_value=names):
                self.assertEqual(
                    pathlib.Path(self.native.classic._wheel(self.native.REQUIRED)).name, ours
                )

    @contextlib.contextmanager
    def as_classic_add_on(self):
        """A session that has not loaded the module yet."""
        with (
            mock.patch.object(self.native.classic, "_is_extension", return_value=False),
            mock.patch.dict(sys.modules),
        ):
            sys.modules.pop("mmdskin", None)
            yield

    def test_works_again_afterwards(self):
        with mock.patch.object(
            self.native.importlib, "import_module", side_effect=ModuleNotFoundError
        ):
            self.assert_refused("missing")
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
