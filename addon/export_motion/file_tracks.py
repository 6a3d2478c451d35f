# SPDX-License-Identifier: GPL-3.0-or-later
"""Tracks of a motion file with the frames of an export, and keys of visibility and IK switches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..blender.native import mmdskin
from .timing import Timing


def in_range(whole: Any, tracks: Any, timing: Timing) -> list[Any]:
    """Tracks of a file with the frames of the export, and only the keys within its range."""
    found = []
    for track in tracks:
        if not len(track.frames):
            continue
        frames = np.rint(timing.frames_at(whole.scene_frames(track.frames))).astype(np.int64)
        if hasattr(track, "weights"):
            inside = timing.within(frames)
            weights = np.interp(inside, frames, track.weights).astype(np.float32)
            found.append(mmdskin.MorphTrack(track.name, inside, weights))
            continue
        inside = timing.covers(frames)
        inside[:-1] &= frames[1:] > frames[:-1]  # the last of several on one frame
        columns = [None if column is None else column[inside] for column in track[2:]]
        if inside.any():
            found.append(type(track)(track.name, frames[inside], *columns))
    return found


def joined(parts: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """The columns of keys, of which the first has the frames, joined and in order."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return [column[order] for column in columns]


def property_keys(whole: Any, timing: Timing) -> Any:
    """The property keys of a file within the export; the state before it is a key at its start."""
    track = whole.motion.properties
    frames = np.rint(timing.frames_at(whole.scene_frames(track.frames))).astype(np.int64)
    inside = timing.covers(frames)
    before = np.flatnonzero(frames < timing.file_first)
    if len(before) and timing.file_first not in frames:
        inside[before[-1]] = True
        frames[before[-1]] = timing.file_first
    inside[:-1] &= frames[1:] > frames[:-1]  # the last of several on one frame
    return type(track)(
        frames[inside], track.visible[inside], track.ik_names, track.ik_enabled[inside]
    )


def are_on_frames(whole: Any, tracks: Any, timing: Timing) -> bool:
    """Whether all keys are on frames of the export."""
    times = [whole.scene_frames(track.frames) for track in tracks]
    return not times or timing.whole_frames_at(np.concatenate(times)) is not None


def switches(
    pmx: "mmdskin.Model", frames: np.ndarray, visible: np.ndarray, ik: np.ndarray
) -> "mmdskin.PropertyTrack":
    """A key at the first of the frames and at each change; like MMD, each names all IK bones.

    `visible` (F,) and `ik` (F, B) are values at frames `frames` (F,) of the file.
    """
    goals = {bone.name: i for i, bone in reversed([*enumerate(pmx.bones)]) if bone.ik}
    names = tuple(dict.fromkeys(bone.name for bone in pmx.bones if bone.ik))
    states = ik[:, [goals[name] for name in names]]
    values = np.column_stack([visible, states])
    changes = np.flatnonzero(np.append(True, (values[1:] != values[:-1]).any(axis=1)))
    return mmdskin.PropertyTrack(frames[changes], visible[changes], names, states[changes])
