# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframes of MMD's light as they are, where all of them are linear or hold their value."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import fcurves
from . import originals
from .timing import Timing

_STRAIGHT = 1e-5  # of a value: how far a handle may be from the line


class Channel(NamedTuple):
    block: Any
    path: str
    axis: int
    value: float  # without keyframes
    steps: bool = False  # holds its value from key to key in MMD


class Keys(NamedTuple):
    numbers: np.ndarray  # (K,) frames of the file
    values: np.ndarray  # (K, C) float64
    is_animated: bool


def keys_of(channels: Sequence[Channel], timing: Timing) -> Keys | None:
    """The keys of channels, one key at the first frame if there are none.

    None if MMD's keys cannot be the same.
    """
    curves = [_curve(channel) for channel in channels]
    if not all(map(_is_own, channels, curves)):
        return None
    keyed = [(one, curve) for one, curve in zip(channels, curves, strict=True) if curve is not None]
    numbers: set[int] = set()
    for channel, curve in keyed:
        found = _numbers(channel, fcurves.points(curve), timing)
        if found is None:
            return None
        numbers.update(found)
    chosen = _within(np.array(sorted(numbers), np.int64), timing)
    times = (timing.first + (chosen - timing.number) / timing.rate) * timing.stretch
    columns = [
        np.full(len(times), channel.value)
        if curve is None
        else [curve.evaluate(time) for time in times.tolist()]
        for channel, curve in zip(channels, curves, strict=True)
    ]
    return Keys(chosen, np.array(columns, np.float64).T, bool(keyed))


def _curve(channel: Channel) -> bpy.types.FCurve | None:
    curve = (originals.curves_of(channel.block) or {}).get((channel.path, channel.axis))
    return curve if curve is not None and len(curve.keyframe_points) else None


def _is_own(channel: Channel, curve: bpy.types.FCurve | None) -> bool:
    """Whether nothing but keyframes animates a channel."""
    if originals.curves_of(channel.block) is None:
        return False
    is_driven = channel.path in originals.driven_paths(channel.block)
    return not is_driven and (curve is None or originals.is_plain(curve))


def _numbers(channel: Channel, points: fcurves.Points, timing: Timing) -> list[int] | None:
    """Frames of the file that need a key, None unless lines between them are the curve."""
    numbers = timing.numbers_of(points.places[:, 0])
    if numbers is None or (np.diff(numbers) <= 0).any():
        return None
    holds = points.interpolation[:-1, 0] == fcurves.INTERPOLATION["CONSTANT"]
    flat = _lines(points, np.zeros(len(numbers) - 1))
    if channel.steps:
        return numbers.tolist() if (holds | flat).all() else None
    slopes = np.diff(points.places[:, 1]) / np.diff(points.places[:, 0])
    linear = points.interpolation[:-1, 0] == fcurves.INTERPOLATION["LINEAR"]
    if not (holds | linear | _lines(points, slopes)).all():
        return None
    # A value that is held until it jumps needs a key at the frame before.
    jumps = holds & (np.diff(points.places[:, 1]) != 0)
    return [*numbers.tolist(), *(numbers[1:][jumps] - 1).tolist()]


def _lines(points: fcurves.Points, slopes: np.ndarray) -> np.ndarray:
    """(K - 1,) bool whether segments are lines with these slopes."""
    start, end = points.places[:-1], points.places[1:]
    bar = _STRAIGHT * max(1.0, float(np.abs(points.places[:, 1]).max()))
    offs = [
        point[:, 1] - start[:, 1] - slopes * (point[:, 0] - start[:, 0])
        for point in (points.right[:-1], points.left[1:], end)
    ]
    bends = points.interpolation[:-1, 0] == fcurves.INTERPOLATION["BEZIER"]
    linear = points.interpolation[:-1, 0] == fcurves.INTERPOLATION["LINEAR"]
    on_line = [np.abs(off) <= bar for off in offs]
    return on_line[2] & (linear | (bends & on_line[0] & on_line[1]))


def _within(numbers: np.ndarray, timing: Timing) -> np.ndarray:
    """The frames that are exported, and the first or last of them where a line crosses it."""
    first, last = timing.number, timing.number + timing.length - 1
    inside = numbers[(numbers >= first) & (numbers <= last)]
    ends = []
    if not len(inside) or (numbers < first).any():
        ends.append(first)
    if (numbers > last).any() and (numbers <= last).any():
        ends.append(last)
    return np.unique([*inside.tolist(), *ends]).astype(np.int64)
