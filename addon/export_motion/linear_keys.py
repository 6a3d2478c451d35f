# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of what MMD moves in straight lines: morphs, the light and the self-shadow.

They are the keyframes of F-curves, where all of them are linear or hold their value, or else fitted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..blender.fcurves import INTERPOLATION, Points
from .original_tracks import OwnKeyframes
from .timing import Timing

_STRAIGHT = 1e-5  # of a value: how far a handle may be from the line
_WINDOW = 64  # frames to look ahead at first


class LinearChannel(NamedTuple):
    own: OwnKeyframes
    place: tuple[str, int]  # path and member of the property
    value: float  # without keyframes
    steps: bool = False  # holds its value from key to key in MMD


class Keys(NamedTuple):
    frames: np.ndarray  # (K,) of the file
    values: np.ndarray  # (K, C) float64
    is_animated: bool


class _Line(NamedTuple):
    """A channel from point to point."""

    keys: np.ndarray  # frames of the file that need a key
    frames: np.ndarray  # (P,) of the points
    values: np.ndarray  # (P,)


def find(channels: Sequence[LinearChannel], timing: Timing) -> Keys | None:
    """The keys of channels, one key at the first frame if there are none.

    None if MMD's keys cannot be the same.
    """
    lines = [_line(channel, timing) for channel in channels]
    if None in lines:
        return None
    used = np.unique(np.concatenate([line.keys for line in lines]))
    frames = timing.within(used)
    values = [np.interp(frames, line.frames, line.values) for line in lines]
    return Keys(frames, np.array(values).T, bool(len(used)))


def _line(channel: LinearChannel, timing: Timing) -> _Line | None:
    if not channel.own.alone_move([channel.place]):
        return None
    points = channel.own.points(channel.place)
    if points is None:
        return _Line(np.empty(0, np.int64), np.zeros(1), np.array([channel.value]))
    frames, values = timing.whole_frames_at(points.frames), points.values
    if frames is None or (np.diff(frames) <= 0).any():
        return None
    holds = points.interpolation[:-1, 0] == INTERPOLATION["CONSTANT"]
    jumps, straight = np.diff(values) != 0, are_lines(points)
    if not (holds | (straight & ~jumps if channel.steps else straight)).all():
        return None
    # A value that is held until it jumps needs a key at the frame before.
    last = np.flatnonzero(holds & jumps & (np.diff(frames) > 1))
    before = np.insert(frames, last + 1, frames[last + 1] - 1)
    held = np.insert(values, last + 1, values[last])
    return _Line(frames if channel.steps else before, before, held)


def are_lines(points: Points) -> np.ndarray:
    """(K - 1,) bool whether segments are lines."""
    start, end, kinds = points.co[:-1], points.co[1:], points.interpolation[:-1, 0]
    slopes = (end - start)[:, 1] / (end - start)[:, 0]
    bar = _STRAIGHT * max(1.0, float(np.abs(points.values).max()))
    handles = np.array([points.right[:-1], points.left[1:]])
    offs = handles[..., 1] - start[:, 1] - slopes * (handles[..., 0] - start[:, 0])
    # Between equal values, only elastic easing moves besides handles.
    on_line = (start[:, 1] == end[:, 1]) & (kinds != INTERPOLATION["ELASTIC"])
    on_line = np.where(kinds == INTERPOLATION["BEZIER"], (np.abs(offs) <= bar).all(axis=0), on_line)
    return on_line | (kinds == INTERPOLATION["LINEAR"])


def rows_of_keys(values: np.ndarray, tolerances: np.ndarray) -> np.ndarray:
    """(K,) ascending rows of values (F, C) between which lines stay within the tolerances (C,).

    Each line is the longest that passes all samples, as the native module finds them for morphs:
    docs/fitting.md. What stays as it is has one key.
    """
    found = [0]
    while found[-1] < len(values) - 1:
        found.append(found[-1] + _reach(values[found[-1] :], tolerances))
    while len(found) > 1:
        at = found[-2]
        if (np.abs(values[at:] - values[at]) > tolerances).any():
            break
        found.pop()
    return np.array(found)


def _reach(values: np.ndarray, tolerances: np.ndarray) -> int:
    """The row at which the longest line from the first row ends."""
    window = _WINDOW
    while True:
        moved = values[1 : window + 1] - values[0]
        spans = np.arange(1, len(moved) + 1)[:, None]
        # The cone of slopes that pass all samples up to each one.
        least = np.maximum.accumulate((moved - tolerances) / spans)
        most = np.minimum.accumulate((moved + tolerances) / spans)
        slopes = moved / spans
        within = np.append(
            True, ((slopes[1:] >= least[:-1]) & (slopes[1:] <= most[:-1])).all(axis=1)
        )
        is_closed = (least > most).any()
        if is_closed or window >= len(values) - 1:
            return int(np.flatnonzero(within)[-1]) + 1
        window *= 4
