# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a channel group (a bone, a camera) as its F-curves have them, beside those that the
import of a file has written: which keys and segments are still the file's.

A segment is what leads from one key to the next; it is stored at the later key, as in the file.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..blender.fcurves import Points
from .timing import Timing


class OriginalKeys(NamedTuple):
    """Keys that stay, in order."""

    numbers: np.ndarray  # (K,) int64 frames of the exported file
    times: np.ndarray  # (K,) float32 animation times
    of_file: np.ndarray  # (K,) index of the key in the file's track, -1 for others
    known: np.ndarray  # (K,) bool: the values are those of the file
    kept: np.ndarray  # (K,) bool: so is the segment that leads here
    off_frames: int  # keys of the scene between frames of the file, which cannot stay

    @property
    def complete(self) -> bool:
        """Whether nothing differs from the file."""
        return bool(self.known.all() and self.kept.all() and not self.off_frames)


def match(
    actual: Sequence[Points | None],
    expected: Sequence[Points | None],
    file_times: np.ndarray,
    timing: Timing,
) -> OriginalKeys:
    """Of channels, each with its points in the scene and those that the import has written.

    `file_times`: (K,) float32 animation times of the keys of the file's track, ascending.
    """
    scene_times = [points.places[:, 0] for points in actual if points is not None]
    times = np.unique(np.concatenate([file_times, *scene_times]).astype(np.float32))
    kept, known = _unchanged(actual, expected, times)
    is_in_scene = np.isin(times, np.concatenate([np.empty(0, np.float32), *scene_times]))
    place = np.minimum(np.searchsorted(file_times, times), max(len(file_times) - 1, 0))
    is_in_file = np.isin(times, file_times)
    of_file = np.where(is_in_file, place, -1)
    # A key that the scene lacks is redundant: it stays if nothing changed around it.
    around = kept & np.append(kept[1:], True)
    exact = timing.of_times(times)
    numbers = np.rint(exact).astype(np.int64)
    whole = np.abs(exact - numbers) < 1e-3
    stays = whole & (is_in_scene | (is_in_file & around))
    off_frames = int((~whole & is_in_scene).sum())
    # A segment over keys that were dropped is no longer the file's.
    dropped_before = np.cumsum(~stays)
    chosen = np.flatnonzero(stays)
    chosen = chosen[np.unique(numbers[chosen], return_index=True)[1]]
    breaks = np.diff(dropped_before[chosen], prepend=0) > 0
    found = OriginalKeys(
        numbers[chosen],
        times[chosen],
        of_file[chosen],
        (known & is_in_file)[chosen],
        (kept & is_in_file)[chosen] & ~(breaks & (np.arange(len(chosen)) > 0)),
        off_frames,
    )
    return _clipped(_widened(found, exact[~whole & is_in_scene], timing), timing)


def _unchanged(
    actual: Sequence[Points | None], expected: Sequence[Points | None], times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(K,) bool whether the segment to each time, and whether its values, are as expected."""
    kept = np.ones(len(times), bool)
    same = np.ones((len(actual), len(times)), bool)
    between = np.zeros((len(actual), len(times)), bool)
    for channel, (one, other) in enumerate(zip(actual, expected, strict=True)):
        kept[1:] &= (_segments(one, times) == _segments(other, times)).all(axis=1)
        values, others = _values(one, times), _values(other, times)
        between[channel] = np.isnan(values) & np.isnan(others)
        same[channel] = values == others
    # Between two keys of a channel, its value is that of an unchanged segment.
    around = np.append(False, kept[1:]) | np.append(kept[1:], False)
    return kept, (same | (between & around)).all(axis=0)


def _segments(points: Points | None, times: np.ndarray) -> np.ndarray:
    """(K - 1, 9) what a channel does between times; it has no keys between them."""
    count = max(len(times) - 1, 0)
    if points is None or not len(points.places):
        return np.zeros((count, 9), np.float32)
    last = len(points.places) - 1
    start = np.searchsorted(points.places[:, 0], times[:-1], "right") - 1
    first, end = np.clip(start, 0, last), np.clip(start + 1, 0, last)
    rows = np.concatenate(
        [
            points.places[first],
            points.right[first],
            points.interpolation[first],
            points.left[end],
            points.places[end],
        ],
        axis=1,
    ).astype(np.float32)
    outside = (start < 0) | (start >= last)
    held = points.places[np.where(start < 0, 0, last), 1]
    rows[outside] = 0
    rows[outside, 1] = held[outside]
    return rows


def _values(points: Points | None, times: np.ndarray) -> np.ndarray:
    """(K,) values of a channel at times; NaN between its keys."""
    if points is None or not len(points.places):
        return np.zeros(len(times), np.float32)
    frames, values = points.places.T
    found = np.full(len(times), np.nan, np.float32)
    found[times <= frames[0]] = values[0]
    found[times >= frames[-1]] = values[-1]
    place = np.minimum(np.searchsorted(frames, times), len(frames) - 1)
    at_key = frames[place] == times
    found[at_key] = values[place[at_key]]
    return found


def _widened(keys: OriginalKeys, off: np.ndarray, timing: Timing) -> OriginalKeys:
    """The keys, and more where the scene's first or last one is `off` frames of the file: what
    changes between two keys is fitted, but nothing before the first or after the last."""
    if not len(off):
        return keys
    first, last = math.floor(off[0]), math.ceil(off[-1])
    numbers = keys.numbers
    parts: list[tuple[np.ndarray, ...]] = [keys[:5]]
    if not len(numbers) or last > numbers[-1]:
        parts.append(_cut(last, timing))
    begins = not len(numbers) or first < numbers[0]
    if begins:
        parts.insert(0, _cut(first, timing))
    numbers, times, of_file, known, kept = (np.concatenate(c) for c in zip(*parts, strict=True))
    if begins:
        kept[1:2] = False  # it leads from the new key
    return OriginalKeys(numbers, times, of_file, known, kept, keys.off_frames)


def _clipped(keys: OriginalKeys, timing: Timing) -> OriginalKeys:
    """The keys within the exported frames; segments that these cut get a key at the cut."""
    first, last = timing.number, timing.number + timing.length - 1
    inside = (keys.numbers >= first) & (keys.numbers <= last)
    if inside.all():
        return keys
    parts = [(keys.numbers[inside], *(column[inside] for column in keys[1:5]))]
    before, after = (keys.numbers < first).any(), (keys.numbers > last).any()
    numbers = parts[0][0]
    if before:
        if len(numbers):
            parts[0][4][0] = False
        if not len(numbers) or numbers[0] > first:
            parts.insert(0, _cut(first, timing))
    if after and (not len(numbers) or numbers[-1] < last) and last > first:
        parts.append(_cut(last, timing))
    numbers, times, of_file, known, kept = (np.concatenate(c) for c in zip(*parts, strict=True))
    return OriginalKeys(numbers, times, of_file, known, kept, keys.off_frames)


def _cut(number: int, timing: Timing) -> tuple[np.ndarray, ...]:
    """The columns of a key that the scene lacks."""
    time = timing.of_number(number)
    no = np.array([False])
    return np.array([number]), np.array([time], np.float32), np.array([-1]), no, no
