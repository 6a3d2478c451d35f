# SPDX-License-Identifier: GPL-3.0-or-later
"""The run of a simulation through the scene, of one model or of several together.

Own keyframes are read frame by frame, and motion files follow.
"""

import contextlib
import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from bpy.types import Context, Depsgraph, Object

from ..blender import playhead
from ..blender.native import mmdskin
from ..blender.pose_evaluation import PoseFrames
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from . import cache, dependencies, group, keyed
from .group import Member

_SAMPLES = 24  # minimum rate per second at which the scene is sampled, else once per frame


class Runs:
    """Simulations of several models, one after the other. Iterating yields the Progress."""

    def __init__(
        self,
        context: Context,
        batches: Sequence[Sequence[Member]],
        covered: tuple[int, int] | None = None,
    ) -> None:
        """`batches`: models that touch each other; `covered`: see `SceneRun`."""
        self._batches = batches
        self._runs = [SceneRun(context, batch, covered) for batch in batches]
        self.frames = sum(run.frames for run in self._runs)

    def __iter__(self) -> Generator[modal_job.Progress, None, None]:
        done = 0
        for run in self._runs:
            with contextlib.closing(iter(run)) as steps:
                for frames, read in steps:
                    done += frames
                    yield modal_job.frames_done(done, self.frames, read)

    def results(self) -> list[tuple[Object, cache.Cache]]:
        """The armature object of each model, and its simulation."""
        return [
            (member.model.armature, result)
            for batch, run in zip(self._batches, self._runs, strict=True)
            for member, result in zip(batch, run.results(), strict=True)
        ]


class SceneRun:
    """Over the range that the scene plays, sample by sample."""

    def __init__(
        self, context: Context, members: Sequence[Member], covered: tuple[int, int] | None = None
    ) -> None:
        """`covered`: frames of the scene that the range is extended to."""
        self._context, self._members = context, members
        self._parts = [_Part(member) for member in members]
        scene = context.scene
        fps = playhead.fps(scene)
        self._stretch = playhead.stretch(scene)
        samples = max(1, math.ceil(_SAMPLES * self._stretch / fps - 1e-6))  # of each frame
        self._rate = samples / self._stretch
        self._seconds = 1 / self._rate / fps
        first, last = playhead.frame_range(scene)
        if covered is not None:
            first, last = min(first, covered[0]), max(last, covered[1])
        self._first = first * self._stretch
        self.frames = last - first + 1
        self._count = (last - first) * samples + 1
        offsets = []
        for member in members:
            if isinstance(member.opened, Motion):
                group.check_speed(member, member.opened.speed, 30 / fps)
                offsets.append(member.opened.motion_frames(self._first)[0])
            else:
                offsets.append(0.0)
        self._offsets = offsets
        opened = [member.opened for member in members]
        record = group.record(members)._replace(start=0)
        self._simulation: Any = group.simulation(opened, record, group.places(members), offsets)

    def __iter__(self) -> Generator[tuple[int, PoseFrames], None, None]:
        """Yields the number of scene frames completed since the last one, and what reads them."""
        done = 0
        with PoseFrames(self._context, group.objects(self._members)) as read:
            for place in range(self._count):
                read.go_to((self._first + place / self._rate) / self._stretch)
                group.check_still(self._members)
                self._add()
                completed = math.floor(place / self._rate / self._stretch + 1e-6) + 1
                yield min(completed, self.frames) - done, read
                done = min(completed, self.frames)

    def _add(self) -> None:
        depsgraph = self._context.evaluated_depsgraph_get()
        locals_ = [part.local(depsgraph) for part in self._parts]
        values = [[local and local[i] for local in locals_] for i in range(3)]
        try:
            poses = self._simulation.step(
                *values,
                self._seconds,
                ik=[local is None or local.ik for local in locals_],
                physics=[local is None or local.physics for local in locals_],
            )
        except ValueError as error:
            raise UserError(
                "'{name}' cannot be simulated at frame {frame}: {reason}",
                name=self._members[0].model.name,
                frame=self._context.scene.frame_current,
                reason=error,
            ) from error
        for part, local, pose in zip(self._parts, locals_, poses, strict=True):
            part.add(local, pose)

    def results(self) -> list[cache.Cache]:
        """One for each member."""
        found = []
        for member, part, offset in zip(self._members, self._parts, self._offsets, strict=True):
            first, rate = self._first, self._rate
            if isinstance(member.opened, Motion):
                first, rate = offset, rate / member.opened.speed
            found.append(part.result(first, rate))
        return found


class _Part:
    """What a SceneRun keeps of a member."""

    def __init__(self, member: Member) -> None:
        self._member, opened = member, member.opened
        self._bones = dependencies.moved_bones(opened.rig.pmx)
        self._inputs: dependencies.Inputs | None = None
        if isinstance(opened, Solver):
            self._inputs, armature = dependencies.Inputs(opened), member.model.armature
            found = dependencies.fingerprint_of_keys(opened, armature, self._inputs)
        else:
            found = dependencies.fingerprint_of_motion(opened, member.settings)  # type: ignore[arg-type]
        self._fingerprint = found
        self._samples: list[tuple] = []

    def local(self, depsgraph: Depsgraph) -> Local | None:
        """The input of its bones; None if a motion file moves them."""
        member = self._member
        if self._inputs is None or not isinstance(member.opened, Solver):
            return None
        keys = dependencies.key_values(member.model.meshes, self._inputs.keys, depsgraph)
        return member.opened.local(member.model.armature.evaluated_get(depsgraph), keys)

    def add(self, local: Local | None, pose: "mmdskin.Pose") -> None:
        if self._inputs is not None and local is not None:
            self._samples.append(self._inputs.sample(pose.bone_matrices, local))
        else:
            self._samples.append((pose.bone_matrices[self._bones],))

    def result(self, first: float, rate: float) -> cache.Cache:
        if self._inputs is not None:
            return keyed.cache_of(self._fingerprint, self._inputs, self._samples, first, rate)
        matrices = np.array([matrices for (matrices,) in self._samples])
        pmx = self._member.opened.rig.pmx
        transforms = cache.pivot_transforms(pmx, self._bones, matrices)
        return cache.Cache(self._fingerprint, first, rate, self._bones, *transforms)
