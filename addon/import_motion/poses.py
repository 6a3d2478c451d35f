# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pose file gives a model: bones and sliders as the file has them, or solved.

The source begins at the frame of the scene for which the pose is meant.
"""

from collections.abc import Callable
from typing import NamedTuple

import bpy
import numpy as np

from .. import scene_model
from ..motion_source import Motion
from ..physics import simulation
from . import channels, keyframes, layers, tracks


class Posed(NamedTuple):
    """At its first frame."""

    bones: list
    keys: dict[bpy.types.Key, keyframes.Values]
    sliders: tracks.Values


def own(model: scene_model.SceneModel, source: Motion) -> Posed:
    found = tracks.of_keys(model, source)
    keys = {block: {k: v for k, (_, v) in of.items()} for block, of in found.items()}
    bones = tracks.of_bones(model.armature, source)
    return Posed(bones, keys, tracks.of_sliders(model.armature, source))


def solved(
    model: scene_model.SceneModel,
    source: Motion,
    earlier: list[Motion],
    simulated: Callable[[Motion, Motion, int], Motion],
) -> Posed:
    """Solved together with what earlier motions have there: only what it changes of them.

    `simulated(whole, newest, frame)` is the whole with physics from a frame of its on, or as it is.
    """
    armature = model.armature
    whole = layers.joined([*earlier, source])
    frame = round(float(whole.motion_frames(source.start)[0]))
    frames = whole.scene_frames([frame])
    moving = simulated(whole, source, frame)
    bones = channels.of_bones(armature, moving, frames)
    keys, sliders = _values(model, whole, frames)
    others, keys_before, sliders_before = None, {}, {}
    if earlier:
        was = layers.joined(earlier)
        others = channels.of_bones(armature, was, frames)
        keys_before, sliders_before = _values(model, was, frames)
    moved = channels.moved_bones(bones, others, source)
    if moving is not whole:
        moved |= simulation.bones(whole)
    named = channels.of_sliders(armature, source, frames)
    return Posed(
        [bone for bone in bones if bone.name in moved],
        channels.moved_keys(keys, keys_before, source),
        {
            name: (at, values)
            for name, (at, values) in sliders.items()
            if name in named or not np.array_equal(values, sliders_before.get(name, (at, None))[1])
        },
    )


def _values(model, source, frames):
    keys = channels.of_keys(model, source, frames)
    return keys, channels.of_sliders(model.armature, source, frames)
