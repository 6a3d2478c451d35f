# SPDX-License-Identifier: GPL-3.0-or-later
"""Tracks of a motion file with the frames of an export, and keys of visibility and IK switches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..blender import native
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin


def in_range(whole: Any, tracks: Any, timing: Timing) -> list[Any]:
    """Tracks of a file with the frames of the export, and only the keys within its range."""
    found = []
    for track in tracks:
        if not len(track.frames):
            continue
        numbers = np.rint(timing.of_times(whole.scene_frames(track.frames))).astype(np.int64)
        if hasattr(track, "weights"):
            inside = timing.within(numbers)
            weights = np.interp(inside, numbers, track.weights)
            found.append(morph_track(track.name, inside, weights))
            continue
        inside = (numbers >= timing.number) & (numbers < timing.number + timing.length)
        inside[:-1] &= numbers[1:] > numbers[:-1]  # the last of several on one frame
        columns = [None if column is None else column[inside] for column in track[2:]]
        if inside.any():
            found.append(type(track)(track.name, numbers[inside], *columns))
    return found


def joined(parts: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """The columns of keys, of which the first has the frames, joined and in order."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return [column[order] for column in columns]


def morph_track(name: str, numbers: np.ndarray, weights: np.ndarray) -> "mmdskin.MorphTrack":
    return native.load().MorphTrack(name, numbers, weights.astype(np.float32))


def property_keys(whole: Any, timing: Timing) -> Any:
    """The property keys of a file within the export; the state before it is a key at its start."""
    track = whole.motion.properties
    numbers = np.rint(timing.of_times(whole.scene_frames(track.frames))).astype(np.int64)
    inside = (numbers >= timing.number) & (numbers < timing.number + timing.length)
    before = np.flatnonzero(numbers < timing.number)
    if len(before) and timing.number not in numbers:
        inside[before[-1]] = True
        numbers[before[-1]] = timing.number
    inside[:-1] &= numbers[1:] > numbers[:-1]  # the last of several on one frame
    return type(track)(
        numbers[inside], track.visible[inside], track.ik_names, track.ik_enabled[inside]
    )


def are_on_frames(whole: Any, tracks: Any, timing: Timing) -> bool:
    """Whether all keys are on frames of the export."""
    times = [whole.scene_frames(track.frames) for track in tracks]
    return not times or timing.numbers_of(np.concatenate(times)) is not None


def is_simulated(pmx: Any, number: int) -> bool:
    """Whether a rigid body moves a bone."""
    return any(body.bone == number and body.mode != "follow_bone" for body in pmx.rigid_bodies)


def switches(
    pmx: "mmdskin.Model", numbers: np.ndarray, visible: np.ndarray, ik: np.ndarray
) -> "mmdskin.PropertyTrack":
    """A key at the first of the frames and at each change; like MMD, each names all IK bones.

    `visible` (F,) and `ik` (F, B) are values at frames `numbers` (F,) of the file.
    """
    goals = {bone.name: i for i, bone in reversed([*enumerate(pmx.bones)]) if bone.ik}
    names = tuple(dict.fromkeys(bone.name for bone in pmx.bones if bone.ik))
    states = ik[:, [goals[name] for name in names]]
    values = np.column_stack([visible, states])
    changes = np.flatnonzero(np.append(True, (values[1:] != values[:-1]).any(axis=1)))
    return native.load().PropertyTrack(numbers[changes], visible[changes], names, states[changes])
