# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose sources with their physics: as MMD Skinning plays it, and as bakes and exports need it.

A mesh and the objects on its bones share what is played, so that each pose is solved once per frame.
For bakes and exports, what no file has is simulated.

Keyframes of an armature may change at any time, and playback must match the simulation. So a Cache
stores the input values of bones at each sample and a digest of all keyframes; a mismatch is reported, not
played.
"""

import abc
import dataclasses
import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Context, Depsgraph, Object, Scene

from ..blender import blender_versions, caches, evaluated_bones, playhead, registration
from ..blender.evaluated_bones import Evaluation
from ..blender.translations import Sentence
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps
from ..pose import pose_source
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from . import cache, dependencies, group, live, simulation

_NEAR = 1e-4  # tolerance, in file units and for quaternions
_ON_PLACE = 1e-3  # fraction of a sample


class _Newest(NamedTuple):
    simulation: tuple | None  # the version of its file
    bones: evaluated_bones.Bones  # changes with anything of the armature object
    opened: pose_source.Opened


_newest: caches.Cache[_Newest] = caches.of_file()  # by `identity` of the armature object


def load(now: Evaluation, settings: pose_source.Settings) -> pose_source.Opened:
    """The pose source of Settings, read again."""
    opened = pose_source.load(now.armature, settings)
    opened, _ = _with_physics(opened, now.armature, False)
    newest = _Newest(_simulation(now.armature, settings), now.bones, opened)
    return _newest.put(now.bones.identity, newest).opened


def shared(
    now: Evaluation, settings: pose_source.Settings, check_file: bool = True
) -> pose_source.Opened:
    """The pose source that was loaded last, if that is still valid, else a new one.

    `check_file`: whether it is read again if the file of the simulation has changed.
    """
    newest, bones = _newest.get(now.bones.identity), now.bones
    if newest is None or newest.opened.settings != settings:
        return load(now, settings)
    if check_file and newest.simulation != _simulation(now.armature, settings):
        return load(now, settings)
    if newest.bones is not bones:
        known = newest.bones
        if known.names != bones.names or not np.array_equal(known.rests, bones.rests):
            return load(now, settings)
        _newest.put(bones.identity, newest._replace(bones=bones))
    return newest.opened


def _simulation(armature: Object, settings: pose_source.Settings) -> tuple | None:
    return cache.version_of(armature) if settings.physics else None


def _with_physics(
    opened: pose_source.Opened,
    armature: Object,
    strict: bool,
    simulated: cache.Cache | None = None,
    scene: Scene | None = None,
) -> "tuple[pose_source.Opened, _Checked | None]":
    """A pose source with its physics, and the file of the simulation if it needs one.

    The other arguments are those of `_Playing`.
    """
    if not cache.has_physics(armature, opened.settings, opened.rig.pmx):
        return opened, None
    if isinstance(opened, Solver):
        playing = _Playing(opened, armature, strict, simulated, scene)
        return opened.with_post_process(playing), playing
    if group.needs_file(opened.settings):
        grouped = _Grouped(opened, armature, strict, simulated)
        return grouped.motion(), grouped
    return (simulation.baked if strict else simulation.shown)(opened, armature), None


class Baked:
    """For bakes and exports. `opened` is the pose source with its physics, without which posing raises a UserError."""

    def __init__(self, member: group.Member) -> None:
        self.member = member
        self.load()

    def load(self, simulated: cache.Cache | None = None, scene: Scene | None = None) -> None:
        """Again: with a simulation that is in no file, or with hair as the viewport shows it in a scene's
        current frame, where it moves live if no simulation matches."""
        model, opened = self.member
        found = _with_physics(opened, model.armature, True, simulated, scene)
        self.opened, self._checked = found

    def lacks_simulation(self, first: float, last: float) -> bool:
        """Whether its file has no simulation of these keys and settings, or not from an animation
        time to another."""
        found = self._checked
        return found is not None and (bool(found.changed()) or not found.covers(first, last))


def simulate(context: Context, sources: Sequence[Baked], first: float, last: float) -> Steps[None]:
    """Simulate those that lack it, with their groups, so that two frames and all between are covered."""
    stretch = playhead.stretch(context.scene)
    times = first * stretch, last * stretch
    lacking = [source.member for source in sources if source.lacks_simulation(*times)]
    if not lacking:
        return
    batches = group.batches(lacking, context.view_layer)
    covered = math.floor(first), math.ceil(last)
    found = yield from simulation.simulated(context, batches, covered)
    for source in sources:
        if source.member.model.armature in found:
            source.load(found[source.member.model.armature])


# Simulations that a file has


class _Checked(abc.ABC):
    """The simulation of an armature object, and why it cannot be played, if it cannot."""

    def __init__(
        self,
        opened: Solver | Motion,
        armature: Object,
        strict: bool,
        simulated: cache.Cache | None = None,
    ) -> None:
        """`strict`: raise a UserError then; else `cache.PlaybackState` reports it.

        `simulated`: instead of the one in the armature's file.
        """
        self._opened: Any = opened
        self._armature, self._strict = armature.original, strict
        self._inputs = dependencies.inputs_of(opened, self._armature)
        found = (simulated, "") if simulated is not None else cache.read_for(armature)
        self._cache: Any = found[0]
        self._missing: object = found[1]
        self.state = cache.state_of(self._armature)
        self.state.mixing = cache.mixing(self._armature)
        self._known: tuple[int, object] | None = None  # the number of changes, the problem then

    def changed(self) -> object:
        """The problem at any frame, checked again when keys have changed."""
        number = self.state.changes
        if self._known is None or self._known[0] != number:
            try:
                problem = self._missing if self._cache is None else self._outdated()
            except UserError as error:  # of another model of the group
                problem = error
            self._known = number, problem
        return self._known[1]

    @abc.abstractmethod
    def covers(self, first: float, last: float) -> bool:
        """Whether all poses from an animation time to another are known, if nothing has changed."""

    def _outdated(self) -> object:
        """The problem if the simulation has other inputs, else ""."""
        found, keyed = self._cache, self._inputs is not None
        has_bones = cache.are_numbers(found.bones, len(self._opened.rig.pmx.bones))
        if has_bones and keyed == (found.inputs is not None):
            wanted = dependencies.fingerprint(self._opened, self._inputs)
            if found.fingerprint == wanted:
                return ""
            if keyed and found.fingerprint.rpartition(" ")[0] == wanted.rpartition(" ")[0]:
                return Sentence("The keyframes have changed since the simulation: simulate again")
        return Sentence("The files or settings have changed since the simulation: simulate again")

    def _tell(self, problem: object) -> None:
        if problem and self._strict:
            raise UserError(
                "The physics of '{name}' is missing: {reason}",
                name=self._armature.name,
                reason=problem,
            )
        self.state.problem = problem


class _Grouped(_Checked):
    """The poses of a motion that is simulated together with other models, whose keys may change."""

    def motion(self) -> Motion:
        opened: Motion = self._opened
        return dataclasses.replace(opened, poses=self._posed, changes=lambda: self.state.changes)

    def _posed(self, frames: np.ndarray) -> np.ndarray:
        """As `Motion.posed`, without physics where the simulation is outdated."""
        problem = self.changed()
        self._tell(problem or _ends_before(self._opened, self._cache, frames))
        matrices: np.ndarray = self._opened.posed(frames)
        if not problem:
            found = self._cache
            chosen = np.flatnonzero(frames >= found.first)  # nothing is simulated before the start
            if len(chosen) and len(found.bones):
                simulated = cache.matrices_at(found, frames[chosen])
                matrices[np.ix_(chosen, found.bones)] = simulated
        return matrices

    def covers(self, first: float, last: float) -> bool:
        frames = self._opened.motion_frames([first, last])
        return not _ends_before(self._opened, self._cache, frames)


def _outside(first: float, last: float) -> Sentence:
    """The problem of frames of the scene before or after those that were simulated."""
    return Sentence(
        "Only frames {first} to {last} are simulated: simulate again",
        first=math.ceil(first),
        last=math.floor(last),
    )


def _ends_before(motion: Motion, found: cache.Cache, frames: np.ndarray) -> object:
    """The problem of a simulation that ends before a motion and one of these frames of it, or ""."""
    last = found.last
    if last >= motion.motion.frame_range[1] or np.max(frames, initial=-np.inf) <= last:
        return ""
    return _outside(*motion.scene_frames([found.first, last]))


class _Playing(_Checked):
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
        super().__init__(solver, armature, strict, simulated)
        self._scene = scene.name_full if scene and solver.settings.physics.live else ""
        if solver.settings.evaluated:
            self._cache = None
            self._missing = Sentence("Renders show no live physics: set Pose Source to MMD's IK")

    def __call__(self, local: Local, frame: float, now: Evaluation | None) -> np.ndarray:
        problem = self.changed() or self._differs(local, frame)
        if problem and self._scene:
            try:
                return live.of(self._armature.name_full, self._scene).pose(
                    self._opened, local, frame
                )
            except (ValueError, UserError) as error:
                problem = error
        self._tell(problem)
        moving = self._live(now)
        if problem and moving is not None:
            return moving.shown(self._opened, local, now, self._inputs.sample)
        matrices: np.ndarray = self._opened.solved(local)
        if not problem and len(self._cache.bones):
            matrices[self._cache.bones] = cache.matrices_at(self._cache, np.array([frame]))[0]
        if moving is not None:
            moving.follow(matrices, local, frame)
        return matrices

    def version(self, now: Evaluation) -> tuple[int, ...]:
        moving = self._live(now)
        return self.state.changes, moving.ticks if moving is not None else 0

    def _live(self, now: Evaluation | None) -> live.Live | None:
        """What moves the bones where no simulation does: only in the viewport."""
        if not self._opened.settings.physics.live or now is None or not now.is_in_viewport:
            return None
        return live.of(self._armature.name_full, now.scene.name_full)

    def covers(self, first: float, last: float) -> bool:
        found = self._cache
        room = _ON_PLACE / found.rate
        return found.first - room <= first and last <= found.last + room

    def _differs(self, local: Local, frame: float) -> object:
        found = self._cache
        if _matches(self._cache, self._inputs.locals(local), self._inputs.values(local), frame):
            return ""
        if found.first <= frame <= found.last:
            return Sentence("This pose was not simulated: key it and simulate again")
        return _outside(found.first, found.last)


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
    moving = inputs.locals[around]
    known = np.repeat(inputs.still[None], len(moving), axis=0)
    known[:, inputs.moving] = moving
    samples = [low - around.start, high - around.start]
    return _is_between(known, locals_, samples) and _is_between(
        inputs.values[around], values, samples
    )


def _is_between(around: np.ndarray, now: np.ndarray, samples: list[int]) -> bool:
    """Whether values are between those of two samples, allowing for interpolation."""
    if now.ndim == 2:  # of bones, else values
        turns = now[:, 3:] * cache.signs(around[samples[0], :, 3:], now[:, 3:])
        now = np.concatenate([now[:, :3], turns], axis=1)
    ends = around[samples]
    room = np.abs(np.diff(around, axis=0)).max(axis=0, initial=0)
    room *= 0.01 if samples[0] == samples[1] else 1
    room += _NEAR
    return bool((now >= ends.min(axis=0) - room).all() and (now <= ends.max(axis=0) + room).all())


# Changes of keyframes during playback


@persistent
def _check(scene: Scene, depsgraph: Depsgraph) -> None:
    """Let simulations be compared with the keyframes again, if these may have changed."""
    if not any(state.mixing is not None for state in list(cache.states.values())):
        return
    keyed, changed = depsgraph.id_type_updated("ACTION"), []
    for armature in caches.objects_of(bpy.data.armatures):
        state = cache.states.get(blender_versions.identity(armature))
        if state is not None and state.mixing is not None:
            before, state.mixing = state.mixing, cache.mixing(armature)
            if keyed or state.mixing != before:
                changed.append(armature)
    if changed:
        _note_change()
    for armature in changed:
        armature.update_tag()  # drivers of live meshes depend on it


@persistent
def _check_before_frame(*_: object) -> None:
    """Before another frame is evaluated: changes of keyframes that no update has shown yet."""
    if threading.current_thread() is threading.main_thread():
        _check(bpy.context.scene, bpy.context.view_layer.depsgraph)


@persistent
def _note_change(*_: object) -> None:
    for moving in live.every():
        moving.forget_played()
    for state in list(cache.states.values()):
        state.changes += 1


_HANDLERS = (
    ("depsgraph_update_post", _check),
    ("frame_change_pre", _check_before_frame),
    ("undo_post", _note_change),
    ("redo_post", _note_change),
)
register, unregister = registration.handlers(_HANDLERS)
