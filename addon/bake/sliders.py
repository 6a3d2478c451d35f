# SPDX-License-Identifier: GPL-3.0-or-later
"""Sliders of keys that a bake has muted: they stand at 0 while it lasts.

Not every exporter knows muted keys: in FBX their values would act once more. Values, and the curves
and drivers that would move them, are noted in the state of the bake.
"""

import contextlib

import bpy

from .. import actions


def put_aside(obj, state):
    """Set the muted keys of a mesh object to 0 and note what they had."""
    keys = obj.data.shape_keys
    noted = state["sliders"]
    muted = [key for key in keys.key_blocks if key.mute]
    for key in muted:
        if key.value and key.name not in state["keys"]:
            noted["values"][key.name] = key.value
    paths = {actions.value_path(key.name) for key in muted}
    if any(not curve.mute for curve in _curves(keys, paths)):
        _own_action(keys, noted)
    for kind, curves in (("curves", _curves(keys, paths)), ("drivers", _drivers(keys, paths))):
        for curve in curves:
            if not curve.mute:
                curve.mute = True
                noted[kind].append(curve.data_path)
    for key in muted:
        key.value = 0.0


def bring_back(obj, noted):
    """The opposite, by what a state has noted; a slider that was moved since stays as it is."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    for name, value in noted["values"].items():
        key = keys.key_blocks.get(name)
        if key is not None and not key.value:
            key.value = value
    for kind, found in (("curves", _curves), ("drivers", _drivers)):
        for curve in found(keys, set(noted[kind])):
            curve.mute = False


def give_action_back(obj, noted):
    """Let the keys share the action again of which `put_aside` had to take a copy."""
    keys = obj.data.shape_keys
    shared = bpy.data.actions.get(noted.get("shared", ""))
    if keys is None or shared is None or keys.animation_data is None:
        return
    copy = keys.animation_data.action
    actions.hold(keys, shared, noted["slots"])
    if copy is not None and not copy.users:
        bpy.data.actions.remove(copy)


@contextlib.contextmanager
def brought_back(parts):
    """In the block, sliders of parts that were baked before move as if they were not."""
    before = [(part.obj, _standing(part.obj)) for part in parts if part.state]
    try:
        for part in parts:
            if part.state:
                bring_back(part.obj, part.state["sliders"])
        yield
    finally:
        for obj, standing in before:
            with contextlib.suppress(ReferenceError):  # it was removed meanwhile
                _stand(obj, *standing)


def _standing(obj):
    """What `_stand` needs: values of the sliders by name, and what is mute of what moves them."""
    keys = obj.data.shape_keys
    blocks = keys.key_blocks if keys else ()
    return {key.name: key.value for key in blocks}, [curve.mute for curve in _movers(keys)]


def _stand(obj, values, mutes):
    keys = obj.data.shape_keys
    for curve, mute in zip(_movers(keys), mutes, strict=False):
        curve.mute = mute
    for key in keys.key_blocks if keys else ():
        key.value = values.get(key.name, key.value)


def _movers(keys):
    """Every curve and driver of a slider."""
    paths = {actions.value_path(key.name) for key in keys.key_blocks} if keys else ()
    return [*_curves(keys, paths), *_drivers(keys, paths)] if paths else []


def _curves(keys, paths):
    data = keys.animation_data
    playing = actions.playing(data) if data else ()
    return [curve for curves in playing for curve in curves if curve.data_path in paths]


def _drivers(keys, paths):
    data = keys.animation_data
    return [curve for curve in data.drivers if curve.data_path in paths] if data else []


def _own_action(keys, noted):
    """Muting a curve must not reach others that play the same action."""
    action, slots = actions.held(keys)
    if action is not None and action.users - action.use_fake_user > 1:
        actions.own(keys)
        noted["shared"], noted["slots"] = action.name, slots
