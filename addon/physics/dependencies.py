# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulation depends on: files, settings, and of own keyframes bones, sliders and their curves.

A fingerprint of all this, as text, tells whether the file of a simulation is outdated.
"""

import functools
import hashlib
import re
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from bpy.types import Depsgraph, Object

from ..blender import actions, drivers, fcurves, file_access
from ..blender.native import mmdskin
from ..pose import ik_source, physics_settings, pose_source, skinner
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from ..scene import scene_model

_VERSION = 3  # of fingerprints
# The bone, the shape key with the value, or the custom property of a data path.
_TARGET = re.compile(r'(pose\.bones|key_blocks(?=.*\]\.value$))?\["((?:[^"\\]|\\.)*)"\]')


class Inputs:
    """The parts of a Local that rigid bodies and the bones that they move depend on."""

    def __init__(self, solver: Solver, armature: Object) -> None:
        self.armature, pmx = armature, solver.rig.pmx
        self.moved = moved_bones(pmx)
        self._bones = _depended_on(pmx, self.moved)
        self._morphs = solver.acting
        by_bodies = physics_settings.moved_bones(pmx)
        self._switched = np.array([i for i in self._bones if i in by_bodies], np.intp)
        self._goals = np.array([i for i in self._bones if pmx.bones[i].ik], np.intp)
        self.keys = solver.acting_of(solver.keys)  # names of shape keys
        bones = set(self._bones)
        self._named = {
            "pose.bones": {name for name, i in solver.rig.bones.items() if i in bones},
            "key_blocks": self.keys,
            None: solver.acting_of(solver.properties),
        }

    def locals(self, local: Local) -> np.ndarray:
        """(B, 7) float32."""
        both = local.translations[self._bones], local.rotations[self._bones]
        return np.concatenate(both, axis=1).astype(np.float32)

    def values(self, local: Local) -> np.ndarray:
        """(V,) float32."""
        switches = local.ik[self._goals], local.physics[self._switched]
        return np.concatenate([local.weights[self._morphs], *switches]).astype(np.float32)

    def sample(self, matrices: np.ndarray, local: Local) -> tuple:
        """What a simulation keeps of a pose: matrices of moved bones, `locals` and `values`."""
        return matrices[self.moved], self.locals(local), self.values(local)

    def moves(self, path: str) -> bool:
        """Whether a curve with this data path matters, of the armature object or of shape keys."""
        found = _TARGET.match(path)
        return (
            found is not None and bpy.utils.unescape_identifier(found[2]) in self._named[found[1]]
        )


def inputs_of(opened: Solver | Motion, armature: Object) -> Inputs | None:
    """Those of an armature's own keyframes; None where a motion file moves it."""
    return Inputs(opened, armature) if isinstance(opened, Solver) else None


def moved_bones(pmx: "mmdskin.Model") -> np.ndarray:
    """(K,) indices of the bones that rigid bodies may move, and of their followers."""
    moved, sources = physics_settings.moved_bones(pmx), _sources(pmx)
    while more := {number for number, found in enumerate(sources) if found & moved} - moved:
        moved |= more
    return np.array(sorted(moved), int)


def _sources(pmx: "mmdskin.Model") -> list[set[int]]:
    """For each bone, those that its pose depends on: parent, append source, and of IK the whole chain."""
    sources = [
        {bone.parent, bone.append.source if bone.append else -1} - {-1} for bone in pmx.bones
    ]
    for number, bone in enumerate(pmx.bones):
        if bone.ik:
            solved = {bone.ik.target, *(link.bone for link in bone.ik.links)} - {-1, number}
            for one in solved:
                sources[one] |= {number, *solved}
    return sources


def _digest_of_keys(inputs: Inputs, rig: Object | None = None) -> str:
    """A digest of every keyframe that affects the simulation, and of all of the armature object `rig`."""
    found = hashlib.sha256()
    for block in (*_animated(inputs), *([rig] if rig and rig.animation_data else ())):
        found.update(actions.blending(block.animation_data).encode())
        for curve in actions.playing_curves(block):
            if block == rig or inputs.moves(curve.data_path):
                found.update(fcurves.shape(curve))
        for curve in drivers.of(block):
            if block == rig or inputs.moves(curve.data_path):
                found.update(f"{curve.data_path} {curve.driver.expression}".encode())
    return found.hexdigest()


def _animated(inputs: Inputs) -> list[Object]:
    """The datablocks whose animation moves the model."""
    blocks = [inputs.armature]
    if inputs.keys:
        meshes = (obj for obj in bpy.data.objects if obj.type == "MESH")
        found = (obj for obj in meshes if scene_model.armature_modifiers(obj, inputs.armature))
        blocks += dict.fromkeys(obj.data.shape_keys for obj in found if obj.data.shape_keys)
    return [block for block in blocks if block.animation_data]


def _depended_on(pmx: "mmdskin.Model", moved: np.ndarray) -> np.ndarray:
    """(B,) indices of the bones on which rigid bodies and simulated bones depend."""
    sources, wanted = _sources(pmx), set[int]()
    more = {body.bone for body in pmx.rigid_bodies}.union(moved.tolist()) - {-1}
    while more:
        wanted |= more
        more = set[int]().union(*(sources[number] for number in more)) - wanted
    return np.array(sorted(wanted), np.intp)


def key_values(meshes: Sequence[Object], names: set[str], depsgraph: Depsgraph) -> dict:
    """{shape key: value} by which Blender mixes the named keys at the current frame."""
    found = []
    for obj in meshes if names else ():
        keys = obj.data.shape_keys
        here = [name for name in list(keys.key_blocks.keys()) if name in names] if keys else []
        if here:
            evaluated = keys.evaluated_get(depsgraph)
            pinned = skinner.pinned_key(obj)
            values = skinner.key_values(here, evaluated, pinned=pinned)
            found.append(zip(here, values.tolist(), strict=True))
    return ik_source.of_all_meshes(found)


# Fingerprints


def fingerprint(opened: Solver | Motion, inputs: Inputs | None) -> str:
    """What a simulation depends on, besides the values of bones and sliders. `inputs`: of keyframes, of
    which the last word is a digest."""
    parts = *_of_model(opened), *_of_group(opened.settings.physics)
    return _text(*parts) if inputs is None else _text("keys", *parts, _digest_of_keys(inputs))


def fingerprint_of_run(motion: Motion) -> str:
    """The inputs of the run of a motion, which those of a group share."""
    return "".join(_of_group(motion.settings.physics)) or fingerprint(motion, None)


def _of_model(opened: Solver | Motion) -> tuple:
    """Digests of a model's files, and its settings."""
    rig, settings = opened.rig, opened.settings
    if isinstance(opened, Solver):
        bones = hashlib.sha256(repr(sorted(rig.bones.items())).encode())
        bones.update(opened.rests.tobytes())
        return _digest(rig.path), bones.hexdigest(), *settings.physics.own, settings.fps
    found = [_digest(path) for path in (rig.path, opened.path)]
    if settings.earlier:  # merged into one, from where each starts
        for path, start in (*settings.earlier, (opened.path, settings.start)):
            found += [_digest(path), f"{start - settings.first:g}"]
    return *found, *settings.physics.own


def _of_group(physics: physics_settings.Settings) -> list[str]:
    """A digest of the models that are simulated together; none for a model alone."""
    if not physics.group:
        return []
    parts = [_of_member(member) for member in physics.group]
    return [hashlib.sha256(repr(parts).encode()).hexdigest()]


def _of_member(member: physics_settings.Member) -> tuple:
    armature = pose_source.armature_of(member)
    opened: Any = pose_source.load(armature, member.settings)
    inputs = inputs_of(opened, armature)
    if inputs is None:
        more: tuple = opened.settings.start, opened.speed
    else:
        mapped = opened.settings.rig or ()  # the rig's name, and its map
        rig = armature.mmdskin.driving_rig if mapped else None
        more = _digest_of_keys(inputs, rig), *mapped[1:]
    return *map(str, _of_model(opened)), *more, member.world


def _text(*parts: object) -> str:
    return " ".join(
        str(int(part) if isinstance(part, bool) else part) for part in (_VERSION, *parts)
    )


def _digest(path: str) -> str:
    """A digest of a file's contents."""
    stat = file_access.check(path)
    return _digest_of(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=32)
def _digest_of(path: str, mtime: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
