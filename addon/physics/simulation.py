# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion with physics: frames in order are cheap, others restart from an earlier state."""

import os
import time

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..blender import native, registration
from ..blender.translations import Sentence
from ..blender.user_error import UserError
from ..pose import motion_source, physics_settings
from ..pose.motion_source import Motion
from . import cache, fingerprint

_FAR = 1000  # frames that are not computed at once where a user waits for them


class Run:
    """The simulation of a motion. Any thread may use it."""

    def __init__(self, motion: Motion, settings: physics_settings.Settings) -> None:
        name = os.path.basename(motion.rig.path)
        try:
            self._simulation = native.load().Simulation(
                motion.rig.pmx, motion.motion, settings.record()
            )
        except (ValueError, MemoryError) as error:
            raise UserError(
                "The physics of '{file}' cannot be simulated: {reason}", file=name, reason=error
            ) from error
        self._start = self._reached = float(settings.start)
        self._wanted: float | None = None  # the frame that is computed, step by step
        self.changes = 0  # incremented when that frame is reached

    def posed(self, frames: np.ndarray) -> np.ndarray:
        """As `Motion.posed`."""
        matrices: np.ndarray = self._simulation.pose(frames).bone_matrices
        self._reached = max(self._reached, frames.max(initial=self._start))
        return matrices

    def is_far(self, frame: float) -> bool:
        """Whether a frame takes so long that `advance` must compute it first."""
        is_far = frame - self._reached > _FAR
        self._wanted = frame if is_far else None
        return is_far

    @property
    def done(self) -> float | None:
        """The part of the wanted frames that is computed; None if none are wanted."""
        if self._wanted is None:
            return None
        return (self._reached - self._start) / (self._wanted - self._start)

    def advance(self, seconds: float) -> None:
        """Compute for about so long towards the wanted frame."""
        end = time.perf_counter() + seconds
        while self._wanted is not None and time.perf_counter() < end:
            self.posed(np.array([min(self._reached + 5, self._wanted)]))
            if self._reached >= self._wanted:
                self._wanted, self.changes = None, self.changes + 1


_runs: dict[str, tuple[object, str, Run]] = {}  # by armature object: model, inputs, and run


def with_physics(motion: Motion, settings: physics_settings.Settings | None) -> Motion:
    """The simulated motion, or the motion unchanged without settings."""
    return motion if settings is None else motion.with_poses(Run(motion, settings).posed)


def shown(motion: Motion, armature: bpy.types.Object, settings: motion_source.Settings) -> Motion:
    """The simulated motion for MMD Skinning, whose run lasts while nothing changes it."""
    if not cache.has_physics(armature, settings, motion.rig.pmx):
        return motion
    assert settings.physics is not None
    if settings.physics.group:
        return cache.with_cached_physics(motion, armature, settings)
    state, name = cache.state_of(armature), armature.original.name_full
    pmx, inputs = motion.rig.pmx, fingerprint.of_motion(motion, settings)
    known = _runs.get(name)
    if known is None or known[0] is not pmx or known[1] != inputs:
        known = _runs[name] = pmx, inputs, Run(motion, settings.physics)
    run = known[2]

    def waits(frame: float) -> bool:
        done = run.done if run.is_far(frame) else None
        percent = "" if done is None else f"{max(done, 0):.0%}"
        state.problem = Sentence("Physics: {percent}", percent=percent) if percent else ""
        return bool(percent)

    state.problem = ""
    return motion.with_poses(run.posed, lambda: run.changes, waits)


def waiting() -> dict[str, Run]:
    """The runs that compute a far frame, by the name of their armature object."""
    return {name: run for name, (*_, run) in list(_runs.items()) if run.done is not None}


def baked(motion: Motion, armature: bpy.types.Object, settings: motion_source.Settings) -> Motion:
    """The motion as MMD Skinning shows it; of models that are simulated together, their file's."""
    if settings.physics is not None and settings.physics.group:
        return cache.with_cached_physics(motion, armature, settings, strict=True)
    return with_physics(motion, settings.physics)


def bones(motion: Motion) -> set[str]:
    """Names of the scene's bones that rigid bodies move."""
    moved = physics_settings.moved_bones(motion.rig.pmx)
    return {name for name, number in motion.rig.bones.items() if number in moved}


def forget(armature: str) -> None:
    _runs.pop(armature, None)


@persistent
def _forget(*_: object) -> None:
    _runs.clear()


register, unregister = registration.handlers([("load_pre", _forget)], afterwards=_forget)
