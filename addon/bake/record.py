# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake has changed on a mesh, kept as JSON in an ID property of the object, and the way back.

The property is saved with the file, so a bake can be cleared in another session.
"""

import bpy

from .. import actions, blender_versions, mmd_tools, saved_state, scene_model, skinner
from ..deformation import Deformation
from ..preview import nodes, switch
from . import animation, joint_turns, sliders

STATE = saved_state.BAKE


def of(obj: bpy.types.Object) -> dict | None:
    """The state of a baked mesh object, or None."""
    return saved_state.load(obj, STATE, _nothing_baked) if STATE in obj else None


def _nothing_baked():
    return {
        "target": "",
        "deformation": list(Deformation()),  # of `deformation.Deformation`
        "frames": None,  # the first and the last of a range
        "keys": [],  # names of the baked keys
        "turns": [],  # of `joint_turns.Drivers`: names of properties of the mesh
        "mesh_animated": True,
        "muted": [],  # names of the keys muted since
        # of `sliders.put_aside`: values of muted keys, data paths of their curves and drivers, and
        # where there are such: ranges without 0, actions taken from others
        "sliders": {"values": {}, "curves": [], "drivers": []},
        "modifiers": {},  # name: [show_viewport, show_render] of those switched off
        "added": "",  # name of the modifier added
        "normals": [],  # names of the modifiers added for MMD's normals
        "active_modifier": "",
        "had_keys": True,
        "animated": True,
        "active": [None, 0],  # shape key: name and number
        "pinned": False,  # only the active key is shown
        "preview": False,
        "sdef": {},  # of `mmd_tools.suspend_sdef`
    }


def begin(obj, armature, live=False):
    """The state of a mesh object that is about to be baked: what shows it otherwise goes off.

    `live`: an earlier bake had switched the preview off.
    """
    keys = obj.data.shape_keys
    active = obj.active_shape_key.name if keys and obj.active_shape_key else None
    modifier = obj.modifiers.active
    on = switch.is_on(armature)
    state = _nothing_baked()
    state["active_modifier"] = modifier.name if modifier else ""
    state["had_keys"] = keys is not None
    state["animated"] = bool(keys and keys.animation_data)
    state["active"] = [active, obj.active_shape_key_index]
    state["pinned"] = obj.show_only_shape_key
    state["preview"] = live or on
    if on:
        switch.disable(armature)
    state["mesh_animated"] = obj.data.animation_data is not None
    state["sdef"] = mmd_tools.suspend_sdef(obj)
    return state


def store(obj, state):
    saved_state.store(obj, STATE, state)
    obj.data.update_tag()


def base_key(obj):
    """The reference key, made where there is none yet."""
    if not obj.data.shape_keys:
        obj.shape_key_add(name="Basis", from_mix=False)
    return obj.data.shape_keys.reference_key


def add_key(obj, state, name, positions):
    """A baked key of this name with (V, 3) float32 positions; an older bake's is taken over."""
    blocks = obj.data.shape_keys.key_blocks
    key = blocks.get(name) if name in state["keys"] else None
    if key is None:
        key = obj.shape_key_add(name=name, from_mix=False)
        if key.name not in state["keys"]:
            state["keys"].append(key.name)
    points, co = blender_versions.key_positions(key)
    points.foreach_set(co, positions.ravel())
    key.relative_key, key.vertex_group, key.mute = obj.data.shape_keys.reference_key, "", False
    return key


def switch_armature_off(obj, armature, state):
    for modifier in scene_model.armature_modifiers(obj, armature):
        state["modifiers"].setdefault(modifier.name, [modifier.show_viewport, modifier.show_render])
        modifier.show_viewport = modifier.show_render = False


def clear(models):
    """Undo every bake of the models; returns how many meshes had one."""
    baked = [model for model in models if any(STATE in obj for obj in model.meshes)]
    objects = [obj for model in baked for obj in model.meshes if STATE in obj]
    for obj in objects:
        skinner.check_editable(obj)
    for model in baked:
        previews = [clear_mesh(obj) for obj in model.meshes if STATE in obj]
        if any(previews) and model.armature is not None:
            switch.switch_on_again(model.armature)
    return len(objects)


def clear_mesh(obj):
    """Bring one mesh object back; returns whether it had the live preview."""
    state = of(obj)
    _clear_keys(obj, state)
    blocks = _key_blocks(obj)
    for name in state["muted"]:
        if name in blocks:
            blocks[name].mute = False
    sliders.bring_back(obj, state["sliders"])
    sliders.give_actions_back(obj, state["sliders"])
    if blocks:
        name, index = state["active"]
        obj.active_shape_key_index = blocks.find(name) if name and name in blocks else index
    obj.show_only_shape_key = state["pinned"]
    for name, (viewport, render) in state["modifiers"].items():
        modifier = obj.modifiers.get(name)
        if modifier:
            modifier.show_viewport, modifier.show_render = viewport, render
    added = [name for name in (state["added"], *state["normals"]) if name in obj.modifiers]
    for name in added:
        obj.modifiers.remove(obj.modifiers[name])
    if added:
        nodes.drop_unused()
        if state["active_modifier"] in obj.modifiers:
            obj.modifiers.active = obj.modifiers[state["active_modifier"]]
    mmd_tools.resume_sdef(obj, state["sdef"])
    del obj[STATE]
    obj.data.update_tag()
    mmd_tools.refresh_sdef(obj)
    return state["preview"]


def remove_keys(obj, state):
    """Take the baked keys away again, with their drivers."""
    for name in state["keys"]:
        if name in _key_blocks(obj):
            key = _key_blocks(obj)[name]
            key.driver_remove("value")
            obj.shape_key_remove(key)
    joint_turns.remove(obj.data, state["turns"])
    state["keys"], state["turns"] = [], []


def _clear_keys(obj, state):
    blocks = _key_blocks(obj)
    if blocks and "curves" in state:
        animation.remove_curves(obj.data.shape_keys, state["keys"], state["curves"])
    remove_keys(obj, state)
    if _key_blocks(obj) and not state["animated"]:
        actions.clear_if_empty(obj.data.shape_keys)
    if not state["mesh_animated"]:
        actions.clear_if_empty(obj.data)
    if not state["had_keys"] and len(_key_blocks(obj)) == 1:
        obj.shape_key_clear()


def _key_blocks(obj):
    # Asked for anew each time: removing the last key frees what held them.
    keys = obj.data.shape_keys
    return keys.key_blocks if keys else ()
