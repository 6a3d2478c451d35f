# SPDX-License-Identifier: GPL-3.0-or-later
"""Sliders of a baked mesh: those of its new keys, and of the keys that the bake has muted.

Muted keys are 0 while the bake exists, since not every exporter respects muting: in FBX, their values
would apply again. Their values, curves and drivers are stored in the state of the bake.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from bpy.types import Action, FCurve, Key, Object, ShapeKey

from ..blender import actions, drivers


@dataclass
class MutedSliders:
    """What `mute_sliders` has stored; saved with the file, so fields keep their names."""

    values: dict[str, float] = field(default_factory=dict)  # of muted keys
    curves: list[str] = field(default_factory=list)  # data paths
    drivers: list[str] = field(default_factory=list)  # data paths
    # of keys whose range excludes 0
    ranges: dict[str, Sequence[float]] = field(default_factory=dict)
    shared: str = ""  # name of the action that was copied because others use it
    library: str | None = None  # of that action
    slots: list = field(default_factory=list)  # arguments of `actions.assign`
    # of NLA strips, by name: action, library and slot
    strips: dict[str, Sequence] = field(default_factory=dict)


def add_pulses(
    keys: Key, names: list[str], frames: Sequence[float] | np.ndarray, indices: Sequence[int]
) -> dict[str, Any]:
    """Key the values of shape keys: each is 1 at its own frame, 0 at all others, linear in between.

    `names` are keys of the datablock, `frames` all frames in order, and `indices` those of
    the keys' frames. Returns what `actions.remove_curves` needs, JSON-like.
    """
    holder, state = actions.channels(keys)
    paths = [actions.value_path(name) for name in names]
    curves = actions.Curves(holder)
    curves.drop(paths)
    times = np.asarray(frames, np.float32)
    for path, index in zip(paths, indices, strict=True):
        first, last = max(index - 1, 0), min(index + 1, len(frames) - 1)
        values = np.zeros(last - first + 1, np.float32)
        values[index - first] = 1
        curves.write(path, times[first : last + 1], values)
    return state


def mute_sliders(obj: Object, noted: MutedSliders, baked: list[str]) -> None:
    """Set the muted keys of a mesh object to 0 and store their values."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    muted = [key for key in keys.key_blocks if key.mute]
    noted.values |= {one.name: one.value for one in muted if one.value and one.name not in baked}
    paths = {actions.value_path(key.name) for key in muted}
    _own_actions(keys, paths, noted)
    for kind, curves in _moving(keys).items():
        for curve in curves:
            if curve.data_path in paths and not curve.mute:
                curve.mute = True
                getattr(noted, kind).append(curve.data_path)
    for key in muted:
        if key.slider_min > 0 or key.slider_max < 0:  # such a slider cannot be 0
            noted.ranges[key.name] = key.slider_min, key.slider_max
            _set_range(key, min(key.slider_min, 0.0), max(key.slider_max, 0.0))
        key.value = 0.0


def unmute_sliders(obj: Object, noted: MutedSliders) -> None:
    """Undo `mute_sliders`; a slider that was moved since keeps its value."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    for name, value in noted.values.items():
        key = keys.key_blocks.get(name)
        if key is not None and not key.value:
            key.value = value
    for name, limits in noted.ranges.items():
        if name in keys.key_blocks:
            _set_range(keys.key_blocks[name], *limits)
    for kind, curves in _moving(keys).items():
        for curve in curves:
            if curve.data_path in getattr(noted, kind):
                curve.mute = False


def give_actions_back(obj: Object, noted: MutedSliders) -> None:
    """Assign the shared actions again that `mute_sliders` had to copy; an edited copy is kept."""
    keys = obj.data.shape_keys
    data = keys.animation_data if keys else None
    if data is None:
        return
    known: Any = bpy.data.actions  # by name and path of the library, None for this file
    slot = next(iter(noted.slots), "") or actions.slot_of(data)
    before: list[tuple[Any, Sequence]] = [(data, (noted.shared, noted.library, slot))]
    strips = (strip for strip in actions.strips(data) if strip.name in noted.strips)
    before += [(strip, noted.strips[strip.name]) for strip in strips]
    for player, (name, library, slot) in before:
        shared = known.get((name, library))
        if shared is not None and actions.plays_like(player, shared, slot):
            actions.replace(player, shared, slot)


@contextlib.contextmanager
def temporarily_restored(sliders: Iterable[tuple[Object, MutedSliders]]) -> Iterator[None]:
    """In the block, sliders of meshes that are already baked move as if they were not."""
    with contextlib.ExitStack() as undo:
        for obj, noted in sliders:
            keys = obj.data.shape_keys
            blocks = keys.key_blocks if keys else ()
            values = {key.name: (key.slider_min, key.slider_max, key.value) for key in blocks}
            mutes = [curve.mute for curve in _curves_and_drivers(keys)]
            undo.callback(_set_sliders, obj, values, mutes)
            unmute_sliders(obj, noted)
        yield


def _set_range(key: ShapeKey, lowest: float, highest: float) -> None:
    # Blender clamps each to the other, in whichever order they are set.
    key.slider_min, key.slider_max, key.slider_min = lowest, highest, lowest


def _set_sliders(
    obj: Object, values: dict[str, tuple[float, float, float]], mutes: list[bool]
) -> None:
    """Range and value of sliders, and which of their curves and drivers are muted."""
    try:
        keys = obj.data.shape_keys
    except ReferenceError:  # it was removed in the meantime
        return
    for curve, mute in zip(_curves_and_drivers(keys), mutes, strict=False):
        if curve.mute != mute:
            curve.mute = mute
    for key in keys.key_blocks if keys else ():
        if key.name in values:
            *limits, value = values[key.name]
            _set_range(key, *limits)
            key.value = value


def _curves_and_drivers(keys: Key | None) -> list[FCurve]:
    return [*itertools.chain(*_moving(keys).values())] if keys else []


def _moving(keys: Key) -> dict[str, list[FCurve]]:
    """What moves sliders, by the fields of MutedSliders."""
    return {"curves": actions.playing_curves(keys), "drivers": list(drivers.of(keys))}


def _own_actions(keys: Key, paths: set[str], noted: MutedSliders) -> None:
    """Muting a curve must not affect other users of the action, nor a linked action."""
    data = keys.animation_data
    if data is None:
        return
    players: list[Any] = [data, *actions.strips(data)]
    uses = [player.action for player in players]
    for player in [p for p in players if _moves_any(p, paths) and _is_shared(p.action, uses)]:
        action = player.action
        library = action.library.filepath if action.library else None
        if player == data:
            noted.shared, noted.library = action.name, library
            noted.slots = actions.assigned(keys)[1]
            actions.make_single_user(keys)
        else:
            noted.strips[player.name] = action.name, library, actions.slot_of(player)
            actions.put(player, action.copy(), actions.slot_of(player))


def _is_shared(action: Action, uses: list[Action]) -> bool:
    """Whether an action has other users than these."""
    return action.library is not None or action.users - action.use_fake_user > uses.count(action)


def _moves_any(player: Any, paths: set[str]) -> bool:
    """Whether a curve that is not muted animates any of the paths."""
    found = (curve for curves in actions.played(player) for curve in curves)
    return any(curve.data_path in paths and not curve.mute for curve in found)
