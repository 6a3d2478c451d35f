# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a scene: its camera and its light, which MMD keeps in one file.

A camera is written as keyed where it is set up as MMD's, else fitted. So is the MMD Light, while any
other sun is fitted. Of several suns, the strongest is MMD's one light. Only the MMD Light has
self-shadow keys.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import bpy
import numpy as np

from ..blender import fcurves, playhead
from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps
from ..scene import light
from . import camera_keys, linear_keys
from .job import Export, Result, made
from .linear_keys import Keys, LinearChannel
from .original_tracks import OwnKeyframes, animated_with, joined
from .timing import Timing

_TO_FILE = np.eye(3)[[0, 2, 1]]  # the file's y is Blender's z
_FOCUS = 45.0  # units from the camera to its target, without a focus
_ORTHOGRAPHIC = 45 / 25  # distance by the height of the image, as in mmd_tools
_DEFAULT_ANGLE = 30.0
_ROUNDING = 1e-4  # frames
# Tolerances of the light
_LIGHT = 0.002  # of colors and directions: half a step of the 255 in MMD's panel
_SHADOW_DISTANCE = 1.0  # one step in MMD's panel

_Shot = tuple[float, bpy.types.Object]  # first animation time, and the camera


class SceneExport(Export):
    """Its parts have `needs_frames`, `objects` and `read` as an Export has."""

    def __init__(self, path: str, scene: bpy.types.Scene, timing: Timing, options: Any) -> None:
        self.path = path
        self._parts: list[CameraExport | LightExport] = []
        sun, shots = _sources(scene, options)
        if sun is not None:
            self._parts.append(LightExport(scene, sun, timing))
        if shots:
            self._parts.append(CameraExport(shots, timing, options))
        self._reading = [part for part in self._parts if part.needs_frames]
        self.needs_frames = bool(self._reading)
        self.objects = [obj for part in self._reading for obj in part.objects]

    def read(self, depsgraph: bpy.types.Depsgraph) -> list[Any]:
        return [part.read(depsgraph) for part in self._reading]

    def fit(self, rows: list[Any]) -> Steps[Result]:
        of_parts = dict(zip(self._reading, zip(*rows, strict=True), strict=bool(rows)))
        tracks: dict[str, Any] = {}
        for part in self._parts:
            tracks |= yield from part.tracks(of_parts.get(part, ()))
        if not tracks:
            raise _no_camera()
        return Result(self.path, mmdskin.Motion.from_tracks(**tracks), worst=None)


def blocks(scene: bpy.types.Scene, options: Any) -> list[Any]:
    """The datablocks whose animation the file has."""
    sun, shots = _sources(scene, options)
    objects = [*([sun] if sun else []), *(camera for _, camera in shots)]
    return list(dict.fromkeys(block for obj in objects for block in animated_with(obj)))


def _sources(scene: bpy.types.Scene, options: Any) -> tuple[bpy.types.Object | None, list[_Shot]]:
    """The light, if it is to be exported, and the shots of cameras."""
    sun, shots = _sun(scene) if options.light else None, _shots(scene)
    if sun is None and not shots:
        raise _no_camera()
    return sun, shots


class CameraExport:
    def __init__(self, shots: list[_Shot], timing: Timing, options: Any) -> None:
        self._shots, self._timing, self._options = shots, timing, options
        self.objects = list(dict.fromkeys(camera for _, camera in shots))
        self._keyed: camera_keys.Keyed | None = None
        if len(self.objects) == 1:
            self._keyed = camera_keys.find(self.objects[0], timing, options.scale)
        self.needs_frames = self._keyed is None or bool(self._keyed.gaps)
        self._cuts = _cuts(self._shots, timing)

    def read(self, depsgraph: bpy.types.Depsgraph) -> tuple:
        scene = depsgraph.scene
        camera = _active(self._shots, playhead.time(scene)).evaluated_get(depsgraph)
        world = np.array(camera.matrix_world, np.float64)
        if not np.isfinite(world).all():
            raise UserError(
                "The camera '{name}' has invalid numbers at frame {frame}",
                name=camera.name,
                frame=scene.frame_current,
            )
        scale, render = self._options.scale, scene.render
        projection = np.array(
            camera.calc_matrix_camera(
                depsgraph,
                x=render.resolution_x,
                y=render.resolution_y,
                scale_x=render.pixel_aspect_x,
                scale_y=render.pixel_aspect_y,
            )
        )
        eye, ahead, up = world[:3, 3] / scale, -world[:3, 2], world[:3, 1]
        ahead, up = ahead / np.linalg.norm(ahead), up / np.linalg.norm(up)
        shows_depth = bool(projection[3, 3] == 0)
        distance, angle = _distance(camera, eye * scale, ahead) / scale, _DEFAULT_ANGLE
        if shows_depth:
            angle = math.degrees(2 * math.atan(1 / projection[1, 1]))
        else:
            distance = 2 / projection[1, 1] / scale * _ORTHOGRAPHIC
        row = eye, eye + distance * ahead, up
        return (*(_TO_FILE @ one for one in row), angle, shows_depth)

    def tracks(self, rows: Sequence[tuple]) -> Steps[dict[str, Any]]:
        """Arguments of `Motion.from_tracks`; UserError if the native module refuses the samples."""
        track = (yield from self._filled(self._keyed, rows)) if self._keyed else None
        return {"camera": track or (yield from self._fitted(rows, 0))}

    def _fitted(self, rows: Sequence[tuple], first: int) -> Steps[Any]:
        """The CameraTrack of rows from a frame of the export on."""
        position, target, up, angles, depth = (
            np.array(column) for column in zip(*rows, strict=True)
        )
        frames = self._timing.file_frames[first : first + len(rows)]
        switches = frames[np.flatnonzero(np.diff(depth.astype(int))) + 1]
        cuts = self._cuts.union(switches.tolist())
        motion = yield from made(
            mmdskin.Motion.from_camera,
            mmdskin.Camera(position, target, up, angles),
            frames,
            tolerance=self._options.tolerance,
            degrees=self._options.degrees,
            cuts=sorted(cut for cut in cuts if frames[0] < cut <= frames[-1]),
        )
        at = np.asarray(motion.camera.frames, np.int64) - int(frames[0])
        return motion.camera._replace(perspective=depth[at])

    def _filled(self, keyed: camera_keys.Keyed, rows: Sequence[tuple]) -> Steps[Any]:
        """The own keys, and fitted ones where MMD's curves differ; None if they do not join."""
        own, parts = keyed.track, list[Any]()
        own_frames = np.asarray(own.frames, np.int64) - self._timing.file_first
        curves = own.interpolation.copy()
        for key in keyed.gaps:
            first, last = own_frames[key - 1 : key + 1].tolist()
            found = yield from self._fitted(rows[first : last + 1], first)
            found = found._replace(rotations=_turned(found.rotations, own.rotations[key - 1]))
            frames = np.asarray(found.frames, np.int64) - self._timing.file_first
            inner = (frames > first) & (frames < last)
            if not _joins(found, own, key) or frames[-1] != last:
                return None
            curves[key] = found.interpolation[-1]
            parts.append([np.asarray(column)[inner] for column in found])
        return type(own)(*joined([own._replace(interpolation=curves), *parts]))


def _turned(rotations: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The same angles (K, 3) x y z that begin nearest to others: x, y, z and pi - x, y + pi, z + pi
    are the same view."""
    rotations = rotations.astype(np.float64)
    both = rotations, rotations * (-1, 1, 1) + math.pi
    found = [angles + np.rint((first - angles[0]) / math.tau) * math.tau for angles in both]
    return min(found, key=lambda angles: np.abs(angles[0] - first).max()).astype(np.float32)


def _joins(found: Any, own: Any, key: int) -> bool:
    """Whether fitted keys have the values of the own ones at both ends of a segment."""
    return all(
        np.abs(getattr(found, name)[[0, -1]] - getattr(own, name)[[key - 1, key]]).max() < 1e-2
        for name in ("distances", "targets", "rotations")
    )


def _shots(scene: bpy.types.Scene) -> list[_Shot]:
    """Of each marker that switches cameras, or of the scene's camera."""
    found = [(float(m.frame), m.camera) for m in scene.timeline_markers if m.camera is not None]
    if not found and scene.camera is not None:
        found = [(-math.inf, scene.camera)]
    if any(camera.type != "CAMERA" for _, camera in found):
        raise _no_camera()
    return sorted(found, key=lambda shot: shot[0])


def _no_camera() -> UserError:
    return UserError("The scene has no camera")


def _active(shots: list[_Shot], time: float) -> bpy.types.Object:
    return next((camera for start, camera in reversed(shots) if start <= time), shots[0][1])


def _cuts(shots: list[_Shot], timing: Timing) -> set[int]:
    """Frames of the file that begin a shot: markers, and ends of keyframes that hold their value."""
    times = [start for start, _ in shots if math.isfinite(start)]
    for camera in {camera for _, camera in shots}:
        for own in map(OwnKeyframes, animated_with(camera)):
            for channel in () if own.has_strips else own.curves:
                times += _holds(own.points(channel))
    return set(np.ceil(timing.frames_at(np.array(times)) - _ROUNDING).astype(int).tolist())


def _holds(points: fcurves.Points | None) -> list[float]:
    """Times of the keyframes at which a held value jumps."""
    if points is None:
        return []
    held = points.interpolation[:-1, 0] == fcurves.INTERPOLATION["CONSTANT"]
    jumps = held & (np.diff(points.values) != 0)
    return points.frames[1:][jumps].tolist()


def _distance(camera: bpy.types.Object, eye: np.ndarray, ahead: np.ndarray) -> float:
    """From the camera to the plane in focus, in the scene's units."""
    focus = camera.data.dof.focus_object
    if focus is not None:
        found = float((np.array(focus.matrix_world)[:3, 3] - eye) @ ahead)
    else:
        found = float(camera.data.dof.focus_distance)
    return found if found > 1e-3 else _FOCUS * 0.08


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
        ends = [0, *np.flatnonzero(np.diff(values[:, 0])) + 1, len(values) - 1]  # of each mode
        rows = {*ends[:-1]}
        for start, end in pairwise(ends):
            part = values[start : end + 1, 1:]
            rows.update(start + linear_keys.rows_of_keys(part, np.array([_SHADOW_DISTANCE])))
        chosen = np.array(sorted(rows))
        return Keys(self._timing.file_frames[chosen], values[chosen], len(chosen) > 1)


def _sun(scene: bpy.types.Scene) -> bpy.types.Object | None:
    """The scene's light."""
    found: list[Any] = [
        obj
        for obj in scene.objects
        if obj.type == "LIGHT" and obj.data.type == "SUN" and not obj.hide_render
    ]
    return light.of_scene(scene) or max(found, key=lambda sun: sun.data.energy, default=None)


def _light_channels(sun: Any) -> list[LinearChannel]:
    place, data = OwnKeyframes(sun), OwnKeyframes(sun.data)
    return [
        *(LinearChannel(place, ("location", i), value) for i, value in enumerate(sun.location)),
        *(LinearChannel(data, ("color", i), value) for i, value in enumerate(sun.data.color)),
    ]


def _shadow_channels(sun: Any) -> list[LinearChannel]:
    own, (mode, distance) = OwnKeyframes(sun), _shadow_of(sun)
    return [
        LinearChannel(own, (f'["{light.SHADOW_MODE}"]', 0), mode, True),
        LinearChannel(own, (f'["{light.SHADOW_DISTANCE}"]', 0), distance),
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
