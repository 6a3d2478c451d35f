# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrective keys of one mesh, driven by joint rotations.

A joint is a pair of bones that both move a vertex: the one with the largest weight, and another.
`joint_fit` decides how many keys each joint gets; this module computes their shapes.
"""

import collections
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from mathutils import Matrix, Quaternion

from ..scene import mesh_source
from . import bake_state, joint_fit, joint_turns
from .joint_fit import Function
from .linear_blend import LinearBlend, moved
from .sources import Part

_RANGE = -1.0, 2.0  # of key values, which are from 0 to 1 in the baked frames
_LOOKED_AT = 160  # vertices of a joint that are sampled to choose its functions
_AT_ONCE = 500  # vertices whose shapes are computed in one step


class Correction(NamedTuple):
    """The offsets that a mesh needs in one frame."""

    frame: int
    vertices: np.ndarray  # (n,) indices of the vertices that need an offset
    offsets: np.ndarray  # (n, 3) float32, before the blend
    wanted: np.ndarray  # (n, 3) float32, after the blend
    matrices: np.ndarray  # (B, 4, 4) float32 of the blend


class _Key(NamedTuple):
    pair: tuple[str, str]
    function: Function
    vertices: np.ndarray  # (n,)
    offsets: np.ndarray  # (n, 3) float32 before the blend


class Joints:
    """The joints of one mesh, their rotations in the baked frames, and their keys."""

    def __init__(self, part: Part, bones: list[str], blend: LinearBlend) -> None:
        self._part, self._blend = part, blend
        self._bone_indices = [bones.index(name) for name in part.bones]
        self._vertices = _pairs(part, blend)
        self._found: list[Correction] = []
        self._rotations: list[np.ndarray] = []  # (B, 3, 3) of each frame, in armature space
        self._farthest = np.zeros(part.skinner.vertex_count, np.float32)  # in any frame
        self._keys: list[_Key] = []

    @property
    def count(self) -> int:
        """How many keys `write` adds."""
        return len(self._keys) + bool(self._shown_at_rest().any())

    def add(self, correction: Correction, pose: np.ndarray) -> None:
        """Add a frame: the offsets that it needs, and its pose, (B, 4, 4) in armature space."""
        self._found.append(correction)
        self._rotations.append(_rotations(pose[self._bone_indices]))
        self._note_farthest(correction)

    def remember(self, state: bake_state.BakeState, rest: np.ndarray) -> None:
        """Let new keys also reproduce the poses of earlier single-pose bakes.

        A new pose replaces an earlier one of the same frame.
        """
        found, rotations = [], []
        still = np.tile(np.eye(4, dtype=np.float32), (len(self._part.bones), 1, 1))
        now = {one.frame for one in self._found}
        for frame, turns in state.single_poses.poses:
            if frame not in now:
                rotations.append(_turned(turns, self._part.bones))
                offsets = self._shown(state, rotations[-1], rest)
                vertices = np.flatnonzero(offsets.any(axis=1))
                offsets = offsets[vertices]
                found.append(Correction(frame, vertices, offsets, offsets, still))
                self._note_farthest(found[-1])
        self._found, self._rotations = found + self._found, rotations + self._rotations

    def plan(self, max_keys: int, tolerance: float) -> Iterator[int]:
        """Choose the keys; yields how many there are so far."""
        farthest = self._farthest
        needed = self._needed = np.flatnonzero(farthest)
        offsets = np.zeros((len(self._found), len(needed), 3), np.float32)
        for one, row in zip(self._found, offsets, strict=True):
            row[np.searchsorted(needed, one.vertices)] = one.offsets
            yield 0
        some = {pair: _some(held, farthest) for pair, held in self._vertices.items()}
        some = {pair: held for pair, held in some.items() if len(held)}
        looked_at = np.unique(np.concatenate([np.empty(0, int), *some.values()]))
        maps = np.empty((len(self._found), len(looked_at), 3, 3), np.float32)
        blend = self._blend.subset(looked_at)
        for one, row in zip(self._found, maps, strict=True):
            row[:] = blend.maps(one.matrices)[:, :, :3]
            yield 0
        joints, rotations = {}, np.array(self._rotations)
        for pair, held in some.items():
            turns = self._turns(pair, rotations)
            joints[pair] = joint_fit.Joint(turns, np.searchsorted(looked_at, held))
            yield 0
        left = offsets[:, np.searchsorted(needed, looked_at)]
        driven = max(1, max_keys - 1)  # `_shown_at_rest` may need one more
        for _ in joint_fit.choose(list(joints.values()), left, maps, driven, tolerance):
            yield sum(joint.count for joint in joints.values())
        joints = {pair: joint for pair, joint in joints.items() if joint.count}
        if joints:
            yield from self._shape(joints, needed, offsets)
        self._left = offsets

    def errors(self, count: int) -> Iterator[float]:
        """Yields an estimate of the largest remaining error in the last `count` frames."""
        error = 0.0
        for one, left in zip(self._found[-count:], self._left[-count:], strict=True):
            stretch = np.linalg.norm(one.matrices[:, :3, :3], 2, axis=(1, 2)).max(initial=1)
            # A blend stretches no vector more than its most stretched bone does.
            large = np.linalg.norm(left, axis=1) * stretch > error
            if large.any():
                maps = self._blend.subset(self._needed[large]).maps(one.matrices)
                lengths = np.linalg.norm(moved(maps, left[large]), axis=1)
                error = max(error, float(lengths.max()))
            yield error

    def forget(self) -> None:
        """Discard all keys."""
        self._keys.clear()

    def write(self, state: bake_state.BakeState, add_key: Callable, gathers: bool) -> None:
        """Add the keys with their drivers; `gathers` lets a later bake `remember` their poses."""
        obj, armature = self._part.obj, self._part.armature
        kept: list[list] = []
        numbers: collections.Counter[tuple[str, str]] = collections.Counter()
        drivers: joint_turns.Drivers | None = None
        for key in self._keys:
            numbers[key.pair] += 1
            label = " ".join(key.pair[joint_turns.is_child(armature, key.pair) :])
            name = f"MMD {label} {numbers[key.pair]}"
            name = add_key(state, name, key.vertices, key.offsets)
            drivers = drivers or joint_turns.Drivers(obj.data, armature)
            drivers.drive(name, key.pair, key.function.expression)
            block = obj.data.shape_keys.key_blocks[name]
            block.slider_min, block.slider_max = _RANGE
            kept.append([name, key.pair, key.function])
        at_rest = self._shown_at_rest()
        if at_rest.any():
            chosen = np.flatnonzero(at_rest.any(axis=1))
            name = add_key(state, "MMD Rest", chosen, -at_rest[chosen])
            obj.data.shape_keys.key_blocks[name].value = 1.0
        state.turns = list(drivers.properties.values()) if drivers else []
        if gathers:
            poses = [
                [one.frame, _turns_of_bones(rotations, self._part.bones)]
                for one, rotations in zip(self._found, self._rotations, strict=True)
            ]
            state.single_poses = bake_state.SinglePoses(poses, kept)

    def _note_farthest(self, found: Correction) -> None:
        lengths = np.linalg.norm(found.wanted, axis=1)
        self._farthest[found.vertices] = np.maximum(self._farthest[found.vertices], lengths)

    def _turns(self, pair: tuple[str, str], rotations: np.ndarray) -> np.ndarray:
        first, second = (rotations[:, self._part.bones.index(name)] for name in pair)
        return joint_turns.computed(self._part.armature, pair, first, second)

    def _shown_at_rest(self) -> np.ndarray:
        """(V, 3) float32 that driven keys add at rest: another key subtracts it."""
        result = np.zeros((self._part.skinner.vertex_count, 3), np.float32)
        for key in self._keys:
            result[key.vertices] += np.float32(key.function.rest) * key.offsets
        return result

    def _shown(
        self, state: bake_state.BakeState, rotations: np.ndarray, rest: np.ndarray
    ) -> np.ndarray:
        """(V, 3) float32 that the keys of an earlier bake add in a pose."""
        blocks, result = self._part.obj.data.shape_keys.key_blocks, np.zeros_like(rest)
        for name, pair, function in state.single_poses.keys:
            if name in blocks and set(pair) <= set(self._part.bones):
                turns = self._turns(pair, rotations[None])
                value = Function(*function).above_rest(joint_fit.terms(turns))[0]
                result += np.float32(value) * (mesh_source.key_positions(blocks[name]) - rest)
        return result

    def _shape(
        self, joints: dict[tuple[str, str], joint_fit.Joint], needed: np.ndarray, left: np.ndarray
    ) -> Iterator[int]:
        """Compute the keys: each vertex is fitted to the functions of all its joints together.

        What they add is subtracted from `left` (F, n, 3).
        """
        functions = [(pair, one) for pair, joint in joints.items() for one in joint.functions()]
        values = np.array([one.above_rest(joints[pair].terms) for pair, one in functions])
        holds = {pair: np.isin(needed, self._vertices[pair]) for pair in joints}
        held = np.array([holds[pair] for pair, _ in functions])
        alike = np.zeros(len(needed), int)  # an index for each set of joints
        for one in holds.values():
            alike = np.unique(2 * alike + one, return_inverse=True)[1]
        shapes = np.zeros((len(functions), len(needed), 3), np.float32)
        for number in range(alike.max() + 1):
            members = np.flatnonzero(alike == number)
            own = held[:, members[0]]
            if not own.any():
                continue
            pairs = {pair for (pair, _), used in zip(functions, own, strict=True) if used}
            weights = np.mean([joints[pair].weights for pair in pairs], axis=0)
            solution = joint_fit.solution(values[own].T, weights)
            shown = values[own].T.astype(np.float32)
            for chosen in np.array_split(members, -(-len(members) // _AT_ONCE)):
                needs = left[:, chosen]
                solved = np.tensordot(solution, needs, 1)
                left[:, chosen] = needs - np.tensordot(shown, solved, 1)
                shapes[np.ix_(own, chosen)] = solved
                yield len(functions)
        self._keys = [
            _Key(pair, function, needed[used], shape[used])
            for (pair, function), used, shape in zip(functions, held, shapes, strict=True)
        ]


def _pairs(part: Part, blend: LinearBlend) -> dict[tuple[str, str], np.ndarray]:
    """{(bone, other): vertices}, the first bone is the parent if there is one."""
    bones = part.armature.data.bones
    heaviest = np.full(part.skinner.vertex_count, -1)
    order = np.argsort(blend.weight, kind="stable")  # the last of several entries wins
    heaviest[blend.vertex[order]] = blend.bone[order]
    others = (blend.bone != heaviest[blend.vertex]) & (blend.weight > 0)
    vertices = blend.vertex[others]
    both = np.stack([heaviest[vertices], blend.bone[others]])
    low, high = both.min(axis=0), both.max(axis=0)
    result = {}
    for one, other in sorted(set(zip(low.tolist(), high.tolist(), strict=True))):
        pair = part.bones[one], part.bones[other]
        parent = bones[pair[0]].parent
        if parent is not None and parent.name == pair[1]:
            pair = pair[::-1]
        result[pair] = np.unique(vertices[(low == one) & (high == other)])
    return result


def _some(vertices: np.ndarray, farthest: np.ndarray) -> np.ndarray:
    """A sample of the vertices, from the largest need to the smallest."""
    vertices = vertices[farthest[vertices] > 0]
    vertices = vertices[np.argsort(-farthest[vertices], kind="stable")]
    return np.sort(vertices[:: -(-len(vertices) // _LOOKED_AT) or 1])


def _rotations(pose: np.ndarray) -> np.ndarray:
    """(B, 3, 3) float64 rotations of the matrices, without scale."""
    axes = pose[:, :3, :3].astype(np.float64)
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    return axes / np.where(lengths > 0, lengths, 1)


def _turns_of_bones(rotations: np.ndarray, bones: tuple[str, ...]) -> dict[str, list[float]]:
    """{bone: w x y z} of the bones that are rotated."""
    turns = {
        name: [round(part, 7) for part in Matrix(rotation).to_quaternion()]
        for name, rotation in zip(bones, rotations.tolist(), strict=True)
    }
    return {name: turn for name, turn in turns.items() if abs(turn[0]) < 1}


def _turned(turns: dict[str, list[float]], bones: tuple[str, ...]) -> np.ndarray:
    """The opposite: (B, 3, 3) rotations."""
    return np.array([Quaternion(turns.get(name, (1, 0, 0, 0))).to_matrix() for name in bones])
