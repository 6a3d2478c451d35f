# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape key values over time."""

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ..blender import actions, fcurves


def add_pulses(
    keys: bpy.types.Key,
    names: list[str],
    frames: Sequence[float] | np.ndarray,
    places: Sequence[int],
) -> dict[str, Any]:
    """Key the values of shape keys: each is 1 at its own frame, 0 at all others, linear in between.

    `names` are keys of the datablock, `frames` all frames in order, and `places` the index of
    each key's frame. Returns what `remove_curves` needs, JSON-like.
    """
    holder, state = actions.channels(keys)
    paths = [actions.value_path(name) for name in names]
    actions.drop(holder.fcurves, set(paths))
    times = np.asarray(frames, np.float32)
    for path, place in zip(paths, places, strict=True):
        first, last = max(place - 1, 0), min(place + 1, len(frames) - 1)
        values = np.zeros(last - first + 1, np.float32)
        values[place - first] = 1
        fcurves.write(actions.new_curve(holder, path), times[first : last + 1], values)
    return state


def remove_curves(keys: bpy.types.Key, names: list[str], state: dict[str, Any]) -> None:
    """Remove the curves of the named keys, and the action that was created for them."""
    actions.remove_curves(keys, map(actions.value_path, names), state)


def is_animated(keys: bpy.types.Key, names: list[str]) -> bool:
    """Whether any of the named keys has an animated value."""
    data = keys.animation_data if keys else None
    if data is None:
        return False
    paths = {curve.data_path for curves in actions.playing(data) for curve in curves}
    paths.update(curve.data_path for curve in data.drivers)
    return any(actions.value_path(name) in paths for name in names)
