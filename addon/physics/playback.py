# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose sources that models show, with the physics that MMD Skinning plays.

A mesh and the objects on its bones share one, so that each pose is solved once per frame.
"""

from typing import NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..blender import blender_versions, evaluated_bones, registration
from ..pose import motion_source, pose_source
from . import cache, keyed, simulation


class _Newest(NamedTuple):
    settings: pose_source.Settings
    simulation: tuple | None  # the version of its file
    bones: evaluated_bones.Bones  # changes with anything of the armature object
    opened: pose_source.Opened


_newest: dict[int, _Newest] = {}  # by `identity` of the armature object


def load(armature: bpy.types.Object, settings: pose_source.Settings) -> pose_source.Opened:
    """The pose source of Settings, read again."""
    bones, opened = evaluated_bones.of(armature), pose_source.load(armature, settings)
    if isinstance(opened, motion_source.Motion):
        assert isinstance(settings, motion_source.Settings)
        opened = simulation.shown(opened, armature, settings)
    else:
        opened = keyed.with_physics(opened, armature)
    return _kept(armature, settings, bones, opened)


def shared(
    armature: bpy.types.Object,
    settings: pose_source.Settings,
    check_file: bool = True,
    bones: evaluated_bones.Bones | None = None,
) -> pose_source.Opened:
    """The pose source that was loaded last, if that is still valid, else a new one.

    `check_file`: whether it is read again if the file of the simulation has changed. `bones`: those
    of the armature, if they are known.
    """
    newest = _newest.get(blender_versions.identity(armature))
    if (
        newest is None
        or newest.settings != settings
        or (check_file and newest.simulation != _simulation(armature, settings))
    ):
        return load(armature, settings)
    bones = bones or evaluated_bones.of(armature)
    if newest.bones is bones:
        return newest.opened
    if newest.bones.names == bones.names and np.array_equal(newest.bones.rests, bones.rests):
        return _kept(armature, settings, bones, newest.opened)
    return load(armature, settings)


def _kept(
    armature: bpy.types.Object,
    settings: pose_source.Settings,
    bones: evaluated_bones.Bones,
    opened: pose_source.Opened,
) -> pose_source.Opened:
    newest = _Newest(settings, _simulation(armature, settings), bones, opened)
    _newest[blender_versions.identity(armature)] = newest
    return opened


def _simulation(armature: bpy.types.Object, settings: pose_source.Settings) -> tuple | None:
    return cache.version_of(armature) if settings.physics else None


@persistent
def _forget(*_: object) -> None:
    _newest.clear()


_HANDLERS = tuple((name, _forget) for name in ("load_pre", "undo_post", "redo_post"))
register, unregister = registration.handlers(_HANDLERS, afterwards=_forget)
