# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera set up as imports of our own and of mmd_tools do, with its own keys as MMD's keys."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import fcurves
from ..blender.native import mmdskin
from ..import_motion import camera as import_camera
from ..import_motion import original_keys
from ..import_motion.bezier import STRAIGHT
from ..import_motion.camera import CameraChannel
from ..scene import mmd_tools
from . import linear_keys, original_tracks
from .original_tracks import OwnKeyframes
from .timing import Timing

_END = 127  # of both axes of a curve in the file
_NEAR = 0.05  # how far a handle may be from the whole numbers of a file
_ROTATION = 3  # the curve of all three angles
_MMD_TOOLS: dict[str, dict[str, Any]] = {  # where its cameras differ from ours
    "view_angles": {"owner": "target", "path": "mmd_camera.angle"},
    "perspective": {"owner": "target", "path": "mmd_camera.is_perspective"},
}


class Keyed(NamedTuple):
    track: "mmdskin.CameraTrack"
    gaps: list[int]  # keys to which MMD's curves cannot lead as Blender's do


def find(camera: bpy.types.Object, timing: Timing, scale: float) -> Keyed | None:
    """The camera's own keys, or None if MMD's cannot be the same."""
    target = camera.parent
    if target is None or target.rotation_mode != "YXZ" or target.parent is not None:
        return None
    channels: Sequence[CameraChannel] = import_camera.CHANNELS
    is_ours = import_camera.ANGLE in camera.data
    if not is_ours:
        if not mmd_tools.is_camera(target):
            return None
        channels = [one._replace(**_MMD_TOOLS.get(one.column, {})) for one in channels]
    known, times, expected = _file(target, scale) if is_ours else (None, np.empty(0), {})
    blocks = {"target": target, "camera": camera, "data": camera.data}
    own = {owner: OwnKeyframes(block, expected.get(owner)) for owner, block in blocks.items()}
    if not _alone_move(own, channels):
        return None
    pairs = [pair for one in channels for pair in own[one.owner].pairs([one.place])]
    keys = original_tracks.match(pairs, times.astype(np.float32), timing)
    if (
        keys.off_frames
        or not len(keys.frames)
        or ((keys.of_file < 0).any() and _is_cut(keys, pairs))
    ):
        return None
    columns = [_Column(one, own[one.owner], keys.times) for one in channels]
    return _track(keys, columns, known, scale)


def _is_cut(keys: original_tracks.OriginalKeys, pairs: list[Any]) -> bool:
    """Whether the range of the export cuts a segment."""
    scene = np.concatenate([points.frames for points, _ in pairs if points is not None])
    return not np.isin(keys.times, scene).all()


def _alone_move(own: dict[str, OwnKeyframes], channels: Sequence[CameraChannel]) -> bool:
    """Whether the camera has keyframes of these channels, and nothing else moves it."""
    is_keyed = False
    for owner, found in own.items():
        keyed = {one.place for one in channels if one.owner == owner}
        others = {path for path, _ in found.curves.keys() - keyed}
        if others & {"location", "rotation_euler", "scale"} or not found.alone_move(keyed):
            return False
        is_keyed |= not keyed.isdisjoint(found.curves)
    return is_keyed and not any(own[name].block.constraints for name in ("target", "camera"))


def _file(target: bpy.types.Object, scale: float) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """The track of the file that a camera was imported from, its times, and the curves of the import."""
    files = original_keys.kept(target)
    if len(files) != 1 or not len(files[0].motion.camera.frames):
        return None, np.empty(0), {}
    track, expected = files[0].motion.camera, dict[str, Any]()
    times = files[0].start + track.frames / files[0].speed
    for owner in ("target", "camera", "data"):
        with original_keys.scratch() as curves:
            import_camera.put(curves, owner, track, times, scale)
            expected[owner] = original_keys.read(curves)
    return track, times, expected


class _Column:
    """A channel at the kept keys, and the curves of the segments that lead there."""

    def __init__(self, channel: CameraChannel, own: OwnKeyframes, times: np.ndarray) -> None:
        self.channel, self._times = channel, times
        self._points, curve = own.points(channel.place), own.curves.get(channel.place)
        self._lines = None if self._points is None else linear_keys.are_lines(self._points)
        values = [_current(own.block, channel)] * len(times)
        if curve is not None:
            values = [curve.evaluate(time) for time in times.tolist()]
        self.values = np.array(values)
        if channel.path == "type":
            self.values = self.values == import_camera.TYPES["PERSP"]

    def moves(self, key: int) -> bool:
        return bool(abs(self.values[key] - self.values[key - 1]) >= 1e-6)

    def curve(self, key: int) -> Any:
        """(4,) of the segment to a key, None if a file cannot have it."""
        points, times = self._points, self._times[key - 1 : key + 1]
        if points is None or times[0] < points.frames[0] or times[0] >= points.frames[-1]:
            return STRAIGHT
        at = int(np.searchsorted(points.frames, times[0], "right")) - 1
        if self._lines[at]:
            return STRAIGHT
        is_whole = np.array_equal(points.frames[at : at + 2], times)
        is_bent = points.interpolation[at, 0] == fcurves.INTERPOLATION["BEZIER"]
        if not (is_whole and is_bent and self.moves(key)):
            return None
        handles = np.array([points.right[at], points.left[at + 1]], float)
        start, end = self.values[key - 1 : key + 1]
        found = _END * (handles - (times[0], start)) / (times[1] - times[0], end - start)
        whole = np.rint(found)
        if np.abs(found - whole).max() > _NEAR or whole.min() < 0 or whole.max() > _END:
            return None
        return tuple(whole.astype(int).ravel().tolist())


def _current(block: Any, channel: CameraChannel) -> float:
    if channel.path == "type":
        return import_camera.TYPES[block.type]
    value = block.path_resolve(channel.path)
    return float(value[channel.member] if hasattr(value, "__len__") else value)


def _track(
    keys: original_tracks.OriginalKeys, columns: list[_Column], known: Any, scale: float
) -> Keyed | None:
    axes: dict[str, list[np.ndarray]] = {}
    for column in sorted(columns, key=lambda column: column.channel.axis):
        values = column.values / column.channel.unit(scale)
        axes.setdefault(column.channel.column, []).append(values)
    found = {name: np.stack(of, axis=-1) if of[1:] else of[0] for name, of in axes.items()}
    degrees = np.rint(found["view_angles"])
    if (np.abs(found["view_angles"] - degrees) > 1e-2)[~keys.known].any():
        return None
    found["view_angles"], found["perspective"] = degrees, found["perspective"] > 0.5
    found["interpolation"], gaps = _curves(keys, columns)
    if known is not None:
        for name, of_key in found.items():
            chosen = keys.kept if name == "interpolation" else keys.known
            of_key[chosen] = getattr(known, name)[keys.of_file[chosen]]
    return Keyed(mmdskin.CameraTrack(frames=keys.frames, **found), gaps)


def _curves(
    keys: original_tracks.OriginalKeys, columns: list[_Column]
) -> tuple[np.ndarray, list[int]]:
    """(K, 6, 4) uint8, and the keys to which they cannot lead."""
    curves = np.tile(np.array(STRAIGHT, np.uint8), (len(keys.frames), 6, 1))
    gaps: list[int] = []
    for key in (np.flatnonzero(~keys.kept[1:]) + 1).tolist():
        found = {one: one.curve(key) for one in columns if one.channel.curve is not None}
        # A cut holds until the next frame of the file.
        if None in found.values():
            if keys.frames[key] - keys.frames[key - 1] > 1:
                gaps.append(key)
            continue
        turns = [one for one in found if one.channel.curve == _ROTATION]
        moving = [one for one in turns if one.moves(key)]
        if len(moving) > 1 and len({found[one] for one in turns}) > 1:
            gaps.append(key)
            continue
        for one in found.keys() - {*turns} | {*moving[:1]}:
            curves[key, one.channel.curve] = found[one]
    return curves, gaps
