# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on as Blender sees it, and which objects belong to a model."""

import importlib
import subprocess
import sys

import bpy
import case
import scene


class Registration(case.Case):
    def setUp(self):
        super().setUp()
        self.addon = sys.modules["addon_package"]
        self.addCleanup(self.addon.register)

    def assert_works(self):
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.assertTrue(hasattr(bpy.types, "MMDSKIN_PT_skin"))

    def test_registering_twice_is_harmless(self):
        self.addon.register()
        self.addon.register()
        self.assert_works()

    def test_unregistering_twice_is_harmless(self):
        self.addon.unregister()
        self.addon.unregister()
        self.assertFalse(hasattr(bpy.types, "MMDSKIN_OT_bake"))
        self.addon.register()
        self.assert_works()

    def test_reloading_is_harmless(self):
        bpy.ops.mmdskin.bake()
        self.addon.unregister()
        importlib.reload(self.addon).register()
        self.assert_works()

    def test_unregistering_stops_the_native_module(self):
        bpy.ops.mmdskin.bake()
        self.assertIsNotNone(self.addon.blender.native._module)
        self.addon.unregister()
        self.assertIsNone(self.addon.blender.native._module)

    def test_the_native_module_is_not_imported_before_it_is_used(self):
        code = (
            "import sys, bpy, addon_utils;"
            f"addon_utils.enable({self.addon.__name__!r});"
            "print('LOADED', 'mmdskin' in sys.modules, hasattr(bpy.types, 'MMDSKIN_PT_skin'));"
            # With the extension enabled: disabling it removes the module of this profile, which is ours.
            "sys.stdout.flush(); import os; os._exit(0)"
        )
        if bpy.app.binary_path:
            command = [bpy.app.binary_path, "--background", "--python-expr", code]
        else:
            command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertIn("LOADED False True", done.stdout)

    def test_states_the_version_of_the_wheel(self):
        mmdskin = self.addon.blender.native.load()
        self.assertEqual(self.addon.blender.native.REQUIRED, mmdskin.__version__)
        numbers = tuple(int(part) for part in mmdskin.__version__.split("."))
        self.assertEqual(tuple(self.addon.bl_info["version"]), numbers)


class Updates(case.Case):
    def test_handlers_do_not_list_what_was_updated_when_another_object_moves(self):
        """That takes Blender 0.5 ms in a scene of 10,000 objects."""

        class Depsgraph:
            def id_type_updated(self, kind):
                return kind == "OBJECT"

            @property
            def updates(self):
                raise AssertionError("listed")

        name = sys.modules["addon_package"].__name__
        handlers = bpy.app.handlers.depsgraph_update_post
        own = [one for one in handlers if one.__module__.startswith(name)]
        self.assertGreater(len(own), 4)
        for handler in own:
            with self.subTest(handler=handler.__module__):
                handler(bpy.context.scene, Depsgraph())

    def test_an_update_costs_nothing_in_a_large_scene(self):
        """0.01 ms, also while live hair moves; looking at each mesh would take 5 ms."""
        case.write_model(self, self.scene.pmx)
        self.scene.armature.mmdskin.preview = True
        bpy.context.view_layer.update()
        package = sys.modules["addon_package"]
        own = [
            one
            for one in bpy.app.handlers.depsgraph_update_post
            if one.__module__.startswith(package.__name__)
        ]
        depsgraph = bpy.context.evaluated_depsgraph_get()
        tagged = {self.scene.armature.name_full}
        times = case.times_in_large_scene(
            self,
            lambda: [handler(bpy.context.scene, depsgraph) for handler in own],
            lambda: package.preview.live_timer._tag(tagged),
        )
        self.assertLess(max(times), 10)


class Names(case.Case):
    """The interface that scripts use."""

    def test_bake_with_every_option_named(self):
        done = bpy.ops.mmdskin.bake(target="SHAPE_KEYS", range="CURRENT", all_models=False)
        self.assertEqual(done, {"FINISHED"})

    def test_clear_bake(self):
        bpy.ops.mmdskin.bake()
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})


class Panel(case.Case):
    def test_counts_vertices_per_deform_type(self):
        panels = sys.modules["addon_package"].ui.panels
        counts = panels._counts(self.mesh, self.scene.armature)[:-1]
        deform = self.scene.pmx.deform.tolist()
        self.assertEqual(counts.tolist(), [deform.count(kind) for kind in range(5)])


class ActiveObject(case.Case):
    def assert_bakes(self, obj):
        scene.select(obj)
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.assertIn("MMD 0001", self.mesh.data.shape_keys.key_blocks)

    def test_root(self):
        self.assert_bakes(self.scene.root)

    def test_armature(self):
        self.assert_bakes(self.scene.armature)

    def test_armature_in_pose_mode(self):
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="POSE")
        self.assert_bakes(self.scene.armature)

    def test_mesh(self):
        self.assert_bakes(self.mesh)

    def test_rigid_body(self):
        self.assert_bakes(self.scene.rigid_bodies[0])

    def test_joint(self):
        self.assert_bakes(self.scene.joints[0])

    def test_mesh_without_a_root(self):
        self.scene.armature.parent = None
        self.assert_bakes(self.mesh)

    def test_mesh_that_is_not_a_child_of_its_armature(self):
        self.mesh.parent = None
        self.assert_bakes(self.mesh)

    def test_root_without_its_mark(self):
        for obj in bpy.data.objects:
            del obj["mmd_type"]
        self.assert_bakes(self.scene.root)


class SeveralObjects(case.Case):
    def baked(self, obj):
        keys = obj.data.shape_keys
        return bool(keys) and any(key.name.startswith("MMD ") for key in keys.key_blocks)

    def test_every_mesh_of_the_model_is_baked(self):
        copy = self.mesh.copy()
        copy.data = self.mesh.data.copy()
        bpy.context.scene.collection.objects.link(copy)
        bpy.ops.mmdskin.bake()
        self.assertTrue(self.baked(self.mesh) and self.baked(copy))
        bpy.ops.mmdskin.clear_bake()
        self.assertFalse(self.baked(self.mesh) or self.baked(copy))

    def test_other_models_are_unchanged(self):
        other = scene.Scene(case.small_model(), "other")
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake()
        self.assertTrue(self.baked(self.mesh))
        self.assertFalse(self.baked(other.mesh))

    def test_all_models(self):
        other = scene.Scene(case.small_model(), "other")
        bpy.context.view_layer.objects.active = None
        bpy.ops.mmdskin.bake(all_models=True)
        self.assertTrue(self.baked(self.mesh) and self.baked(other.mesh))
        bpy.ops.mmdskin.clear_bake(all_models=True)
        self.assertFalse(self.baked(self.mesh) or self.baked(other.mesh))

    def test_all_models_ignores_armatures_without_a_root(self):
        other = scene.Scene(case.small_model(), "other")
        other.armature.parent = None
        bpy.ops.mmdskin.bake(all_models=True)
        self.assertFalse(self.baked(other.mesh))

    def test_objects_removed_just_now_are_not_looked_at(self):
        for switch in (True, False):
            camera = bpy.data.objects.new("camera", None)
            bpy.context.scene.collection.objects.link(camera)
            bpy.context.view_layer.update()
            bpy.data.batch_remove([camera])
            self.scene.armature.mmdskin.preview = switch
            self.assertEqual("MMD Skin" in self.mesh.modifiers, switch)

    def test_a_mesh_in_an_excluded_collection_is_unchanged(self):
        backup = self.mesh.copy()
        backup.data = self.mesh.data.copy()
        collection = bpy.data.collections.new("backup")
        collection.objects.link(backup)
        bpy.context.scene.collection.children.link(collection)
        bpy.context.view_layer.layer_collection.children["backup"].exclude = True
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.assertFalse(self.baked(backup))

    def test_a_mesh_hidden_by_its_eye_is_baked(self):
        self.mesh.hide_set(True)
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.assertTrue(self.baked(self.mesh))

    def test_a_mesh_without_bone_groups_is_unchanged(self):
        plain = bpy.data.objects.new("plain", bpy.data.meshes.new("plain"))
        bpy.context.scene.collection.objects.link(plain)
        plain.modifiers.new("Armature", "ARMATURE").object = self.scene.armature
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.assertFalse(self.baked(plain))

    def test_vertices_with_five_bones_use_the_strongest_four(self):
        extra = self.mesh.vertex_groups.new(name="fifth")
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        bone = self.scene.armature.data.edit_bones.new("fifth")
        bone.tail = (0, 0, 1)
        bpy.ops.object.mode_set(mode="OBJECT")
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake()
        expected = scene.evaluated_positions(self.mesh)
        bpy.ops.mmdskin.clear_bake()
        four = [i for i, kind in enumerate(self.scene.pmx.deform) if kind == 2]
        extra.add(four, 0.01, "REPLACE")
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), expected, 1e-6)
