# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake the deformation of the current pose into shape keys, and take it back.

`compute` reads and may fail; `write` only writes, so a failure leaves the scene as it was. What
Clear Bake needs is kept as JSON in an ID property of the mesh object and survives saving.
"""

import json
from typing import NamedTuple

import bpy
import numpy as np

from . import mesh_source, mmd_tools, model, native, pose_source, skinner

STATE = "mmdskin_bake"


class BakeError(Exception):
    """The model cannot be baked or cleared as it is; the text is a sentence for the user."""


ERRORS = (
    BakeError,
    model.ModelError,
    mesh_source.SourceError,
    pose_source.PoseError,
    native.NativeError,
    skinner.SkinError,
)


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
            skinner.check_editable(obj)
            _check_evaluated(obj, depsgraph)
            skinner.check_modifiers(obj, one.armature)
    baked = []
    for one in models:
        found = [_skin(obj, one.armature, depsgraph) for obj in one.meshes]
        found = [item for item in found if item]
        if not found:
            raise BakeError(
                f"No vertex group of '{one.name}' is named after a deforming bone"
                f" of '{one.armature.name}'"
            )
        baked += found
    return baked


def write(baked, frame):
    """Show the positions: a key named after the frame on each mesh, the armature modifier off."""
    for item in baked:
        _write(item, f"MMD {frame:04d}")


def clear(models):
    """Undo every bake of the models; returns how many meshes had one."""
    objects = [obj for one in models for obj in one.meshes if STATE in obj]
    for obj in objects:
        skinner.check_editable(obj)
    for obj in objects:
        _clear(obj)
    return len(objects)


def _check_evaluated(obj, depsgraph):
    # Where Blender does not evaluate an object its pose, place and key values are old ones.
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise BakeError(f"'{obj.name}' is disabled in viewports: enable it first")


def _skin(obj, armature, depsgraph):
    """Positions in the pose of the depsgraph, and the Source, or None where no bone has a group."""
    state = _state(obj)
    ready = skinner.Skinner(obj, armature, absent=state["keys"])
    if not ready.bones:
        return None
    keys = obj.data.shape_keys
    values = skinner.key_values(
        obj,
        ready.keys,
        keys.evaluated_get(depsgraph) if keys else None,
        unmuted=state["muted"],
        pinned=state["active"][0] if state["pinned"] else None,
    )
    evaluated = armature.evaluated_get(depsgraph), obj.evaluated_get(depsgraph)
    try:
        numbers = pose_source.numbers(armature, ready.bones)
        matrices = pose_source.matrices(*evaluated, numbers)
        return Baked(obj, armature, ready.positions(matrices, values), ready.source)
    except ValueError as error:
        raise BakeError(f"'{obj.name}' cannot be skinned: {error}") from error


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
    mmd_tools.refresh_sdef(obj)


def _key_blocks(obj):
    # Asked for anew each time: removing the last key frees what held them.
    keys = obj.data.shape_keys
    return keys.key_blocks if keys else ()
