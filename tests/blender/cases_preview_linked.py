# SPDX-License-Identifier: GPL-3.0-or-later
"""A live model that is linked, without an override: it shows MMD's deformation as its own file does."""

import os
import shutil
from unittest import mock

import bpy
import case
import cases_motion
import fingerprint
import numpy as np
import scene
from cases_panel import redraw
from cases_preview_arriving import Arriving, addon
from cases_preview_truth import problem
from live import BAR
from mathutils import Matrix


def said(drawn):
    """The texts of a panel, in which long ones are wrapped, as one."""
    return " ".join(text for text in drawn if isinstance(text, str))


class Linked(Arriving):
    def finish_its_file(self):
        collection = bpy.data.collections.new("cast")
        bpy.context.scene.collection.children.link(collection)
        for obj in list(bpy.context.scene.collection.objects):
            collection.objects.link(obj)
            bpy.context.scene.collection.objects.unlink(obj)
        collection.instance_offset = 0, 0, 0.5

    def collection(self, path=None):
        with bpy.data.libraries.load(path or self.path, link=True) as (_, here):
            here.collections = ["cast"]
        self.find(here.collections[0].all_objects)
        return here.collections[0]

    def find(self, objects):
        self.mesh = next(obj for obj in objects if obj.type == "MESH")
        self.armature = self.scene.armature = self.mesh.find_armature()
        bpy.context.view_layer.update()

    def instance(self, collection, location=(0, 0, 0)):
        empty = bpy.data.objects.new("instance", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", collection
        empty.location = location
        bpy.context.scene.collection.objects.link(empty)
        bpy.context.view_layer.update()
        return empty

    def shown(self):
        """Vertices of each instance of the mesh, in mesh space, and its world matrix."""
        bpy.context.view_layer.update()
        found = []
        for one in bpy.context.evaluated_depsgraph_get().object_instances:
            if one.object.original == self.mesh:
                flat = np.empty(3 * len(one.object.data.vertices), np.float32)
                one.object.data.vertices.foreach_get("co", flat)
                found.append((flat.reshape(-1, 3), np.array(one.matrix_world)))
        return found

    def assert_shown(self, count=1):
        self.shown()
        self.assertEqual(case.live_errors(), [])
        for frame in (1, 8, 15):
            bpy.context.scene.frame_set(frame)
            found = self.shown()
            self.assertEqual(len(found), count)
            for positions, _ in found:
                self.assert_close(positions, self.expected(), BAR)

    def link_instance_of_instance(self):
        """What a second file shows of the first one's collection, linked and found."""
        self.instance(self.collection())
        middle = os.path.join(os.path.dirname(self.path), "middle.blend")
        bpy.ops.wm.save_as_mainfile(filepath=middle)
        bpy.ops.wm.read_homefile(use_empty=True)
        with bpy.data.libraries.load(middle, link=True) as (_, here):
            here.objects = ["instance"]
        bpy.context.scene.collection.objects.link(here.objects[0])
        self.find(bpy.data.objects)
        return here.objects[0]


class LinkedModels(Linked):
    def test_linked_objects_are_live(self):
        bpy.context.scene.frame_set(15)
        plain = self.plain()
        self.bring(link=True)
        self.assert_shown()
        self.assertGreater(np.abs(self.shown()[0][0] - plain).max(), 100 * BAR)
        self.assertTrue(self.armature.mmdskin.preview)
        self.assertIsNone(problem(self.mesh))

    def test_follow_the_add_on(self):
        """Disabled, it leaves the mesh to the Armature modifier; enabled, it continues at the next
        frame, also in background mode, where timers do not run."""
        self.bring(link=True)
        self.assert_shown()
        addon().preview.switch.unregister()
        plain = self.shown()[0][0]
        self.assertGreater(np.abs(plain - self.expected()).max(), 100 * BAR)
        addon().preview.switch.register()
        bpy.context.scene.frame_set(15)
        self.assert_shown()

    def test_the_linked_mesh_itself_is_not_written(self):
        self.bring(link=True)
        self.assert_shown()
        attribute = self.mesh.data.attributes["mmdskin"]
        vectors = np.ones(3 * len(attribute.data), np.float32)
        addon().blender.arrays.set_vectors(attribute, vectors)
        attribute.data.foreach_get("vector", vectors)
        self.assertFalse(vectors.any())

    def test_vectors_that_are_not_contiguous_are_written_one_by_one(self):
        self.bring(link=True)
        with mock.patch.object(addon().blender.arrays, "vectors_of", return_value=None):
            self.assert_shown()

    def test_instances_of_a_linked_collection_are_live(self):
        collection = self.collection()
        self.instance(collection)
        self.instance(collection, (3, 1, 0))
        self.assert_shown(count=2)
        first, second = (matrix for _, matrix in self.shown())
        np.testing.assert_allclose(second[:3, 3] - first[:3, 3], (3, 1, 0), atol=1e-6)

    def test_live_when_the_shot_is_opened_again(self):
        self.instance(self.collection())
        shot = os.path.join(os.path.dirname(self.path), "shot.blend")
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
        self.find(bpy.data.objects)
        self.assert_shown()

    def test_live_when_the_library_is_reloaded(self):
        self.instance(self.collection())
        self.assert_shown()
        for _ in range(2):
            self.mesh.library.reload()
            self.find(bpy.data.objects)
            self.assert_shown()

    def test_live_when_the_library_is_relocated(self):
        self.instance(self.collection())
        self.assert_shown()
        moved = os.path.join(case.folder(self), "moved.blend")
        shutil.move(self.path, moved)
        self.mesh.library.filepath = moved
        self.mesh.library.reload()
        self.find(bpy.data.objects)
        self.assert_shown()

    def test_live_when_linked_through_another_file(self):
        self.link_instance_of_instance()
        shot = os.path.join(os.path.dirname(self.path), "shot.blend")
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
        self.assert_shown()
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
        self.find(bpy.data.objects)
        self.assert_shown()

    def test_two_scenes_show_their_own_frames(self):
        collection = self.collection()
        self.instance(collection)
        other = bpy.data.scenes.new("other")
        self.addCleanup(bpy.data.scenes.remove, other)
        other.collection.children.link(collection)
        bpy.context.scene.frame_set(15)
        other.frame_set(3)
        layer = other.view_layers[0]
        layer.update()
        there = self.mesh.evaluated_get(layer.depsgraph).data
        flat = np.empty(3 * len(there.vertices), np.float32)
        there.vertices.foreach_get("co", flat)
        self.assert_close(self.shown()[0][0], self.expected(), BAR)
        bpy.context.scene.frame_set(3)
        self.assert_close(flat.reshape(-1, 3), self.expected(), BAR)

    def test_an_object_with_another_armature_is_refused(self):
        """Blender overrides a live mesh with its object; a copy of the object can share it."""
        self.bring(link=True)
        self.assert_shown()
        armature = bpy.data.objects.new("other", bpy.data.armatures.new("other"))
        obj = self.mesh.copy()
        for one in (armature, obj):
            bpy.context.scene.collection.objects.link(one)
        self.assertEqual(obj.data, self.mesh.data)
        obj.modifiers["mmd_armature"].object = armature
        self.mesh.data.update_tag()
        shown = scene.evaluated_positions(obj)
        obj.modifiers["MMD Skin"].show_viewport = False
        self.assert_close(shown, scene.evaluated_positions(obj), 0)
        self.assertIn("with another armature", problem(self.mesh))
        bpy.data.objects.remove(obj)
        self.mesh.data.update_tag()
        self.assert_shown()
        self.assertIsNone(problem(self.mesh))


class LinkedPanel(Linked):
    def test_says_where_the_model_is_from_and_offers_an_override(self):
        self.bring(link=True)
        drawn = redraw(self.mesh)
        self.assertIn("Shows the model of 'library.blend', live", said(drawn))
        self.assertIn(("mmdskin.make_override", None), drawn)

    def test_of_an_instance_too(self):
        empty = self.instance(self.collection())
        drawn = redraw(empty)
        self.assertIn("model: Shows the model of 'library.blend', live", said(drawn))
        self.assertIn(("mmdskin.make_override", None), drawn)
        with self.assertRaisesRegex(
            RuntimeError, "linked model 'model': use Make Library Override"
        ):
            bpy.ops.mmdskin.bake()

    def test_mmd_skinning_cannot_be_switched(self):
        self.bring(link=True)
        scene.select(self.mesh)
        for action in ("ENABLE", "DISABLE"):
            with self.assertRaisesRegex(RuntimeError, "linked from another file"):
                bpy.ops.mmdskin.preview(action=action)
        self.assert_shown()


class Overrides(Linked):
    """One click makes a linked model editable."""

    def make(self, active):
        scene.select(active)
        self.assertEqual(bpy.ops.mmdskin.make_override(), {"FINISHED"})
        self.armature = self.scene.armature = bpy.context.active_object
        self.mesh = next(one for one in self.armature.children if one.type == "MESH")
        for one in (self.armature, self.mesh):
            self.assertIsNotNone(one.override_library)
            self.assertFalse(one.override_library.is_system_override)

    def assert_can_be_posed(self):
        self.assert_live()
        before = scene.evaluated_positions(self.mesh)
        bone = self.armature.pose.bones["左腕" if "左腕" in self.armature.pose.bones else "腕.L"]
        bone.location = 0.1, 0.2, 0
        self.assertGreater(np.abs(scene.evaluated_positions(self.mesh) - before).max(), 0.05)
        self.assert_live()

    def test_of_linked_objects(self):
        self.bring(link=True)
        self.make(self.mesh)
        self.assertEqual([o for o in bpy.context.scene.objects if o.library], [])
        self.assert_can_be_posed()

    def test_of_a_linked_collection(self):
        bpy.context.scene.collection.children.link(self.collection())
        self.make(self.armature)
        self.assertEqual([o for o in bpy.context.scene.objects if o.library], [])
        self.assert_can_be_posed()

    def test_of_an_instance_that_keeps_its_place(self):
        collection = self.collection()
        empty = self.instance(collection, (3, 1, 0))
        empty.rotation_euler = 0, 0, 0.5
        ((_, place),) = self.shown()
        self.make(empty)
        self.assertIsNone(empty.instance_collection)
        self.assert_can_be_posed()
        np.testing.assert_allclose(np.array(self.mesh.matrix_world), place, atol=1e-6)
        empty.location.x += 1
        bpy.context.view_layer.update()
        moved = Matrix.Translation((1, 0, 0)) @ Matrix(place.tolist())
        np.testing.assert_allclose(np.array(self.mesh.matrix_world), np.array(moved), atol=1e-6)

    def test_of_one_of_two_instances(self):
        collection = self.collection()
        first = self.instance(collection)
        self.instance(collection, (3, 1, 0))
        linked, own = self.mesh, self.expected()
        self.make(first)
        self.assert_can_be_posed()
        self.mesh = linked
        self.assertEqual(len(self.shown()), 1)
        self.assert_close(self.shown()[0][0], own, BAR)

    def test_stays_when_the_shot_is_opened_again(self):
        self.make(self.instance(self.collection(), (3, 1, 0)))
        place = np.array(self.mesh.matrix_world)
        shot = os.path.join(os.path.dirname(self.path), "shot.blend")
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
        self.find([obj for obj in bpy.data.objects if obj.override_library])
        np.testing.assert_allclose(np.array(self.mesh.matrix_world), place, atol=1e-6)
        self.assert_can_be_posed()

    def test_other_scenes_keep_the_linked_model(self):
        collection = self.collection()
        linked = self.mesh
        bpy.context.scene.collection.children.link(collection)
        other = bpy.data.scenes.new("other")
        self.addCleanup(bpy.data.scenes.remove, other)
        other.collection.children.link(collection)
        self.make(self.armature)
        self.assertEqual([o for o in bpy.context.scene.objects if o.library], [])
        self.assertIn(linked, list(other.objects))
        self.assertNotIn(self.mesh, list(other.objects))

    def test_where_blender_makes_none_nothing_changes(self):
        """The instanced collection is of this file, only its objects are linked."""
        self.bring(link=True)
        own = bpy.data.collections.new("own")
        for obj in list(bpy.context.scene.collection.objects):
            own.objects.link(obj)
            bpy.context.scene.collection.objects.unlink(obj)
        scene.select(self.instance(own))
        before = fingerprint.of_file()
        with self.assertRaisesRegex(
            RuntimeError, "cannot make a library override of 'model': append"
        ):
            bpy.ops.mmdskin.make_override()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_of_a_linked_instance(self):
        scene.select(self.link_instance_of_instance())
        before = list(bpy.data.objects)
        with self.assertRaisesRegex(RuntimeError, "'instance' is linked from another file"):
            bpy.ops.mmdskin.make_override()
        self.assertEqual(list(bpy.data.objects), before)

    def test_only_of_a_linked_model(self):
        self.bring(link=False)
        scene.select(self.mesh)
        with self.assertRaisesRegex(RuntimeError, "not linked from another file"):
            bpy.ops.mmdskin.make_override()


class NotLiveInItsFile(Linked):
    live = False

    def test_its_error_says_what_to_do(self):
        self.bring(link=True)
        self.assertFalse(self.armature.mmdskin.preview)
        self.assertIn("where MMD Skinning is off: turn it on there", problem(self.mesh))


class Sources(cases_motion.MotionCase):
    """Linked into a file of another folder, it shows what it shows in its own file."""

    def setUp(self):
        super().setUp()
        self.addCleanup(scene.clear)
        self.library = os.path.join(self.folder.name, "library.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.library)
        self.armature.mmdskin.model_path = "//" + os.path.basename(self.model_path)
        self.armature.mmdskin.motion_path = "//" + os.path.basename(self.motion_path)

    def frames(self):
        found = []
        for frame in (1, 6, 11):
            bpy.context.scene.frame_set(frame)
            found.append(scene.evaluated_positions(self.mesh))
        self.assertEqual(case.live_errors(), [])
        return np.array(found)

    def assert_same_when_linked(self, **settings):
        for name, value in settings.items():
            setattr(self.armature.mmdskin, name, value)
        self.armature.mmdskin.preview = True
        own = self.frames()
        bpy.ops.wm.save_mainfile()
        shots = os.path.join(self.folder.name, "shots")
        os.mkdir(shots)
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(shots, "shot.blend"))
        with bpy.data.libraries.load(self.library, link=True) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.mesh = next(obj for obj in here.objects if obj.type == "MESH")
        self.assert_close(self.frames(), own, 1e-6)
        return own

    def test_a_motion_file(self):
        own = self.assert_same_when_linked(source="MOTION")
        self.assertGreater(np.abs(own[1] - own[0]).max(), 0.01)

    def test_mmds_ik(self):
        foot = self.armature.pose.bones["足ＩＫ.R"]
        foot.location = 0, 0.1, 0.1
        foot.keyframe_insert("location", frame=1)
        foot.location = 0, 0.2, 0.3
        foot.keyframe_insert("location", frame=11)
        own = self.assert_same_when_linked(source="IK")
        self.assertGreater(np.abs(own[1] - own[0]).max(), 0.01)

    def test_a_method(self):
        self.assert_same_when_linked(source="MOTION", deformation="DUAL_QUATERNION")

    def test_mmds_normals(self):
        if bpy.app.version < (4, 5):
            self.skipTest("MMD Normals need Blender 4.5")
        self.assert_same_when_linked(source="MOTION", use_mmd_normals=True)
        flat = np.empty(3 * len(self.mesh.data.loops), np.float32)
        self.mesh.evaluated_get(
            bpy.context.evaluated_depsgraph_get()
        ).data.corner_normals.foreach_get("vector", flat)
        linked = flat.copy()
        bpy.ops.wm.open_mainfile(filepath=self.library)
        self.mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        self.frames()
        self.mesh.evaluated_get(
            bpy.context.evaluated_depsgraph_get()
        ).data.corner_normals.foreach_get("vector", flat)
        self.assert_close(linked, flat, 1e-6)
