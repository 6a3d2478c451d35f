# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose sources that models show, with the physics that MMD Skinning plays.

A mesh and the objects on its bones share one, so that each pose is solved once per frame.
"""

from typing import NamedTuple

import numpy as np
from bpy.types import Object

from ..blender import blender_versions, caches, evaluated_bones
from ..blender.evaluated_bones import Evaluation
from ..pose import motion_source, pose_source
from . import cache, keyed, simulation


class _Newest(NamedTuple):
    settings: pose_source.Settings
    simulation: tuple | None  # the version of its file
    bones: evaluated_bones.Bones  # changes with anything of the armature object
    opened: pose_source.Opened


_newest: caches.Cache[_Newest] = caches.of_file()  # by `identity` of the armature object


def load(now: Evaluation, settings: pose_source.Settings) -> pose_source.Opened:
    """The pose source of Settings, read again."""
    opened = pose_source.load(now.armature, settings)
    if isinstance(opened, motion_source.Motion):
        assert isinstance(settings, motion_source.Settings)
        opened = simulation.shown(opened, now.armature, settings)
    else:
        opened = keyed.with_physics(opened, now.armature)
    return _kept(now, settings, opened)


def shared(
    now: Evaluation, settings: pose_source.Settings, check_file: bool = True
) -> pose_source.Opened:
    """The pose source that was loaded last, if that is still valid, else a new one.

    `check_file`: whether it is read again if the file of the simulation has changed.
    """
    newest = _newest.get(blender_versions.identity(now.armature))
    if newest is None or newest.settings != settings:
        return load(now, settings)
    if check_file and newest.simulation != _simulation(now.armature, settings):
        return load(now, settings)
    if newest.bones is now.bones:
        return newest.opened
    same = newest.bones.names == now.bones.names
    if same and np.array_equal(newest.bones.rests, now.bones.rests):
        return _kept(now, settings, newest.opened)
    return load(now, settings)


def _kept(
    now: Evaluation, settings: pose_source.Settings, opened: pose_source.Opened
) -> pose_source.Opened:
    newest = _Newest(settings, _simulation(now.armature, settings), now.bones, opened)
    return _newest.put(blender_versions.identity(now.armature), newest).opened


def _simulation(armature: Object, settings: pose_source.Settings) -> tuple | None:
    return cache.version_of(armature) if settings.physics else None
