# SPDX-License-Identifier: GPL-3.0-or-later
"""mmd_tools' names and conventions: the data it stores in a scene, and the data it looks for.

Its properties exist only while it is enabled, so they are read as the data that Blender keeps of them,
which lacks those that have their default. Its rules for names of bones and morphs are in `names`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
from bpy.types import ArmatureModifier, Constraint, FCurve, Modifier, Object, PoseBone, ShapeKey

from ..blender import blender_versions, drivers
from ..blender.native import mmdskin
from . import stored

MODIFIER = "mmd_armature"
USUAL_SCALE = 0.08  # Blender units per file unit
SCALE = "mmd_scale"  # custom property of the root: that of our import
FOLDER = "import_folder"  # custom property of the root: the folder of the file
# Vertex groups: index / count of each vertex in the file, and its edge scale.
VERTEX_ORDER, EDGE_SCALE = "mmd_vertex_order", "mmd_edge_scale"
# Attribute of our import: the edge scale over its weight in the group, which ends at 1.
EDGE_EXCESS = "mmd_edge_excess"
# Absolute shape keys with the SDEF points. C is the vertex itself if it is not SDEF.
SDEF_KEYS = ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1")
# The key that its SDEF driver writes, and the vertex group that the driver moves.
SDEF_RESULT, SDEF_MASK = "mmd_sdef_skinning", "mmd_sdef_mask"
NOT_MORPHS = frozenset((*SDEF_KEYS, SDEF_RESULT))
RESERVED_KEYS = ("Basis", *NOT_MORPHS)
# Custom properties of our own imports, called like its fields: of the root and of pose bones their
# name in the file; of the root all morphs; of pose bones their number in the file, the record of
# whose transformation they copy, and whether their direction shows nothing of the file.
NAME, MORPHS = "mmd_name_j", "mmd_morphs"
NUMBER, APPEND, TIP = "mmd_bone_id", "mmd_append", "mmd_tip"
PHYSICS_CONSTRAINT = "mmd_tools_rigid_track"  # constraint by which rigid bodies move bones
TOGGLE = "mmd_ik_toggle"
# Constraints for IK and append, which its operators find, replace and export.
ROTATION, LOCATION = "mmd_additional_rotation", "mmd_additional_location"
IK_LIMIT = "mmd_ik_limit_override"
SHOWS_MESHES = "mmd_root.show_meshes"  # data path of the root
_ROOT, _CAMERA = 2, 21  # in the enumeration `mmd_type`
_BONE = "mmd_bone"  # the group with what it stores of a pose bone
_APPEND_OF_BONE = (
    "has_additional_rotation",
    "additional_transform_influence",
    "additional_transform_bone_id",
)
_PANELS = {0: "SYSTEM", 1: "EYEBROW", 2: "EYE", 3: "MOUTH"}
_OPERABLE = 0x10  # a flag of a bone in the file


# What it stores


def is_root(obj: Object) -> bool:
    return blender_versions.stored(obj, "mmd_type") in (_ROOT, "ROOT")


def is_camera(obj: Object) -> bool:
    """Whether an empty is the target of its camera."""
    return blender_versions.stored(obj, "mmd_type") == _CAMERA


def bone_in_file(pose_bone: PoseBone) -> tuple[str, int]:
    """(name, index) of a bone in the file, ("", -1) if it has none."""
    if NAME in pose_bone:
        return stored.text(pose_bone, NAME), stored.number(pose_bone, NUMBER)
    group = blender_versions.stored(pose_bone, _BONE)
    return stored.text(group, "name_j"), stored.number(group, "bone_id")


def is_tip(pose_bone: PoseBone) -> bool:
    """Whether a bone has no length in the file, only one that its importer has chosen."""
    group = blender_versions.stored(pose_bone, _BONE)
    return bool(pose_bone.get(TIP, stored.value(group, "is_tip", False)))


def rotation_sources(armature: Object) -> dict[str, str]:
    """{bone: the bone whose rotation it copies}, as stored by importers."""
    numbers = {bone_in_file(bone)[1]: bone.name for bone in armature.pose.bones}
    found = {}
    for bone in armature.pose.bones:
        group, names = bone.get(APPEND), ("rotation", "ratio", "source")
        if group is None:
            group, names = blender_versions.stored(bone, _BONE), _APPEND_OF_BONE
        rotation, ratio, source = names
        number = stored.number(group, source)
        copies = stored.value(group, rotation, False) and stored.value(group, ratio, 1.0)
        if copies and number >= 0 and number in numbers:
            found[bone.name] = numbers[number]
    return found


def ik_toggles(bones: Sequence[PoseBone]) -> list[bool | None]:
    """Its switch for the IK of each bone, which its motion import keys; None if never set.

    Setting it by hand also sets the constraints; its keyframes do not.
    """
    found = blender_versions.stored_of_each(bones, TOGGLE)  # one call in each live frame
    return [None if value is None else bool(value) for value in found]


def shows_meshes(root: Object) -> bool:
    """Its switch for the visibility of a model, which its motion import keys."""
    return stored.value(blender_versions.stored(root, "mmd_root"), "show_meshes", True)


def vertex_morphs(root: Object | None) -> list[tuple[str, str]]:
    """(shape key, English name in the file) of each vertex morph, in the file's order unless moved."""
    group = blender_versions.stored(root, "mmd_root") if root is not None else None
    items = stored.groups(group, "vertex_morphs")
    return [(stored.text(item, "name"), stored.text(item, "name_e")) for item in items]


def rename_morphs(root: Object, changed: dict[str, str]) -> None:
    """Update its list after shape keys were renamed."""
    listed = getattr(root, "mmd_root", None)
    for item in listed.vertex_morphs if listed is not None else ():
        item.name = changed.get(item.name, item.name)


def users_group(modifier: ArmatureModifier) -> str:
    """The vertex group that limits an Armature modifier, "" for none or mmd_tools' mask."""
    return "" if modifier.vertex_group == SDEF_MASK else modifier.vertex_group


# Its constraints for IK and append, which our importer makes, too. They are for posing by hand: if bones have
# solved keys, they must be muted, else everything would be solved twice.


def solving(armature: Object) -> Iterator[tuple[PoseBone, Constraint]]:
    """Each constraint for the model's IK, append and limits, with its bone."""
    pairs = ((bone, one) for bone in armature.pose.bones for one in bone.constraints)
    return ((bone, one) for bone, one in pairs if _solves(one, armature))


def has_muted_ik(armature: Object) -> bool:
    """Whether a constraint for IK is muted, as by imports of solved keys."""
    return any(one.mute for _, one in solving(armature) if one.type == "IK")


def is_of_model(constraint: Constraint, armature: Object) -> bool:
    """Whether a constraint is for the model's IK, append, limits or physics."""
    return _solves(constraint, armature) or constraint.name == PHYSICS_CONSTRAINT


def _solves(constraint: Constraint, armature: Object) -> bool:
    return is_ik(constraint, armature) or constraint.name.startswith((ROTATION, LOCATION, IK_LIMIT))


def is_ik(constraint: Constraint, armature: Object) -> bool:
    """Whether a constraint is IK with a target bone in the same armature."""
    return constraint.type == "IK" and constraint.target == armature and bool(constraint.subtarget)


def by_ik_bone(armature: Object) -> dict[str, list[tuple[PoseBone, Constraint]]]:
    """{IK bone: the constraints of its chain, each with its bone}."""
    found: dict[str, list] = {}
    for bone, constraint in solving(armature):
        if is_ik(constraint, armature):
            chain = [bone, *bone.parent_recursive][: constraint.chain_count or None]
            pairs = ((link, one) for link in chain for one in link.constraints)
            limits = [(link, one) for link, one in pairs if one.name.startswith(IK_LIMIT)]
            found.setdefault(constraint.subtarget, []).extend([(bone, constraint), *limits])
    return found


# Its own SDEF


@dataclass
class SuspendedSdef:
    """State for `resume_sdef`; saved with the file, so fields keep their names."""

    mute: bool = False  # of the key that the driver writes
    driven: bool = False
    masked: list[str] = field(default_factory=list)  # names of modifiers


def suspend_sdef(obj: Object) -> SuspendedSdef | None:
    """Turn the SDEF driver of a mesh off; None if there is none."""
    key = _key(obj)
    if key is None:
        return None
    driving = [curve for curve in _drivers(obj) if not curve.mute]
    masked = [m for m in obj.modifiers if m.type == "ARMATURE" and m.vertex_group == SDEF_MASK]
    suspended = SuspendedSdef(key.mute, bool(driving), [m.name for m in masked])
    for curve in driving:
        curve.mute = True
    key.mute = True
    for modifier in masked:
        modifier.vertex_group = ""
    return suspended


def resume_sdef(obj: Object, suspended: SuspendedSdef | None) -> None:
    key = _key(obj)
    if suspended is None or key is None:
        return
    key.mute = suspended.mute
    if suspended.driven:
        for curve in _drivers(obj):
            curve.mute = False
    for name in suspended.masked:
        modifier: Modifier | None = obj.modifiers.get(name)
        if modifier is not None:
            modifier.vertex_group = SDEF_MASK
    refresh_sdef(obj)


def refresh_sdef(obj: Object) -> None:
    """The driver skips bones that have not moved, and would show an outdated pose."""
    driver = bpy.app.driver_namespace.get("mmd_sdef_driver")
    cache = getattr(driver, "__self__", None)
    if hasattr(cache, "clear_cache"):
        cache.clear_cache(obj)


def _key(obj: Object) -> ShapeKey | None:
    keys = obj.data.shape_keys
    return keys.key_blocks.get(SDEF_RESULT) if keys else None


def _drivers(obj: Object) -> list[FCurve]:
    path = f'key_blocks["{SDEF_RESULT}"].value'
    return [curve for curve in drivers.of(obj.data.shape_keys) if curve.data_path == path]


# What it looks for, so that its operators recognize a model of ours


def introduce(
    root: Object,
    armature: Object,
    pmx: "mmdskin.Model",
    bone_names: Sequence[str],
    key_names: dict[int, str],
) -> None:
    """Mark the objects for it; if it is disabled, store the root's type as it would.

    `bone_names` are in the file's order, `key_names` are shape keys by morph index.
    """
    if not hasattr(root, "mmd_root"):
        root["mmd_type"] = _ROOT
        return
    root.mmd_type = "ROOT"
    # The collection for the helper bones of its append constraints.
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
    """Mark a bone collection as a display frame for it."""
    collection["mmd_tools"] = "normal collection"


def _introduce_bone(data: Any, record: "mmdskin.Bone", number: int) -> None:
    data.name_j, data.name_e = record.name, record.name_english
    data.bone_id = number
    data.transform_order = record.layer
    data.transform_after_dynamics = record.after_physics
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
