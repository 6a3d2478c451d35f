# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of morphs as the shape keys and sliders of a model have them: MMD's are linear, too."""

from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions, fcurves, native
from ..import_motion import import_state
from ..pose import motion_source
from ..scene import model_file, scene_model, sliders
from . import originals
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin


class Found(NamedTuple):
    tracks: "dict[str, mmdskin.MorphTrack]"  # by name of the morph
    sampled: bool  # whether other morphs have to be read frame by frame


class _Owner(NamedTuple):
    block: Any
    path: str
    value: float


def find(model: scene_model.SceneModel, pmx: "mmdskin.Model", timing: Timing) -> Found:
    found: dict[str, mmdskin.MorphTrack] = {}
    sampled = False
    known = {
        block: (originals.curves_of(block), originals.driven_paths(block))
        for block in import_state.blocks(model)
    }
    for name, owner in _owners(model, pmx).items():
        curves, driven = known[owner.block]
        if curves is None or owner.path in driven:
            sampled = True
            continue
        curve = curves.get((owner.path, 0))
        if curve is not None and len(curve.keyframe_points):
            track = _track(name, curve, timing)
            if track is None:
                sampled = True
            else:
                found[name] = track
        elif owner.value:
            found[name] = _made(name, [timing.number], [owner.value])
    return Found(found, sampled)


def clipped(track: "mmdskin.MorphTrack", numbers: np.ndarray, timing: Timing) -> Any:
    """The keys within the exported frames, and one at the first or last of them if a line crosses it."""
    first, last = timing.number, timing.number + timing.length - 1
    inside = (numbers >= first) & (numbers <= last)
    kept, weights = numbers[inside], np.asarray(track.weights, np.float32)[inside]
    ends = [end for end in (first, last) if numbers[0] < end < numbers[-1] and end not in kept]
    if not len(kept) and not ends:
        ends = [first]
    values = np.interp(ends, numbers, track.weights).astype(np.float32)
    order = np.argsort([*kept, *ends], kind="stable")
    return _made(
        track.name, np.array([*kept, *ends])[order], np.concatenate([weights, values])[order]
    )


def _track(name: str, curve: bpy.types.FCurve, timing: Timing) -> Any:
    """The keys of a curve, None unless they are linear and on frames of the file."""
    points = fcurves.points(curve)
    linear = fcurves.INTERPOLATION["LINEAR"]
    numbers = timing.numbers_of(points.places[:, 0])
    straight = (points.interpolation[:-1] == linear).all() or _is_constant(points)
    if numbers is None or not straight or not originals.is_plain(curve):
        return None
    if (np.diff(numbers) <= 0).any():
        return None
    return clipped(_made(name, [0] * len(numbers), points.places[:, 1]), numbers, timing)


def _is_constant(points: fcurves.Points) -> bool:
    values = points.places[0, 1], points.left[:, 1], points.right[:, 1]
    return all(
        (np.asarray(column) == values[0]).all() for column in (points.places[:, 1], *values[1:])
    )


def _made(name: str, numbers: Any, weights: Any) -> Any:
    return native.load().MorphTrack(
        name, np.asarray(numbers, np.int64), np.asarray(weights, np.float32)
    )


def _owners(model: scene_model.SceneModel, pmx: "mmdskin.Model") -> dict[str, _Owner]:
    """The shape key or slider of each morph."""
    blocks = import_state.shape_keys(model)
    keys, properties = model_file.morph_keys(model.armature), sliders.names(model.armature)
    found: dict[str, _Owner] = {}
    pairs = [(morph.name, key) for morph, key in zip(pmx.morphs, keys, strict=False) if key]
    if len(keys) != len(pmx.morphs):
        of_keys = motion_source.morphs_of_keys(pmx, model.armature)
        pairs = [(pmx.morphs[i].name, key) for key, i in of_keys.items() if i >= 0]
    for name, key in pairs:
        owner = next((block for block in blocks if key in block.key_blocks), None)
        if owner is not None:
            value = 0.0 if owner.key_blocks[key].mute else owner.key_blocks[key].value
            found.setdefault(name, _Owner(owner, actions.value_path(key), value))
    if len(keys) == len(properties) == len(pmx.morphs):
        for morph, name in zip(pmx.morphs, properties, strict=True):
            if name and name in model.armature:
                value = float(model.armature[name])
                slider = _Owner(model.armature, sliders.path(name), value)
                found.setdefault(morph.name, slider)
    return found
