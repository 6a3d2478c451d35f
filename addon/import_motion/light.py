# SPDX-License-Identifier: GPL-3.0-or-later
"""The light and self-shadow of a VMD as keyframes of the scene's MMD light (`scene.light`).

MMD interpolates color and direction linearly, and so do the keyframes. Self-shadow keys are kept
for a later export.
"""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

from ..blender import actions, fcurves
from ..scene import light
from . import bezier

if TYPE_CHECKING:
    import mmdskin

_STRAIGHT = (20, 20, 107, 107)  # MMD's curve of a constant speed


def add(
    scene: bpy.types.Scene,
    track: "mmdskin.LightTrack",
    shadow: "mmdskin.ShadowTrack",
    frames: np.ndarray,
    shadow_frames: np.ndarray,
) -> bpy.types.Object:
    """Key the scene's light at these scene frames; earlier keyframes before the first stay."""
    sun = light.ensure(scene)
    places = np.array([light.place(direction) for direction in track.directions.tolist()])
    for index in range(3 if len(frames) else 0):
        _key(sun, "location", index, frames, places[:, index], track.frames)
        _key(sun.data, "color", index, frames, track.colors[:, index], track.frames)
    if len(shadow_frames):
        distances = light.shadow_distance(shadow.distances.astype(np.float64))
        path = f'["{light.SHADOW_DISTANCE}"]'
        _key(sun, path, 0, shadow_frames, distances, shadow.frames)
        modes = shadow.modes.astype(np.float64)
        curve = _curve(sun, f'["{light.SHADOW_MODE}"]', 0)
        fcurves.write(curve, shadow_frames, modes, bezier.steps(shadow_frames, modes))
    return sun


def _key(
    block: Any,
    path: str,
    index: int,
    frames: np.ndarray,
    values: np.ndarray,
    file_frames: np.ndarray,
) -> None:
    """Linear keyframes; keys on adjacent frames of the file are a cut."""
    cuts = np.append(np.diff(file_frames.astype(np.int64)) <= 1, False)
    straight = np.tile(_STRAIGHT, (len(frames), 1))
    handles = bezier.handles(frames, values, straight, cuts) if cuts.any() else None
    fcurves.write(_curve(block, path, index), frames, values, handles)


def _curve(block: Any, path: str, index: int) -> bpy.types.FCurve:
    holder = actions.channels(block)[0]
    return holder.fcurves.find(path, index=index) or actions.new_curve(holder, path, index)
