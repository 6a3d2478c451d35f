# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion as solved keys: all moving bones keyed on every frame, with IK and physics solved."""

import itertools
import math
import os
from typing import Any

import numpy as np

from ..blender.translations import tr_count
from ..blender.user_error import UserError
from ..physics import simulation
from ..pose import merge, motion_source
from . import channels, import_state, keyframes
from .motion_import import MotionImport

_SAME_TIME = 1e-6  # scene frames
_JUMP = 0.1  # units, radians or weight within one frame of the file
_MOST = 100_000  # frames, almost an hour; a single far-out key would use up all memory


def write(job: MotionImport, newest: motion_source.Motion) -> None:
    """Key the model."""
    model, options = job.model, job.options
    import_state.check_not_tweaked(model)
    earlier, rekeys_all = job.earlier(newest)
    source = merge.merged([*earlier, newest])
    keyed, kept = (source, []) if rekeys_all else (newest, earlier)
    frames = _frames(options.step, keyed, source, kept)
    simulated = job.simulated(source, newest)
    bones, resting, keys = _moved(job, keyed, simulated, kept, frames)
    if job.replace or rekeys_all:
        job.clear()
    with job.recording(model.armature) as noted:
        noted.note_files(merge.contributing([*earlier, newest]), import_state.SOLVED)
        if job.replace:
            keyframes.drop_bones(noted, resting)
        keyframes.reset_to_rest(noted, resting, options.physics)
        if bones:
            keyframes.write_bones(noted, bones, job.replace, options.physics)
        keyframes.write_weights(noted, channels.slider_values(model.armature, source, frames))
        job.extend(noted, source)
        job.show_armature(noted, newest)
    for block, values in keys.items():
        with job.recording(block) as noted:
            keyframes.write_weights(noted, values, job.replace)
    job.inform(
        "Keyed {bones} and {shape_keys} on {frames}",
        bones=tr_count("1 bone", "{count} bones", len(bones)),
        shape_keys=tr_count("1 shape key", "{count} shape keys", sum(map(len, keys.values()))),
        frames=tr_count("1 frame", "{count} frames", len(frames)),
    )
    job.tell_muted()


def _frames(
    step: int,
    newest: motion_source.Motion,
    source: motion_source.Motion,
    earlier: list[motion_source.Motion],
) -> np.ndarray:
    """The scene frames to key: from the motion's first change to the end of all motions."""
    begins, ends = newest.scene_range[0] + _SAME_TIME, source.scene_range[1] - _SAME_TIME
    first, last = math.ceil(begins - 2 * _SAME_TIME), math.ceil(ends)
    changed = merge.changed_from(merge.merged(earlier), newest) if earlier else math.inf
    start = math.floor(min(changed, begins))
    parts = [range(start, first, step), range(first, last, step)]
    count = sum(map(len, parts)) + 1
    if count > _MOST:
        raise UserError(
            "'{file}' needs keys on {count} frames, but the maximum is {most}: use a larger Step",
            file=os.path.basename(newest.path),
            count=count,
            most=_MOST,
        )
    whole = np.array([*itertools.chain(*parts), last], np.float64)
    if step > 1:
        return whole
    jumps = _jumps(source, 1 / newest.speed)
    return np.union1d(whole, jumps[(jumps > start) & (jumps < last)])


def _jumps(source: motion_source.Motion, frame: float) -> np.ndarray:
    """The scene frames before and after jumps, where these are between whole frames.

    A jump is a large change within a frame of the file, which is so many of the scene, or that of an
    IK switch.
    """
    found = [np.empty(0)]
    tracks: list[Any] = [*source.motion.bones, *source.motion.morphs]
    for track in tracks:
        times = source.scene_frames(track.frames)
        moves = _changes(track) & (np.diff(times) < frame + _SAME_TIME)
        found += [times[:-1][moves], times[1:][moves]]
    switches = source.motion.properties
    switched = (np.diff(switches.ik_enabled, axis=0) != 0).any(axis=1)
    times = source.scene_frames(switches.frames[1:][switched])
    times = np.concatenate([*found, times - frame, times])
    return times[np.abs(times - np.rint(times)) > _SAME_TIME]


def _changes(track: Any) -> np.ndarray:
    """(K - 1,) bool: whether the track of a bone or a morph changes much from each key to the next."""
    if hasattr(track, "weights"):
        return np.abs(np.diff(track.weights)) > _JUMP
    moved = np.linalg.norm(np.diff(track.translations, axis=0), axis=1)
    turned = 1 - np.abs((track.rotations[1:] * track.rotations[:-1]).sum(axis=1))
    return (moved > _JUMP) | (turned > _JUMP**2 / 8)  # the cosine of half the angle


def _moved(
    job: MotionImport,
    newest: motion_source.Motion,
    source: motion_source.Motion,
    earlier: list[motion_source.Motion],
    frames: np.ndarray,
) -> tuple:
    """Channels of bones and values of shape keys that the newest motion changes.

    Includes bones without keyframes, so that they match MMD. The second value names those that
    always stay at rest and need no keyframes.
    """
    bones, moved, keys = channels.changed(job.model, newest, source, earlier, frames)
    if job.options.physics:
        moved |= simulation.bones(source)
    stays = set() if job.replace else keyframes.keyed_bones(job.model.armature) - moved
    bones = [bone for bone in bones if bone.name not in stays]
    resting = [bone.name for bone in bones if not bone.moves and bone.name not in moved]
    return [bone for bone in bones if bone.moves or bone.name in moved], resting, keys
