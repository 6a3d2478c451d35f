# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports that are not possible: each gives one sentence, and nothing is changed."""

import errno
import os
import unittest.mock

import addon_utils
import bpy
import case
import scene
from cases_bake_stopped import addon, full_disk, limits_files
from exported import Exported, executed_by, formats


class Refused(Exported):
    """One sentence that says what to do; the scene stays unchanged in any case."""

    def off(self, name):
        addon_utils.disable(name)
        self.addCleanup(addon_utils.enable, name)

    def test_a_model_that_is_neither_baked_nor_live(self):
        self.assert_refused("'model' is not baked and MMD Skinning is off: bake it first", "x.glb")

    def test_a_mesh_cache_where_files_hold_keys(self):
        self.bake("MESH_CACHE", False)
        self.assert_refused("glTF cannot store a mesh cache: bake shape keys", "x.glb")
        self.assert_refused("FBX cannot store a mesh cache: bake shape keys", "x.fbx")

    def test_a_live_model_where_files_hold_keys(self):
        bpy.ops.mmdskin.preview(action="ENABLE")
        self.assert_refused("FBX cannot store MMD Skinning: bake shape keys", "x.fbx")

    def test_a_live_model_before_a_file_is_chosen(self):
        bpy.ops.mmdskin.preview(action="ENABLE")
        invoked = executed_by(lambda operator, context: operator.invoke(context, None))
        with invoked, self.assertRaisesRegex(RuntimeError, "FBX cannot store MMD Skinning"):
            bpy.ops.mmdskin.export(format="FBX")

    def test_an_exporter_that_is_off(self):
        self.bake("SHAPE_KEYS", False)
        self.off("io_scene_gltf2")
        self.off("io_scene_fbx")
        self.assert_refused("Blender's glTF exporter is disabled: enable it", "x.glb")
        self.assert_refused("Blender's FBX exporter is disabled: enable it", "x.fbx")

    def test_an_exporter_that_this_blender_lacks(self):
        if "alembic_export" in dir(bpy.ops.wm):
            self.skipTest("this Blender has all exporters")
        self.bake("SHAPE_KEYS", False)
        self.assert_refused("This Blender was built without Alembic", "x.abc")
        self.assert_refused("This Blender was built without USD", "x.usda")

    def test_no_path_no_ending_no_folder(self):
        self.bake("SHAPE_KEYS", False)
        self.assert_refused("'x.obj' has an unknown extension: use .glb", "x.obj")
        self.assert_refused("does not exist: create it first", "none/x.glb")
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.export()
        self.assertIn("No file selected", str(caught.exception))

    def test_a_file_that_cannot_be_written(self):
        self.bake("SHAPE_KEYS", False)
        reason = os.strerror(errno.EACCES if os.name == "nt" else errno.EISDIR)
        for form in formats().values():
            if form.operator.startswith("wm.") and form.operator[3:] not in dir(bpy.ops.wm):
                continue
            with self.subTest(form.name):
                (self.folder / f"x{form.ending}").mkdir()
                self.assert_refused(f"cannot be written: {reason}", f"x{form.ending}")

    def test_an_exporter_that_fails(self):
        self.animate()
        self.bake("SHAPE_KEYS", True)

        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        from io_scene_fbx import export_fbx_bin

        with unittest.mock.patch.object(export_fbx_bin, "save", full):
            self.assert_refused("'x.fbx' cannot be written: ", "x.fbx")

    @limits_files
    def test_a_full_disk_keeps_the_file_that_was_there(self):
        self.bake("SHAPE_KEYS", False)
        for ending in (".glb", ".gltf", ".fbx"):  # test_blender.py tests the others, which log much
            with self.subTest(ending):
                path = self.folder / f"x{ending}"
                bpy.ops.mmdskin.export(filepath=str(path))
                before = self.contents()
                with full_disk():
                    self.assert_refused(f"'x{ending}' cannot be written: ", f"x{ending}")
                self.assertEqual(self.contents(), before)

    def test_alembic_asks_for_room_on_the_disk_first(self):
        if "alembic_export" not in dir(bpy.ops.wm):
            self.skipTest("this Blender has no Alembic")
        self.bake("SHAPE_KEYS", False)
        # A position per vertex and a normal per corner of one frame, in float32.
        size = 12 * (len(self.mesh.data.vertices) + len(self.mesh.data.loops))
        room = unittest.mock.Mock(free=size - 1)
        with unittest.mock.patch("shutil.disk_usage", return_value=room):
            self.assert_refused("and the disk has 0.00 GB left", "x.abc")
            room.free = size
            bpy.ops.mmdskin.export(filepath=str(self.folder / "x.abc"))

    def contents(self):
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}

    def test_an_exporter_that_writes_half_a_file(self):
        self.bake("SHAPE_KEYS", False)
        path = self.folder / "x.glb"
        bpy.ops.mmdskin.export(filepath=str(path))
        before = self.contents()
        export = addon().export.formats.Format.export

        def half(form, path, shown):
            done = export(form, path, shown)
            os.truncate(path, os.path.getsize(path) // 2)
            return done

        with unittest.mock.patch.object(addon().export.formats.Format, "export", half):
            for form in formats().values():
                if form.operator.startswith("wm.") and form.operator[3:] not in dir(bpy.ops.wm):
                    continue
                with self.subTest(form.name):
                    self.assert_refused("cannot be written: ", f"x{form.ending}")
        self.assertEqual(self.contents(), before)

    def test_models_that_are_baked_in_several_ways(self):
        self.bake("SHAPE_KEYS", False)
        scene.pose(scene.Scene(case.small_model(), "second"))
        self.bake("CORRECTIVE", False)
        self.assert_refused("baked to different targets", "x.glb", all_models=True)

    def test_a_hidden_collection(self):
        self.bake("SHAPE_KEYS", False)
        collection = bpy.data.collections.new("hidden")
        bpy.context.scene.collection.children.link(collection)
        collection.objects.link(self.mesh)
        bpy.context.scene.collection.objects.unlink(self.mesh)
        bpy.context.view_layer.objects.active = self.scene.armature
        collection.hide_viewport = True
        bpy.context.view_layer.update()
        self.assert_refused("The collection of 'model_mesh' is hidden: show it first", "x.glb")

    def test_an_armature_that_is_not_in_the_view_layer(self):
        self.bake("CORRECTIVE", False)
        collection = bpy.data.collections.new("excluded")
        bpy.context.scene.collection.children.link(collection)
        collection.objects.link(self.scene.armature)
        for other in self.scene.armature.users_collection:
            if other != collection:
                other.objects.unlink(self.scene.armature)
        bpy.context.view_layer.layer_collection.children["excluded"].exclude = True
        name = self.scene.armature.name
        self.assert_refused(f"The collection of '{name}' is hidden: show it first", "x.fbx")

    def test_frames_before_0_that_exporters_would_leave_out(self):
        bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=-2, frame_end=2)
        self.assert_refused("FBX files start at frame 0: bake from frame 0 on", "x.fbx")
        self.assert_refused("glTF files start at frame 0: bake from frame 0 on", "x.glb")
