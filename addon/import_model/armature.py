# SPDX-License-Identifier: GPL-3.0-or-later
"""The armature with mmd_tools' conventions: rest matrices, names, locks, hidden bones, and bone shapes.

Append, fixed axes and IK are stored; `constraints` applies them.
"""

import math
from typing import Any

import bpy
from bpy.types import Context, EditBone, Object, PoseBone
from mathutils import Vector

from ..blender import blender_versions
from ..blender.native import mmdskin
from ..scene import mmd_tools
from .model_import import ModelImport, Records, describe, group

SHORTEST = 0.001  # Blender deletes bones that have no length
_FARTHEST = 1e5  # file units; farther out, head and tail would round to the same point

ROTATABLE, MOVABLE, VISIBLE = 0x2, 0x4, 0x8
_ARMS = {
    side + part
    for side in "左右"
    for part in ("肩", "腕", "ひじ", "手首", "腕捩", "手捩", "肩P", "ダミー")
}
_FINGERS = ("親指", "人指", "中指", "薬指", "小指")


def add_bones(importing: ModelImport, context: Context, rig: Object) -> None:
    """Fill the armature object `rig`, which is in the view layer.

    With constraints, bones point where Blender's need it: the first link of a chain to the effector,
    bones with a fixed axis along it. With English names, whose sides Paste Flipped knows, bones on the
    right are mirror images of those on the left, as it needs; mmd_tools' are not.
    """
    records, constrained = importing.pmx.bones, importing.options.constraints
    if not records:
        return
    context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        bones = [rig.data.edit_bones.new(name) for name in importing.bone_names]
        tips = _place_bones(importing, bones)
        for bone, record in zip(bones, records, strict=True):
            _roll(bone, record, importing.english and "右" in record.name)
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
    for number, (name, record) in enumerate(zip(importing.bone_names, records, strict=True)):
        bone = rig.pose.bones[name]
        _lock(bone, record, number in tips or constrained)
        _describe(bone, record, number)
        if number in tips:
            bone[mmd_tools.TIP] = True
        if not record.flags & VISIBLE:
            bone.custom_shape = _shape("mmd_shape_hidden", "PLAIN_AXES", 0.2)
        elif record.ik:
            bone.custom_shape = _shape("mmd_shape_ik", "CUBE", 0.4)


def _place_bones(importing: ModelImport, bones: list[Any]) -> set[int]:
    """Set heads, tails and parents; returns the indices of bones whose direction means nothing."""
    records, scale, tips = importing.pmx.bones, importing.scale, set()
    constrained = importing.options.constraints
    for bone, record in zip(bones, records, strict=True):
        bone.head = _place(record.position, scale)
    for bone, record in zip(bones, records, strict=True):
        if record.parent >= 0:
            bone.parent = bones[record.parent]
        if record.tail_bone >= 0:
            bone.tail = bones[record.tail_bone].head
        else:
            bone.tail = bone.head + _place(record.tail_offset, scale)
    _point_ik_links(bones, records, constrained)
    for number, (bone, record) in enumerate(zip(bones, records, strict=True)):
        axis = Vector(record.fixed_axis or (0, 0, 0)).xzy.normalized()
        if record.tail_bone < 0 and not any(record.tail_offset):
            tips.add(number)
        if bone.length < SHORTEST:
            tips.add(number)
            bone.tail = bone.head + (axis if axis.length else Vector((0, 0, 1))) * scale
        elif constrained and axis.length:  # along the axis, in the closer direction
            sign = -1 if bone.vector.dot(axis) < 0 else 1
            bone.tail = bone.head + sign * bone.length * axis
    return tips


def _place(position: tuple[float, ...], scale: float) -> Vector:
    return Vector([min(max(value, -_FARTHEST), _FARTHEST) for value in position]).xzy * scale


def _point_ik_links(bones: list[Any], records: Records, constrained: bool) -> None:
    """Point a link without a length at the next link, or at the effector: Blender's solver moves the tail
    of the first link to the target."""
    for record in records:
        if not record.ik or record.ik.target < 0:
            continue
        following = bones[record.ik.target]
        for link in record.ik.links:
            if link.bone < 0:
                continue
            bone = bones[link.bone]
            offset = following.head - bone.head
            is_led = constrained and following == bones[record.ik.target]
            if (
                (bone.length < SHORTEST or is_led)
                and offset.length >= SHORTEST
                and following.parent == bone
                and (bone.tail - following.head).length > 1e-4
            ):
                bone.tail = bone.head + offset
            following = bone


def _roll(bone: EditBone, record: "mmdskin.Bone", mirrored: bool) -> None:
    if record.local_axes:
        x, z = (Vector(axis).normalized().xzy for axis in record.local_axes)
        _align(bone, x, z, mirrored)
    elif record.name in _ARMS or any(finger in record.name for finger in _FINGERS):
        # Without local axes, MMD gives arms and fingers an x along the bone and a z to the front.
        head, tail, length = bone.head, bone.tail, bone.length
        angle = math.atan2(tail.z - head.z, tail.x - head.x)
        offset = length * math.sin(angle), length * math.cos(angle)
        above = Vector((tail.x - offset[0], tail.y, tail.z + offset[1]))
        along = (tail - head).normalized()
        _align(bone, along, along.cross((above - head).normalized()), mirrored)  # type: ignore[arg-type]


def _align(bone: EditBone, x: Vector, z: Vector, mirrored: bool) -> None:
    """Roll the bone until two of its axes are closest to MMD's axes.

    `mirrored`: to the mirror image of those axes. MMD's have the same handedness on both sides, but
    Blender's Paste Flipped needs a rest pose that is the mirror image of the other side's.
    """
    y = z.cross(x).normalized()
    third = x.cross(y).normalized()
    axes = (x, -y, third) if mirrored else (x, y, third)
    along = [bone.vector.dot(axis) for axis in axes]
    best = max(range(3), key=lambda i: abs(along[i]))
    bone.align_roll(axes[(best - 1) % 3 if along[best] < 0 else (best + 1) % 3])


def _lock(bone: PoseBone, record: "mmdskin.Bone", lies_on_axis: bool) -> None:
    blender_versions.hideable(bone).hide = not record.flags & VISIBLE
    if not record.flags & ROTATABLE:
        bone.lock_rotation = (True, True, True)  # type: ignore[assignment]
    if not record.flags & MOVABLE:
        bone.lock_location = (True, True, True)  # type: ignore[assignment]
    if record.fixed_axis and lies_on_axis:
        bone.lock_rotation = (True, False, True)  # type: ignore[assignment]
        bone.lock_ik_x = bone.lock_ik_z = True
        bone.lock_location = bone.lock_scale = (True, True, True)  # type: ignore[assignment]


def _describe(bone: PoseBone, record: "mmdskin.Bone", number: int) -> None:
    """The file's data of the bone as custom properties; other bones are stored by index."""
    fields = group(record) | {"bone_id": number}
    if record.local_axes:
        fields["local_axis_x"], fields["local_axis_z"] = fields.pop("local_axes")
    del fields["parent"], fields["after_physics"]  # Blender has one, the flags have the other
    del fields["tail_bone" if record.tail_bone < 0 else "tail_offset"]
    describe(bone, fields)


def _shape(name: str, kind: Any, size: float) -> Object:
    """An empty outside any scene, shared by all models of the file; sizes are relative to the bone's."""
    known: Object | None = bpy.data.objects.get((name, None))
    if known is None:
        known = bpy.data.objects.new(name, None)
        known.empty_display_type, known.empty_display_size = kind, size
    return known


def group_bones(importing: ModelImport, rig: Object) -> None:
    """Put each bone into a group (up to 3.6) or collection (4.0) of the first display frame with it."""
    free = dict(enumerate(importing.bone_names))
    for frame in importing.pmx.display_frames:
        chosen = [free.pop(i) for kind, i in frame.elements if kind == "bone" and i in free]
        if not chosen:
            continue
        collection = blender_versions.group_bones(rig, frame.name, chosen)
        if collection is not None:
            mmd_tools.keep_in_step(collection)
