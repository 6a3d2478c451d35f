# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape key values over time, in the actions of every Blender version, and animated values kept.

Until 4.3 an action has F-curves; from 4.4 on layers, strips and slots hold them.
"""

import bpy
import numpy as np

_LAYERED = bpy.app.version >= (4, 4)


def value_path(name):
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def add_pulses(keys, names, frames, places):
    """Key the values of shape keys: each is 1 at its own frame and 0 at all others, linear between.

    `names` are keys of the datablock, `frames` all frames in order, and `places` says which of
    them each key has. Returns what `remove_curves` needs, JSON-like.
    """
    data = keys.animation_data
    state = {"action": bool(data and data.action)}
    curves = _curves(keys, state)
    linear = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
    times = np.asarray(frames, np.float32)
    for name, place in zip(names, places, strict=True):
        path = value_path(name)
        curve = curves.find(path)
        if curve is not None:
            curves.remove(curve)
        curve = curves.new(path)
        first, last = max(place - 1, 0), min(place + 1, len(frames) - 1)
        points = np.zeros((last - first + 1, 2), np.float32)
        points[:, 0] = times[first : last + 1]
        points[place - first, 1] = 1
        curve.keyframe_points.add(len(points))
        curve.keyframe_points.foreach_set("co", points.ravel())
        curve.keyframe_points.foreach_set("interpolation", np.full(len(points), linear, np.int32))
        curve.update()
    return state


def remove_curves(keys, names, state):
    """Take the curves of the named keys away again, and what was made to hold them."""
    data = keys.animation_data
    if data is None:
        return
    action = data.action
    if action is not None:
        curves = _found_curves(data)
        for name in names:
            curve = curves.find(value_path(name)) if curves is not None else None
            if curve is not None:
                curves.remove(curve)
        if not state["action"] and not any(len(found) for found in _all_curves(action)):
            if _LAYERED:
                data.action_slot = None
            bpy.data.actions.remove(action)
        elif _LAYERED:
            _remove_layers(data, state)
        if _LAYERED and data.action_slot is None:
            data.last_slot_identifier = state["last_slot"]


def clear_if_empty(keys):
    """Drop animation data that holds nothing."""
    data = keys.animation_data
    if data and not (data.action or len(data.drivers) or len(data.nla_tracks)):
        keys.animation_data_clear()


def is_animated(keys, names):
    """Whether any of the named keys has a value that changes by itself."""
    data = keys.animation_data if keys else None
    if data is None:
        return False
    paths = {curve.data_path for curves in _playing(data) for curve in curves}
    paths.update(curve.data_path for curve in data.drivers)
    return any(value_path(name) in paths for name in names)


def _curves(keys, state):
    data = keys.animation_data or keys.animation_data_create()
    if _LAYERED:
        state["last_slot"] = data.last_slot_identifier
    if data.action is None:
        data.action = bpy.data.actions.new(keys.name)
    if not _LAYERED:
        return data.action.fcurves
    action = data.action
    if data.action_slot is None:
        data.action_slot = action.slots.new(id_type="KEY", name=keys.name)
        state["slot"] = data.action_slot.identifier
    state["layer"] = not action.layers
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    state["strip"] = not layer.strips
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    bag = strip.channelbag(data.action_slot)
    state["bag"] = bag is None
    return (bag or strip.channelbags.new(data.action_slot)).fcurves


def _found_curves(data):
    """The curves that act on the owner of the animation data, or None."""
    return next(iter(_of_slot(data.action, getattr(data, "action_slot", None))), None)


def _of_slot(action, slot):
    if not _LAYERED:
        return [action.fcurves]
    return [bag.fcurves for bag in _bags(action) if slot and bag.slot_handle == slot.handle]


def _all_curves(action):
    return [bag.fcurves for bag in _bags(action)] if _LAYERED else [action.fcurves]


def _bags(action):
    return [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]


def _playing(data):
    """Every collection of curves that acts on the owner of the animation data."""
    found = []
    if data.action is not None:
        found += _of_slot(data.action, getattr(data, "action_slot", None))
    for track in data.nla_tracks:
        for strip in track.strips:
            if strip.action is not None:
                found += _of_slot(strip.action, getattr(strip, "action_slot", None))
    return found


def _remove_layers(data, state):
    """Leave the user's own action without the slot, layer, strip and bag that it did not have."""
    action = data.action
    if not action.layers or not action.layers[0].strips or data.action_slot is None:
        return
    layer, slot = action.layers[0], data.action_slot
    strip = layer.strips[0]
    bag = strip.channelbag(slot)
    if state.get("bag") and bag is not None and not len(bag.fcurves):
        strip.channelbags.remove(bag)
        if state.get("strip") and not len(strip.channelbags):
            layer.strips.remove(strip)
        if state.get("layer") and not len(layer.strips):
            action.layers.remove(layer)
        if state.get("slot") == slot.identifier:
            data.action_slot = None
            action.slots.remove(slot)


class Values:
    """The animated values of the file as they stand.

    Changing the frame overwrites those that the user has changed without a keyframe; `restore`
    brings them back.
    """

    def __init__(self):
        self._held = [
            (block, curve.data_path, curve.array_index, _value(block, curve))
            for block, data in _animated_blocks()
            for curves in _playing(data)
            for curve in curves
        ]

    def restore(self):
        """Returns whether any value had changed."""
        changed = [
            held for held in self._held if held[3] is not None and _read(*held[:3]) != held[3]
        ]
        for block, path, index, value in changed:
            _write(block, path, index, value)
            block.update_tag()
        return bool(changed)


def _animated_blocks():
    for prop in bpy.data.bl_rna.properties:
        if prop.type != "COLLECTION":
            continue
        for block in getattr(bpy.data, prop.identifier):
            for one in (block, getattr(block, "node_tree", None)):
                data = getattr(one, "animation_data", None)
                if data is not None and not one.library:
                    yield one, data


def _value(block, curve):
    return _read(block, curve.data_path, curve.array_index)


def _read(block, path, index):
    try:
        value = block.path_resolve(path)
        return value[index] if hasattr(value, "__len__") and not isinstance(value, str) else value
    except (ValueError, IndexError, TypeError, KeyError):
        return None  # the curve leads nowhere


def _write(block, path, index, value):
    if path.endswith('"]'):
        owner, _, name = path[:-2].rpartition('["')
        name = bpy.utils.unescape_identifier(name)
    else:
        owner, _, name = path.rpartition(".")
    owner = block.path_resolve(owner) if owner else block
    held = owner[name] if path.endswith('"]') else getattr(owner, name)
    if hasattr(held, "__len__") and not isinstance(held, str):
        held[index] = value
    elif path.endswith('"]'):
        owner[name] = value
    else:
        setattr(owner, name, value)


def drive_by_bone(keys, name, armature, bone, expression):
    """Drive a key's value by the rotation w, x, y, z of a bone against its parent."""
    path = value_path(name)
    keys.driver_remove(path)
    driver = keys.driver_add(path).driver
    for letter in "wxyz":
        if f"{letter}*" in expression or f"({letter})" in expression:
            variable = driver.variables.new()
            variable.name, variable.type = letter, "TRANSFORMS"
            target = variable.targets[0]
            target.id, target.bone_target = armature, bone
            target.transform_type, target.transform_space = f"ROT_{letter.upper()}", "LOCAL_SPACE"
            target.rotation_mode = "QUATERNION"
    driver.expression = expression
