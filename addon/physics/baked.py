# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose sources as they are baked and exported: where no file has their simulation, they are simulated."""

from collections.abc import Generator, Sequence
from typing import Any

from bpy.types import Context, Scene

from ..operator_base import modal_job
from ..pose import motion_source, pose_source
from ..pose.ik_source import Solver
from . import cache, group, keyed, runs, simulation


class Baked:
    """`opened` is the pose source with its physics. Posing raises a UserError where that is missing."""

    def __init__(self, member: group.Member) -> None:
        self.member = member
        self._checked: cache.Checked | None = None  # if a file has the simulation
        self.opened = self._with_physics()

    def lacks_simulation(self) -> bool:
        """Whether its file has no simulation of these keys and settings."""
        return self._checked is not None and bool(self._checked.changed())

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
        self._checked = grouped = cache.Grouped(opened, armature, settings, True, simulated)
        return grouped.motion()


def simulate(
    context: Context, sources: Sequence[Baked]
) -> Generator[modal_job.Progress, None, None]:
    """Simulate those that lack it, with their groups."""
    lacking = [source.member for source in sources if source.lacks_simulation()]
    if not lacking:
        return
    run = runs.Runs(context, group.batches(lacking, context.view_layer))
    yield from run
    found = dict(run.results())
    for source in sources:
        if source.member.model.armature in found:
            source.play(found[source.member.model.armature])
