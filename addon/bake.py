# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake the deformation of the current pose into shape keys, and take it back.

`compute` reads and may fail; `write` only writes, so a failure leaves the scene as it was. What
Clear Bake needs is kept as JSON in an ID property of the mesh object and survives saving.
"""

import json
from typing import NamedTuple

import bpy
import numpy as np

from . import mesh_source, model, native, pose_source

STATE = "mmdskin_bake"


class BakeError(Exception):
    """The model cannot be baked or cleared as it is; the text is a sentence for the user."""


ERRORS = (
    BakeError,
    model.ModelError,
    mesh_source.SourceError,
    pose_source.PoseError,
    native.NativeError,
)

# Modifiers that leave vertices where they are may stand before the armature's.
_HARMLESS = {
    "DATA_TRANSFER",
    "NORMAL_EDIT",
    "UV_PROJECT",
    "UV_WARP",
    "VERTEX_WEIGHT_EDIT",
    "VERTEX_WEIGHT_MIX",
    "VERTEX_WEIGHT_PROXIMITY",
    "WEIGHTED_NORMAL",
}


class Baked(NamedTuple):
    obj: bpy.types.Object
    armature: bpy.types.Object
    positions: np.ndarray  # (V, 3) float32, mesh space
    source: mesh_source.Source


def compute(models, depsgraph):
    """A Baked for each mesh of the models, in the pose that `depsgraph` holds."""
    for one in models:
        _check_evaluated(one.armature, depsgraph)
        if one.armature.mode == "EDIT":
            raise BakeError(f"'{one.armature.name}' is in edit mode: leave edit mode first")
        for obj in one.meshes:
            _check(obj)
            _check_evaluated(obj, depsgraph)
            _check_modifiers(obj, one.armature)
    mmdskin = native.load()
    baked = []
    for one in models:
        sources = [(obj, mesh_source.read(obj, one.armature)) for obj in one.meshes]
        sources = [(obj, source) for obj, source in sources if source.bones]
        if not sources:
            raise BakeError(
                f"No vertex group of '{one.name}' is named after a deforming bone"
                f" of '{one.armature.name}'"
            )
        for obj, source in sources:
            positions = _skin(mmdskin, obj, one.armature, source, depsgraph)
            baked.append(Baked(obj, one.armature, positions, source))
    return baked


def write(baked, frame):
    """Show the positions: a key named after the frame on each mesh, the armature modifier off."""
    for item in baked:
        _write(item, f"MMD {frame:04d}")


def clear(models):
    """Undo every bake of the models; returns how many meshes had one."""
    objects = [obj for one in models for obj in one.meshes if STATE in obj]
    for obj in objects:
        _check(obj)
    for obj in objects:
        _clear(obj)
    return len(objects)


def _check(obj):
    mesh = obj.data
    if obj.library or mesh.library or obj.override_library or mesh.override_library:
        raise BakeError(
            f"'{obj.name}' is linked from another file: append it or make it local first"
        )
    if obj.mode in {"EDIT", "SCULPT"}:
        raise BakeError(f"'{obj.name}' is in {obj.mode.lower()} mode: switch to object mode first")
    users = sum(other.data == mesh and other.users > 0 for other in bpy.data.objects)
    if users > 1:
        raise BakeError(
            f"The mesh of '{obj.name}' is used by {users} objects: make it single-user first"
        )


def _check_evaluated(obj, depsgraph):
    # Where Blender does not evaluate an object its pose, place and key values are old ones.
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise BakeError(f"'{obj.name}' is disabled in viewports: enable it first")


def _check_modifiers(obj, armature):
    first = model.armature_modifiers(obj, armature)[0]
    for modifier in obj.modifiers:
        if modifier == first:
            return
        if modifier.type not in _HARMLESS and (modifier.show_viewport or modifier.show_render):
            raise BakeError(
                f"Modifier '{modifier.name}' of '{obj.name}' stands before the Armature modifier:"
                " move it below"
            )


def _skin(mmdskin, obj, armature, source, depsgraph):
    state = _state(obj)
    positions = mesh_source.mixed_positions(
        obj,
        depsgraph,
        source.weights,
        own=state["keys"],
        unmuted=state["muted"],
        pinned=state["active"][0] if state["pinned"] else None,
    )
    matrices = pose_source.matrices(armature, obj, source.bones, depsgraph)
    try:
        mesh = mmdskin.Mesh(
            positions,
            source.bone_indices,
            source.bone_weights,
            deform=source.deform,
            sdef=source.sdef,
        )
        skinned = mmdskin.skin(mesh, matrices, normals=False).positions
    except (ValueError, mmdskin.BackendError) as error:
        raise BakeError(f"'{obj.name}' cannot be skinned: {error}") from error
    share = _share(obj, armature, source)
    return skinned if share is None else positions + share * (skinned - positions)


def _share(obj, armature, source):
    """(V, 1) how much of the deformation the user's group of the modifier lets through, or None."""
    modifier = model.armature_modifiers(obj, armature)[0]
    group = obj.vertex_groups.get(modifier.vertex_group) if modifier.vertex_group else None
    # mmd_tools masks the vertices that its SDEF driver moves instead of the modifier.
    if group is None or group.name == "mmd_sdef_mask":
        return None
    share = mesh_source.group_weights(source.weights, group.index, len(source.deform))[:, None]
    return 1 - share if modifier.invert_vertex_group else share


def _state(obj):
    """What Clear Bake has to bring back: as stored, or of the object as it stands."""
    if STATE in obj:
        return json.loads(obj[STATE])
    keys = obj.data.shape_keys
    active = obj.active_shape_key.name if keys and obj.active_shape_key else None
    return {
        "keys": [],  # names of the baked keys
        "muted": [],  # names of the keys muted since
        "modifiers": {},  # name: [show_viewport, show_render]
        "had_keys": keys is not None,
        "active": [active, obj.active_shape_key_index],
        "pinned": obj.show_only_shape_key,  # only the active key is shown
    }


def _write(item, name):
    obj, state = item.obj, _state(item.obj)
    if not obj.data.shape_keys:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = obj.data.shape_keys
    key = keys.key_blocks.get(name) if name in state["keys"] else None
    if key is None:
        key = obj.shape_key_add(name=name, from_mix=False)
        state["keys"].append(key.name)
    getattr(key, "points", key.data).foreach_set("co", item.positions.ravel())
    key.relative_key, key.vertex_group, key.mute, key.value = keys.reference_key, "", False, 1.0

    for other in keys.key_blocks:
        if other != key and other != keys.reference_key and not other.mute:
            other.mute = True
            if other.name not in state["keys"] and other.name not in state["muted"]:
                state["muted"].append(other.name)
    obj.show_only_shape_key = False
    for modifier in model.armature_modifiers(obj, item.armature):
        state["modifiers"].setdefault(modifier.name, [modifier.show_viewport, modifier.show_render])
        modifier.show_viewport = modifier.show_render = False
    obj[STATE] = json.dumps(state)
    obj.data.update_tag()


def _clear(obj):
    state = _state(obj)
    for name in state["keys"]:
        if name in _key_blocks(obj):
            obj.shape_key_remove(_key_blocks(obj)[name])
    if not state["had_keys"] and len(_key_blocks(obj)) == 1:
        obj.shape_key_clear()
    blocks = _key_blocks(obj)
    for name in state["muted"]:
        if name in blocks:
            blocks[name].mute = False
    if blocks:
        name, index = state["active"]
        obj.active_shape_key_index = blocks.find(name) if name and name in blocks else index
    obj.show_only_shape_key = state["pinned"]
    for name, (viewport, render) in state["modifiers"].items():
        modifier = obj.modifiers.get(name)
        if modifier:
            modifier.show_viewport, modifier.show_render = viewport, render
    del obj[STATE]
    obj.data.update_tag()
    _refresh_sdef_driver(obj)


def _key_blocks(obj):
    # Asked for anew each time: removing the last key frees what held them.
    keys = obj.data.shape_keys
    return keys.key_blocks if keys else ()


def _refresh_sdef_driver(obj):
    """mmd_tools' driver skips bones that have not moved and would show an older pose again."""
    driver = bpy.app.driver_namespace.get("mmd_sdef_driver")
    cache = getattr(driver, "__self__", None)
    if hasattr(cache, "clear_cache"):
        cache.clear_cache(obj)
