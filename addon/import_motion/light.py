# SPDX-License-Identifier: GPL-3.0-or-later
"""The light and self-shadow of a VMD as keyframes of the scene's MMD light (`scene.light`).

MMD interpolates color and direction linearly, and so do the keyframes. Self-shadow keys are kept
for a later export. As for a model, keyframes are written into copies of the light's actions.
"""

from typing import Any

import bpy
import numpy as np
from bpy.types import Object, Scene

from ..blender.native import mmdskin
from ..operator_base.editing import Edit
from ..scene import light, saved_state, sliders
from . import bezier, import_state
from .import_state import Record


def add(scene: Scene, motion: "mmdskin.Motion", file: tuple[str, float, float]) -> np.ndarray:
    """Key the scene's light by a file (path, start and speed), and return the scene frames; earlier
    keyframes before the first stay."""
    sun, (path, start, speed) = light.ensure(scene), file
    track, shadow = motion.light, motion.shadow
    frames, shadow_frames = start + track.frames / speed, start + shadow.frames / speed
    mode_path, distance_path = map(sliders.path, (light.SHADOW_MODE, light.SHADOW_DISTANCE))
    of_sun, of_data = records = [Record(block) for block in _blocks(sun)]
    for record in records:
        kept = [known for known in record.state.files if known[0] != path]
        record.state.files = [*kept, list(file)]
    of_sun.note("location", mode_path, distance_path)
    of_data.note("color")
    locations = [light.place(direction) for direction in track.directions.tolist()]
    _key(of_sun, "location", frames, np.array(locations, np.float64).reshape(-1, 3), track.frames)
    _key(of_data, "color", frames, track.colors, track.frames)
    distances = light.shadow_distance(shadow.distances.astype(np.float64))[:, None]
    _key(of_sun, distance_path, shadow_frames, distances, shadow.frames)
    if len(shadow_frames):
        modes = shadow.modes.astype(np.float64)
        handles = bezier.steps(shadow_frames, modes)
        of_sun.curves().write(mode_path, shadow_frames, modes, handles)
    for record in records:
        record.store()
    return np.append(frames, shadow_frames)


def imported(scene: Scene) -> Object | None:
    """The scene's light if a motion was imported onto it."""
    sun = light.of_scene(scene)
    return sun if sun is not None and saved_state.is_own(sun, saved_state.MOTION) else None


def clear(edit: Edit, scene: Scene, sun: Object) -> list[str]:
    """Undo all imports onto the scene's light; returns the names of actions that are kept."""
    kept = import_state.clear(edit, _blocks(sun))
    if not any(saved_state.LOOK in material for material in bpy.data.materials):
        edit.on_success(light.remove_untouched, scene)
    return kept


def _blocks(sun: Any) -> list[Any]:
    """What keyframes animate: direction and self-shadow, and color."""
    return [sun, sun.data]


def _key(
    record: Record, path: str, frames: np.ndarray, values: np.ndarray, file_frames: np.ndarray
) -> None:
    """Linear keyframes of values (K, N), with cuts."""
    if not len(frames):
        return
    cuts = bezier.cuts(file_frames)
    straight = np.tile(bezier.STRAIGHT, (len(frames), 1))
    for index, column in enumerate(values.T):
        handles = bezier.handles(frames, column, straight, cuts) if cuts[:-1].any() else None
        record.curves().write(path, frames, column, handles, index=index)
