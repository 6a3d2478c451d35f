# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions with physics: frames in order are cheap, others restart from an earlier state."""

import dataclasses
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from bpy.types import Object

from ..blender import caches
from ..blender.native import mmdskin
from ..blender.translations import Sentence
from ..blender.user_error import UserError
from ..pose import motion_source, physics_settings
from ..pose.motion_source import Motion
from . import cache, dependencies, group

_FAR = 1000  # frames that are not computed at once where a user waits for them


class Run:
    """The simulation of a motion, or of several together. Any thread may use it.

    Frames are those of the first motion.
    """

    def __init__(
        self,
        motions: Sequence[Motion],
        record: "mmdskin.Physics",
        places: np.ndarray | None = None,
    ) -> None:
        self.offsets = group.offsets(motions)
        self._simulation = group.simulation(motions, record, places, self.offsets)
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


def shown(motion: Motion, armature: Object, settings: motion_source.Settings) -> Motion:
    """The simulated motion for MMD Skinning, whose run lasts while nothing changes it. Of motion files
    alone."""
    state = cache.state_of(armature)
    try:
        run, number = _run_of(motion, armature, settings)
    except UserError as error:
        state.problem = error
        return motion

    def waits(frame: float) -> bool:
        is_far = run.is_far(frame - run.offsets[number])
        state.problem = Sentence("Physics: {percent}", percent=run) if is_far else ""
        return is_far

    return _posed_by(motion, run, number, changes=lambda: run.changes, waits=waits)


def baked(motion: Motion, armature: Object, settings: motion_source.Settings) -> Motion:
    """As `shown`, at any frame; UserError where they cannot be simulated."""
    return _posed_by(motion, *_run_of(motion, armature, settings))


def _posed_by(motion: Motion, run: Run, number: int = 0, **more: Any) -> Motion:
    offset = run.offsets[number]

    def posed(frames: np.ndarray) -> np.ndarray:
        if len(run.offsets) > 1:  # rounding decides whether they are those of the other models
            frames = np.round(frames - offset, 6)
        return run.posed(frames, number)

    return dataclasses.replace(motion, poses=posed, **more)


def _run_of(motion: Motion, armature: Object, settings: motion_source.Settings) -> tuple[Run, int]:
    """The run of a model, and which of the models there it is."""
    physics, name = settings.physics, armature.original.name_full
    assert physics is not None
    names = tuple(known.name for known in physics.group) or (name,)
    inputs = dependencies.fingerprint_of_run(motion, settings)
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
    return Run(motions, group.record(members)._replace(start=start), group.places(members))


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
