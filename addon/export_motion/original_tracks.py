# SPDX-License-Identifier: GPL-3.0-or-later
"""The keyframes of a datablock that an export can have as they are; of a channel group (a bone, a
camera), beside those that the import of a file has written: which keys and segments are still the file's.

A segment is what leads from one key to the next; it is stored at the later key, as in the file.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions, fcurves
from ..blender.fcurves import Points
from .timing import Timing

Place = tuple[str, int]  # path and index of a curve
_Pair = tuple[Points | None, Points | None]  # of a channel in the scene, and as expected


class OwnKeyframes:
    """The curves of the action of a datablock, and what else animates it; `expected` are the keyframes
    that imports have written."""

    def __init__(self, block: Any, expected: Mapping[Place, Points] | None = None) -> None:
        self.block, self.expected = block, expected or {}
        self.curves: dict[Place, bpy.types.FCurve] = {}
        self.has_strips = False  # that play
        self.driven: set[str] = set()  # paths
        data = block.animation_data
        if data is None:
            return
        tracks = (track for track in data.nla_tracks if not track.mute)
        plays = any(not strip.mute for track in tracks for strip in track.strips)
        self.has_strips = data.use_tweak_mode or (data.use_nla and plays)
        found = (curve for curves in actions.played(data) for curve in curves)
        self.curves = {(curve.data_path, curve.array_index): curve for curve in found}
        self.driven = {curve.data_path for curve in data.drivers if not curve.mute}

    def alone_move(self, channels: Collection[Place]) -> bool:
        """Whether nothing but keyframes determines the values of channels."""
        if self.has_strips or self.driven.intersection(path for path, _ in channels):
            return False
        curves = [self.curves[channel] for channel in channels if channel in self.curves]
        return not any(
            curve.mute or len(curve.modifiers) or curve.extrapolation != "CONSTANT"
            for curve in curves
        )

    def points(self, channel: Place) -> Points | None:
        """The keyframes of a channel, None if it has none."""
        curve = self.curves.get(channel)
        return fcurves.points(curve) if curve is not None and len(curve.keyframe_points) else None

    def pairs(self, channels: Iterable[Place]) -> list[_Pair]:
        """The keyframes of channels, and the expected ones."""
        return [(self.points(channel), self.expected.get(channel)) for channel in channels]

    def keeps(self, channels: Collection[Place]) -> bool:
        """Whether the keyframes of channels are the expected ones, and nothing else moves them."""
        return self.alone_move(channels) and all(_equal(*pair) for pair in self.pairs(channels))


def animated_with(obj: bpy.types.Object) -> list[Any]:
    """The datablocks whose animation moves or changes a camera or a light."""
    return [block for block in (obj, obj.data, obj.parent) if block is not None]


def _equal(one: Points | None, other: Points | None) -> bool:
    if one is None or other is None:
        return one is other
    alike = (len(a) == len(b) and _alike(a, b).all() for a, b in zip(one, other, strict=True))
    return all(alike)


def _alike(one: np.ndarray, other: np.ndarray) -> Any:
    """Expected handles may be rounded otherwise than those that another build or system has written."""
    return np.isclose(one, other, 4e-7, 1e-9)


class OriginalKeys(NamedTuple):
    """Keys that stay, in order, and keys that the scene lacks where the export begins or ends."""

    frames: np.ndarray  # (K,) int64 frames of the exported file
    times: np.ndarray  # (K,) float32 animation times
    of_file: np.ndarray  # (K,) index of the key in the file's track, -1 for others
    known: np.ndarray  # (K,) bool: the values are those of the file
    kept: np.ndarray  # (K,) bool: so is the segment that leads here
    off_frames: int  # keys of the scene between frames of the file, which cannot stay

    @property
    def complete(self) -> bool:
        """Whether nothing differs from the file."""
        return bool(self.known.all() and self.kept.all() and not self.off_frames)


def match(pairs: Sequence[_Pair], file_times: np.ndarray, timing: Timing) -> OriginalKeys:
    """The keys of channels that move together.

    `file_times`: (K,) float32 animation times of the keys of the file's track, ascending.
    """
    scene_times = [points.frames for points, _ in pairs if points is not None]
    times = np.unique(np.concatenate([file_times, *scene_times]).astype(np.float32))
    kept, known = _unchanged(pairs, times)
    is_in_scene = np.isin(times, np.concatenate([np.empty(0, np.float32), *scene_times]))
    is_in_file = np.isin(times, file_times)
    # A key that the scene lacks is redundant: it stays if nothing changed around it.
    around = kept & np.append(kept[1:], True)
    exact = timing.frames_at(times)
    frames = np.rint(exact).astype(np.int64)
    whole = np.abs(exact - frames) < 1e-3
    is_off = ~whole & is_in_scene
    rows = np.flatnonzero(whole & (is_in_scene | (is_in_file & around)))
    own, first = np.unique(frames[rows], return_index=True)
    rows, used, found = rows[first], [*own, *exact[is_off]], np.empty(0, np.int64)
    if used:
        # What changes between two keys is fitted, but nothing before the first or after the last.
        found = timing.within(np.unique([*own, math.floor(min(used)), math.ceil(max(used))]))
    is_own, chosen = np.isin(found, own), np.full(len(found), len(times))  # the last row for none
    chosen[is_own] = rows[np.searchsorted(own, found[is_own])]
    # A segment from another key than in the file is no longer the file's.
    follows = np.diff(chosen, prepend=chosen[:1]) == 1
    follows[:1] = np.isin(chosen[:1], rows[:1])
    of_file = np.where(is_in_file, np.searchsorted(file_times, times), -1)
    return OriginalKeys(
        found,
        np.where(is_own, np.append(times, 0)[chosen], timing.times_of(found)).astype(np.float32),
        np.append(of_file, -1)[chosen],
        np.append(known & is_in_file, False)[chosen],
        np.append(kept & is_in_file, False)[chosen] & follows,
        int(is_off.sum()),
    )


def joined(parts: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """The columns of keys, of which the first has the frames, joined and in order."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return [column[order] for column in columns]


def _unchanged(pairs: Sequence[_Pair], times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K,) bool whether the segment to each time, and whether its values, are as expected."""
    kept, known = np.ones((2, len(times)), bool)
    for one, other in pairs:
        kept[1:] &= _alike(_segments(one, times), _segments(other, times)).all(axis=1)
    # Between two keys of a channel, its value is that of an unchanged segment.
    around = np.append(False, kept[1:]) | np.append(kept[1:], False)
    for one, other in pairs:
        values, others = _values(one, times), _values(other, times)
        known &= (values == others) | (np.isnan(values) & np.isnan(others) & around)
    return kept, known


def _segments(points: Points | None, times: np.ndarray) -> np.ndarray:
    """(K - 1, 9) what a channel does between times; it has no keys between them."""
    if points is None:
        return np.zeros((max(len(times) - 1, 0), 9), np.float32)
    last = len(points.co) - 1
    start = np.searchsorted(points.frames, times[:-1], "right") - 1
    first, end = np.maximum(start, 0), np.minimum(start + 1, last)
    columns = points.co[first], points.right[first], points.interpolation[first]
    rows = np.concatenate([*columns, points.left[end], points.co[end]], axis=1)
    rows[(start < 0) | (start >= last), :-1] = 0  # it holds the last value
    return rows


def _values(points: Points | None, times: np.ndarray) -> np.ndarray:
    """(K,) values of a channel at times; NaN between its keys."""
    if points is None:
        return np.zeros(len(times), np.float32)
    frames = points.frames
    between = (times > frames[0]) & (times < frames[-1]) & ~np.isin(times, frames)
    found = np.interp(times, frames, points.values).astype(np.float32)
    return np.where(between, np.float32(np.nan), found)
