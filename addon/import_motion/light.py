# SPDX-License-Identifier: GPL-3.0-or-later
"""The light and self-shadow of a VMD as keyframes of the scene's MMD light (`scene.light`).

MMD interpolates color and direction linearly, and so do the keyframes. Self-shadow keys are kept
for a later export. As for a model, keyframes are written into copies of the light's actions.
"""

import contextlib
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

from ..blender import actions, fcurves
from ..operator_base.editing import Edit
from ..scene import light, saved_state
from . import bezier, import_state

if TYPE_CHECKING:
    import mmdskin

_STRAIGHT = (20, 20, 107, 107)  # MMD's curve of a constant speed


def add(
    scene: bpy.types.Scene,
    track: "mmdskin.LightTrack",
    shadow: "mmdskin.ShadowTrack",
    frames: np.ndarray,
    shadow_frames: np.ndarray,
    file: tuple[str, float, float],
) -> bpy.types.Object:
    """Key the scene's light at these scene frames; earlier keyframes before the first stay.

    `file` has the path, the start and the speed.
    """
    sun = light.ensure(scene)
    with contextlib.ExitStack() as stack:
        noted = [stack.enter_context(import_state.recording(block)) for block in _blocks(sun)]
        for one, name in zip(noted, ("location", "color"), strict=True):
            one.own_action()
            one.note_value(name)
            one.state.files = [known for known in one.state.files if known[0] != file[0]]
            one.state.files.append(list(file))
        for name in (light.SHADOW_MODE, light.SHADOW_DISTANCE):
            noted[0].note_slider(name)
        _write(sun, track, shadow, frames, shadow_frames)
    return sun


def imported(scene: bpy.types.Scene) -> bpy.types.Object | None:
    """The scene's light if a motion was imported onto it."""
    sun = light.of_scene(scene)
    return sun if sun is not None and saved_state.is_own(sun, saved_state.MOTION) else None


def clear(edit: Edit, scene: bpy.types.Scene, sun: bpy.types.Object) -> list[str]:
    """Undo all imports onto the scene's light; returns the names of actions that are kept."""
    blocks = [block for block in _blocks(sun) if saved_state.is_own(block, saved_state.MOTION)]
    kept = [import_state.Record(block).restore(edit) for block in blocks]
    if not any(saved_state.LOOK in material for material in bpy.data.materials):
        edit.on_success(lambda: light.remove_untouched(scene))
    return [name for name in kept if name]


def _blocks(sun: Any) -> list[Any]:
    """What keyframes animate: direction and self-shadow, and color."""
    return [sun, sun.data]


def _write(
    sun: bpy.types.Object,
    track: "mmdskin.LightTrack",
    shadow: "mmdskin.ShadowTrack",
    frames: np.ndarray,
    shadow_frames: np.ndarray,
) -> None:
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
