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
    _own_actions(keys, paths, noted)
    for kind, curves in (("curves", _curves(keys, paths)), ("drivers", _drivers(keys, paths))):
        for curve in curves:
            if not curve.mute:
                curve.mute = True
                noted[kind].append(curve.data_path)
    for key in muted:
        if key.slider_min > 0 or key.slider_max < 0:  # such a slider cannot stand at 0
            noted.setdefault("ranges", {})[key.name] = key.slider_min, key.slider_max
            _set_range(key, min(key.slider_min, 0.0), max(key.slider_max, 0.0))
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
    for name, limits in noted.get("ranges", {}).items():
        if name in keys.key_blocks:
            _set_range(keys.key_blocks[name], *limits)
    for kind, found in (("curves", _curves), ("drivers", _drivers)):
        for curve in found(keys, set(noted[kind])):
            curve.mute = False


def give_actions_back(obj, noted):
    """Let the keys share the actions again of which `put_aside` had to take copies.

    A copy that was edited since stays.
    """
    keys = obj.data.shape_keys
    data = keys.animation_data if keys else None
    if data is None:
        return
    shared = _named(noted.get("shared", ""), noted.get("library"))
    slot = noted["slots"][0] or actions.slot_of(data) if shared is not None else ""
    if shared is not None and actions.plays_like(data, shared, slot):
        copy = data.action
        actions.hold(keys, shared, noted["slots"])
        if copy is not None and not copy.users:
            bpy.data.actions.remove(copy)
    for strip in actions.strips(data):
        name, library, slot = noted.get("strips", {}).get(strip.name, ("", None, ""))
        shared = _named(name, library)
        if shared is not None and actions.plays_like(strip, shared, slot):
            actions.share_with_strip(strip, shared, slot)


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


def _set_range(key, least, most):
    # Blender keeps the one below the other, whichever is set first.
    key.slider_min, key.slider_max, key.slider_min = least, most, least


def _standing(obj):
    """What `_stand` needs: the sliders by name, and what is mute of what moves them."""
    keys = obj.data.shape_keys
    blocks = keys.key_blocks if keys else ()
    sliders = {key.name: (key.slider_min, key.slider_max, key.value) for key in blocks}
    return sliders, [curve.mute for curve in _movers(keys)]


def _stand(obj, sliders, mutes):
    keys = obj.data.shape_keys
    for curve, mute in zip(_movers(keys), mutes, strict=False):
        curve.mute = mute
    for key in keys.key_blocks if keys else ():
        if key.name in sliders:
            *limits, value = sliders[key.name]
            _set_range(key, *limits)
            key.value = value


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


def _own_actions(keys, paths, noted):
    """Muting a curve must not reach others that play the same action, nor another file's."""
    data = keys.animation_data
    if data is None:
        return
    players = [data, *actions.strips(data)]
    uses = [player.action for player in players]
    for player in [p for p in players if _moves_any(p, paths) and _is_shared(p.action, uses)]:
        action = player.action
        library = _path(action.library)
        if player == data:
            noted["shared"], noted["library"] = action.name, library
            noted["slots"] = actions.held(keys)[1]
            actions.own(keys)
        else:
            copied = noted.setdefault("strips", {})
            copied[player.name] = action.name, library, actions.slot_of(player)
            actions.own_of_strip(player)


def _is_shared(action, uses):
    """Whether more than these uses know an action."""
    return action.library is not None or action.users - action.use_fake_user > uses.count(action)


def _moves_any(player, paths):
    """Whether a curve that is not muted is played for any of the paths."""
    found = (curve for curves in actions.played(player) for curve in curves)
    return any(curve.data_path in paths and not curve.mute for curve in found)


def _named(name, library):
    """The action of this name from the library with that path, None being this file."""
    found = (action for action in bpy.data.actions if action.name == name)
    return next((one for one in found if _path(one.library) == library), None)


def _path(library):
    return library.filepath if library else None
