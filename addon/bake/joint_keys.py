# SPDX-License-Identifier: GPL-3.0-or-later
"""A target of a bake: corrective keys of one mesh, driven by joint rotations.

A joint is a pair of bones that both move a vertex: the one with the largest weight, and another.
`joint_fit` decides how many keys each joint gets; this module computes their shapes.
"""

import collections
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from mathutils import Matrix, Quaternion

from ..blender.translations import tr_count
from ..scene import mesh_source
from . import bake_state, joint_fit, joint_turns, sliders
from .joint_fit import Function
from .linear_blend import LinearBlend, moved
from .shape_keys import Correction, Corrective, longest
from .target import Target

_RANGE = -1.0, 2.0  # of key values, which are from 0 to 1 in the baked frames
_LITTLE = 0.9  # share of the error that remains when driven keys are not worthwhile
_LOOKED_AT = 160  # vertices of a joint that are sampled to choose its functions
_AT_ONCE = 500  # vertices whose shapes are computed in one step


class _Key(NamedTuple):
    pair: tuple[str, str]
    function: Function
    vertices: np.ndarray  # (n,)
    offsets: np.ndarray  # (n, 3) float32 before the blend


class Driven(Corrective):
    """Corrective keys of all frames together."""

    def start(self) -> None:
        super().start()
        self._vertices = _pairs(self, self._blend)
        self._keys: list[_Key] = []

    @property
    def adds_to_earlier(self) -> bool:
        """Bakes of single poses add up."""
        state = self.state
        if state is None or state.target != "CORRECTIVE" or state.single_poses is None:
            return False
        return not self.options.moves and state.deformation == list(self.deformation)

    def write(self, state: bake_state.BakeState) -> None:
        """Add the keys with their drivers; a later bake of a pose needs what single poses store."""
        obj, armature = self.obj, self.armature
        sliders.mute_sliders(obj, state.sliders, state.keys)
        bake_state.remove_keys(obj, state)  # of earlier poses, which the new keys include
        kept: list[list] = []
        numbers: collections.Counter[tuple[str, str]] = collections.Counter()
        drivers = joint_turns.Drivers(obj.data, armature)
        for key in self._keys:
            numbers[key.pair] += 1
            label = " ".join(key.pair[joint_turns.is_child(armature, key.pair) :])
            label = f"{label} {numbers[key.pair]}"
            name = self._add_key(state, label, key.vertices, key.offsets)
            drivers.drive(name, key.pair, key.function.expression)
            block = obj.data.shape_keys.key_blocks[name]
            block.slider_min, block.slider_max = _RANGE
            kept.append([name, key.pair, key.function])
        at_rest = self._shown_at_rest()
        if at_rest.any():
            chosen = np.flatnonzero(at_rest.any(axis=1))
            name = self._add_key(state, "Rest", chosen, -at_rest[chosen])
            obj.data.shape_keys.key_blocks[name].value = 1.0
        if not self.options.moves:
            poses = [[one.frame, _turns_of_bones(one.pose, self.bones)] for one in self._found]
            state.single_poses = bake_state.SinglePoses(poses, kept)

    def finish(self) -> Iterator[float]:
        """Choose the keys."""
        before, count = max(longest(found.wanted) for found in self._found), len(self._found)
        gathered = self.adds_to_earlier
        if gathered:
            self._remember(self.state)
        needed, left = yield from self._plan()
        after = yield from self._error(needed, left, count)
        if after >= before and not gathered:
            self._keys.clear()
            after = before
        key_count = len(self._keys) + bool(self._shown_at_rest().any())
        if before:
            self.inform(
                "Error of '{name}' reduced from {before:.2g} to {after:.2g} with {keys}",
                name=self.obj.name,
                before=before,
                after=after,
                keys=tr_count("1 key", "{count} keys", key_count),
            )
        if after > _LITTLE * before:
            self.caution(
                "Driven keys barely improve '{name}' on these frames: set Corrective"
                " to Keyed, which is exact",
                name=self.obj.name,
            )
        yield from super().finish()

    def _remember(self, state: bake_state.BakeState) -> None:
        """Let new keys also reproduce earlier single-pose bakes of other frames."""
        found, now = [], {one.frame for one in self._found}
        for frame, turns in state.single_poses.poses:
            if frame not in now:
                pose = _pose_of(turns, self.bones)
                offsets = self._shown(state, pose)
                vertices = np.flatnonzero(offsets.any(axis=1))
                offsets = offsets[vertices]
                found.append(Correction(frame, vertices, offsets, offsets, self._still, pose))
        self._found[:0] = found

    def _plan(self) -> Generator[float, None, tuple[np.ndarray, np.ndarray]]:
        """Choose the keys: returns the vertices that need an offset (n,), and what keys leave (F, n, 3)."""
        max_keys, tolerance = self.options.max_keys, max(self.options.tolerance, self._least)
        farthest = np.zeros(self.skinner.vertex_count, np.float32)  # in any frame
        for one in self._found:
            lengths = np.linalg.norm(one.wanted, axis=1)
            farthest[one.vertices] = np.maximum(farthest[one.vertices], lengths)
            yield 0.0
        needed = np.flatnonzero(farthest)
        offsets = np.zeros((len(self._found), len(needed), 3), np.float32)
        for one, row in zip(self._found, offsets, strict=True):
            row[np.searchsorted(needed, one.vertices)] = one.offsets
            yield 0.0
        some = {pair: _some(held, farthest) for pair, held in self._vertices.items()}
        some = {pair: held for pair, held in some.items() if len(held)}
        looked_at = np.unique(np.concatenate([np.empty(0, int), *some.values()]))
        maps = np.empty((len(self._found), len(looked_at), 3, 3), np.float32)
        blend = self._blend.subset(looked_at)
        for one, row in zip(self._found, maps, strict=True):
            row[:] = blend.maps(one.matrices)[:, :, :3]
            yield 0.0
        joints, rotations = {}, _rotations(np.array([one.pose for one in self._found]))
        for pair, held in some.items():
            turns = self._turns(pair, rotations)
            joints[pair] = joint_fit.Joint(turns, np.searchsorted(looked_at, held))
            yield 0.0
        left = offsets[:, np.searchsorted(needed, looked_at)]
        driven = max(1, max_keys - 1)  # `_shown_at_rest` may need one more
        for _ in joint_fit.choose(list(joints.values()), left, maps, driven, tolerance):
            yield sum(joint.count for joint in joints.values()) / max_keys
        joints = {pair: joint for pair, joint in joints.items() if joint.count}
        if joints:
            yield from self._shape(joints, needed, offsets)
        return needed, offsets

    def _error(
        self, needed: np.ndarray, left: np.ndarray, count: int
    ) -> Generator[float, None, float]:
        """Returns an estimate of the largest remaining error in the last `count` frames."""
        error = self._lost
        for one, offsets in zip(self._found[-count:], left[-count:], strict=True):
            stretch = np.linalg.norm(one.matrices[:, :3, :3], 2, axis=(1, 2)).max(initial=1)
            # A blend stretches no vector more than its most stretched bone does.
            large = np.linalg.norm(offsets, axis=1) * stretch > error
            if large.any():
                maps = self._blend.subset(needed[large]).maps(one.matrices)
                error = max(error, longest(moved(maps, offsets[large])))
            yield 1.0
        return error

    def _turns(self, pair: tuple[str, str], rotations: np.ndarray) -> np.ndarray:
        first, second = (rotations[:, self.bones.index(name)] for name in pair)
        return joint_turns.computed(self.armature, pair, first, second)

    def _shown_at_rest(self) -> np.ndarray:
        """(V, 3) float32 that driven keys add at rest: another key subtracts it."""
        result = np.zeros((self.skinner.vertex_count, 3), np.float32)
        for key in self._keys:
            result[key.vertices] += np.float32(key.function.rest) * key.offsets
        return result

    def _shown(self, state: bake_state.BakeState, pose: np.ndarray) -> np.ndarray:
        """(V, 3) float32 that the keys of an earlier bake add in a pose."""
        blocks, result = self.obj.data.shape_keys.key_blocks, np.zeros_like(self._rest)
        for name, pair, function in state.single_poses.keys:
            if name in blocks and set(pair) <= set(self.bones):
                turns = self._turns(pair, _rotations(pose[None]))
                value = Function(*function).above_rest(joint_fit.terms(turns))[0]
                offsets = mesh_source.key_positions(blocks[name]) - self._rest
                result += np.float32(value) * offsets
        return result

    def _shape(
        self, joints: dict[tuple[str, str], joint_fit.Joint], needed: np.ndarray, left: np.ndarray
    ) -> Iterator[float]:
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
                yield len(functions) / self.options.max_keys
        self._keys = [
            _Key(pair, function, needed[used], shape[used])
            for (pair, function), used, shape in zip(functions, held, shapes, strict=True)
        ]


def _pairs(target: Target, blend: LinearBlend) -> dict[tuple[str, str], np.ndarray]:
    """{(bone, other): vertices}, the first bone is the parent if there is one."""
    bones = target.armature.data.bones
    heaviest = np.full(target.skinner.vertex_count, -1)
    order = np.argsort(blend.weight, kind="stable")  # the last of several entries wins
    heaviest[blend.vertex[order]] = blend.bone[order]
    others = (blend.bone != heaviest[blend.vertex]) & (blend.weight > 0)
    vertices = blend.vertex[others]
    both = np.stack([heaviest[vertices], blend.bone[others]])
    low, high = both.min(axis=0), both.max(axis=0)
    result = {}
    for one, other in sorted(set(zip(low.tolist(), high.tolist(), strict=True))):
        pair = target.bones[one], target.bones[other]
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
    """(…, 3, 3) float64 rotations of the matrices, without scale."""
    axes = pose[..., :3, :3].astype(np.float64)
    lengths = np.linalg.norm(axes, axis=-2, keepdims=True)
    return axes / np.where(lengths > 0, lengths, 1)


def _turns_of_bones(pose: np.ndarray, bones: tuple[str, ...]) -> dict[str, list[float]]:
    """{bone: w x y z} of the bones that are rotated."""
    turns = {
        name: [round(part, 7) for part in Matrix(rotation).to_quaternion()]
        for name, rotation in zip(bones, _rotations(pose).tolist(), strict=True)
    }
    return {name: turn for name, turn in turns.items() if abs(turn[0]) < 1}


def _pose_of(turns: dict[str, list[float]], bones: tuple[str, ...]) -> np.ndarray:
    """The opposite: (B, 4, 4)."""
    rotations = (Quaternion(turns.get(name, (1, 0, 0, 0))).to_matrix() for name in bones)
    return np.array([rotation.to_4x4() for rotation in rotations])
