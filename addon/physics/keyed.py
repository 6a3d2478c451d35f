# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics of an armature's own keyframes, solved by MMD's IK: Simulate and playback.

Keyframes may change at any time, and playback must match the simulation. So a Cache stores the input
values of bones at each sample and a digest of all keyframes; a mismatch is reported, not played.
"""

import hashlib
import math
import threading
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..blender import actions, blender_versions, fcurves, native, playhead, registration
from ..blender.translations import Sentence
from ..blender.user_error import UserError
from ..pose import physics_settings, skinner
from ..pose.ik_source import Local, Solver
from ..scene import scene_model
from ..scene.scene_model import SceneModel
from . import cache

if TYPE_CHECKING:
    import mmdskin

_STEPS_PER_SECOND = 60  # minimum rate at which the scene is sampled
_NEAR = 1e-4  # tolerance, in file units and for quaternions
_ON_PLACE = 1e-3  # fraction of a sample
_MOVES_BONES = {"bone", "impulse"}  # kinds of morphs


class Inputs:
    """The parts of a Local that rigid bodies and the bones that they move depend on."""

    def __init__(self, solver: Solver, moved: np.ndarray) -> None:
        pmx = solver.rig.pmx
        self._bones = _depended_on(pmx, moved)
        self._morphs = _acting(pmx)
        let_go = physics_settings.moved_bones(pmx)
        self._switched = np.array([i for i in self._bones if i in let_go], np.intp)
        self._goals = np.array([i for i in self._bones if pmx.bones[i].ik], np.intp)
        self._names = {name for name, i in solver.rig.bones.items() if i in set(self._bones)}
        acting = set(self._morphs)
        self._keys = _chosen(solver.keys, acting)
        self._properties = _chosen(solver.properties, acting)

    @property
    def keys(self) -> set[str]:
        """Names of shape keys."""
        return self._keys

    def locals(self, local: Local) -> np.ndarray:
        """(B, 7) float32."""
        both = local.translations[self._bones], local.rotations[self._bones]
        return np.concatenate(both, axis=1).astype(np.float32)

    def values(self, local: Local) -> np.ndarray:
        """(V,) float32."""
        switches = local.ik[self._goals], local.physics[self._switched]
        return np.concatenate([local.weights[self._morphs], *switches]).astype(np.float32)

    def moves(self, path: str) -> bool:
        """Whether a curve with this data path matters, of the armature object or of shape keys."""
        kind, name = _named(path)
        if kind == "bone":
            return name in self._names
        return name in (self._keys if kind == "key" else self._properties)


def with_physics(solver: Solver, armature: bpy.types.Object, strict: bool = False) -> Solver:
    """The solver with the physics of the armature's cache, if enabled in its settings.

    `cache.Shown` reports why it cannot be played; with `strict`, a UserError does.
    """
    if solver.settings.physics is None:
        cache.shown_of(armature).said = ""
        return solver
    return solver.with_finish(_Playing(solver, armature, strict))


class Run:
    """The simulation of one model over the scene's frame range, sample by sample."""

    def __init__(self, context: bpy.types.Context, model: SceneModel, solver: Solver) -> None:
        self._context, self._model, self._solver = context, model, solver
        self._physics = solver.settings.physics
        self._bones = cache.moved_bones(solver.rig.pmx)
        self._inputs = Inputs(solver, self._bones)
        self._made_of = _made_of(solver, model.armature, self._inputs)
        scene = context.scene
        # Places are steps of the simulation, where these are many every so many of them.
        hz = self._physics.hz
        self._seconds = max(1, hz // _STEPS_PER_SECOND) / hz
        self._rate = 1 / (self._seconds * solver.settings.fps)
        self._stretch = playhead.stretch(scene)
        self._first = scene.frame_start * self._stretch
        self.frames = scene.frame_end - scene.frame_start + 1
        way = (scene.frame_end - scene.frame_start) * self._stretch
        self._count = math.ceil(way * self._rate - 1e-6) + 1
        self._places: list[np.ndarray] = []
        self._locals: list[np.ndarray] = []
        self._values: list[np.ndarray] = []

    def __iter__(self) -> Generator[int, None, None]:
        """Yields the number of scene frames completed since the last one."""
        run = native.load().Simulation(self._solver.rig.pmx, None, self._physics.record())
        done = 0
        with playhead.Playhead(self._context) as head:
            for place in range(self._count):
                head.go_to((self._first + place / self._rate) / self._stretch, unseen=True)
                self._add(run)
                frames = math.floor(place / self._rate / self._stretch + 1e-6) + 1
                yield min(frames, self.frames) - done
                done = min(frames, self.frames)

    def _add(self, run: "mmdskin.Simulation") -> None:
        depsgraph = self._context.evaluated_depsgraph_get()
        keys = _key_values(self._model.meshes, self._inputs.keys, depsgraph)
        local = self._solver.local(self._model.armature.evaluated_get(depsgraph), keys)
        try:
            pose = run.step(*local[:3], self._seconds, ik=local.ik, physics=local.physics)
        except ValueError as error:
            raise UserError(
                "'{name}' cannot be simulated at frame {frame}: {reason}",
                name=self._model.name,
                frame=self._context.scene.frame_current,
                reason=error,
            ) from error
        self._places.append(pose.bone_matrices[self._bones])
        self._locals.append(self._inputs.locals(local))
        self._values.append(self._inputs.values(local))

    def result(self) -> cache.Cache:
        places = cache.places(self._solver.rig.pmx, self._bones, np.array(self._places))
        inputs = _pose_inputs(np.array(self._locals), np.array(self._values))
        return cache.Cache(
            self._made_of, self._first, self._rate, self._bones, *places, inputs=inputs
        )


class _Playing:
    """Called by a Solver with each solved pose: writes the simulated bones to it, or stores why not."""

    def __init__(self, solver: Solver, armature: bpy.types.Object, strict: bool) -> None:
        self._solver, self._armature, self._strict = solver, armature.original, strict
        self._name = armature.name
        self._cache, self._missing = cache.read_for(armature)
        self._inputs = Inputs(solver, cache.moved_bones(solver.rig.pmx))
        # The Shown, its number of changes, and the trouble at that time.
        self._known: tuple[cache.Shown, int, object] | None = None
        if not strict:
            shown = cache.shown_of(armature)
            shown.name, shown.mixing = armature.name, _mixing(self._armature)

    def __call__(self, matrices: np.ndarray, local: Local, frame: float) -> None:
        trouble = self._changed() or self._differs(local, frame)
        if trouble and self._strict:
            raise UserError(
                "The physics of '{name}' cannot be baked: {reason}",
                name=self._name,
                reason=trouble,
            )
        if trouble:
            cache.shown_of(self._armature).said = trouble
            return
        cache.shown_of(self._armature).said = ""
        if len(self._cache.bones):
            matrices[self._cache.bones] = cache.matrices_at(self._cache, np.array([frame]))[0]

    def _changed(self) -> object:
        """The trouble of the cache at any frame, checked again when keys have changed."""
        shown = cache.shown_of(self._armature)
        number = shown.changes
        if self._known is None or self._known[0] is not shown or self._known[1] != number:
            self._known = shown, number, self._trouble()
        return self._known[2]

    def _trouble(self) -> object:
        found = self._cache
        if found is None:
            return self._missing
        wanted = _made_of(self._solver, self._armature, self._inputs)
        if found.made_of.rpartition(" ")[0] != wanted.rpartition(" ")[0] or found.inputs is None:
            return cache.changed()
        if found.made_of != wanted:
            return Sentence("The keyframes have changed since the simulation: simulate again")
        return ""

    def _differs(self, local: Local, frame: float) -> object:
        found = self._cache
        if _matches(self._cache, self._inputs.locals(local), self._inputs.values(local), frame):
            return ""
        if found.first <= frame <= found.last:
            return Sentence("This pose was not simulated: key it and simulate again")
        return Sentence(
            "Only frames {first} to {last} are simulated: simulate again",
            first=math.ceil(found.first),
            last=math.floor(found.last),
        )


# Whether a cache matches the current pose


def _pose_inputs(locals_: np.ndarray, values: np.ndarray) -> cache.PoseInputs:
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


# The inputs of a simulation


def _made_of(solver: Solver, armature: bpy.types.Object, inputs: Inputs) -> str:
    """All inputs besides the values of bones and sliders; the last word is the digest of the keyframes."""
    settings, rig = solver.settings, solver.rig
    bones = hashlib.sha256(repr(sorted(rig.bones.items())).encode())
    bones.update(solver.rests.tobytes())
    files = cache.digest(rig.path), bones.hexdigest()
    return cache.text("keys", *files, *settings.physics, settings.fps, _keys_of(armature, inputs))


def _keys_of(armature: bpy.types.Object, inputs: Inputs) -> str:
    """A digest of every keyframe that affects the simulation."""
    found = hashlib.sha256()
    for block in _animated(armature, inputs):
        data = block.animation_data
        found.update(actions.mixing(data).encode())
        for curves in actions.playing(data):
            for curve in curves:
                if inputs.moves(curve.data_path):
                    found.update(fcurves.shape(curve))
        for curve in data.drivers:
            if inputs.moves(curve.data_path):
                found.update(f"{curve.data_path} {curve.driver.expression}".encode())
    return found.hexdigest()


def _animated(armature: bpy.types.Object, inputs: Inputs) -> list[bpy.types.Object]:
    """The datablocks whose animation moves the model."""
    blocks = [armature]
    if inputs.keys:
        meshes = (obj for obj in bpy.data.objects if obj.type == "MESH")
        found = (obj for obj in meshes if scene_model.armature_modifiers(obj, armature))
        blocks += dict.fromkeys(obj.data.shape_keys for obj in found if obj.data.shape_keys)
    return [block for block in blocks if block.animation_data]


def _named(path: str) -> tuple[str, str]:
    """The target of a data path: a bone, shape key or custom property, and its name."""
    for kind, start, end in (
        ("bone", 'pose.bones["', '"]'),
        ("key", 'key_blocks["', '"].value'),
        ("property", '["', '"]'),
    ):
        if path.startswith(start):
            name = path[len(start) :].partition(end)[0]
            return kind, bpy.utils.unescape_identifier(name)
    return "", ""


def _depended_on(pmx: "mmdskin.Model", moved: np.ndarray) -> np.ndarray:
    """(B,) indices of the bones on which rigid bodies and simulated bones depend."""
    wanted = {body.bone for body in pmx.rigid_bodies} | set(moved.tolist())
    chains = [
        (number, {number, bone.ik.target, *(link.bone for link in bone.ik.links)})
        for number, bone in enumerate(pmx.bones)
        if bone.ik
    ]
    more = wanted - {-1}
    wanted = set()
    while more:
        wanted |= more
        sources = {pmx.bones[number].parent for number in more}
        sources |= {pmx.bones[number].append.source for number in more if pmx.bones[number].append}
        for goal, chain in chains:
            if more & (chain - {goal}):
                sources |= chain
        more = sources - wanted - {-1}
    return np.array(sorted(wanted), np.intp)


def _acting(pmx: "mmdskin.Model") -> np.ndarray:
    """(S,) indices of bone and impulse morphs, and of groups and flips of these."""
    acting = {i for i, morph in enumerate(pmx.morphs) if morph.kind in _MOVES_BONES}
    while True:
        more = {
            i
            for i, morph in enumerate(pmx.morphs)
            if morph.kind in {"group", "flip"} and not acting.isdisjoint(morph.indices.tolist())
        }
        if more <= acting:
            return np.array(sorted(acting), np.intp)
        acting |= more


def _chosen(names: Sequence[str], numbers: set[int]) -> set[str]:
    return {name for number, name in enumerate(names) if name and number in numbers}


def _key_values(
    meshes: Sequence[bpy.types.Object], names: set[str], depsgraph: bpy.types.Depsgraph
) -> dict:
    """{shape key: value} by which Blender mixes the named keys at the current frame."""
    found: dict[str, float] = {}
    for obj in meshes if names else ():
        keys = obj.data.shape_keys
        here = [name for name in list(keys.key_blocks.keys()) if name in names] if keys else []
        if here:
            evaluated = keys.evaluated_get(depsgraph)
            pinned = skinner.pinned_key(obj)
            values = skinner.key_values(obj, here, evaluated, pinned=pinned)
            found |= dict(zip(here, values.tolist(), strict=True))
    return found


# Changes of keyframes during playback


def _mixing(armature: bpy.types.Object) -> str:
    return actions.mixing(armature.animation_data) if armature.animation_data else ""


def _armature(number: int, shown: cache.Shown) -> bpy.types.Object:
    """The armature object of a Shown, or None."""
    armature: bpy.types.Object | None = bpy.data.objects.get(shown.name)
    if armature is None or blender_versions.identity(armature) != number:  # renamed or removed
        found = (obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        armature = next((obj for obj in found if blender_versions.identity(obj) == number), None)
    return armature


def _mixes_differently(number: int, shown: cache.Shown) -> bool:
    armature = _armature(number, shown)
    return armature is not None and _mixing(armature) != shown.mixing


def _mixed() -> dict:
    """The Shown of simulated keyframes, by `identity`."""
    return {number: one for number, one in list(cache.shown.items()) if one.mixing is not None}


@persistent
def _look(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """After an update: check again whether simulations match the keyframes."""
    mixed = _mixed()
    if not mixed:
        return
    changed = set()
    keyed = any(isinstance(update.id, bpy.types.Action) for update in depsgraph.updates)
    for number, shown in mixed.items():
        armature = _armature(number, shown)
        if armature is None:
            cache.shown.pop(number, None)
            continue
        before, shown.name, shown.mixing = shown.mixing, armature.name, _mixing(armature)
        if keyed or shown.mixing != before:
            changed.add(armature)
    if changed:
        _note_change()
    for armature in changed:
        armature.update_tag()  # drivers of live meshes depend on it


@persistent
def _look_first(*_: object) -> None:
    """Before another frame is evaluated: note changes of keyframes that no update has shown yet."""
    mixed = _mixed()
    if not mixed or threading.current_thread() is not threading.main_thread():
        return
    keyed = bpy.context.view_layer.depsgraph.id_type_updated("ACTION")
    if keyed or any(_mixes_differently(number, one) for number, one in mixed.items()):
        _note_change()


def _note_change() -> None:
    for shown in list(cache.shown.values()):
        shown.changes += 1


@persistent
def _after_undo(*_: object) -> None:
    _note_change()
    for shown in list(cache.shown.values()):
        shown.mixing = None


@persistent
def _forget(*_: object) -> None:
    cache.shown.clear()


_HANDLERS = (
    ("depsgraph_update_post", _look),
    ("frame_change_pre", _look_first),
    ("undo_post", _after_undo),
    ("redo_post", _after_undo),
    ("load_post", _forget),
)


def register() -> None:
    registration.add_handlers(_HANDLERS)


def unregister() -> None:
    registration.remove_handlers(_HANDLERS)
    _forget()
