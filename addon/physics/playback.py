# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose sources with their physics: as MMD Skinning plays it, and as bakes and exports need it.

A mesh and the objects on its bones share what is played, so that each pose is solved once per frame.
For bakes and exports, what no file has is simulated.
"""

import math
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Context, Object, Scene

from ..blender import blender_versions, caches, evaluated_bones, playhead
from ..blender.evaluated_bones import Evaluation
from ..operator_base import modal_job
from ..pose import motion_source, pose_source
from ..pose.ik_source import Solver
from . import cache, group, keyed, runs, simulation


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
    known, bones = newest.bones, now.bones
    if known is bones:
        return newest.opened
    same = known.names == bones.names and np.array_equal(known.rests, bones.rests)
    return _kept(now, settings, newest.opened) if same else load(now, settings)


def _kept(
    now: Evaluation, settings: pose_source.Settings, opened: pose_source.Opened
) -> pose_source.Opened:
    newest = _Newest(settings, _simulation(now.armature, settings), now.bones, opened)
    return _newest.put(blender_versions.identity(now.armature), newest).opened


def _simulation(armature: Object, settings: pose_source.Settings) -> tuple | None:
    return cache.version_of(armature) if settings.physics else None


class Baked:
    """For bakes and exports. `opened` is the pose source with its physics, without which posing raises a UserError."""

    def __init__(self, member: group.Member) -> None:
        self.member = member
        self._checked: cache.Checked | None = None  # if a file has the simulation
        self.opened = self._with_physics()

    def lacks_simulation(self, first: float, last: float) -> bool:
        """Whether its file has no simulation of these keys and settings, or not from an animation
        time to another."""
        found = self._checked
        return found is not None and (bool(found.changed()) or not found.covers(first, last))

    def play(self, simulated: cache.Cache) -> None:
        """A simulation that is in no file."""
        self.opened = self._with_physics(simulated)

    def show(self, scene: Scene) -> None:
        """The current frame as the viewport shows it: where no simulation matches, hair moves live."""
        self.opened = self._with_physics(scene=scene)

    def _with_physics(
        self, simulated: cache.Cache | None = None, scene: Scene | None = None
    ) -> pose_source.Opened:
        model, settings, opened = self.member
        armature: Any = model.armature
        if not cache.has_physics(armature, settings, opened.rig.pmx):
            return opened
        if isinstance(opened, Solver):
            self._checked = playing = keyed.Playing(opened, armature, True, simulated, scene)
            return opened.with_post_process(playing)
        assert isinstance(settings, motion_source.Settings)
        if not group.needs_file(settings):
            return simulation.baked(opened, armature, settings)
        self._checked = grouped = cache.Grouped(opened, settings, armature, True, simulated)
        return grouped.motion()


def simulate(
    context: Context, sources: Sequence[Baked], first: float, last: float
) -> Generator[modal_job.Progress, None, None]:
    """Simulate those that lack it, with their groups, and so that two frames of the scene and all
    between them are covered."""
    stretch = playhead.stretch(context.scene)
    times = first * stretch, last * stretch
    lacking = [source.member for source in sources if source.lacks_simulation(*times)]
    if not lacking:
        return
    batches = group.batches(lacking, context.view_layer)
    covered = math.floor(first), math.ceil(last)
    found = yield from runs.simulated(context, batches, covered)
    for source in sources:
        if source.member.model.armature in found:
            source.play(found[source.member.model.armature])
