# SPDX-License-Identifier: GPL-3.0-or-later
"""Tracks of a motion file with the frames of an export."""

from typing import Any

import numpy as np

from . import original_morphs
from .timing import Timing


def in_range(whole: Any, tracks: Any, timing: Timing) -> list[Any]:
    """Tracks of a file with the frames of the export, and only the keys within its range."""
    found = []
    for track in tracks:
        if not len(track.frames):
            continue
        numbers = np.rint(timing.of_times(whole.scene_frames(track.frames))).astype(np.int64)
        if hasattr(track, "weights"):
            found.append(original_morphs.clipped(track, numbers, timing))
            continue
        inside = (numbers >= timing.number) & (numbers < timing.number + timing.length)
        columns = [None if column is None else column[inside] for column in track[2:]]
        if inside.any():
            found.append(type(track)(track.name, numbers[inside], *columns))
    return found


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
