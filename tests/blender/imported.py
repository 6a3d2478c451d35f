# SPDX-License-Identifier: GPL-3.0-or-later
"""An imported model, and the expected values from its file, computed here from `pmx_file` alone."""

import itertools
import math
import os
import shutil
import sys
import tempfile
import unittest

import bpy
import numpy as np
import scene
from files import locations, pmx_file
from mathutils import Vector

FOLDER = "モデル 初音"  # a path with Japanese characters and a space


class Imported:
    """The objects of the model that was imported last."""

    def __init__(self, root):
        self.root = root
        self.armature = next(child for child in root.children if child.type == "ARMATURE")
        self.mesh = next((child for child in self.armature.children if child.type == "MESH"), None)

    def key(self, name):
        """(V, 3) of a shape key, None for the reference key."""
        keys = self.mesh.data.shape_keys
        return read((keys.key_blocks[name] if name else keys.reference_key).data, "co", 3)

    def weights(self):
        """Vertex groups by name, each as a dict of vertex to weight; zeros are left out."""
        names = [group.name for group in self.mesh.vertex_groups]
        groups = {name: {} for name in names}
        for vertex in self.mesh.data.vertices:
            for entry in vertex.groups:
                if entry.weight:
                    groups[names[entry.group]][vertex.index] = entry.weight
        return groups

    def normals(self):
        """(corners, 3), as they are shown."""
        mesh = self.mesh.data
        if hasattr(mesh, "corner_normals"):
            return read(mesh.corner_normals, "vector", 3)
        mesh.calc_normals_split()
        return read(mesh.loops, "normal", 3)


class Case(unittest.TestCase):
    """Each test starts with an empty scene and a folder for its files."""

    def setUp(self):
        scene.clear()
        for kind in (bpy.data.materials, bpy.data.images, bpy.data.shape_keys):
            bpy.data.batch_remove(list(kind))
        # Not the context manager of tempfile: Blender keeps images open on some systems.
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = os.path.join(self.temporary.name, FOLDER)
        os.mkdir(self.folder)

    def write(self, pmx, name="見本.pmx"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(pmx if isinstance(pmx, bytes) else pmx_file.write(pmx))
        return path

    def load(self, path, **options):
        result = bpy.ops.mmdskin.import_model(filepath=str(path), **options)
        self.assertEqual(result, {"FINISHED"})
        return Imported(bpy.context.view_layer.objects.active)

    def assert_close(self, actual, expected, bar=1e-6, message=None):
        actual, expected = np.asarray(actual), np.asarray(expected)
        self.assertEqual(actual.shape, expected.shape, message)
        if actual.size:
            self.assertLessEqual(float(np.abs(actual - expected).max()), bar, message)

    def assert_rest(self, bone, expected):
        """Within Blender's rounding of head and tail: its directions near -Y are inexact."""
        actual = np.array(bone.matrix_local)
        self.assert_close(actual[:, 3], expected[:, 3], message=bone.name)
        self.assert_close(actual, expected, 3e-4, bone.name)


class MmdTools:
    """mmd_tools, enabled within the block: that of MMDSKIN_MMD_TOOLS, else of ../shared."""

    def __init__(self):
        version = "4.5.13" if bpy.app.version >= (4, 2) else "2.10.3"
        usual = locations.SHARED / "mmd_tools" / f"mmd_tools-{version}.zip"
        self.path = os.environ.get("MMDSKIN_MMD_TOOLS", str(usual))
        if not os.path.exists(self.path):
            raise unittest.SkipTest(
                f"{self.path} is missing: docs/CONTRIBUTING.md says where to get mmd_tools"
            )

    def __enter__(self):
        if bpy.app.version >= (4, 2):
            bpy.ops.extensions.package_install_files(
                filepath=self.path, repo="user_default", enable_on_install=True, overwrite=True
            )
            self.module = "bl_ext.user_default.mmd_tools"
        else:
            folder = os.path.dirname(self.path)
            if self.path.endswith(".zip"):
                folder = bpy.app.tempdir
                shutil.unpack_archive(self.path, folder)
            if folder not in sys.path:
                sys.path.insert(0, folder)
            bpy.ops.preferences.addon_enable(module="mmd_tools")
            self.module = "mmd_tools"

    def __exit__(self, *_):
        bpy.ops.preferences.addon_disable(module=self.module)


def read(collection, attribute, columns, dtype=np.float32):
    flat = np.empty(columns * len(collection), dtype)
    collection.foreach_get(attribute, flat)
    return flat.reshape(-1, columns) if columns > 1 else flat


def save_image(path, pixels):
    """A PNG file of (H, W, 4) numbers 0 to 255, the top row first."""
    image = bpy.data.images.new("image", pixels.shape[1], pixels.shape[0], alpha=True)
    image.pixels.foreach_set((pixels[::-1] / np.float32(255)).astype(np.float32).ravel())
    image.filepath_raw, image.file_format = path, "PNG"
    image.save()
    bpy.data.images.remove(image)


def everything():
    """The number of datablocks of each kind."""
    kinds = ("objects", "meshes", "armatures", "materials", "images", "shape_keys")
    return {kind: len(getattr(bpy.data, kind)) for kind in kinds}


def expected_weights(pmx, bone_names):
    groups = {name: {} for name in bone_names}
    for vertex, (bones, weights) in enumerate(
        zip(pmx.bone_indices.tolist(), pmx.bone_weights.tolist(), strict=True)
    ):
        for bone, weight in zip(bones, weights, strict=True):
            if 0 <= bone < len(bone_names) and weight:
                group = groups[bone_names[bone]]
                group[vertex] = group.get(vertex, 0) + weight
    return {
        name: {vertex: min(max(weight, 0), 1) for vertex, weight in group.items() if weight > 0}
        for name, group in groups.items()
    }


def expected_triangles(pmx):
    """(T, 4) material and corners in Blender's winding; a material has its triangles once each."""
    numbers = (
        number
        for number, record in enumerate(pmx.materials)
        for _ in range(record.index_count // 3)
    )
    first = {}
    for material, corners in itertools.zip_longest(numbers, pmx.triangles.tolist()):
        first.setdefault((material, frozenset(corners)), (material, *corners[::-1]))
    return np.array(list(first.values()), np.int32).reshape(-1, 4)


def expected_normals(pmx):
    """(V, 3) of unit length, or zero."""
    normals = pmx.normals[:, [0, 2, 1]].astype(np.float64)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(length > 0, length, 1)


def rest_matrix(pmx, number, scale=scene.SCALE):
    """4x4 of a bone by mmd_tools' rules: tail, least length, and the axes of the file or of arms."""
    bone = pmx.bones[number]
    head = Vector(bone.position).xzy * scale
    along = _along(pmx, bone, head, scale)
    x_z = _axes(bone, along)
    if x_z is None:
        turn = bpy.types.Bone.MatrixFromAxisRoll(along.normalized(), 0.0)
    else:
        x, z = (axis.normalized() for axis in x_z)
        y = z.cross(x).normalized()
        axes = [x, y, x.cross(y).normalized()]
        shares = [along.dot(axis) for axis in axes]
        best = int(np.argmax(np.abs(shares)))
        up = axes[(best + 1) % 3] if shares[best] >= 0 else axes[(best - 1) % 3]
        direction = along.normalized()
        up = (up - direction * up.dot(direction)).normalized()
        turn = np.array([direction.cross(up), direction, up]).T
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.array(turn), head
    return matrix


def _along(pmx, bone, head, scale):
    if bone.tail_bone is not None:
        tail = pmx.bones[bone.tail_bone].position if bone.tail_bone >= 0 else bone.position
        along = Vector(tail).xzy * scale - head
    else:
        along = head + Vector(bone.tail_offset).xzy * scale - head  # rounded as the tail is
    for record in pmx.bones:
        chain = [record.ik.target, *(link.bone for link in record.ik.links)] if record.ik else []
        for following, link in itertools.pairwise(chain):
            following = pmx.bones[following]
            if pmx.bones[link] is bone and along.length < 1e-3:
                offset = Vector(following.position).xzy * scale - head
                if offset.length >= 1e-3 and pmx.bones[following.parent] is bone:
                    along = offset
    if along.length >= 1e-3:
        return along
    axis = Vector(bone.fixed_axis or (0, 0, 0)).xzy
    return head + (axis.normalized() if axis.length else Vector((0, 0, 1))) * scale - head


def _axes(bone, along):
    """MMD's local x and z in Blender's axes, None where the bone has no such axes."""
    if bone.local_axes is not None:
        return [Vector(axis).xzy for axis in bone.local_axes]
    name = bone.name
    arm = name[:1] in ("左", "右") and name[1:] in (
        *("肩", "腕", "ひじ", "手首"),
        *("腕捩", "手捩", "肩P", "ダミー"),
    )
    if not arm and not any(finger + "指" in name for finger in "親人中薬小"):
        return None
    angle = math.atan2(along.z, along.x)
    return [along, along.cross(Vector((-math.sin(angle), 0, math.cos(angle))))]
