# SPDX-License-Identifier: GPL-3.0-or-later
"""Build a scene from a PMX file with mmd_tools' layout, for tests and sample renders."""

import math
import random
import re
import sys

import bpy
import numpy as np
from mathutils import Quaternion, Vector

SCALE = 0.08
KINDS = {
    "NONE": 1,
    "ROOT": 2,
    "RIGID_GRP_OBJ": 3,
    "JOINT_GRP_OBJ": 4,
    "JOINT": 22,
    "RIGID_BODY": 23,
}
SDEF = 3
VERTEX_MORPH = 1
# MMD to Blender: swap y and z, and scale.
TO_BLENDER = np.diag([SCALE, SCALE, SCALE, 1.0])[[0, 2, 1, 3]]


class Scene:
    """The objects of one model."""

    def __init__(self, pmx, name="model"):
        self.pmx = pmx
        self.root = _empty(name, None, "ROOT")
        self.bone_names = _unique([_blender_name(bone.name) for bone in pmx.bones])
        self.armature = self._armature(name)
        self.mesh = self._mesh(name)
        bodies = _empty("rigidbodies", self.root, "RIGID_GRP_OBJ")
        joints = _empty("joints", self.root, "JOINT_GRP_OBJ")
        self.rigid_bodies = [
            _empty(body.name or "body", bodies, "RIGID_BODY") for body in pmx.rigid_bodies
        ]
        self.joints = [_empty(joint.name or "joint", joints, "JOINT") for joint in pmx.joints]
        select(self.mesh)

    def _armature(self, name):
        armature = _linked(
            bpy.data.objects.new(f"{name}_arm", bpy.data.armatures.new(f"{name}_arm")), self.root
        )
        select(armature)
        bpy.ops.object.mode_set(mode="EDIT")
        heads = [to_blender(bone.position) for bone in self.pmx.bones]
        bones = [armature.data.edit_bones.new(name) for name in self.bone_names]
        for bone, record, head in zip(bones, self.pmx.bones, heads, strict=True):
            bone.head = head
            if record.parent >= 0:
                bone.parent = bones[record.parent]
            if record.tail_bone is not None and record.tail_bone >= 0:
                bone.tail = heads[record.tail_bone]
            elif record.tail_offset is not None:
                bone.tail = head + to_blender(record.tail_offset)
            if (bone.tail - bone.head).length < 1e-3:
                bone.tail = head + Vector((0, 0, SCALE))
        bpy.ops.object.mode_set(mode="OBJECT")
        return armature

    def _mesh(self, name):
        pmx = self.pmx
        mesh = bpy.data.meshes.new(name)
        mesh.from_pydata(in_blender(pmx.positions).tolist(), [], pmx.triangles[:, ::-1].tolist())
        mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), bool))
        self._materials(mesh)
        obj = _linked(bpy.data.objects.new(f"{name}_mesh", mesh), self.armature)
        groups = [obj.vertex_groups.new(name=name) for name in self.bone_names]
        edge = obj.vertex_groups.new(name="mmd_edge_scale")
        order = obj.vertex_groups.new(name="mmd_vertex_order")
        count = len(pmx.positions)
        for i, (bones, weights) in enumerate(
            zip(pmx.bone_indices.tolist(), pmx.bone_weights.tolist(), strict=True)
        ):
            edge.add((i,), 1.0, "REPLACE")
            order.add((i,), i / count, "REPLACE")
            for bone, weight in zip(bones, weights, strict=True):
                if bone >= 0:
                    groups[bone].add((i,), weight, "ADD")
        self._keys(obj)
        modifier = obj.modifiers.new("mmd_armature", "ARMATURE")
        modifier.object = self.armature
        return obj

    def _materials(self, mesh):
        for record in self.pmx.materials:
            material = bpy.data.materials.new(record.name)
            material.diffuse_color = record.diffuse
            mesh.materials.append(material)
        counts = [record.index_count // 3 for record in self.pmx.materials]
        if sum(counts) == len(mesh.polygons):
            numbers = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            mesh.polygons.foreach_set("material_index", numbers)

    def _keys(self, obj):
        pmx = self.pmx
        rest = in_blender(pmx.positions)
        morphs = [morph for morph in pmx.morphs if morph.kind == VERTEX_MORPH]
        sdef = pmx.deform == SDEF
        if morphs or sdef.any():
            obj.shape_key_add(name="Basis", from_mix=False)
        if sdef.any():
            # The pair is stored in the order of the groups.
            swapped = sdef & (pmx.bone_indices[:, 0] > pmx.bone_indices[:, 1])
            points = pmx.sdef.copy()
            points[swapped, 1:] = points[swapped, :0:-1]
            for column, name in enumerate(("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1")):
                add_key(obj, name, np.where(sdef[:, None], in_blender(points[:, column]), rest))
        for morph in morphs:
            moved = rest.copy()
            np.add.at(moved, morph.indices, in_blender(morph.values))
            add_key(obj, morph.name, moved)

    def bake_inputs(self):
        """(B, 4, 4) skinning matrices of the current pose, in the space of the PMX file."""
        bpy.context.view_layer.update()
        armature = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        to_file = np.linalg.inv(TO_BLENDER)
        result = []
        for name in self.bone_names:
            bone = armature.pose.bones[name]
            result.append(
                to_file @ np.array(bone.matrix @ bone.bone.matrix_local.inverted()) @ TO_BLENDER
            )
        return np.array(result, np.float32)


def curves(block):
    """The F-curves of a datablock's action."""
    action = block.animation_data.action
    if hasattr(action, "fcurves"):
        return action.fcurves
    (bag,) = action.layers[0].strips[0].channelbags  # of the only slot
    return bag.fcurves


def add_key(obj, name, positions):
    key = obj.shape_key_add(name=name, from_mix=False)
    key.data.foreach_set("co", np.ascontiguousarray(positions, np.float32).ravel())
    key.value = 0.0
    return key


def select(obj):
    for other in bpy.context.view_layer.objects:
        other.select_set(False)
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj


def pose(scene, seed=1, degrees=50.0):
    """Rotate every bone by a random angle of up to `degrees`; a seed always gives the same pose."""
    numbers = random.Random(seed)
    for name in scene.bone_names:
        bone = scene.armature.pose.bones[name]
        axis = Vector([numbers.uniform(-1, 1) for _ in range(3)]).normalized()
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion(
            axis, math.radians(numbers.uniform(-degrees, degrees))
        )
        bone.location = [numbers.uniform(-0.02, 0.02) for _ in range(3)]
    bpy.context.view_layer.update()


def in_blender(points):
    """(n, 3) float32 points of the file in Blender's axes and scale."""
    return (np.asarray(points, np.float32)[:, [0, 2, 1]] * np.float32(SCALE)).astype(np.float32)


def in_file(points):
    """The inverse of in_blender, in float64."""
    return np.asarray(points, np.float64)[:, [0, 2, 1]] / SCALE


def to_blender(point):
    return Vector(point).xzy * SCALE


def evaluated_positions(obj):
    """(V, 3) float32: the evaluated positions in mesh space."""
    bpy.context.view_layer.update()
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def transform(obj, location=(0, 0, 0), angles=(0, 0, 0), scale=(1, 1, 1)):
    obj.location, obj.rotation_euler, obj.scale = location, angles, scale
    bpy.context.view_layer.update()


def clear():
    """Empty the file; loading another file would disable the add-on."""
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for collection in (
        bpy.data.objects,
        bpy.data.meshes,
        bpy.data.armatures,
        bpy.data.collections,
        bpy.data.actions,
        bpy.data.node_groups,
    ):
        bpy.data.batch_remove(list(collection))
    if "addon_package" in sys.modules:  # Blender up to 4.1 identifies new meshes as removed ones
        sys.modules["addon_package"].preview.driver_function._live.clear()
    bpy.context.scene.frame_set(1)


def _linked(obj, parent):
    bpy.context.scene.collection.objects.link(obj)
    obj.parent = parent
    obj["mmd_type"] = KINDS["NONE"]
    return obj


def _empty(name, parent, kind):
    obj = _linked(bpy.data.objects.new(name, None), parent)
    obj["mmd_type"] = KINDS[kind]
    return obj


def _blender_name(name):
    side = re.search("[左右]", name)
    if not side:
        return name
    return name.replace(side.group(), "", 1) + (".L" if side.group() == "左" else ".R")


def _unique(names):
    seen = {}
    for i, name in enumerate(names):
        seen[name] = seen.get(name, -1) + 1
        if seen[name]:
            names[i] = f"{name}.{seen[name]:03d}"
    return names
