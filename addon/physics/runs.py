# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a simulation, of one model or of several together.

Motion files alone are simulated in blocks of their frames. If a model has its own keyframes, the
scene's frames are gone through, and motion files follow.
"""

import math
import os
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

from ..blender import native, playhead
from ..blender.pose_evaluation import PoseFrames
from ..blender.translations import name_of
from ..blender.user_error import UserError
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from . import cache, fingerprint, group, key_inputs, keyed
from .group import Member

if TYPE_CHECKING:
    import mmdskin

_BLOCK = 16  # frames of a motion that are simulated together
_SAMPLES = 24  # minimum rate per second at which the scene is sampled, else once per frame


def new(context: bpy.types.Context, members: Sequence[Member]) -> "MotionRun | SceneRun":
    """Iterating a run yields the number of frames that were simulated since; then it has `results`."""
    if any(isinstance(member.opened, Solver) for member in members):
        return SceneRun(context, members)
    return MotionRun(context, members)


class MotionRun:
    """Of several models, along motion files. The run counts the frames of the first one."""

    def __init__(self, context: bpy.types.Context, members: Sequence[Member]) -> None:
        self._context, self._members = context, members
        motions: list[Any] = [member.opened for member in members]
        self._bones = [key_inputs.moved_bones(motion.rig.pmx) for motion in motions]
        self._fingerprints = [fingerprint.of_motion(m.opened, m.settings) for m in members]  # type: ignore[arg-type]
        self._offsets = [(motions[0].start - motion.start) * motion.speed for motion in motions]
        starts, ends = [], []
        for member, motion, offset in zip(members, motions, self._offsets, strict=True):
            _check_speed(member, motion.speed, motions[0].speed)
            last = max(_last(motion, context.scene), member.physics.start)
            starts.append(member.physics.start - offset)
            ends.append(last - offset)
        self._first = min(starts)
        self.frames = math.ceil(max(ends) - self._first - 1e-6) + 1
        self._simulation = _simulation(members, self._first, self._offsets)
        self._blocks: list[list[np.ndarray]] = []

    def show(self) -> None:
        """The scene is not changed."""

    def __iter__(self) -> Generator[int, None, None]:
        with PoseFrames(self._context, group.objects(self._members)) as frames:
            for frame in playhead.frame_range(self._context.scene):
                frames.go_to(frame)
                group.check_still(self._members)
        for begin in range(0, self.frames, _BLOCK):
            count = min(_BLOCK, self.frames - begin)
            halves = np.arange(count * cache.RATE) / cache.RATE
            poses = self._simulation.pose(self._first + begin + halves)
            self._blocks.append(
                [
                    pose.bone_matrices[:, bones]
                    for pose, bones in zip(poses, self._bones, strict=True)
                ]
            )
            yield count

    def results(self) -> list[cache.Cache]:
        """One for each member."""
        found = []
        for number, member in enumerate(self._members):
            matrices = np.concatenate([block[number] for block in self._blocks])
            bones, first = self._bones[number], self._first + self._offsets[number]
            transforms = cache.pivot_transforms(member.opened.rig.pmx, bones, matrices)
            found.append(
                cache.Cache(self._fingerprints[number], first, cache.RATE, bones, *transforms)
            )
        return found


def _last(motion: Motion, scene: bpy.types.Scene) -> int:
    """The frame of a motion up to which it is simulated: where the motion and the scene end, or the
    scene's preview range."""
    end = playhead.frame_range(scene)[1] * playhead.stretch(scene)
    [last] = motion.motion_frames(end)
    return max(math.ceil(last), 0 if scene.use_preview_range else motion.motion.frame_range[1])


class SceneRun:
    """Over the range that the scene plays, sample by sample."""

    def __init__(self, context: bpy.types.Context, members: Sequence[Member]) -> None:
        self._context, self._members = context, members
        self._parts = [_Part(member) for member in members]
        scene = context.scene
        fps = playhead.fps(scene)
        self._stretch = playhead.stretch(scene)
        samples = max(1, math.ceil(_SAMPLES * self._stretch / fps - 1e-6))  # of each frame
        self._rate = samples / self._stretch
        self._seconds = 1 / self._rate / fps
        first, last = playhead.frame_range(scene)
        self._first = first * self._stretch
        self.frames = last - first + 1
        self._count = (last - first) * samples + 1
        offsets = []
        for member in members:
            if isinstance(member.opened, Motion):
                _check_speed(member, member.opened.speed, 30 / fps)
                offsets.append(member.opened.motion_frames(self._first)[0])
            else:
                offsets.append(0.0)
        self._offsets = offsets
        self._simulation = _simulation(members, 0, offsets)
        self._scene_frames: PoseFrames | None = None

    def show(self) -> None:
        """Before the window is drawn."""
        if self._scene_frames is not None:
            self._scene_frames.show()

    def __iter__(self) -> Generator[int, None, None]:
        """Yields the number of scene frames completed since the last one."""
        done = 0
        with PoseFrames(self._context, group.objects(self._members)) as self._scene_frames:
            for place in range(self._count):
                self._scene_frames.go_to((self._first + place / self._rate) / self._stretch)
                group.check_still(self._members)
                self._add()
                completed = math.floor(place / self._rate / self._stretch + 1e-6) + 1
                yield min(completed, self.frames) - done
                done = min(completed, self.frames)
        self._scene_frames = None

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
        self._bones = key_inputs.moved_bones(opened.rig.pmx)
        self._inputs = key_inputs.Inputs(opened) if isinstance(opened, Solver) else None
        if self._inputs is not None:
            self._fingerprint = fingerprint.of_keys(opened, member.model.armature, self._inputs)  # type: ignore[arg-type]
        else:
            self._fingerprint = fingerprint.of_motion(opened, member.settings)  # type: ignore[arg-type]
        self._samples: list[tuple] = []

    def local(self, depsgraph: bpy.types.Depsgraph) -> Local | None:
        """The input of its bones; None if a motion file moves them."""
        member = self._member
        if self._inputs is None or not isinstance(member.opened, Solver):
            return None
        keys = key_inputs.key_values(member.model.meshes, self._inputs.keys, depsgraph)
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


def _simulation(members: Sequence[Member], start: float, offsets: Sequence[float]) -> Any:
    motions = [m.opened.motion if isinstance(m.opened, Motion) else None for m in members]
    record, places = group.record(members, start), group.places(members)
    try:
        return native.load().Simulation(
            [member.opened.rig.pmx for member in members],
            motions,
            record,
            places=places,
            offsets=offsets,
        )
    except (ValueError, MemoryError) as error:
        raise UserError(
            "The physics of '{file}' cannot be simulated: {reason}",
            file=os.path.basename(members[0].opened.rig.path),
            reason=error,
        ) from error


def _check_speed(member: Member, speed: float, expected: float) -> None:
    if abs(speed / expected - 1) > 1e-6:
        raise UserError(
            "'{name}' plays at a different speed from the models that it is simulated with:"
            " set {setting} to the same value",
            name=member.model.name,
            setting=name_of(member.model.armature.mmdskin, "motion_real_time"),
        )
