# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose sources as they are baked and exported: where no file has their simulation, they are simulated."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import bpy

from ..operator_base import modal_job
from ..pose import pose_source
from ..pose.ik_source import Solver
from . import cache, group, keyed, runs, simulation


class Baked:
    """`opened` is the pose source with its physics. Posing raises a UserError where that is missing."""

    def __init__(self, member: group.Member) -> None:
        self.member = member
        self.opened = self._with_physics()

    def lacks_simulation(self) -> bool:
        """Whether its file has no simulation of these keys and settings."""
        model, settings, opened = self.member
        if not cache.has_physics(model.armature, settings, opened.rig.pmx):
            return False
        if isinstance(opened, Solver):
            return bool(keyed.Playing(opened, model.armature, True).changed())
        return group.needs_file(settings) and bool(
            cache.matching(opened, model.armature, settings)[1]  # type: ignore[arg-type]
        )

    def play(self, simulated: cache.Cache) -> None:
        """A simulation that is in no file."""
        self.opened = self._with_physics(simulated)

    def show(self, scene: bpy.types.Scene) -> None:
        """The current frame as the viewport shows it: where no simulation matches, hair moves live."""
        self.opened = self._with_physics(scene=scene)

    def _with_physics(
        self, simulated: cache.Cache | None = None, scene: bpy.types.Scene | None = None
    ) -> pose_source.Opened:
        model, settings, opened = self.member
        armature: Any = model.armature
        if not cache.has_physics(armature, settings, opened.rig.pmx):
            return opened
        if isinstance(opened, Solver):
            return opened.with_finish(keyed.Playing(opened, armature, True, simulated, scene))
        if simulated is not None:
            return cache.playing(opened, simulated)
        return simulation.baked(opened, armature, settings)  # type: ignore[arg-type]


def simulate(
    context: bpy.types.Context, sources: Sequence[Baked], begin: Callable[[runs.Runs], None]
) -> Generator[modal_job.Progress, None, None]:
    """Simulate those that lack it, with their groups; `begin` is told the runs."""
    lacking = [source.member for source in sources if source.lacks_simulation()]
    if not lacking:
        return
    run = runs.Runs(context, group.batches(lacking, context.view_layer))
    begin(run)
    yield from run
    found = dict(run.results())
    for source in sources:
        if source.member.model.armature in found:
            source.play(found[source.member.model.armature])
