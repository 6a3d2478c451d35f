# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore Deform Data: data that an importer lost is restored from the model's file."""

import os
import sys

import bmesh
import bpy
import case
import numpy as np
import scene
from cases_bake import skinned
from files import motion_file, pmx_file
from mathutils import Matrix

QDEF = 4


def addon():
    return sys.modules["addon_package"]


def model():
    """Every deform type, weights that vertex groups cannot store, a nil bone, UVs and a seam."""
    pmx = case.small_model()
    pmx.version = 2.1
    count = len(pmx.positions)
    four = np.flatnonzero(pmx.deform == 2)
    pmx.deform[four[::2]] = QDEF
    pmx.bone_weights[four[1::4]] = (0.5, 0.9, -0.4, 0.0)
    pmx.bone_indices[four[0], 3] = -1
    pmx.uvs = np.random.default_rng(2).uniform(0, 1, (count, 2)).astype(np.float32)
    # Two vertices in one place, with other weights and UVs.
    twin = np.flatnonzero(pmx.deform == scene.SDEF)[:10]
    other = np.arange(0, 10)
    pmx.positions[other] = pmx.positions[twin]
    return pmx


class RestoreCase(case.Case):
    def setUp(self):
        scene.clear()
        self.scene = scene.Scene(model())
        self.mesh, self.armature = self.scene.mesh, self.scene.armature
        layer = self.mesh.data.uv_layers.new(name="UVMap")
        uvs = self.scene.pmx.uvs * (1, -1) + (0, 1)
        corners = np.empty(len(self.mesh.data.loops), np.int32)
        self.mesh.data.loops.foreach_get("vertex_index", corners)
        layer.data.foreach_set("uv", uvs[corners].astype(np.float32).ravel())
        self.folder = case.folder(self)
        self.path = self.write("模型.pmx", self.scene.pmx)

    def write(self, name, pmx):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(pmx_file.write(pmx))
        return path

    def forget(self, weights=True, points=True):
        """Lose what an importer may lose."""
        if weights:
            bones = [self.mesh.vertex_groups[name] for name in self.scene.bone_names]
            for number, group in enumerate(bones):
                group.add(range(number, len(self.mesh.data.vertices), 2), 0.3, "REPLACE")
        if points:
            for name in ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1"):
                self.mesh.shape_key_remove(self.mesh.data.shape_keys.key_blocks[name])

    def forget_order(self):
        self.mesh.vertex_groups.remove(self.mesh.vertex_groups["mmd_vertex_order"])

    def restore(self, path=None):
        return bpy.ops.mmdskin.restore_deform_data(filepath=path or self.path)

    def of_file(self, degrees=50):
        scene.pose(self.scene, degrees=degrees)
        return skinned(self.path, self.scene.bake_inputs())

    def shown(self, obj=None):
        """Positions with the deformation of the scene's model, in mesh space."""
        found = addon().pose.skinner.Skinner(obj or self.mesh, self.armature)
        poses = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        numbers = addon().blender.evaluated_bones.of(poses).indices(found.bones)
        matrices = addon().pose.pose_source.matrices(poses, obj or self.mesh, numbers)
        return found.skinned(matrices, np.zeros(len(found.keys), np.float32))[0]

    def assert_restored(self, degrees=50):
        expected = self.of_file(degrees)
        self.assert_close(self.shown(), expected)

    def assert_refused(self, words, path=None):
        before = case.state(self.mesh), list(self.mesh.data.attributes.keys())
        with self.assertRaises(RuntimeError) as caught:
            self.restore(path)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(before, (case.state(self.mesh), list(self.mesh.data.attributes.keys())))
        self.assertEqual(self.armature.mmdskin.model_path, "")


class Restores(RestoreCase):
    def test_lost_data_is_restored(self):
        expected = self.of_file()
        self.forget()
        self.assertGreater(np.abs(self.shown() - expected).max(), 0.01)
        self.assertEqual(self.restore(), {"FINISHED"})
        self.assert_restored()

    def test_sorted_vertex_groups_of_mmd_tools(self):
        """Its points belong to the lower and the higher group, whichever bones these are."""
        expected = self.of_file()
        self.restore()
        with bpy.context.temp_override(object=self.mesh, active_object=self.mesh):
            bpy.ops.object.vertex_group_sort(sort_type="NAME")
        self.assertGreater(np.abs(self.shown() - expected).max(), 0.01)
        self.restore()
        self.assert_restored()

    def test_the_bake_and_the_path(self):
        self.forget()
        self.restore()
        file = addon().scene.setting_paths.absolute(self.armature, "model_path")
        self.assertEqual(file, self.path)
        expected = self.of_file()
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), expected)

    def test_the_preview_that_is_on(self):
        self.forget()
        scene.pose(self.scene)
        self.armature.mmdskin.preview = True
        self.restore()
        self.assert_close(scene.evaluated_positions(self.mesh), self.of_file())
        self.armature.mmdskin.preview = False

    def test_the_preview_whose_motion_is_gone(self):
        motion = os.path.join(self.folder, "踊り.vmd")
        with open(motion, "wb") as file:
            keys = motion_file.Keys("", [motion_file.BoneKey("左腕", 0)], [])
            file.write(motion_file.write_vmd(keys))
        settings = self.armature.mmdskin
        settings.model_path, settings.motion_path, settings.source = self.path, motion, "MOTION"
        settings.preview = True
        os.remove(motion)
        self.forget()
        with case.reports() as said:
            self.assertEqual(self.restore(), {"FINISHED"})
        self.assertIn("Warning: '踊り.vmd' cannot be opened", said[0])
        self.assertIn("Info: Restored 204 vertices from '模型.pmx'", said[-1])
        settings.preview = False
        self.assert_restored()

    def test_twice_is_the_same_as_once(self):
        self.forget()
        self.restore()
        once = case.state(self.mesh)
        self.restore()
        self.assertEqual(case.state(self.mesh), once)

    def test_only_differences_are_written(self):
        self.restore()
        before = case.state(self.mesh)
        self.mesh.vertex_groups[0].add([3], 0.123, "REPLACE")
        self.restore()
        self.assertEqual(case.state(self.mesh), before)

    def test_groups_that_are_no_bones_stay(self):
        group = self.mesh.vertex_groups.new(name="user's own")
        group.add([3, 5], 0.6, "REPLACE")
        self.forget()
        self.restore()
        self.assertAlmostEqual(group.weight(5), 0.6)
        self.assertEqual(self.mesh.vertex_groups["mmd_edge_scale"].weight(5), 1)

    def test_keys_stay_out_of_the_mix(self):
        self.forget()
        self.restore()
        keys = self.mesh.data.shape_keys.key_blocks
        for name in ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1"):
            self.assertEqual((keys[name].value, keys[name].mute), (0, True))

    def test_mesh_without_shape_keys(self):
        self.mesh.shape_key_clear()
        self.restore()
        self.assert_restored()

    def test_group_of_a_bone_that_is_missing(self):
        self.mesh.vertex_groups.remove(self.mesh.vertex_groups["腕.L"])
        self.restore()
        self.assert_restored()
        self.assertIn("腕.L", self.mesh.vertex_groups)

    def test_bones_that_were_renamed(self):
        for number, name in enumerate(self.scene.bone_names):
            bone = self.armature.pose.bones[name]
            bone["mmd_bone"] = {"name_j": self.scene.pmx.bones[number].name}
            bone.name = self.scene.bone_names[number] = f"Bone {number}"
        self.forget()
        self.restore()
        self.assert_restored()

    def test_moved_model_with_a_separately_moved_mesh(self):
        expected = self.of_file()
        scene.transform(self.scene.root, (3, 1, -2), (1, 2, 3), (2, 2, 2))
        self.forget()
        self.restore()
        self.assert_close(self.shown(), expected)
        scene.transform(self.mesh, (0.2, 0.1, 0), (0, 0, 1))
        self.mesh.data.transform(self.mesh.matrix_local.inverted(), shape_keys=True)
        self.forget()
        self.restore()
        to_mesh = np.array(self.mesh.matrix_local.inverted())
        self.assert_close(self.shown(), expected @ to_mesh[:3, :3].T + to_mesh[:3, 3])

    def test_applied_scale(self):
        expected = self.of_file()
        placed = Matrix.Scale(12.5, 4)
        self.armature.data.transform(placed)
        self.mesh.data.transform(placed, shape_keys=True)
        for bone in self.armature.pose.bones:
            bone.location *= 12.5
        bpy.context.view_layer.update()
        self.forget()
        self.restore()
        self.assert_close(self.shown(), expected * 12.5, case.BAR)


class Matches(RestoreCase):
    def test_by_place_and_uv(self):
        self.forget()
        self.forget_order()
        self.restore()
        self.assert_restored()

    def test_meshes_separated_and_vertices_in_another_order(self):
        expected = self.of_file()
        self.forget()
        for keep_order in (True, False):
            with self.subTest(keep_order=keep_order):
                if not keep_order:
                    self.forget_order()
                side = np.arange(len(self.mesh.data.vertices)) < 96
                parts = [self.part(np.flatnonzero(side == value)[::-1]) for value in (0, 1)]
                self.mesh.modifiers.clear()
                scene.select(parts[0][0])
                self.restore()
                for obj, chosen in parts:
                    self.assert_close(self.shown(obj), expected[chosen])
                    bpy.data.objects.remove(obj)
                self.mesh.modifiers.new("a", "ARMATURE").object = self.armature

    def part(self, chosen):
        """A copy of the mesh that has only these vertices, in this order."""
        obj = self.mesh.copy()
        obj.data = self.mesh.data.copy()
        bpy.context.scene.collection.objects.link(obj)
        edited = bmesh.new()
        edited.from_mesh(obj.data)
        edited.verts.ensure_lookup_table()
        for vertex in edited.verts:
            vertex.index = len(edited.verts)
        for number, vertex in enumerate(chosen):
            edited.verts[vertex].index = number
        edited.verts.sort()
        edited.verts.ensure_lookup_table()
        bmesh.ops.delete(edited, geom=edited.verts[len(chosen) :], context="VERTS")
        edited.to_mesh(obj.data)
        edited.free()
        return obj, chosen

    def test_vertices_that_were_moved(self):
        self.forget()
        for data in (self.mesh.data.vertices, self.mesh.data.shape_keys.reference_key.data):
            data[100].co.x += 0.01
        self.restore()
        expected = self.of_file()
        actual = self.shown()
        self.assert_close(np.delete(actual, 100, 0), np.delete(expected, 100, 0))
        self.assertEqual(self.mesh.data.attributes["mmd_deform"].data[100].value, self.deform(100))

    def deform(self, vertex):
        return int(self.scene.pmx.deform[vertex])

    def test_added_vertices_keep_their_data(self):
        scene.select(self.mesh)
        self.mesh.shape_key_clear()
        count = len(self.mesh.data.vertices)
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        bpy.ops.object.mode_set(mode="OBJECT")
        before = self.mesh.data.vertices[count + 5]
        before = {entry.group: entry.weight for entry in before.groups}
        with self.assertRaisesRegex(RuntimeError, " of 792 vertices found"):
            self.restore()
        self.delete_after(count + 50)
        self.restore()
        after = self.mesh.data.vertices[count + 5]
        self.assertEqual(before, {entry.group: entry.weight for entry in after.groups})
        expected = self.of_file()
        self.assert_close(self.shown()[:count], expected)

    def delete_after(self, count):
        edited = bmesh.new()
        edited.from_mesh(self.mesh.data)
        edited.verts.ensure_lookup_table()
        bmesh.ops.delete(edited, geom=edited.verts[count:], context="VERTS")
        edited.to_mesh(self.mesh.data)
        edited.free()

    def test_another_mesh_of_the_model_stays_as_it_is(self):
        hat = bpy.data.objects.new("hat", bpy.data.meshes.new("hat"))
        hat.data.from_pydata([(9, 9, 9), (9, 9, 8)], [], [])
        bpy.context.scene.collection.objects.link(hat)
        hat.modifiers.new("a", "ARMATURE").object = self.armature
        hat.vertex_groups.new(name="腕.L").add([0], 0.5, "REPLACE")
        self.forget()
        self.restore()
        self.assert_restored()
        self.assertNotIn("mmd_deform", hat.data.attributes)


class Real(RestoreCase):
    def test_quaternion_model(self):
        path = str(case.shared_model("初音ミク_qdef.pmx"))
        scene.clear()
        pmx = pmx_file.read(path)
        deform = pmx.deform.copy()
        pmx.deform[deform == QDEF] = 2
        pmx.morphs = []
        self.scene = scene.Scene(pmx)
        self.mesh, self.armature, self.path = self.scene.mesh, self.scene.armature, path
        self.restore()
        self.assert_restored(degrees=20)
        stored = np.empty(len(deform), np.int32)
        self.mesh.data.attributes["mmd_deform"].data.foreach_get("value", stored)
        self.assertTrue(np.array_equal(stored, deform))


class Refused(RestoreCase):
    def test_missing_file(self):
        self.assert_refused("cannot be opened", "/gone.pmx")

    def test_broken_file(self):
        path = os.path.join(self.folder, "broken.pmx")
        with open(path, "wb") as file, open(self.path, "rb") as whole:
            file.write(whole.read()[:4000])
        self.assert_refused("'broken.pmx' cannot be read: vertices")

    def assert_refused(self, words, path=None):
        super().assert_refused(words, path or os.path.join(self.folder, "broken.pmx"))

    def test_other_model(self):
        pmx = model()
        for bone in pmx.bones:
            bone.name += "?"
        self.assert_refused("0 of its 4 bones found", self.write("other.pmx", pmx))

    def test_other_vertices(self):
        pmx = model()
        pmx.positions = pmx.positions + np.float32([0, 3, 0])
        self.assert_refused("0 of 204 vertices found", self.write("other.pmx", pmx))

    def test_no_vertices(self):
        pmx = pmx_file.PMX(bones=model().bones)
        self.assert_refused("has no vertices", self.write("bones.pmx", pmx))

    def test_mesh_used_by_two_objects(self):
        twin = bpy.data.objects.new("twin", self.mesh.data)
        bpy.context.scene.collection.objects.link(twin)
        self.assert_refused("used by 2 objects", self.path)

    def test_absolute_shape_keys(self):
        self.mesh.data.shape_keys.use_relative = False
        self.assert_refused("absolute shape keys", self.path)

    def test_no_model(self):
        bpy.context.view_layer.objects.active = None
        self.assert_refused("No active object", self.path)
