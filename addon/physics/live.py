# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair and clothes that move while a model is posed: a simulation beside the scene, for the session.

It steps inside the evaluation that shows it, with that evaluation's pose, so hair never lags behind the
head. A timer (`preview.live_timer`) only tells that time has passed. Renders never see it.

Models of a group touch each other: each is simulated with the poses that the others had last, so none
waits for another. A shared simulation of all would cost less, but its hair would lag.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Object, Scene

from ..blender import caches, playhead, registration
from ..blender.evaluated_bones import Evaluation
from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..pose import ik_source, physics_settings
from ..pose.ik_source import Local, Solver
from . import group

RATE = 60  # ticks per second, at most
CALM = 4.0  # seconds after the last change of the pose: every swing has ended by 3.5
_MOST = 0.25  # seconds of wall clock that one evaluation may step; the rest is dropped
_FORWARD = 0.5  # seconds by which the playhead may move on and be followed by the animation's time
_FAR = 2.0  # seconds: the playhead jumps farther than this only to settle
_JUMP = 10.0  # file units by which all kinematic bodies move at once only to settle
_STRETCHED = 10.0  # file units by which a joint may exceed its limits, for a second
_MANY_BODIES = 100  # from here on, a step is timed
_TOO_MANY_BODIES = 3000
_STEP = 0.008  # seconds that a step may take
_SETTLING = 0.03  # seconds that settling may take, but on the first frame

_Sample = Callable[[np.ndarray, Local], tuple]
clock = time.perf_counter
# By names of armature object and scene: undo makes new ones.
_lives: "caches.Cache[Live]" = caches.of_file(survives_undo=True)
is_running = False  # whether the timer ticks: after it was off, the time until now does not count


def of(armature: str, scene: str) -> "Live":
    known = _lives.get((armature, scene))
    return known or _lives.setdefault((armature, scene), Live(armature, scene))


def every() -> "list[Live]":
    return list(_lives.values())


def of_armature(armature: Object) -> "list[Live]":
    return [live for live in every() if live.armature == armature.name_full]


def forget(armature: str) -> None:
    for key in [key for key in list(_lives) if key[0] == armature]:
        _lives.pop(key, None)


class Live:
    """Any thread may use it: meshes of a model are evaluated side by side, but it steps once."""

    def __init__(self, armature: str, scene: str) -> None:
        self.armature, self._scene = armature, scene  # names
        self.ticks = 0  # of the timer
        self.playing = False
        self.changed = self._last = clock()  # when the pose changed, and the last evaluation
        self.problem: object = ""  # the sentence why hair does not move
        self._lock = threading.RLock()
        self._opened: tuple | None = None  # what the simulations are made of
        self._others: list[Live] = []  # whose bodies touch this model's
        self._apart: object = ""  # why they cannot
        self._whole: mmdskin.Simulation | None = None
        self._quick: mmdskin.Simulation | None = None  # with fewer settling steps
        self._simulation: mmdskin.Simulation | None = None  # the one that runs
        self._local: Local | None = None  # the input that is shown, None before the first
        self.input: Local | None = None  # the same, also where it is to settle
        self._frame = self._stretched = 0.0
        self._shown: np.ndarray = np.zeros(0)
        self._done = -1  # the tick that is shown
        self._settled = self._from_file = False  # whether no time has passed since; what is shown
        # Samples of frames that are played in order from the first one, and all of them.
        self._samples: list[tuple] = []
        self.played: list[tuple] | None = None

    def settle(self) -> None:
        """In the next evaluation."""
        with self._lock:
            self._local = None
            self.changed = clock()
            self.ticks += 1

    def forget_played(self) -> None:
        """The keys have changed."""
        self._samples, self.played = [], None

    def follow(self, matrices: np.ndarray, local: Local, frame: float) -> None:
        """A simulation file is shown: go on from there."""
        with self._lock:
            self._note(matrices, local, frame)
            self._last, self._from_file = clock(), True

    def shown(self, solver: Solver, local: Local, now: Evaluation, sample: _Sample) -> np.ndarray:
        """(B, 4, 4) for the input of this evaluation; without physics if that fails.

        `sample`: what is kept of a frame.
        """
        frame, scene = now.frame, now.scene
        with self._lock:
            try:
                self._open(solver)
                if self._is_shown(local, frame):
                    return self._shown
                seconds = self._seconds(frame, scene)
                number = self._number(frame, scene)
                pose = self._advance(local, frame, seconds, _first(scene), sample)
                self.problem = self._apart
            except (ValueError, MemoryError, UserError) as error:
                self.problem, self._local = error, None
                return solver.solved(local)
            first, last = playhead.frame_range(scene)
            if not self._samples or number != len(self._samples) or number > last - first:
                self._samples = []
            else:
                self._samples.append(sample(pose.bone_matrices, local))
                if number == last - first:
                    self.played = self._samples
            self._note(pose.bone_matrices, local, frame)
            self._from_file = False
            return self._shown

    def pose(self, solver: Solver, local: Local, frame: float) -> np.ndarray:
        """(B, 4, 4) of what is shown, or with hair at rest if that is of another input.

        Raises ValueError, and UserError for too many bodies.
        """
        with self._lock:
            is_near = math.isclose(frame, self._frame, rel_tol=1e-6)  # between frames
            is_of_model = self._opened is not None and self._opened[0] is solver.rig.pmx
            if self._local is not None and is_of_model and is_near:
                # What is shown was read with the weights of morphs that move bones, and no others.
                acting = [
                    one._replace(weights=one.weights[solver.acting]) for one in (local, self._local)
                ]
                if _same(*acting):
                    return self._shown
        settled = Live(self.armature, self._scene)
        settled._open(solver)
        return settled._settle(local, True).bone_matrices

    def _number(self, frame: float, scene: Scene) -> int | None:
        """Which of the scene's frames it is, if it is the next one after that which is shown."""
        stretch = playhead.stretch(scene)
        if abs(frame - self._frame - stretch) > 1e-4:
            return None
        return round(frame / stretch) - playhead.frame_range(scene)[0]

    def _is_shown(self, local: Local, frame: float) -> bool:
        was = self._done == self.ticks and frame == self._frame
        return was and not self._from_file and self._local is not None and _same(local, self._local)

    def _note(self, matrices: np.ndarray, local: Local, frame: float) -> None:
        if self._local is None or frame != self._frame or not _same(local, self._local):
            for one in (self, *self._others):
                one.changed = clock()
        self._shown, self._frame, self._done = matrices, frame, self.ticks
        self._local = self.input = local

    def _seconds(self, frame: float, scene: Scene) -> float | None:
        """How much to step before this evaluation is shown; None: settle."""
        now = clock()
        passed, self._last = min(now - self._last, _MOST if is_running else 1 / RATE), now
        if self._local is None:
            return None
        moved = (frame - self._frame) / playhead.fps(scene)
        if not moved:
            return 0.0 if self.playing else passed
        if abs(moved) > _FAR or frame == _first(scene):
            return None
        return moved if 0 < moved <= _FORWARD else passed

    def _open(self, solver: Solver) -> None:
        """Make the simulations; with other settings, they settle."""
        settings, model = solver.settings.physics, solver.rig.pmx
        assert settings is not None
        if isinstance(settings.gravity, physics_settings.GravityRows):  # each step is told
            settings = settings._replace(gravity=physics_settings.Settings().gravity)
        known, touching = self._opened, self._touching(settings)
        others = list(touching.values())
        if known is None or known[0] is not model or known[1:] != (settings, others):
            self._opened, self._local = (model, settings, others), None
            self._whole = self._quick = None
            self._make(model, settings, touching)
        if self._whole is None:
            raise UserError("Too many bodies to move live")

    def _touching(self, settings: physics_settings.Settings) -> "dict[str, Live]":
        """The other models of its group that are shown, by name of their armature objects."""
        keyed = (one for one in settings.group if isinstance(one.settings, ik_source.Settings))
        names = (one.name for one in keyed if one.name != self.armature)
        found = {name: _lives.get((name, self._scene)) for name in names}
        return {name: one for name, one in found.items() if one is not None and one.input}

    def _make(
        self,
        model: "mmdskin.Model",
        settings: physics_settings.Settings,
        touching: "dict[str, Live]",
    ) -> None:
        models, transforms, record = [model], None, settings.record()
        self._others, self._apart = [], ""
        if touching:
            members = {one.model.armature.name_full: one for one in group.members(settings)}
            chosen = [members[name] for name in (self.armature, *touching)]
            try:
                group.record(chosen)  # raises for different settings
                transforms = group.transforms(chosen)
                models += [one.opened.rig.pmx for one in chosen[1:]]
                self._others = list(touching.values())
            except UserError as error:
                self._apart = error
        bones = [body.bone for body in model.rigid_bodies if body.mode == "follow_bone"]
        self._kinematic = np.array(sorted({*bones} - {-1}), np.intp)
        self._heads = np.array([model.bones[i].position for i in self._kinematic]).reshape(-1, 3)
        bodies = sum(len(one.rigid_bodies) for one in models)
        if bodies > _TOO_MANY_BODIES:
            return

        def simulation(settle: int) -> Any:
            new = mmdskin.Simulation
            return new(models, None, record._replace(settle=settle), transforms=transforms)

        if bodies > _MANY_BODIES:
            tried = simulation(0)
            tried.step()
            start = time.perf_counter()
            tried.step(seconds=1 / record.hz)
            cost = time.perf_counter() - start
            if cost > _STEP:
                return
            steps = min(record.settle, int(_SETTLING / cost))
            self._quick = simulation(steps)
        self._whole = simulation(record.settle)
        self._quick = self._quick or self._whole

    def _advance(
        self, local: Local, frame: float, seconds: float | None, first: float, sample: _Sample
    ) -> "mmdskin.Pose":
        if seconds is None or self._local is None:
            return self._settle(local, frame == first)
        if self._from_file:
            self._start_from(self._shown)
        elif self._frame == first != frame:
            # As if the wall clock had done nothing on the first frame: so Simulate starts.
            if not self._settled:
                self._shown = self._settle(self._local, True).bone_matrices
            self._samples = [] if self._others else [sample(self._shown, self._local)]
        self._settled = False
        pose = self._step(local, seconds)
        if (frame <= self._frame and self._has_jumped(pose)) or self._is_stretched(seconds):
            return self._settle(local, frame == first)
        return pose

    def _settle(self, local: Local, fully: bool) -> "mmdskin.Pose":
        self._simulation = self._whole if fully else self._quick
        assert self._simulation is not None
        self._simulation.reset()
        self._settled, self._stretched = True, 0.0
        return self._step(local, 0.0)

    def _step(self, local: Local, seconds: float) -> "mmdskin.Pose":
        """Of this model, after so many seconds."""
        inputs = [local, *(other.input for other in self._others if other.input)]
        pose: mmdskin.Pose = step(self._simulation, inputs, seconds)[0]
        return pose

    def _start_from(self, matrices: np.ndarray) -> None:
        """Let bodies start from hair that is shown, at rest."""
        simulation: Any = self._quick
        self._simulation = simulation
        simulation.reset()
        moves, turns = simulation.model[0].locals_of(matrices)
        still = np.zeros(len(moves), bool)
        weights = np.zeros(len(simulation.model[0].morphs), np.float32)
        self._step(Local(moves, turns, weights, still, still), 0.0)

    def _has_jumped(self, pose: "mmdskin.Pose") -> bool:
        """Whether the whole model is elsewhere than in the last pose: an applied pose, undo."""
        if not len(self._kinematic):
            return False
        moved = (pose.bone_matrices - self._shown)[self._kinematic]
        away = np.einsum("kij,kj->ki", moved[:, :3, :3], self._heads) + moved[:, :3, 3]
        return bool(np.abs(away).max(axis=1).min() > _JUMP)

    def _is_stretched(self, seconds: float) -> bool:
        """Whether a joint has been stretched for a second."""
        assert self._simulation is not None
        is_long = self._simulation.strain[0][:, 0].max(initial=0) > _STRETCHED
        self._stretched = self._stretched + seconds if is_long else 0.0
        return self._stretched > 1


def step(simulation: Any, inputs: Sequence[Local], seconds: float) -> Any:
    """The Pose of each model of a simulation after so many seconds."""
    translations, rotations, weights, ik, physics, gravity = zip(*inputs, strict=True)
    return simulation.step(
        translations, rotations, weights, seconds, ik=ik, physics=physics, gravity=gravity[0]
    )


def _same(one: Local, other: Local) -> bool:
    return all(map(np.array_equal, one, other))


def _first(scene: Scene) -> float:
    """The animation time of the first frame that the scene plays."""
    return playhead.frame_range(scene)[0] * playhead.stretch(scene)


@persistent
def _settle_all(*_: object) -> None:
    for live in every():
        live.settle()


_HANDLERS = (("undo_post", _settle_all), ("redo_post", _settle_all))
register, unregister = registration.handlers(_HANDLERS)
