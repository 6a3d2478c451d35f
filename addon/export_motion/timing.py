# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames of the scene an export covers, and which frames of the file they become."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions, playhead
from ..blender.user_error import UserError
from ..import_motion import import_state
from ..pose import motion_source
from ..scene import saved_state

_MOST = 100_000  # frames, almost an hour
_WHOLE = 1e-3  # of a frame: Blender stores the frames of keys as float32
_ROUNDING = 1e-6


class Timing(NamedTuple):
    """Frames of the scene and the file; times of keyframes differ from both if the scene remaps time."""

    first: float  # frame of the scene that is `file_first` in the file
    last: float  # of the scene; the file may end up to a frame later
    file_first: int
    length: int  # frames of the file
    rate: float  # frames of the file per frame of the scene
    stretch: float  # frames of animation per frame of the scene

    @property
    def file_frames(self) -> np.ndarray:
        """(F,) of the file."""
        return np.arange(self.file_first, self.file_first + self.length)

    @property
    def scene_frames(self) -> np.ndarray:
        """(F,) float64, none after the last, where nothing may be simulated."""
        return np.minimum(self.first + np.arange(self.length) / self.rate, self.last)

    @property
    def times(self) -> np.ndarray:
        """(F,) float64 animation times."""
        return self.scene_frames * self.stretch

    def times_of(self, frames: np.ndarray) -> np.ndarray:
        """(K,) float64 animation times of frames of the file."""
        return (self.first + (frames - self.file_first) / self.rate) * self.stretch

    def frames_at(self, times: np.ndarray) -> np.ndarray:
        """(K,) float64 frames of the file at animation times."""
        return (
            np.asarray(times, np.float64) / self.stretch - self.first
        ) * self.rate + self.file_first

    def whole_frames_at(self, times: np.ndarray) -> np.ndarray | None:
        """(K,) int64 frames of the file at animation times, None unless all of them are whole."""
        exact = self.frames_at(times)
        found = np.rint(exact)
        return found.astype(np.int64) if (np.abs(found - exact) < _WHOLE).all() else None

    def covers(self, frames: np.ndarray) -> np.ndarray:
        """(K,) bool whether frames of the file are exported."""
        return (frames >= self.file_first) & (frames < self.file_first + self.length)

    def within(self, frames: np.ndarray) -> np.ndarray:
        """Those of ascending frames that are exported, and the first or last of all where a line
        between two of them crosses it."""
        first, last = self.file_first, self.file_first + self.length - 1
        if not len(frames) or frames[0] > last:
            return np.array([first])
        return np.unique(np.clip(frames, first, last))


def timing_of(scene: bpy.types.Scene, options: Any, blocks: Iterable[Any]) -> Timing:
    """The Timing of an operator's options, for the animation of these datablocks."""
    first, last = _range(scene, options, blocks)
    if last < first:
        raise UserError(
            "The frame range is empty: Start {first} is after End {last}",
            first=round(first),
            last=round(last),
        )
    fps = playhead.fps(scene)
    rate = motion_source.FRAMES_PER_SECOND / fps if options.real_time else 1.0
    # A motion may end between two frames of the scene.
    count = math.ceil((last - first) * rate - _ROUNDING) + 1
    if count > _MOST:
        raise UserError(
            "The frame range is {count} frames long, but the maximum is {most}",
            count=count,
            most=_MOST,
        )
    return Timing(first, last, options.first_frame, count, rate, playhead.stretch(scene))


def _range(scene: bpy.types.Scene, options: Any, blocks: Iterable[Any]) -> tuple[float, float]:
    """(first, last) frame of the scene."""
    if options.range == "CUSTOM":
        return options.frame_start, options.frame_end
    if options.range == "ACTION":
        found = [span for block in blocks for span in _spans(block, scene)]
        if not found:
            raise UserError("Nothing is animated: choose another frame range")
        firsts, lasts = zip(*found, strict=True)
        stretch = playhead.stretch(scene)
        return min(firsts) / stretch, max(lasts) / stretch
    if options.range == "PREVIEW":
        return playhead.frame_range(scene)
    return scene.frame_start, scene.frame_end


def _spans(block: Any, scene: bpy.types.Scene) -> Iterable[tuple[float, float]]:
    """(first, last) animation time of each action and strip of a datablock, and of the motion file that
    animates an armature.

    An imported motion begins with its frame 0, even if its first key is later.
    """
    if isinstance(block, bpy.types.Object) and block.type == "ARMATURE":
        settings = motion_source.settings_of(block, scene)
        if settings is not None:
            file = motion_source.load(block, settings)
            yield file.start, float(file.scene_frames(file.motion.frame_range[1]))
    data = getattr(block, "animation_data", None)
    if data is None:
        return
    for curves in actions.played(data):
        ranges = [curve.range() for curve in curves if len(curve.keyframe_points)]
        if ranges:
            yield min(first for first, _ in ranges), max(last for _, last in ranges)
    for strip in actions.strips(data):
        yield strip.frame_start, strip.frame_end
    if saved_state.exists(block, saved_state.MOTION):
        state = import_state.Record(block).state
        for _, start, _ in state.files if state.form != import_state.FILE else ():
            yield start, start
