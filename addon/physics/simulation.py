# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations: of motions, where frames in order are cheap and others restart from an earlier state, and
through the scene, whose own keyframes are read frame by frame while motion files follow.
"""

import dataclasses
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from bpy.types import Context, Depsgraph, Object

from ..blender import caches, playhead
from ..blender.native import mmdskin
from ..blender.pose_evaluation import PoseFrames
from ..blender.translations import Sentence
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps, frames_done
from ..pose import physics_settings
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from . import cache, dependencies, group
from .group import Member

_SAMPLES = 24  # minimum rate per second at which the scene is sampled, else once per frame
_FAR = 1000  # frames that are not computed at once where a user waits for them


class Run:
    """The simulation of a motion, or of several in frames of the first. Any thread may use it."""

    def __init__(
        self,
        motions: Sequence[Motion],
        record: "mmdskin.Physics",
        transforms: np.ndarray | None = None,
    ) -> None:
        self.offsets = group.offsets(motions)
        self._simulation = group.simulation(motions, record, transforms, self.offsets)
        self._start = self._reached = float(record.start)
        self._last: tuple[np.ndarray, tuple] | None = None  # frames, and their poses
        self._lock = threading.Lock()
        self._wanted: float | None = None  # the frame that is computed, step by step
        self.changes = 0  # incremented when that frame is reached

    def posed(self, frames: np.ndarray, number: int = 0) -> np.ndarray:
        """As `Motion.posed`, of one of the models; each frame is simulated once for all of them."""
        with self._lock:
            if self._last is None or not np.array_equal(self._last[0], frames):
                self._last = frames, self._simulation.pose(frames)
                self._reached = max(self._reached, frames.max(initial=self._start))
            matrices: np.ndarray = self._last[1][number].bone_matrices
            return matrices

    def is_far(self, frame: float) -> bool:
        """Whether a frame takes so long that `advance` must compute it first."""
        is_far = frame - self._reached > _FAR
        self._wanted = frame if is_far else None
        return is_far

    @property
    def is_computing(self) -> bool:
        """Whether a far frame is wanted."""
        return self._wanted is not None

    def __str__(self) -> str:
        """How much of the way to the wanted frame is computed."""
        wanted = self._reached if self._wanted is None else self._wanted
        return f"{(self._reached - self._start) / max(wanted - self._start, 1):.0%}"

    def advance(self, seconds: float) -> None:
        """Compute for about so long towards the wanted frame."""
        end = time.perf_counter() + seconds
        while self._wanted is not None:
            self.posed(np.array([min(self._reached + 5, self._wanted)]))
            if self._reached >= self._wanted:
                self._wanted, self.changes = None, self.changes + 1
            if time.perf_counter() >= end:
                break


# By armature objects: their inputs, and the run.
_runs: caches.Cache[tuple[str, Run]] = caches.of_file(survives_undo=True)


def with_physics(motion: Motion, settings: physics_settings.Settings | None) -> Motion:
    """The simulated motion, or the motion unchanged without settings."""
    return motion if settings is None else _posed_by(motion, Run([motion], settings.record()))


def shown(motion: Motion, armature: Object) -> Motion:
    """The simulated motion for MMD Skinning, whose run lasts while nothing changes it. Of motion files
    alone."""
    state = cache.state_of(armature)
    try:
        run, number = _run_of(motion, armature)
    except UserError as error:
        state.problem = error
        return motion

    def waits(frame: float) -> bool:
        is_far = run.is_far(frame - run.offsets[number])
        state.problem = Sentence("Physics: {percent}", percent=run) if is_far else ""
        return is_far

    return _posed_by(motion, run, number, changes=lambda: run.changes, waits=waits)


def baked(motion: Motion, armature: Object) -> Motion:
    """As `shown`, at any frame; UserError where they cannot be simulated."""
    return _posed_by(motion, *_run_of(motion, armature))


def _posed_by(motion: Motion, run: Run, number: int = 0, **more: Any) -> Motion:
    offset = run.offsets[number]

    def posed(frames: np.ndarray) -> np.ndarray:
        if len(run.offsets) > 1:  # rounding decides whether they are those of the other models
            frames = np.round(frames - offset, 6)
        return run.posed(frames, number)

    return dataclasses.replace(motion, poses=posed, **more)


def _run_of(motion: Motion, armature: Object) -> tuple[Run, int]:
    """The run of a model, and which of the models there it is."""
    physics, name = motion.settings.physics, armature.original.name_full
    names = tuple(known.name for known in physics.group) or (name,)
    inputs = dependencies.fingerprint_of_run(motion)
    known = _runs.get(names)
    if known is None or known[0] != inputs:
        for one in names:
            forget(one)
        known = _runs.put(names, (inputs, _new_run(motion, physics)))
    return known[1], names.index(name)


def _new_run(motion: Motion, physics: physics_settings.Settings) -> Run:
    members = group.members(physics)
    if not members:
        return Run([motion], physics.record())
    motions: list[Any] = [member.opened for member in members]
    for member in members:
        group.check_speed(member, member.opened.speed, motions[0].speed)  # type: ignore[union-attr]
    starts = zip(members, group.offsets(motions), strict=True)
    start = min(member.physics.start - offset for member, offset in starts)
    return Run(motions, group.record(members)._replace(start=start), group.transforms(members))


def waiting() -> dict[tuple[str, ...], Run]:
    """The runs that compute a far frame, by the names of their armature objects."""
    return {names: run for names, (_, run) in list(_runs.items()) if run.is_computing}


def bones(motion: Motion) -> set[str]:
    """Names of the scene's bones that rigid bodies move."""
    moved = physics_settings.moved_bones(motion.rig.pmx)
    return {name for name, number in motion.rig.bones.items() if number in moved}


def forget(armature: str) -> None:
    for names in [names for names in list(_runs) if armature in names]:
        _runs.pop(names, None)


# Through the scene


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
    simulation = group.simulation(opened, record, group.transforms(members), offsets)
    count = last - first + 1
    before, total = count * place[0], count * place[1]
    models = [member.model for member in members]
    objects = [obj for model in models for obj in (model.armature, *model.meshes)]
    with PoseFrames(context, objects) as read:
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
        self._fingerprint = dependencies.fingerprint(opened, self._inputs)
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
        return cache.of_samples(self._fingerprint, pmx, self._samples, first, rate)
