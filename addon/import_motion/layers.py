# SPDX-License-Identifier: GPL-3.0-or-later
"""Several motions as the one that MMD holds after loading them one after the other onto a model.

Bones, morphs and IK switches that a motion has keys for are its from its first key on; what an
earlier motion says of them before that, and of all others, stays. Only the whole can be solved:
where a motion of the hips meets another one's feet, IK bends the legs.
"""

import math
import struct
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .. import motion_source, native

_Tracks = dict[str, tuple[np.ndarray, Sequence[np.ndarray]]]  # frames, and columns of the keys

_SAME_TIME = 1e-6  # frames of the scene
_LAST = 2**32 - 1  # frame that a VMD can hold
_BONE = np.dtype(
    [
        ("name", "S15"),
        ("frame", "<u4"),
        ("translation", "<f4", 3),
        ("rotation", "<f4", 4),
        ("curves", "u1", (4, 4, 4)),  # docs/mmd-behaviour.md#vmd-bone-curves
    ]
)
_PHYSICS_OFF = (0x63, 0x0F)
_MORPH = np.dtype([("name", "S15"), ("frame", "<u4"), ("weight", "<f4")])


def joined(motions: Sequence[motion_source.Motion]) -> motion_source.Motion:
    """The motions of one armature, oldest first, as one; its time is the scene's."""
    if len(motions) == 1:
        return motions[0]
    rates = [Fraction(1 / motion.speed).limit_denominator(10_000) for motion in motions]
    ticks = math.lcm(*(rate.denominator for rate in rates))  # of a frame of the scene
    start = min(math.floor(motion.start) for motion in motions)
    bones: _Tracks = {}
    morphs: _Tracks = {}
    switches: _Tracks = {}
    for motion, rate in zip(motions, rates, strict=True):
        offset = round((motion.start - start) * ticks)

        def times(frames, offset=offset, factor=int(rate * ticks)):
            return np.minimum(frames.astype(np.int64) * factor + offset, _LAST)

        for track in motion.motion.bones:
            columns = (track.translations, track.rotations, _curves(track))
            _lay(bones, track.name, times(track.frames), columns)
        for track in motion.motion.morphs:
            _lay(morphs, track.name, times(track.frames), (track.weights,))
        keys = motion.motion.properties
        for number, name in enumerate(keys.ik_names if len(keys.frames) else ()):
            _lay(switches, name, times(keys.frames), (keys.ik_enabled[:, number],))
    data = b"".join(
        (
            b"Vocaloid Motion Data 0002".ljust(50, b"\0"),
            _section(_BONE, bones),
            _section(_MORPH, morphs),
            bytes(3 * 4),  # no camera, light and shadow
            _properties(switches),
        )
    )
    newest = motions[-1]
    return newest.with_motion(native.load().load_motion(data), newest.path, start, ticks)


def needed(motions: Sequence[motion_source.Motion]) -> list[motion_source.Motion]:
    """Those of which something is left: a later one may have all their tracks, and begin no later."""
    found: list[motion_source.Motion] = []
    begun: dict[tuple, float] = {}
    for motion in reversed(motions):
        starts = _starts(motion)
        if any(first < begun.get(track, math.inf) for track, first in starts.items()):
            found.insert(0, motion)
        for track, first in starts.items():
            begun[track] = min(first, begun.get(track, math.inf))
    return found


def changed_from(earlier: motion_source.Motion, newest: motion_source.Motion) -> float:
    """The frame of the scene from which a motion changes the earlier one before it begins, or inf.

    From a track's last earlier key to its first new one MMD goes by the curve of the latter. Where
    there is no earlier one, the new one holds before, too.
    """
    lost = newest.unmatched
    tracks = [*earlier.motion.bones, *earlier.motion.morphs]
    known = {(type(track), track.name): earlier.scene_frames(track.frames) for track in tracks}
    found = []
    for track in (*newest.motion.bones, *newest.motion.morphs):
        if not len(track.frames) or track.name in {*lost.bones, *lost.morphs}:
            continue
        first = newest.scene_frames(track.frames[0])
        frames = known.get((type(track), track.name), np.empty(0))
        before = frames[frames < first - _SAME_TIME]
        if len(before):
            found.append(before[-1])
        elif not _rests(track):
            found.append(earlier.scene_range[0])
    switches = newest.motion.properties
    if not len(earlier.motion.properties.frames) and not switches.ik_enabled[:1].all():
        found.append(earlier.scene_range[0])
    return min(found, default=math.inf)


def _rests(track):
    """Whether the first key of a bone or a morph leaves it as it is without."""
    if hasattr(track, "weights"):
        return track.weights[0] == 0
    return not track.translations[0].any() and not track.rotations[0, :3].any()


def _starts(motion):
    """{(kind, name): scene frame of the first key} of all tracks."""
    tracks = motion.motion
    keys = [("bone", track.name, track.frames) for track in tracks.bones]
    keys += [("morph", track.name, track.frames) for track in tracks.morphs]
    keys += [("ik", name, tracks.properties.frames) for name in tracks.properties.ik_names]
    return {
        (kind, name): motion.start + frames[0] / motion.speed
        for kind, name, frames in keys
        if len(frames)
    }


def _lay(tracks, name, frames, columns):
    """Lay the keys of a track over those that it has, from their first frame on."""
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


def _curves(track):
    """(n, 4, 4, 4): of each channel x1 y1 x2 y2 at every fourth byte, and the switch of physics."""
    curves = np.zeros((len(track.frames), 4, 4, 4), np.uint8)
    curves[..., 0] = track.interpolation
    if track.physics is not None:
        curves[~track.physics, 0, 0, 2:] = _PHYSICS_OFF
    return curves


def _section(dtype, tracks):
    """The count of all keys, and their records."""
    parts = [np.empty(0, dtype)]
    for name, (frames, columns) in tracks.items():
        records = np.zeros(len(frames), dtype)
        records["name"], records["frame"] = _encoded(name), frames
        for field, column in zip(dtype.names[2:], columns, strict=True):
            records[field] = column
        parts.append(records)
    records = np.concatenate(parts)
    return struct.pack("<I", len(records)) + records.tobytes()


def _properties(switches):
    """Keys that each switch all IK bones; one that has no key yet is on."""
    times = np.unique(np.concatenate([np.empty(0, np.int64), *(f for f, _ in switches.values())]))
    states = []
    for frames, (enabled,) in switches.values():
        last = np.searchsorted(frames, times, "right") - 1
        states.append(np.where(last < 0, True, enabled[last]))
    parts = [struct.pack("<I", len(times))]
    for place, time in enumerate(times.tolist()):
        parts.append(struct.pack("<IBI", time, 1, len(switches)))
        for name, state in zip(switches, states, strict=True):
            parts.append(struct.pack("<20sB", _encoded(name), int(state[place])))
    return b"".join(parts)


def _encoded(name):
    return name.encode("cp932", "ignore")[:15]
