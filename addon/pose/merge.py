# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge several motions into the one that MMD has after loading them in order onto a model.

From its first key on, a motion replaces the tracks of the bones, morphs and IK switches that it keys;
earlier keys and all other tracks of earlier motions remain. Only the merged motion can be solved:
if one motion moves the hips and another the feet, IK bends the legs.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..blender.native import mmdskin
from ..blender.user_error import UserError
from .scene_motion import Motion

_Tracks = dict[str, tuple[np.ndarray, Sequence[np.ndarray]]]  # frames and columns of the keys

_SAME_TIME = 1e-6  # frames of the scene
_LAST = 2**32 - 1  # last frame that a motion can store


def merged(motions: Sequence[Motion]) -> Motion:
    """The motions of one armature, oldest first, merged into one in scene time."""
    if len(motions) == 1:
        return motions[0]
    start = min(math.floor(motion.start) for motion in motions)
    time_maps, speed = _time_maps(motions, start)
    bones: _Tracks = {}
    morphs: _Tracks = {}
    switches: _Tracks = {}
    for motion, (offset, factor) in zip(motions, time_maps, strict=True):

        def times(frames: np.ndarray, offset: int = offset, factor: int = factor) -> np.ndarray:
            return np.minimum(frames.astype(np.int64) * factor + offset, _LAST)

        for track in motion.motion.bones:
            _merge_keys(bones, track.name, times(track.frames), bone_columns(track))
        for morph in motion.motion.morphs:
            _merge_keys(morphs, morph.name, times(morph.frames), (morph.weights,))
        keys = motion.motion.properties
        for number, name in enumerate(keys.ik_names if len(keys.frames) else ()):
            _merge_keys(switches, name, times(keys.frames), (keys.ik_enabled[:, number],))
    whole = mmdskin.Motion.from_tracks(
        bones=[(name, frames, *columns) for name, (frames, columns) in bones.items()],
        morphs=[(name, frames, *columns) for name, (frames, columns) in morphs.items()],
        properties=_properties(switches),
    )
    newest = motions[-1]
    return newest.with_motion(whole, newest.path, start, speed)


def bone_columns(track: "mmdskin.BoneTrack") -> list[np.ndarray]:
    """The columns of a bone's keys after their frames, also those that a track may lack."""
    count = len(track.frames)
    physics = np.ones(count, bool) if track.physics is None else track.physics
    stored = track.stored
    if stored is None:  # curves without bytes of their own, which differ from any that act
        rotations = np.ascontiguousarray(track.rotations, "<f4").view(np.uint8)
        stored = np.pad(rotations.reshape(count, 16), ((0, 0), (0, 64)))
    return [track.translations, track.rotations, track.interpolation, physics, stored]


def check_rate(whole: Motion, newest: Motion) -> None:
    """UserError if a merged motion cannot be simulated, because its frames are not those of a VMD."""
    if whole.speed != newest.speed:
        raise UserError(
            "Cannot merge motions with physics at this frame rate: turn Replace on, or"
            " set the frame rate to 30 fps"
        )


def _time_maps(motions: Sequence[Motion], start: int) -> tuple[list[tuple[int, int]], float]:
    """The first frame of each motion in the merged one, and how many frames one of its frames is
    there; and how many frames of the merged one a frame of the scene is."""
    speed = motions[-1].speed
    offsets = [(motion.start - start) * speed for motion in motions]
    same = all(motion.speed == speed for motion in motions)
    if same and all(abs(offset - round(offset)) < 1e-6 for offset in offsets):
        return [(round(offset), 1) for offset in offsets], speed
    rates = [Fraction(1 / motion.speed).limit_denominator(10_000) for motion in motions]
    ticks = math.lcm(*(rate.denominator for rate in rates))  # per frame of the scene
    pairs = zip(motions, rates, strict=True)
    return [(round((m.start - start) * ticks), int(rate * ticks)) for m, rate in pairs], ticks


def contributing(motions: Sequence[Motion]) -> list[Motion]:
    """The motions that still contribute: a later one may replace all tracks of an earlier one."""
    found: list[Motion] = []
    begun: dict[tuple, float] = {}
    for motion in reversed(motions):
        starts = _starts(motion)
        if any(first < begun.get(track, math.inf) for track, first in starts.items()):
            found.insert(0, motion)
        for track, first in starts.items():
            begun[track] = min(first, begun.get(track, math.inf))
    return found


def changed_from(earlier: Motion, newest: Motion) -> float:
    """The scene frame from which a motion changes the earlier one before its own start, or inf.

    Between a track's last earlier key and its first new one, MMD interpolates with the new key's
    curve. Without an earlier key, the new one also applies before its frame.
    """
    lost = {*newest.unmatched.bones, *newest.unmatched.morphs}
    tracks = [*earlier.motion.bones, *earlier.motion.morphs]
    known = {(type(track), track.name): earlier.scene_frames(track.frames) for track in tracks}
    found = []
    for track in (*newest.motion.bones, *newest.motion.morphs):
        if len(track.frames) and track.name not in lost:
            frames = known.get((type(track), track.name), np.empty(0))
            before = frames[frames < newest.scene_frames(track.frames[0]) - _SAME_TIME]
            if len(before):
                found.append(before[-1])
            elif not _starts_at_rest(track):
                found.append(earlier.scene_range[0])
    switches = newest.motion.properties
    if not len(earlier.motion.properties.frames) and not switches.ik_enabled[:1].all():
        found.append(earlier.scene_range[0])
    return min(found, default=math.inf)


def _starts_at_rest(track: Any) -> bool:
    """Whether the first key of a bone or morph equals its default."""
    if hasattr(track, "weights"):
        return track.weights[0] == 0
    return not track.translations[0].any() and not track.rotations[0, :3].any()


def _starts(motion: Motion) -> dict[tuple, float]:
    """{(kind, name): scene frame of the first key} of all tracks."""
    tracks = motion.motion
    keys = {(type(track), track.name): track.frames for track in (*tracks.bones, *tracks.morphs)}
    keys |= {(bool, name): tracks.properties.frames for name in tracks.properties.ik_names}
    return {key: motion.scene_frames(frames[0]) for key, frames in keys.items() if len(frames)}


def _merge_keys(
    tracks: _Tracks, name: str, frames: np.ndarray, columns: Sequence[np.ndarray]
) -> None:
    """Replace the keys of a track from the first frame of the new keys on."""
    if not len(frames):
        return
    if name in tracks:
        old_frames, old_columns = tracks[name]
        kept = old_frames < frames[0]
        columns = [
            np.concatenate([old[kept], new]) for old, new in zip(old_columns, columns, strict=True)
        ]
        frames = np.concatenate([old_frames[kept], frames])
    tracks[name] = frames, columns


def _properties(switches: _Tracks) -> "mmdskin.PropertyTrack":
    """Keys that each switch all IK bones; a bone without a key yet is on."""
    times = np.unique(np.concatenate([np.empty(0, np.int64), *(f for f, _ in switches.values())]))
    states = np.ones((len(times), len(switches)), bool)
    for state, (frames, (enabled,)) in zip(states.T, switches.values(), strict=True):
        last = np.searchsorted(frames, times, "right") - 1
        state[:] = np.where(last < 0, True, enabled[last])
    visible = np.ones(len(times), bool)
    return mmdskin.PropertyTrack(times, visible, tuple(switches), states)
