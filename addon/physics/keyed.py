# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics of what an armature's own channels hold, solved by MMD's IK: Simulate and what plays it.

Keys may change at any time, and what is shown must be what was simulated. So a Cache has what the
bones held at each place, and a digest of all keys: what differs is not played, and told.
"""

import hashlib
import math
import threading
from collections.abc import Iterator

import bpy
import numpy as np
from bpy.app.handlers import persistent

from .. import actions, native, physics_settings, playhead, scene_model, skinner
from ..ik_source import Local, Solver
from ..scene_model import SceneModel
from ..translations import tr
from ..user_error import UserError
from . import cache

_STEPS_PER_SECOND = 60  # at least so often the scene is looked at
_NEAR = 1e-4  # what counts as the same, in units of the file and of a quaternion
_ON_PLACE = 1e-3  # of the way to the next
_MOVES_BONES = {"bone", "impulse"}  # kinds of morphs

_changes = 0  # how often keys may have changed
_mixings: dict[str, str] = {}  # name of an armature that shows physics: how its keys are mixed


class Inputs:
    """What of a Local the bodies and the bones that they move depend on."""

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
        """Whether a curve of this data path matters, of the armature object or of shape keys."""
        kind, name = _named(path)
        if kind == "bone":
            return name in self._names
        return name in (self._keys if kind == "key" else self._properties)


def of(solver: Solver, armature: bpy.types.Object, strict: bool = False) -> Solver:
    """The solver with the physics of the armature's cache, where its settings have it.

    What cannot be played is told by `cache.troubles`; `strict`: by a UserError.
    """
    if solver.settings.physics is None:
        cache.troubles.pop(armature.name, None)
        return solver
    return solver.with_finish(_Playing(solver, armature, strict))


class Run:
    """The simulation of one model over the scene's range, one place in time after the other."""

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
        self._places, self._locals, self._values = [], [], []

    def __iter__(self) -> Iterator[int]:
        """How many more frames of the scene are done."""
        run = native.load().Simulation(self._solver.rig.pmx, None, self._physics.record())
        done = 0
        with playhead.Playhead(self._context) as head:
            for place in range(self._count):
                head.go_to((self._first + place / self._rate) / self._stretch, unseen=True)
                self._add(run)
                frames = math.floor(place / self._rate / self._stretch + 1e-6) + 1
                yield min(frames, self.frames) - done
                done = min(frames, self.frames)

    def _add(self, run):
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
        given = _given(np.array(self._locals), np.array(self._values))
        return cache.Cache(
            self._made_of, self._first, self._rate, self._bones, *places, given=given
        )


class _Playing:
    """What a Solver calls once it has a pose: writes the simulated bones to it, or tells why not."""

    def __init__(self, solver, armature, strict):
        self._solver, self._armature, self._strict = solver, armature.original, strict
        self._name = armature.name
        self._cache, self._missing = cache.of(armature)
        self._inputs = Inputs(solver, cache.moved_bones(solver.rig.pmx))
        self._known = None  # number of a change, and the trouble that there was then
        if not strict:
            _mixings[self._name] = _mixing(self._armature)

    def __call__(self, matrices: np.ndarray, local: Local, frame: float) -> None:
        trouble = self._changed() or self._differs(local, frame)
        if trouble and self._strict:
            raise UserError(
                "The physics of '{name}' cannot be baked: {reason}",
                name=self._name,
                reason=trouble,
            )
        if trouble:
            cache.troubles[self._name] = trouble
            return
        cache.troubles.pop(self._name, None)
        if len(self._cache.bones):
            matrices[self._cache.bones] = cache.matrices_at(self._cache, np.array([frame]))[0]

    def _changed(self):
        """What is wrong with the cache at all frames, looked at again when keys have changed."""
        number = _changes
        if self._known is None or self._known[0] != number:
            self._known = number, self._trouble()
        return self._known[1]

    def _trouble(self):
        found = self._cache
        if found is None:
            return self._missing
        wanted = _made_of(self._solver, self._armature, self._inputs)
        if found.made_of.rpartition(" ")[0] != wanted.rpartition(" ")[0] or found.given is None:
            return cache.changed()
        if found.made_of != wanted:
            return tr("Keys have changed since the simulation: simulate again")
        return ""

    def _differs(self, local, frame):
        found = self._cache
        if _is_given(self._cache, self._inputs.locals(local), self._inputs.values(local), frame):
            return ""
        if found.first <= frame <= found.last:
            return tr("This pose is not the one that was simulated: key it and simulate again")
        return tr(
            "Only frames {first} to {last} are simulated: simulate again",
            first=math.ceil(found.first),
            last=math.floor(found.last),
        )


# Whether a cache is of what is shown


def _given(locals_, values):
    """The Given of all places: (F, B, 7) and (F, V)."""
    turns = locals_[..., 3:]
    turns[1:] *= np.cumprod(_signs(turns[:-1], turns[1:]), axis=0)
    moving = np.flatnonzero((locals_ != locals_[:1]).any(axis=(0, 2)))
    return cache.Given(locals_[0], moving, locals_[:, moving], values)


def _signs(ones, others):
    """(…, 1) by which quaternions are neighbours."""
    return np.where((ones * others).sum(axis=-1, keepdims=True) < 0, -1, 1).astype(np.float32)


def _is_given(found, locals_, values, frame):
    """Whether these values stood at a frame of the cache, as far as its places tell."""
    given, count = found.given, len(found.points)
    at = min(max((frame - found.first) * found.rate, 0), count - 1)
    low = round(at)
    if abs(at - low) > _ON_PLACE:
        low = math.floor(at)
    high = min(low + (at > low), count - 1)
    around = slice(max(low - 1, 0), high + 2)
    if len(given.still) != len(locals_) or given.values.shape[1:] != values.shape:
        return False
    still = np.ones(len(locals_), bool)
    still[given.moving] = False
    moving = given.locals[around]
    places = [low - around.start, high - around.start]
    return (
        _is_between(given.still[None, still], locals_[still], [0, 0])
        and _is_between(moving, locals_[given.moving], places)
        and _is_between(given.values[around], values, places)
    )


def _is_between(around, now, places):
    """Whether numbers lie between two places, as far as their way about there can lead."""
    if now.ndim == 2:  # of bones, else values
        turns = now[:, 3:] * _signs(around[places[0], :, 3:], now[:, 3:])
        now = np.concatenate([now[:, :3], turns], axis=1)
    ends = around[places]
    room = np.abs(np.diff(around, axis=0)).max(axis=0, initial=0)
    room *= 0.01 if places[0] == places[1] else 1
    room += _NEAR
    return bool((now >= ends.min(axis=0) - room).all() and (now <= ends.max(axis=0) + room).all())


# What a simulation depends on


def _made_of(solver, armature, inputs):
    """All that does not stand in what bones and sliders are given; its last word is of the keys."""
    settings, rig = solver.settings, solver.rig
    bones = hashlib.sha256(repr(sorted(rig.bones.items())).encode())
    bones.update(solver.rests.tobytes())
    files = cache.digest(rig.path), bones.hexdigest()
    return cache.text("keys", *files, *settings.physics, settings.fps, _keys_of(armature, inputs))


def _keys_of(armature, inputs):
    """A digest of every key that moves what is simulated."""
    found = hashlib.sha256()
    for block in _animated(armature, inputs):
        data = block.animation_data
        found.update(actions.mixing(data).encode())
        for curves in actions.playing(data):
            for curve in curves:
                if inputs.moves(curve.data_path):
                    found.update(actions.shape(curve))
        for curve in data.drivers:
            if inputs.moves(curve.data_path):
                found.update(f"{curve.data_path} {curve.driver.expression}".encode())
    return found.hexdigest()


def _animated(armature, inputs):
    """The datablocks whose animation moves the model."""
    blocks = [armature]
    if inputs.keys:
        meshes = (obj for obj in bpy.data.objects if obj.type == "MESH")
        found = (obj for obj in meshes if scene_model.armature_modifiers(obj, armature))
        blocks += dict.fromkeys(obj.data.shape_keys for obj in found if obj.data.shape_keys)
    return [block for block in blocks if block.animation_data]


def _named(path):
    """What a data path leads into: a bone, a shape key or a custom property, and its name."""
    for kind, start, end in (
        ("bone", 'pose.bones["', '"]'),
        ("key", 'key_blocks["', '"].value'),
        ("property", '["', '"]'),
    ):
        if path.startswith(start):
            name = path[len(start) :].partition(end)[0]
            return kind, bpy.utils.unescape_identifier(name)
    return "", ""


def _depended_on(pmx, moved):
    """(B,) numbers of the bones from which bodies and moved bones have their places."""
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


def _acting(pmx):
    """(S,) numbers of the morphs that move bones or push bodies, groups of them and flips too."""
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


def _chosen(names, numbers):
    return {name for number, name in enumerate(names) if name and number in numbers}


def _key_values(meshes, names, depsgraph):
    """{shape key: value} by which Blender mixes the named keys in the frame it stands at."""
    found = {}
    for obj in meshes if names else ():
        keys = obj.data.shape_keys
        here = [name for name in list(keys.key_blocks.keys()) if name in names] if keys else []
        if here:
            evaluated = keys.evaluated_get(depsgraph)
            pinned = skinner.pinned_key(obj)
            values = skinner.key_values(obj, here, evaluated, pinned=pinned)
            found |= dict(zip(here, values.tolist(), strict=True))
    return found


# Keys that change while they are shown


def _mixing(armature):
    return actions.mixing(armature.animation_data) if armature.animation_data else ""


@persistent
def _look(scene, depsgraph):
    """After an update: what shows physics looks again at whether it is that of the keys."""
    global _changes
    if not _mixings:
        return
    changed = set()
    keyed = any(isinstance(update.id, bpy.types.Action) for update in depsgraph.updates)
    for name, before in list(_mixings.items()):
        armature = bpy.data.objects.get(name)
        if armature is None or armature.type != "ARMATURE":
            del _mixings[name]
            continue
        _mixings[name] = _mixing(armature)
        if keyed or _mixings[name] != before:
            changed.add(armature)
    if changed:
        _changes += 1
    for armature in changed:
        armature.update_tag()  # drivers of live meshes wait for it


@persistent
def _look_first(*_):
    """Before another frame is evaluated, which would take what has changed along untold."""
    if _mixings and threading.current_thread() is threading.main_thread():
        bpy.context.view_layer.update()


@persistent
def _forget(*_):
    global _changes
    _changes += 1
    _mixings.clear()


_HANDLERS = (
    ("depsgraph_update_post", _look),
    ("frame_change_pre", _look_first),
    ("undo_post", _forget),
    ("redo_post", _forget),
    ("load_post", _forget),
)


def register():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function not in handlers:
            handlers.append(function)


def unregister():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function in handlers:
            handlers.remove(function)
    _forget()
