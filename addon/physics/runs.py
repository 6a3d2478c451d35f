# SPDX-License-Identifier: GPL-3.0-or-later
"""The run of a simulation through the scene, of one model or of several together.

Own keyframes are read frame by frame, and motion files follow.
"""

import math
from collections.abc import Sequence
from typing import Any

from bpy.types import Context, Depsgraph, Object

from ..blender import playhead
from ..blender.native import mmdskin
from ..blender.pose_evaluation import PoseFrames
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps, frames_done
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from . import cache, dependencies, group, keyed
from .group import Member

_SAMPLES = 24  # minimum rate per second at which the scene is sampled, else once per frame


def simulated(
    context: Context, batches: Sequence[Sequence[Member]], covered: tuple[int, ...] = ()
) -> Steps[dict[Object, cache.Cache]]:
    """The simulation of each model over the range that the scene plays, by its armature object.

    `batches`: models that touch each other; `covered`: frames of the scene that the range is extended to.
    """
    frames = *playhead.frame_range(context.scene), *covered
    found: dict[Object, cache.Cache] = {}
    for number, members in enumerate(batches):
        place = number, len(batches)
        found |= yield from scene_run(context, members, min(frames), max(frames), place)
    return found


def scene_run(
    context: Context, members: Sequence[Member], first: int, last: int, place: tuple[int, int]
) -> Steps[dict[Object, cache.Cache]]:
    """The simulation of models from one of the scene's frames to another, sample by sample.

    `place`: how many runs of so many are done.
    """
    fps, stretch = playhead.fps(context.scene), playhead.stretch(context.scene)
    samples = max(1, math.ceil(_SAMPLES * stretch / fps - 1e-6))  # of each frame
    rate, start = samples / stretch, first * stretch
    parts = [_Part(member, start, rate, fps) for member in members]
    opened = [member.opened for member in members]
    record = group.record(members)._replace(start=0)
    offsets = [part.offset for part in parts]
    simulation = group.simulation(opened, record, group.places(members), offsets)
    count = last - first + 1
    before, total = count * place[0], count * place[1]
    with PoseFrames(context, group.objects(members)) as read:
        for sample in range((last - first) * samples + 1):
            read.go_to((start + sample / rate) / stretch)
            group.check_still(members)
            _add(context, simulation, parts, 1 / rate / fps)
            yield frames_done(before + sample // samples + 1, total, read)
    return {part.armature: part.result() for part in parts}


def _add(context: Context, simulation: Any, parts: "list[_Part]", seconds: float) -> None:
    """Simulate the scene's current frame."""
    depsgraph = context.evaluated_depsgraph_get()
    locals_ = [part.local(depsgraph) for part in parts]
    values = [[local and local[i] for local in locals_] for i in range(3)]
    try:
        poses = simulation.step(
            *values,
            seconds,
            ik=[local is None or local.ik for local in locals_],
            physics=[local is None or local.physics for local in locals_],
        )
    except ValueError as error:
        raise UserError(
            "'{name}' cannot be simulated at frame {frame}: {reason}",
            name=parts[0].member.model.name,
            frame=context.scene.frame_current,
            reason=error,
        ) from error
    for part, local, pose in zip(parts, locals_, poses, strict=True):
        part.add(local, pose)


class _Part:
    """What a run keeps of a member."""

    def __init__(self, member: Member, start: float, rate: float, fps: float) -> None:
        """`start`: the animation time of the first sample; `rate`: samples until one later."""
        self.member, opened = member, member.opened
        self.armature: Any = member.model.armature
        self.offset = 0.0  # by which a motion is ahead of the run
        self._first, self._rate = start, rate
        if isinstance(opened, Motion):
            group.check_speed(member, opened.speed, 30 / fps)
            self._first = self.offset = opened.motion_frames(start)[0]
            self._rate = rate / opened.speed
        self._inputs = dependencies.inputs_of(opened, self.armature)
        self._fingerprint = dependencies.fingerprint(opened, member.settings, self._inputs)
        self._bones = dependencies.moved_bones(opened.rig.pmx)
        self._samples: list[tuple] = []

    def local(self, depsgraph: Depsgraph) -> Local | None:
        """The input of its bones; None if a motion file moves them."""
        if self._inputs is None or not isinstance(self.member.opened, Solver):
            return None
        keys = dependencies.key_values(self.member.model.meshes, self._inputs.keys, depsgraph)
        return self.member.opened.local(self.armature.evaluated_get(depsgraph), keys)

    def add(self, local: Local | None, pose: "mmdskin.Pose") -> None:
        if self._inputs is not None and local is not None:
            self._samples.append(self._inputs.sample(pose.bone_matrices, local))
        else:
            self._samples.append((pose.bone_matrices[self._bones],))

    def result(self) -> cache.Cache:
        pmx, first, rate = self.member.opened.rig.pmx, self._first, self._rate
        return keyed.cache_of(self._fingerprint, pmx, self._samples, first, rate)
