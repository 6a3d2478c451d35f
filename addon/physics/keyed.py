# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics of an armature's own keyframes, solved by MMD's IK: playback.

Keyframes may change at any time, and playback must match the simulation. So a Cache stores the input
values of bones at each sample and a digest of all keyframes; a mismatch is reported, not played.
"""

import math
import threading

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Object, Scene

from ..blender import actions, blender_versions, registration
from ..blender.evaluated_bones import Evaluation
from ..blender.translations import Sentence
from ..blender.user_error import UserError
from ..pose.ik_source import Local, Solver
from . import cache, dependencies, live

_NEAR = 1e-4  # tolerance, in file units and for quaternions
_ON_PLACE = 1e-3  # fraction of a sample


def with_physics(solver: Solver, armature: Object) -> Solver:
    """The solver with the physics of the armature's cache, if enabled in its settings.

    `cache.PlaybackState` reports why it cannot be played.
    """
    if not cache.has_physics(armature, solver.settings, solver.rig.pmx):
        return solver
    return solver.with_post_process(Playing(solver, armature, False))


class Playing(cache.Checked):
    """Poses for a Solver: with the simulated bones, else stores why not, and moves them live."""

    def __init__(
        self,
        solver: Solver,
        armature: Object,
        strict: bool,
        simulated: cache.Cache | None = None,
        scene: Scene | None = None,
    ) -> None:
        """`scene`: of whose live physics a pose is taken where the simulation does not match."""
        super().__init__(armature, strict, simulated)
        self._solver, self._full_name = solver, armature.original.name_full
        self._scene = scene.name_full if scene and solver.settings.physics.live else ""
        if solver.settings.evaluated:
            self._cache = None
            self._missing = Sentence("Renders show no live physics: set Pose Source to MMD's IK")
        self._inputs = dependencies.Inputs(solver)
        if not strict:
            state = cache.state_of(armature)
            state.name, state.mixing = armature.name, _mixing(self._armature)
            state.grouped = bool(solver.settings.physics and solver.settings.physics.group)

    def __call__(self, local: Local, frame: float, now: Evaluation | None) -> np.ndarray:
        problem = self.changed() or self._differs(local, frame)
        if problem and self._scene:
            try:
                return live.of(self._full_name, self._scene).pose(self._solver, local, frame)
            except (ValueError, UserError) as error:
                problem = error
        self._tell(problem)
        moving = self._live(now)
        if problem and moving is not None:
            return moving.shown(self._solver, local, now, self._inputs.sample)
        matrices = self._solver.solved(local)
        if not problem and len(self._cache.bones):
            matrices[self._cache.bones] = cache.matrices_at(self._cache, np.array([frame]))[0]
        if moving is not None:
            moving.follow(matrices, local, frame)
        return matrices

    def version(self, now: Evaluation) -> tuple[int, ...]:
        moving = self._live(now)
        changes = cache.state_of(self._armature).changes
        return (changes, moving.ticks) if moving is not None else (changes,)

    def _live(self, now: Evaluation | None) -> live.Live | None:
        """What moves the bones where no simulation does: only in the viewport."""
        if not self._solver.settings.physics.live or now is None or not now.is_in_viewport:
            return None
        return live.of(self._full_name, now.scene.name_full)

    def covers(self, first: float, last: float) -> bool:
        found = self._cache
        room = _ON_PLACE / found.rate
        return found.first - room <= first and last <= found.last + room

    def _outdated(self) -> object:
        found = self._cache
        wanted = dependencies.fingerprint_of_keys(self._solver, self._armature, self._inputs)
        if (
            found.fingerprint.rpartition(" ")[0] != wanted.rpartition(" ")[0]
            or found.inputs is None
        ):
            return cache.changed()
        if found.fingerprint != wanted:
            return Sentence("The keyframes have changed since the simulation: simulate again")
        return ""

    def _differs(self, local: Local, frame: float) -> object:
        found = self._cache
        if _matches(self._cache, self._inputs.locals(local), self._inputs.values(local), frame):
            return ""
        if found.first <= frame <= found.last:
            return Sentence("This pose was not simulated: key it and simulate again")
        return cache.outside(found.first, found.last)


# Whether a cache matches the current pose


def cache_of(
    made_of: str, inputs: dependencies.Inputs, samples: list[tuple], first: float, rate: float
) -> cache.Cache:
    """The Cache of an `Inputs.sample` for each place of a simulation."""
    matrices, locals_, values = (np.array(column) for column in zip(*samples, strict=True))
    transforms = cache.pivot_transforms(inputs.pmx, inputs.moved, matrices)
    pose = pose_inputs(locals_, values)
    return cache.Cache(made_of, first, rate, inputs.moved, *transforms, inputs=pose)


def pose_inputs(locals_: np.ndarray, values: np.ndarray) -> cache.PoseInputs:
    """The PoseInputs of all samples: (F, B, 7) and (F, V)."""
    turns = locals_[..., 3:]
    turns[1:] *= np.cumprod(_signs(turns[:-1], turns[1:]), axis=0)
    moving = np.flatnonzero((locals_ != locals_[:1]).any(axis=(0, 2)))
    return cache.PoseInputs(locals_[0], moving, locals_[:, moving], values)


def _signs(ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(…, 1) signs by which quaternions are neighbors."""
    return np.where((ones * others).sum(axis=-1, keepdims=True) < 0, -1, 1).astype(np.float32)


def _matches(found: cache.Cache, locals_: np.ndarray, values: np.ndarray, frame: float) -> bool:
    """Whether these values match those of the cache at a frame, within the accuracy of its samples."""
    inputs, count = found.inputs, len(found.points)
    at = min(max((frame - found.first) * found.rate, 0), count - 1)
    low = round(at)
    if abs(at - low) > _ON_PLACE:
        low = math.floor(at)
    high = min(low + (at > low), count - 1)
    around = slice(max(low - 1, 0), high + 2)
    if len(inputs.still) != len(locals_) or inputs.values.shape[1:] != values.shape:
        return False
    still = np.ones(len(locals_), bool)
    still[inputs.moving] = False
    moving = inputs.locals[around]
    places = [low - around.start, high - around.start]
    return (
        _is_between(inputs.still[None, still], locals_[still], [0, 0])
        and _is_between(moving, locals_[inputs.moving], places)
        and _is_between(inputs.values[around], values, places)
    )


def _is_between(around: np.ndarray, now: np.ndarray, places: list[int]) -> bool:
    """Whether values are between those of two samples, allowing for interpolation."""
    if now.ndim == 2:  # of bones, else values
        turns = now[:, 3:] * _signs(around[places[0], :, 3:], now[:, 3:])
        now = np.concatenate([now[:, :3], turns], axis=1)
    ends = around[places]
    room = np.abs(np.diff(around, axis=0)).max(axis=0, initial=0)
    room *= 0.01 if places[0] == places[1] else 1
    room += _NEAR
    return bool((now >= ends.min(axis=0) - room).all() and (now <= ends.max(axis=0) + room).all())


# Changes of keyframes during playback


def _mixing(armature: Object) -> str:
    return actions.mixing(armature.animation_data) if armature.animation_data else ""


def _armature(number: int, state: cache.PlaybackState) -> Object:
    """The armature object of a state, None if it was removed."""
    armature: Object | None = bpy.data.objects.get(state.name)
    if armature is None or blender_versions.identity(armature) != number:  # renamed or removed
        found = (obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        armature = next((obj for obj in found if blender_versions.identity(obj) == number), None)
    return armature


def _mixes_differently(number: int, state: cache.PlaybackState) -> bool:
    armature = _armature(number, state) if state.mixing is not None else None
    return armature is not None and _mixing(armature) != state.mixing


def _states_with_keys() -> dict:
    """The states that depend on keyframes, by `identity`."""
    return {
        number: one
        for number, one in list(cache.states.items())
        if one.mixing is not None or one.grouped
    }


@persistent
def _check_after_update(scene: Scene, depsgraph: Depsgraph) -> None:
    """After an update: check again whether simulations match the keyframes."""
    watched = _states_with_keys()
    if not watched:
        return
    changed = set()
    keyed = depsgraph.id_type_updated("ACTION")
    for number, state in watched.items():
        armature = _armature(number, state)
        if armature is None:
            cache.states.pop(number, None)
            continue
        before, state.name = state.mixing, armature.name
        if before is not None:
            state.mixing = _mixing(armature)
        if keyed or state.mixing != before:
            changed.add(armature)
    if changed:
        _note_change()
    for armature in changed:
        armature.update_tag()  # drivers of live meshes depend on it


@persistent
def _check_before_frame(*_: object) -> None:
    """Before another frame is evaluated: note changes of keyframes that no update has shown yet."""
    watched = _states_with_keys()
    if not watched or threading.current_thread() is not threading.main_thread():
        return
    keyed = bpy.context.view_layer.depsgraph.id_type_updated("ACTION")
    if keyed or any(_mixes_differently(number, one) for number, one in watched.items()):
        _note_change()


def _note_change() -> None:
    for _name, moving in live.all_of():
        moving.forget_played()
    for state in list(cache.states.values()):
        state.changes += 1


@persistent
def _after_undo(*_: object) -> None:
    _note_change()
    for state in list(cache.states.values()):
        state.mixing = None


_HANDLERS = (
    ("depsgraph_update_post", _check_after_update),
    ("frame_change_pre", _check_before_frame),
    ("undo_post", _after_undo),
    ("redo_post", _after_undo),
)
register, unregister = registration.handlers(_HANDLERS)
