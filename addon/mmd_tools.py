# SPDX-License-Identifier: GPL-3.0-or-later
"""mmd_tools' names and conventions, all in one place: what it leaves in a scene, what it looks for.

Its properties exist only while it is enabled; where it is not, they are read as data. Names of bones
and morphs follow its rules in `names`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import bpy

from . import blender_versions

if TYPE_CHECKING:
    import mmdskin

MODIFIER = "mmd_armature"
USUAL_SCALE = 0.08  # Blender units for one of the file's
FOLDER = "import_folder"  # custom property of the root: where the file came from
# Vertex groups: number / count of each vertex in the file, and how thick its edge is drawn.
VERTEX_ORDER, EDGE_SCALE = "mmd_vertex_order", "mmd_edge_scale"
# Absolute shape keys with SDEF's points. C lies at the vertex itself where it is not SDEF's.
SDEF_KEYS = ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1")
# The key that its driver for SDEF writes, and the group of the vertices that the driver moves.
SDEF_RESULT, SDEF_MASK = "mmd_sdef_skinning", "mmd_sdef_mask"
NOT_MORPHS = frozenset((*SDEF_KEYS, SDEF_RESULT))
RESERVED_KEYS = ("Basis", *NOT_MORPHS)
# Custom properties of our own imports, called like its fields: of the root and of pose bones their
# name in the file; of the root all morphs; of pose bones their number in the file, the record of
# whose transformation they copy, and whether their direction shows nothing of the file.
NAME, MORPHS = "mmd_name_j", "mmd_morphs"
NUMBER, APPEND, TIP = "mmd_bone_id", "mmd_append", "mmd_tip"
PHYSICS_CONSTRAINT = "mmd_tools_rigid_track"  # by which rigid bodies move bones
_TOGGLE = "mmd_ik_toggle"
_ROOT = 2  # 'ROOT' in the enumeration `mmd_type`
_PANELS = {0: "SYSTEM", 1: "EYEBROW", 2: "EYE", 3: "MOUTH"}
_AFTER_PHYSICS, _OPERABLE = 0x1000, 0x10  # flags of a bone in the file


# What it leaves


def is_root(obj: bpy.types.Object) -> bool:
    # An ID property where mmd_tools is not enabled, or came after our own importer.
    return getattr(obj, "mmd_type", None) == "ROOT" or obj.get("mmd_type") in (_ROOT, "ROOT")


def bone_in_file(pose_bone: bpy.types.PoseBone) -> tuple[str | None, int]:
    """(name, number) that a bone had in the file, (None or empty, -1) where it has none."""
    if NAME in pose_bone:
        return pose_bone[NAME], pose_bone.get(NUMBER, -1)
    mmd_bone = getattr(pose_bone, "mmd_bone", None)
    if mmd_bone is not None:
        return mmd_bone.name_j, mmd_bone.bone_id
    stored = blender_versions.stored_group(pose_bone, "mmd_bone")
    return stored.get("name_j"), stored.get("bone_id", -1)


def is_tip(pose_bone: bpy.types.PoseBone) -> bool:
    """Whether the file gives a bone no length."""
    return bool(_bone_value(pose_bone, "is_tip", False))


def rotation_source(pose_bone: bpy.types.PoseBone) -> int:
    """Number in the file of the bone whose rotation it copies, or -1."""
    if not _bone_value(pose_bone, "has_additional_rotation", False):
        return -1
    if not _bone_value(pose_bone, "additional_transform_influence", 1.0):
        return -1
    return _bone_value(pose_bone, "additional_transform_bone_id", -1)


def _bone_value(pose_bone, name, default):
    mmd_bone = getattr(pose_bone, "mmd_bone", None)
    if mmd_bone is not None:
        return getattr(mmd_bone, name)
    return blender_versions.stored_group(pose_bone, "mmd_bone").get(name, default)


def ik_toggle(pose_bone: bpy.types.PoseBone) -> bool | None:
    """Its switch of the IK that a bone leads, which motions of its import key; None if never set.

    Setting it by hand sets constraints too, keyframes of it do not.
    """
    if hasattr(pose_bone, _TOGGLE):
        value = getattr(pose_bone, _TOGGLE) if pose_bone.is_property_set(_TOGGLE) else None
    else:
        value = blender_versions.stored(pose_bone, _TOGGLE)
    return None if value is None else bool(value)


def vertex_morphs(root: bpy.types.Object) -> Any:
    """(shape key, English name in the file) of each, in the file's order unless a user moved some."""
    listed = getattr(root, "mmd_root", None)
    if listed is not None:
        return [(item.name, item.name_e) for item in listed.vertex_morphs]
    stored = blender_versions.stored_group(root, "mmd_root").get("vertex_morphs", ())
    return [(item.get("name", ""), item.get("name_e", "")) for item in stored]


def rename_morphs(root: bpy.types.Object, changed: dict[str, str]) -> None:
    """Tell its list that shape keys have other names."""
    listed = getattr(root, "mmd_root", None)
    for item in listed.vertex_morphs if listed is not None else ():
        item.name = changed.get(item.name, item.name)


def users_group(modifier: bpy.types.ArmatureModifier) -> str:
    """Name of the vertex group that limits an armature modifier, "" for none or mmd_tools' mask."""
    return "" if modifier.vertex_group == SDEF_MASK else modifier.vertex_group


# Its own SDEF


def suspend_sdef(obj: bpy.types.Object) -> dict:
    """Switch the SDEF driver of a mesh off; returns what `resume_sdef` needs, JSON-like."""
    key = _key(obj)
    if key is None:
        return {}
    drivers = [curve for curve in _drivers(obj) if not curve.mute]
    masked = [m for m in obj.modifiers if m.type == "ARMATURE" and m.vertex_group == SDEF_MASK]
    state = {"mute": key.mute, "driven": bool(drivers), "masked": [m.name for m in masked]}
    for curve in drivers:
        curve.mute = True
    key.mute = True
    for modifier in masked:
        modifier.vertex_group = ""
    return state


def resume_sdef(obj: bpy.types.Object, state: dict) -> None:
    key = _key(obj)
    if not state or key is None:
        return
    key.mute = state["mute"]
    if state["driven"]:
        for curve in _drivers(obj):
            curve.mute = False
    for name in state["masked"]:
        modifier = obj.modifiers.get(name)
        if modifier is not None:
            modifier.vertex_group = SDEF_MASK
    refresh_sdef(obj)


def refresh_sdef(obj: bpy.types.Object) -> None:
    """The driver skips bones that have not moved, and would show an older pose again."""
    driver = bpy.app.driver_namespace.get("mmd_sdef_driver")
    cache = getattr(driver, "__self__", None)
    if hasattr(cache, "clear_cache"):
        cache.clear_cache(obj)


def _key(obj):
    keys = obj.data.shape_keys
    return keys.key_blocks.get(SDEF_RESULT) if keys else None


def _drivers(obj):
    animation = obj.data.shape_keys.animation_data
    curves = animation.drivers if animation else ()
    return [curve for curve in curves if curve.data_path == f'key_blocks["{SDEF_RESULT}"].value']


# What it looks for, so that its operators recognise a model of ours


def introduce(
    root: bpy.types.Object,
    armature: bpy.types.Object,
    pmx: "mmdskin.Model",
    bone_names: Sequence[str],
    key_names: dict[int, str],
) -> None:
    """Tell it what the objects are; where it is not enabled the root's type is stored as it would.

    `bone_names` are in the file's order, `key_names` are shape keys by the number of their morph.
    """
    if not hasattr(root, "mmd_root"):
        root["mmd_type"] = _ROOT
        return
    root.mmd_type = "ROOT"
    # Where it puts the helper bones that its operator for append constraints makes.
    for name in ("mmd_shadow", "mmd_dummy"):
        collection = blender_versions.bone_collection(armature, name)
        if collection is not None:
            collection["mmd_tools"], collection.is_visible = "special collection", False
    root.mmd_root.name, root.mmd_root.name_e = pmx.name, pmx.name_english
    for number, (name, record) in enumerate(zip(bone_names, pmx.bones, strict=True)):
        if name in armature.pose.bones:
            _introduce_bone(armature.pose.bones[name].mmd_bone, record, number)
    for number, key in key_names.items():
        morph = pmx.morphs[number]
        if morph.kind == "vertex":
            item = root.mmd_root.vertex_morphs.add()
            item.name, item.name_e = key, morph.name_english
            item.category = _PANELS.get(morph.panel, "OTHER")


def keep_in_step(collection: "bpy.types.BoneCollection") -> None:
    """Let it treat a collection of bones as a display frame."""
    collection["mmd_tools"] = "normal collection"


def _introduce_bone(data, record, number):
    data.name_j, data.name_e = record.name, record.name_english
    data.bone_id = number
    data.transform_order = record.layer
    data.transform_after_dynamics = bool(record.flags & _AFTER_PHYSICS)
    data.is_controllable = bool(record.flags & _OPERABLE)
    if record.append:
        data.has_additional_rotation = record.append.rotation
        data.has_additional_location = record.append.translation
        data.additional_transform_influence = record.append.ratio
        data.additional_transform_bone_id = record.append.source
    if record.fixed_axis:
        data.enabled_fixed_axis, data.fixed_axis = True, record.fixed_axis
    if record.local_axes:
        data.enabled_local_axes = True
        data.local_axis_x, data.local_axis_z = record.local_axes
