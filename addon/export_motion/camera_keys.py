# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera set up as imports of our own and of mmd_tools do, with its own keys as MMD's keys."""

from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions, fcurves, native
from ..import_motion import camera as import_camera
from ..import_motion import kept_files
from ..import_motion.original_keys import Scratch, read
from ..scene import mmd_tools
from . import original_tracks, originals
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin

_LINE = (20, 20, 107, 107)
_END = 127  # of both axes of a curve in the file
_NEAR = 0.05  # how far a handle may be from the whole numbers of a file
_PLACES = [("target", "location", i) for i in (0, 2, 1)]
_TURNS = [("target", "rotation_euler", i) for i in (0, 2, 1)]
_DISTANCE = ("camera", "location", 1)
_OURS = ("data", import_camera.ANGLE_PATH, 0), ("data", "type", 0)
_MMD_TOOLS = ("target", "mmd_camera.angle", 0), ("target", "mmd_camera.is_perspective", 0)
_Channel = tuple[str, str, int]  # owner, path and index


class Keyed(NamedTuple):
    track: "mmdskin.CameraTrack"
    gaps: list[int]  # keys to which MMD's curves cannot lead as Blender's do


def find(camera: bpy.types.Object, timing: Timing, scale: float) -> Keyed | None:
    """The camera's own keys, or None if MMD's cannot be the same."""
    target = camera.parent
    owners = {"target": target, "camera": camera, "data": camera.data}
    if target is None or target.rotation_mode != "YXZ" or target.parent is not None:
        return None
    if import_camera.ANGLE in camera.data:
        angle, kind = _OURS
    elif mmd_tools.is_camera(target):
        angle, kind = _MMD_TOOLS
    else:
        return None
    channels = [*_PLACES, *_TURNS, _DISTANCE, angle, kind]
    curves = _curves(owners, channels)
    if curves is None:
        return None
    points = originals.points_of(curves, channels)
    file, expected = _file(target, scale) if angle == _OURS[0] else (None, {})
    times = np.empty(0, np.float32)
    if file is not None:
        times = (file.start + file.motion.camera.frames / file.speed).astype(np.float32)
    wanted = [expected.get(channel) for channel in channels]
    keys = original_tracks.match(points, wanted, times, timing)
    if (
        keys.off_frames
        or not len(keys.numbers)
        or ((keys.of_file < 0).any() and _is_cut(keys, points))
    ):
        return None
    values = _Values(owners, channels, curves, points, keys.times)
    known = file.motion.camera if file is not None else None
    shows_depth = values.columns[8] == _number("PERSP")
    if kind == _MMD_TOOLS[1]:
        shows_depth = values.columns[8] > 0.5
    return _track(keys, values, shows_depth, known, scale)


def _is_cut(keys: original_tracks.OriginalKeys, points: list) -> bool:
    """Whether the range of the export cuts a segment."""
    scene = np.concatenate([one.places[:, 0] for one in points if one is not None])
    return not np.isin(keys.times, scene).all()


def _curves(owners: dict[str, Any], channels: list[_Channel]) -> Any:
    """{channel: its curve}; None if anything else moves the camera."""
    found = {}
    for owner, block in owners.items():
        curves = originals.curves_of(block)
        paths = {path for one, path, _ in channels if one == owner}
        if curves is None or originals.driven_paths(block) & paths:
            return None
        for (path, index), curve in curves.items():
            if (owner, path, index) in channels:
                found[owner, path, index] = curve
            elif path in {"location", "rotation_euler", "scale"}:
                return None
    plain = all(originals.is_plain(curve) for curve in found.values())
    is_free = not any(len(block.constraints) for block in (owners["target"], owners["camera"]))
    return found if plain and is_free and found else None


def _file(target: bpy.types.Object, scale: float) -> tuple[Any, dict]:
    """The file that the camera was imported from, and the curves that the import has written."""
    action, _ = actions.assigned(target)
    files = kept_files.read(action) if action is not None else []
    if len(files) != 1 or not len(files[0].motion.camera.frames):
        return None, {}
    (file,) = files
    frames = file.start + file.motion.camera.frames / file.speed
    expected: dict[_Channel, fcurves.Points] = {}
    for owner in ("target", "camera", "data"):
        with Scratch() as holder:
            import_camera.put(holder, owner, file.motion.camera, frames, scale)
            expected.update(((owner, *key), points) for key, points in read(holder).items())
    return file, expected


class _Values:
    """Values at the kept keys, and curves of the segments that lead there."""

    def __init__(
        self,
        owners: dict[str, Any],
        channels: list[_Channel],
        curves: dict[_Channel, bpy.types.FCurve],
        points: list[fcurves.Points | None],
        times: np.ndarray,
    ) -> None:
        self.times, self._points = times, points
        self.columns = np.array(
            [
                [curves[channel].evaluate(time) for time in times.tolist()]
                if channel in curves
                else np.full(len(times), _current(owners, channel))
                for channel in channels
            ]
        )

    def curve(self, channel: int, key: int) -> Any:
        """(4,) of the segment to a key, None if a file cannot have it."""
        start, end = self.columns[channel][key - 1 : key + 1]
        points, times = self._points[channel], self.times[key - 1 : key + 1]
        if points is None or (times >= points.places[-1, 0]).all():
            return _LINE
        at = int(np.searchsorted(points.places[:, 0], times[0]))
        if tuple(points.places[at : at + 2, 0]) != tuple(times):
            return _LINE if start == end else None
        kind = points.interpolation[at, 0]
        if kind == fcurves.INTERPOLATION["LINEAR"]:
            return _LINE
        if kind != fcurves.INTERPOLATION["BEZIER"]:
            return _LINE if start == end else None
        handles = np.array([points.right[at], points.left[at + 1]], np.float64)
        x = _END * (handles[:, 0] - times[0]) / (times[1] - times[0])
        if abs(end - start) < 1e-6:
            is_flat = np.abs(handles[:, 1] - start).max() < 1e-5
            return _LINE if is_flat else None
        y = _END * (handles[:, 1] - start) / (end - start)
        found = np.array([x, y]).T.ravel()
        whole = np.rint(found)
        if np.abs(found - whole).max() > _NEAR or whole.min() < 0 or whole.max() > _END:
            return None
        return tuple(whole.astype(int).tolist())


def _current(owners: dict[str, Any], channel: _Channel) -> float:
    owner, path, index = channel
    value = owners[owner].path_resolve(path)
    if path == "type":
        return _number(value)
    return float(value[index] if hasattr(value, "__len__") else value)


def _number(kind: str) -> float:
    """The number of a camera's type in a curve."""
    return float(bpy.types.Camera.bl_rna.properties["type"].enum_items[kind].value)


def _track(
    keys: original_tracks.OriginalKeys,
    values: _Values,
    shows_depth: np.ndarray,
    known: Any,
    scale: float,
) -> Keyed | None:
    places, turns = values.columns[:3] / scale, values.columns[3:6]
    distances, degrees = values.columns[6] / scale, np.degrees(values.columns[7])
    count = len(keys.numbers)
    curves = np.tile(np.array(_LINE, np.uint8), (count, 6, 1))
    columns = [
        distances, places.T.copy(), turns.T.copy(), curves, np.rint(degrees), shows_depth.copy()
    ]  # fmt: skip
    if (np.abs(degrees - columns[4]) > 1e-2)[~keys.known].any():
        return None
    gaps: list[int] = []
    for key in range(1, count):
        if keys.kept[key]:
            continue
        found = [values.curve(channel, key) for channel in range(8)]
        # A cut holds until the next frame of the file.
        if any(curve is None for curve in found):
            if keys.numbers[key] - keys.numbers[key - 1] > 1:
                gaps.append(key)
            continue
        if any(found[3] != turn for turn in found[4:6]) and not _rest_but_one(values, key):
            gaps.append(key)
            continue
        moved = next((i for i in (3, 4, 5) if _moves(values, i, key)), 3)
        curves[key] = [*found[:3], found[moved], *found[6:8]]
    if known is not None:
        names = ("distances", "targets", "rotations", "interpolation", "view_angles", "perspective")
        for name, column in zip(names, columns, strict=True):
            chosen = keys.kept if name == "interpolation" else keys.known
            column[chosen] = getattr(known, name)[keys.of_file[chosen]]
    return Keyed(native.load().CameraTrack(keys.numbers, *columns), gaps)


def _moves(values: _Values, channel: int, key: int) -> bool:
    start, end = values.columns[channel][key - 1 : key + 1]
    return bool(abs(end - start) >= 1e-6)


def _rest_but_one(values: _Values, key: int) -> bool:
    return sum(_moves(values, channel, key) for channel in (3, 4, 5)) <= 1
