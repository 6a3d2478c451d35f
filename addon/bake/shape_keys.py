# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets of a bake that are shape keys: all positions in place of the Armature modifier, or corrections.

Corrective keys correct the linear blend of the modifier, which stays on like the user's keys. They hold
the offsets before the blend that give MMD's result after it. Those here are keyframed; joint rotations
drive those of `joint_keys`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..blender.user_error import UserError
from ..scene import mesh_source
from . import bake_state, linear_blend, sliders
from .frames import name_of
from .target import Block, Target

_SMALL = 1e-6  # relative to the model's size; anything smaller is float32 noise


class ShapeKeys(Target):
    """Baked frames of one mesh. A frame range is keyed, so that each key shows at its own frame."""

    def start(self) -> None:
        self._blocks: list[Block] = []

    @property
    def adds_to_earlier(self) -> bool:
        """Bakes of single frames add up."""
        state = self.state
        alike = state is not None and state.target == "SHAPE_KEYS" and not state.is_keyed
        return alike and not self.options.moves

    def add(self, block: Block) -> None:
        # Skinned when the keys are there: the positions of all frames would need as much memory
        # once more, and it takes longer to get that memory than to skin.
        self._blocks.append(block)

    def write(self, state: bake_state.BakeState) -> None:
        obj = self.obj
        names = bake_state.add_keys(obj, state, self._positions())
        keys = obj.data.shape_keys
        shown, ours = set(names), set(state.keys)
        for key in keys.key_blocks:
            if key.name not in shown and key != keys.reference_key and not key.mute:
                key.mute = True
                if key.name not in ours:
                    state.muted.append(key.name)
        # Before curves are added, since it may copy their action.
        sliders.mute_sliders(obj, state.sliders, state.keys)
        _show(self, state, names, range(len(names)))
        obj.show_only_shape_key = False
        bake_state.switch_armature_off(obj, self.armature, state)

    def _positions(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each frame's label and positions (V, 3), which are valid until the next."""
        for block in self._blocks:
            yield from zip(map(name_of, block.frames), self.skinned(block)[0], strict=True)


class Correction(NamedTuple):
    """The offsets that a mesh needs in one frame."""

    frame: int
    vertices: np.ndarray  # (n,) indices of the vertices that need an offset
    offsets: np.ndarray  # (n, 3) float32, before the blend
    wanted: np.ndarray  # (n, 3) float32, after the blend
    matrices: np.ndarray  # (B, 4, 4) float32 of the blend
    pose: np.ndarray  # (B, 4, 4) in armature space


class Corrective(Target):
    """Corrective keys of one mesh: one for each frame."""

    def start(self) -> None:
        obj = self.obj
        linear_blend.check(obj, self.armature, self.state.modifiers if self.state else {})
        if self.pinned is not None:
            raise UserError(
                "'{name}' shows only its active shape key: unpin it first", name=obj.name
            )
        self._blend = linear_blend.LinearBlend.read(obj, self.skinner)
        self._still = np.tile(np.eye(4, dtype=np.float32), (len(self.bones), 1, 1))
        self._rest = mesh_source.rest_positions(obj.data)
        self._least = _SMALL * max(1.0, float(np.abs(self._rest).max()))
        self._found: list[Correction] = []
        # Vertices that no offset can restore, and their largest error.
        self._flat, self._lost = 0, 0.0

    def add(self, block: Block) -> None:
        mixed = self.skinned(block._replace(matrices=self._still))[0].copy()
        positions, _ = self.skinned(block)
        rows = zip(*block[:3], mixed, positions, strict=True)
        for frame, pose, matrices, *points in rows:
            found = self._offsets(matrices, *points)
            self._found.append(Correction(frame, *found, matrices, pose))

    def finish(self) -> Iterable[float]:
        if self._flat:
            self.caution(
                "'{name}' has 1 vertex pose that is too flat for shape keys to restore fully",
                "'{name}' has {count} vertex poses that are too flat for shape keys to"
                " restore fully",
                count=self._flat,
                name=self.obj.name,
            )
        if not any(len(found.vertices) for found in self._found):
            self.inform(
                "'{name}' needs no corrective keys: the Armature modifier gives the same result",
                name=self.obj.name,
            )
        return ()

    def write(self, state: bake_state.BakeState) -> None:
        sliders.mute_sliders(self.obj, state.sliders, state.keys)
        names = {
            number: self._add_key(state, name_of(one.frame), one.vertices, one.offsets)
            for number, one in enumerate(self._found)
            if len(one.vertices)
        }
        _show(self, state, list(names.values()), list(names))

    def _offsets(
        self, matrices: np.ndarray, mixed: np.ndarray, target: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays of vertices of a Correction."""
        maps = self._blend.maps(matrices)
        shown = linear_blend.moved(maps, mixed) + maps[:, :, 3]
        wanted = target - shown
        chosen = np.flatnonzero(np.abs(wanted).max(axis=1, initial=0) > self._least)
        offsets, flat = linear_blend.offsets(maps[chosen], wanted[chosen])
        self._flat += len(flat)
        lacks = wanted[chosen][flat] - linear_blend.moved(maps[chosen][flat], offsets[flat])
        self._lost = max(self._lost, longest(lacks))
        return chosen, offsets.astype(np.float32), wanted[chosen].astype(np.float32)

    def _add_key(
        self, state: bake_state.BakeState, label: str, vertices: np.ndarray, offsets: np.ndarray
    ) -> str:
        positions = self._rest.copy()
        positions[vertices] += offsets
        return bake_state.add_keys(self.obj, state, [(label, positions)])[0]


def _show(
    target: Target, state: bake_state.BakeState, names: list[str], indices: Sequence[int]
) -> None:
    """Let baked keys show at their frames, of all frames of the bake, or those of one pose always."""
    keys, options = target.obj.data.shape_keys, target.options
    if options.moves and names:
        times = np.asarray(options.frames) * options.stretch  # of the animation
        state.curves = sliders.add_pulses(keys, names, times, indices)
        return
    for name in names:
        keys.key_blocks[name].value = 1.0


def longest(vectors: np.ndarray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max(initial=0))
