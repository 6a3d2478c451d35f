# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's light: keys of the MMD Light as they are, any other sun fitted.

Of several suns, the strongest is MMD's one light. Only the MMD Light has self-shadow keys. Its
keyframes stay where all of them are linear or hold their value.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import fcurves, native
from ..blender.user_error import UserError
from ..scene import light
from . import line_fit, originals
from .timing import Timing

# Tolerances
_LIGHT = 0.002  # of colors and directions: half a step of the 255 in MMD's panel
_DISTANCE = 1.0  # of the self-shadow: one step in MMD's panel
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


class LightExport:
    """The tracks of light and self-shadow; `needs_frames`, `objects` and `read` as of `job.Export`."""

    def __init__(self, scene: bpy.types.Scene, timing: Timing) -> None:
        self._timing = timing
        self._sun, self._is_mmd = _sun(scene), light.of_scene(scene) is not None
        self.objects = [self._sun] if self._sun is not None else []
        self._light: Keys | None = None
        self._shadow: Keys | None = None
        self._rows: list[list[float]] = []
        self.needs_frames = False
        if self._sun is not None and self._is_mmd:
            self._light = _keys_of(_light_channels(self._sun), timing)
            self._shadow = _keys_of(_shadow_channels(self._sun), timing)
            self.needs_frames = self._light is None or self._shadow is None
        elif self._sun is not None:
            self.needs_frames = not _is_still(self._sun)
            if not self.needs_frames:
                self.read(bpy.context.evaluated_depsgraph_get())

    def read(self, depsgraph: bpy.types.Depsgraph) -> None:
        assert self._sun is not None
        sun: Any = self._sun.evaluated_get(depsgraph)
        row = [*(sun.location if self._is_mmd else _direction(sun)), *sun.data.color]
        if self._is_mmd:
            row += _shadow_of(sun)
        if not np.isfinite(row).all():
            raise UserError(
                "The light '{name}' has invalid numbers at frame {frame}",
                name=sun.name,
                frame=depsgraph.scene.frame_current,
            )
        self._rows.append(row)

    def tracks(self) -> dict[str, Any]:
        """Arguments of `Motion.from_tracks`; {} if there is nothing to write."""
        found: dict[str, Any] = {}
        if self._sun is None:
            return found
        keys = self._light if self._light is not None else self._fitted_light()
        # MMD begins with the same light.
        if keys.is_animated or not (self._is_mmd and light.has_defaults(self._sun)):
            places, colors = keys.values[:, :3], keys.values[:, 3:6]
            directions = places
            if self._is_mmd:
                directions = np.array([light.direction(place) for place in places.tolist()])
            found["light"] = native.load().LightTrack(keys.numbers, colors, directions)
        if self._is_mmd:
            keys = self._shadow if self._shadow is not None else self._fitted_shadow()
            if keys.is_animated or tuple(keys.values[0]) != light.DEFAULT_SHADOW:
                modes = np.clip(np.rint(keys.values[:, 0]), 0, 2).astype(np.uint8)
                distances = light.stored_shadow_distance(keys.values[:, 1])
                found["shadow"] = native.load().ShadowTrack(keys.numbers, modes, distances)
        return found

    def _fitted_light(self) -> Keys:
        values = np.array(self._rows, np.float64)[:, :6]
        lengths = light.LENGTHS if self._is_mmd else 1.0
        rows = line_fit.rows_of_keys(values, _LIGHT * np.array([*[lengths] * 3, 1, 1, 1]))
        return Keys(self._timing.numbers[rows], values[rows], True)

    def _fitted_shadow(self) -> Keys:
        values = np.array(self._rows, np.float64)[:, 6:]
        starts = [0, *(np.flatnonzero(np.diff(values[:, 0])) + 1).tolist()]
        rows = set(starts)
        for start, end in zip(starts, [*starts[1:], len(values) - 1], strict=True):
            part = values[start : end + 1, 1:]
            rows.update((start + line_fit.rows_of_keys(part, np.array([_DISTANCE]))).tolist())
        chosen = np.array(sorted(rows))
        return Keys(self._timing.numbers[chosen], values[chosen], len(chosen) > 1)


def blocks(scene: bpy.types.Scene) -> list[Any]:
    """The datablocks whose animation moves the scene's light."""
    sun = _sun(scene)
    return [] if sun is None else [sun, sun.data, *([sun.parent] if sun.parent else [])]


def _sun(scene: bpy.types.Scene) -> bpy.types.Object | None:
    found: list[Any] = [
        obj
        for obj in scene.objects
        if obj.type == "LIGHT" and obj.data.type == "SUN" and not obj.hide_render
    ]
    return light.of_scene(scene) or max(found, key=lambda sun: sun.data.energy, default=None)


def _light_channels(sun: Any) -> list[Channel]:
    return [
        *(Channel(sun, "location", index, sun.location[index]) for index in range(3)),
        *(Channel(sun.data, "color", index, sun.data.color[index]) for index in range(3)),
    ]


def _shadow_channels(sun: Any) -> list[Channel]:
    mode, distance = _shadow_of(sun)
    return [
        Channel(sun, f'["{light.SHADOW_MODE}"]', 0, mode, True),
        Channel(sun, f'["{light.SHADOW_DISTANCE}"]', 0, distance),
    ]


def _shadow_of(sun: bpy.types.Object) -> list[float]:
    """Mode and distance; MMD's where the custom property is missing or no number."""
    found = [sun.get(light.SHADOW_MODE), sun.get(light.SHADOW_DISTANCE)]
    pairs = zip(found, light.DEFAULT_SHADOW, strict=True)
    return [value if isinstance(value, (int, float)) else default for value, default in pairs]


def _is_still(sun: bpy.types.Object) -> bool:
    """Whether surely nothing moves the sun or changes its color."""
    data: Any = sun.data
    return not (sun.parent or len(sun.constraints) or sun.animation_data or data.animation_data)


def _direction(sun: bpy.types.Object) -> list[float]:
    """In which the light goes, in the file's axes."""
    ahead = -np.array(sun.matrix_world, np.float64)[[0, 2, 1], 2]
    return (ahead / np.linalg.norm(ahead)).tolist()


def _keys_of(channels: Sequence[Channel], timing: Timing) -> Keys | None:
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
