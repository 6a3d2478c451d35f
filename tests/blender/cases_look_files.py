# SPDX-License-Identifier: GPL-3.0-or-later
"""The look through undo, saved files, libraries and exporters."""

import os

import addon_utils
import bpy
import cases_look
import fingerprint
import followed
import numpy as np
import scene
from cases_bake_range import forget_file
from cases_look import everything


class Undo(cases_look.Case):
    def test_undo_and_redo(self):
        before = everything()
        bpy.ops.ed.undo_push(message="off")
        self.switch("ENABLE")
        bpy.context.view_layer.update()
        on = everything()
        bpy.ops.ed.undo_push(message="on")
        bpy.ops.ed.undo()
        self.assertEqual(fingerprint.differences(before, everything()), [])
        bpy.ops.ed.redo()
        self.assertEqual(fingerprint.differences(on, everything()), [])
        self.switch("DISABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])


class Saved(cases_look.Case):
    """A file that was saved with the look on, in another session."""

    def setUp(self):
        super().setUp()
        for other in bpy.data.scenes[1:]:  # which another test has appended
            bpy.data.scenes.remove(other)
        self.path = os.path.join(self.folder, "look.blend")
        self.addCleanup(forget_file)
        bpy.ops.wm.save_as_mainfile(filepath=self.path)  # which notes where the model's file is
        self.before = everything()
        self.switch("ENABLE")
        self.model.armature.mmdskin.ground_shadow = True
        bpy.context.view_layer.update()
        self.on = everything()
        self.name = self.model.mesh.name
        self.shown = followed.shown(self.model.mesh)[1]
        bpy.ops.wm.save_as_mainfile(filepath=self.path)

    def open(self):
        bpy.ops.wm.open_mainfile(filepath=self.path)
        return bpy.data.objects[self.name]

    def assert_shows(self, mesh):
        """Edges and ground shadow of the mesh, where they were."""
        now = followed.shown(mesh)[1]
        self.assertEqual(now.keys(), {"edges", "ground"})
        for kind, (points, faces) in now.items():
            self.assertEqual(faces, self.shown[kind][1])
            self.assert_close(points, self.shown[kind][0], 1e-5)

    def test_it_is_as_it_was_saved(self):
        mesh = self.open()
        self.assertEqual(fingerprint.differences(self.on, everything()), [])
        self.assert_shows(mesh)

    def test_it_is_switched_off_there(self):
        scene.select(self.open())
        self.switch("DISABLE")
        self.assertEqual(fingerprint.differences(self.before, everything()), [])

    def bring(self, link, into=lambda: None):
        """The model in an empty file, in which `into` was called."""
        scene.clear()
        for kind in ("materials", "shape_keys", "node_groups", "volumes", "lights", "images"):
            bpy.data.batch_remove(list(getattr(bpy.data, kind)))
        into()
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "shot.blend"))
        with bpy.data.libraries.load(self.path, link=link) as (there, here):
            here.collections = there.collections
            here.objects = there.objects
        for obj in here.objects:
            if obj.name not in bpy.context.scene.objects:
                bpy.context.scene.collection.objects.link(obj)
        bpy.context.view_layer.update()
        return here.objects

    def test_an_appended_model_has_it_and_loses_it(self):
        objects = self.bring(link=False)
        mesh = next(obj for obj in objects if obj.type == "MESH")
        self.assert_shows(mesh)
        scene.select(mesh)
        self.switch("DISABLE")
        self.assertEqual(self.hulls(), [])
        self.assertFalse(any("mmdskin_look" in one for one in bpy.data.node_groups))
        self.assertFalse(any(map(cases_look.look().materials.is_on, mesh.data.materials)))

    def test_the_edges_of_an_appended_model_follow_the_camera_here(self):
        self.camera()
        bpy.ops.wm.save_as_mainfile(filepath=self.path)
        objects = self.bring(link=False, into=self.camera)
        mesh = next(obj for obj in objects if obj.type == "MESH")
        camera, shown = bpy.context.scene.camera, []
        for distance in (2, 20):
            camera.location = 0, -distance, 1
            bpy.context.view_layer.update()
            shown.append(followed.shown(mesh)[1]["edges"][0])
        self.assertGreater(abs(shown[1] - shown[0]).max(), 1e-4)

    def camera(self):
        """Make a camera in front of the model."""
        camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
        camera.rotation_euler = np.pi / 2, 0, 0
        bpy.context.scene.collection.objects.link(camera)
        bpy.context.scene.camera = camera
        bpy.context.view_layer.update()

    def test_a_library_override_has_it_and_keeps_it(self):
        objects = self.bring(link=True)
        root = next(obj for obj in objects if obj.parent is None and obj.children)
        root.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        own = [obj for obj in bpy.data.objects if obj.override_library]
        mesh = next(obj for obj in own if obj.type == "MESH")
        self.assertTrue(all(map(cases_look.look().materials.is_on, mesh.data.materials)))
        self.assert_shows(mesh)
        scene.select(mesh)
        before = everything()
        with self.assertRaisesRegex(RuntimeError, "linked from another file"):
            bpy.ops.mmdskin.look(action="DISABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])


class Exporters(cases_look.Case):
    """Whole scenes: what is exported with everything on is what is exported without the look."""

    def test_fbx(self):
        addon_utils.enable("io_scene_fbx")
        self.assert_same(
            # Blender 5.0 cannot export lights.
            lambda path: bpy.ops.export_scene.fbx(
                filepath=path, object_types={"ARMATURE", "EMPTY", "MESH", "OTHER"}
            ),
            lambda path: bpy.ops.import_scene.fbx(filepath=path),
            "whole.fbx",
        )

    def test_usd(self):
        self.need("usd")
        self.assert_same(
            lambda path: bpy.ops.wm.usd_export(filepath=path),
            lambda path: bpy.ops.wm.usd_import(filepath=path),
            "whole.usdc",
        )

    def test_alembic(self):
        self.need("alembic")
        self.assert_same(
            lambda path: bpy.ops.wm.alembic_export(filepath=path, as_background_job=False),
            lambda path: bpy.ops.wm.alembic_import(filepath=path, as_background_job=False),
            "whole.abc",
        )

    def need(self, part):
        if not getattr(bpy.app.build_options, part, False):
            self.skipTest(f"this Blender is built without {part}")

    def assert_same(self, write, read, name):
        paths = [os.path.join(self.folder, f"{when}_{name}") for when in ("off", "on")]
        write(paths[0])
        self.switch("ENABLE")
        self.model.armature.mmdskin.ground_shadow = True
        bpy.context.view_layer.update()
        write(paths[1])
        off, on = (self.content(read, path) for path in paths)
        self.assertTrue(off)
        self.assertEqual(on, off)

    def content(self, read, path):
        """Of a file: the points, faces and images of each mesh."""
        scene.clear()
        for kind in ("materials", "meshes", "images"):
            bpy.data.batch_remove(list(getattr(bpy.data, kind)))
        read(path)
        return sorted(
            (
                len(obj.data.vertices),
                len(obj.data.polygons),
                [textures(material) for material in obj.data.materials if material],
            )
            for obj in bpy.data.objects
            if obj.type == "MESH"
        )


def textures(material):
    nodes = material.node_tree.nodes if material.node_tree else ()
    return sorted(node.image.name for node in nodes if node.type == "TEX_IMAGE" and node.image)
