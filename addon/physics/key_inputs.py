# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulation of an armature's own keyframes depends on: bones, sliders and their keyframes."""

import hashlib
from collections.abc import Sequence

import bpy
import numpy as np
from bpy.types import Depsgraph, Object

from ..blender import actions, drivers, fcurves
from ..blender.native import mmdskin
from ..pose import ik_source, physics_settings, skinner
from ..pose.ik_source import Local, Solver
from ..scene import scene_model


class Inputs:
    """The parts of a Local that rigid bodies and the bones that they move depend on."""

    def __init__(self, solver: Solver) -> None:
        self.pmx = pmx = solver.rig.pmx
        self.moved = moved_bones(pmx)
        self._bones = _depended_on(pmx, self.moved)
        self._morphs = solver.acting
        by_bodies = physics_settings.moved_bones(pmx)
        self._switched = np.array([i for i in self._bones if i in by_bodies], np.intp)
        self._goals = np.array([i for i in self._bones if pmx.bones[i].ik], np.intp)
        self._names = {name for name, i in solver.rig.bones.items() if i in set(self._bones)}
        self._keys = solver.acting_of(solver.keys)
        self._properties = solver.acting_of(solver.properties)

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

    def sample(self, matrices: np.ndarray, local: Local) -> tuple:
        """What a simulation keeps of a pose: matrices of moved bones, `locals` and `values`."""
        return matrices[self.moved], self.locals(local), self.values(local)

    def moves(self, path: str) -> bool:
        """Whether a curve with this data path matters, of the armature object or of shape keys."""
        kind, name = _named(path)
        if kind == "bone":
            return name in self._names
        return name in (self._keys if kind == "key" else self._properties)


def moved_bones(pmx: "mmdskin.Model") -> np.ndarray:
    """(K,) indices of the bones that rigid bodies may move, and of their followers."""
    moved = physics_settings.moved_bones(pmx)
    while True:
        more = {
            number
            for number, bone in enumerate(pmx.bones)
            if number not in moved
            and (bone.parent in moved or (bone.append and bone.append.source in moved))
        }
        for number, bone in enumerate(pmx.bones):
            if bone.ik and moved & {number, bone.ik.target}:
                more |= {link.bone for link in bone.ik.links} - moved
        if not more:
            return np.array(sorted(moved), int)
        moved |= more


def digest_of_keys(armature: Object, inputs: Inputs) -> str:
    """A digest of every keyframe that affects the simulation."""
    found = hashlib.sha256()
    for block in _animated(armature, inputs):
        data = block.animation_data
        found.update(actions.blending(data).encode())
        for curves in actions.playing(data):
            for curve in curves:
                if inputs.moves(curve.data_path):
                    found.update(fcurves.shape(curve))
        for curve in drivers.of(block):
            if inputs.moves(curve.data_path):
                found.update(f"{curve.data_path} {curve.driver.expression}".encode())
    return found.hexdigest()


def _animated(armature: Object, inputs: Inputs) -> list[Object]:
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
