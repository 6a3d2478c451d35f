# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape key values over time, and animated values kept."""

import bpy
import numpy as np

from .. import actions


def add_pulses(keys, names, frames, places):
    """Key the values of shape keys: each is 1 at its own frame and 0 at all others, linear between.

    `names` are keys of the datablock, `frames` all frames in order, and `places` says which of
    them each key has. Returns what `remove_curves` needs, JSON-like.
    """
    holder, state = actions.channels(keys)
    paths = [actions.value_path(name) for name in names]
    actions.drop(holder.fcurves, set(paths))
    times = np.asarray(frames, np.float32)
    for path, place in zip(paths, places, strict=True):
        first, last = max(place - 1, 0), min(place + 1, len(frames) - 1)
        values = np.zeros(last - first + 1, np.float32)
        values[place - first] = 1
        actions.write(actions.new_curve(holder, path), times[first : last + 1], values)
    return state


def remove_curves(keys, names, state):
    """Take the curves of the named keys away again, and what was made to hold them."""
    actions.take_back(keys, map(actions.value_path, names), state)


def is_animated(keys, names):
    """Whether any of the named keys has a value that changes by itself."""
    data = keys.animation_data if keys else None
    if data is None:
        return False
    paths = {curve.data_path for curves in actions.playing(data) for curve in curves}
    paths.update(curve.data_path for curve in data.drivers)
    return any(actions.value_path(name) in paths for name in names)


class Values:
    """The animated values of the file as they stand.

    Changing the frame overwrites those that the user has changed without a keyframe; `restore`
    brings them back.
    """

    def __init__(self):
        self._held = [
            (block, curve.data_path, curve.array_index, _value(block, curve))
            for block, data in _animated_blocks()
            for curves in actions.playing(data)
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
