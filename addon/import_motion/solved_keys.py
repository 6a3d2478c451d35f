# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion as solved keys: all moving bones keyed on every frame, with IK and physics solved."""

import itertools
import math
import os

import numpy as np

from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError
from ..pose import merge, motion_source
from . import animated_model, channels, keyframes, record
from .motion_import import MotionImport

_MOST = 100_000  # frames, almost an hour; a single far-out key would use up all memory


def write(job: MotionImport, newest: motion_source.Motion) -> None:
    """Key the model."""
    model, options = job.model, job.options
    animated_model.check_not_tweaked(model)
    earlier, rekeys_all = job.earlier(newest)
    source = merge.merged([*earlier, newest])
    frames = _frames(
        options.step, source if rekeys_all else newest, source, [] if rekeys_all else earlier
    )
    simulated = job.simulated(source, newest)
    if rekeys_all:
        bones, resting, keys = _moved(job, source, simulated, [], frames)
    else:
        bones, resting, keys = _moved(job, newest, simulated, earlier, frames)
    if job.replace or rekeys_all:
        job.clear()
    muted = 0
    with record.recording(model.armature) as noted:
        noted.note_files(merge.contributing([*earlier, newest]), record.SOLVED)
        if job.replace:
            keyframes.drop_bones(noted, resting)
        muted += keyframes.reset_to_rest(noted, resting, options.physics)
        if bones:
            muted += keyframes.write_bones(noted, bones, frames, job.replace, options.physics)
        keyframes.write_sliders(noted, channels.slider_values(model.armature, source, frames))
        job.extend(noted, source)
        job.show_armature(noted, newest)
    for block, values in keys.items():
        with record.recording(block) as noted:
            muted += keyframes.write_keys(noted, values, frames, job.replace)
    options.report(
        {"INFO"},
        tr(
            "Keyed {bones} and {shape_keys} on {frames}",
            bones=tr_count("1 bone", "{count} bones", len(bones)),
            shape_keys=tr_count("1 shape key", "{count} shape keys", sum(map(len, keys.values()))),
            frames=tr_count("1 frame", "{count} frames", len(frames)),
        ),
    )
    job.tell_muted(muted)


def _frames(
    step: int,
    newest: motion_source.Motion,
    source: motion_source.Motion,
    earlier: list[motion_source.Motion],
) -> np.ndarray:
    """The scene frames to key: from the motion's first change to the end of all motions."""
    first, last = newest.scene_range[0], source.scene_range[1]
    first, last = math.ceil(first), max(math.floor(last), math.ceil(first))
    changed = merge.changed_from(merge.merged(earlier), newest) if earlier else math.inf
    start = math.floor(min(changed, first))
    parts = [range(start, first, step), range(first, last, step)]
    count = sum(map(len, parts)) + 1
    if count > _MOST:
        raise UserError(
            "'{file}' needs keys on {count} frames, but the maximum is {most}: use a larger Step",
            file=os.path.basename(newest.path),
            count=count,
            most=_MOST,
        )
    return np.array([*itertools.chain(*parts), last], np.float64)


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
    model = job.model
    was = merge.merged(earlier) if earlier else None
    bones, resting = [], []
    if newest.moves_bones:
        bones = channels.bone_channels(model.armature, source, frames)
        others = channels.bone_channels(model.armature, was, frames) if was else None
        moved = channels.moved_bones(bones, others, newest) | job.by_bodies(source)
        keyed = keyframes.keyed_bones(model.armature)
        stays = set() if job.replace else keyed - moved
        bones = [bone for bone in bones if bone.name not in stays]
        resting = [bone.name for bone in bones if not bone.moves and bone.name not in moved]
        bones = [bone for bone in bones if bone.moves or bone.name in moved]
    keys = channels.key_values(model, source, frames)
    keys_before = channels.key_values(model, was, frames) if was else {}
    return bones, resting, channels.moved_keys(keys, keys_before, newest)
