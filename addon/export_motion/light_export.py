# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's light: keys of the MMD Light as they are, any other sun fitted.

Of several suns, the strongest is MMD's one light. Only the MMD Light has self-shadow keys.
"""

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps
from ..scene import light
from . import linear_keys
from .linear_keys import Channel, Keys
from .original_tracks import OwnKeyframes
from .timing import Timing

# Tolerances
_LIGHT = 0.002  # of colors and directions: half a step of the 255 in MMD's panel
_DISTANCE = 1.0  # of the self-shadow: one step in MMD's panel


class LightExport:
    def __init__(self, scene: bpy.types.Scene, sun: bpy.types.Object, timing: Timing) -> None:
        self._sun, self._timing, self.objects = sun, timing, [sun]
        self._is_mmd = sun == light.of_scene(scene)
        self._light: Keys | None = None
        self._shadow: Keys | None = None
        self.needs_frames = not _is_still(sun)
        if self._is_mmd:
            self._light = linear_keys.find(_light_channels(sun), timing)
            self._shadow = linear_keys.find(_shadow_channels(sun), timing)
            self.needs_frames = self._light is None or self._shadow is None

    def read(self, depsgraph: bpy.types.Depsgraph) -> list[float]:
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
        return row

    def tracks(self, rows: Sequence[list[float]]) -> Steps[dict[str, Any]]:
        """Arguments of `Motion.from_tracks`; {} if there is nothing to write."""
        yield from ()  # it takes no time
        found: dict[str, Any] = {}
        values = np.array(rows or [self.read(bpy.context.evaluated_depsgraph_get())], np.float64)
        keys = self._light or self._fitted_light(values[:, :6])
        # MMD begins with the same light.
        if keys.is_animated or not (self._is_mmd and light.has_defaults(self._sun)):
            directions, colors = keys.values[:, :3], keys.values[:, 3:6]
            if self._is_mmd:
                directions = np.array([light.direction(place) for place in directions.tolist()])
            found["light"] = mmdskin.LightTrack(keys.frames, colors, directions)
        if self._is_mmd:
            keys = self._shadow or self._fitted_shadow(values[:, 6:])
            if keys.is_animated or tuple(keys.values[0]) != light.DEFAULT_SHADOW:
                modes = np.clip(np.rint(keys.values[:, 0]), 0, 2).astype(np.uint8)
                distances = light.stored_shadow_distance(keys.values[:, 1])
                found["shadow"] = mmdskin.ShadowTrack(keys.frames, modes, distances)
        return found

    def _fitted_light(self, values: np.ndarray) -> Keys:
        lengths = light.LENGTHS if self._is_mmd else 1.0
        rows = linear_keys.rows_of_keys(values, _LIGHT * np.array([*[lengths] * 3, 1, 1, 1]))
        return Keys(self._timing.file_frames[rows], values[rows], True)

    def _fitted_shadow(self, values: np.ndarray) -> Keys:
        starts = [0, *(np.flatnonzero(np.diff(values[:, 0])) + 1).tolist()]
        rows = set(starts)
        for start, end in zip(starts, [*starts[1:], len(values) - 1], strict=True):
            part = values[start : end + 1, 1:]
            rows.update((start + linear_keys.rows_of_keys(part, np.array([_DISTANCE]))).tolist())
        chosen = np.array(sorted(rows))
        return Keys(self._timing.file_frames[chosen], values[chosen], len(chosen) > 1)


def sun_of(scene: bpy.types.Scene) -> bpy.types.Object | None:
    """The scene's light."""
    found: list[Any] = [
        obj
        for obj in scene.objects
        if obj.type == "LIGHT" and obj.data.type == "SUN" and not obj.hide_render
    ]
    return light.of_scene(scene) or max(found, key=lambda sun: sun.data.energy, default=None)


def _light_channels(sun: Any) -> list[Channel]:
    place, data = OwnKeyframes(sun), OwnKeyframes(sun.data)
    return [
        *(Channel(place, "location", i, value) for i, value in enumerate(sun.location)),
        *(Channel(data, "color", i, value) for i, value in enumerate(sun.data.color)),
    ]


def _shadow_channels(sun: Any) -> list[Channel]:
    own, (mode, distance) = OwnKeyframes(sun), _shadow_of(sun)
    return [
        Channel(own, f'["{light.SHADOW_MODE}"]', 0, mode, True),
        Channel(own, f'["{light.SHADOW_DISTANCE}"]', 0, distance),
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
