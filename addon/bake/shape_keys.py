# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions as shape keys, one per frame, in place of the Armature modifier."""

from collections.abc import Iterator

import numpy as np

from . import bake_state, sliders
from .frames import Block, Options, Target, name_of
from .sources import Part


class ShapeKeys(Target):
    """Baked frames of one mesh. A frame range is keyed, so that each key shows at its own frame."""

    def __init__(self, part: Part, bones: list[str], options: Options) -> None:
        super().__init__(part, options)
        self._poses: list[tuple[tuple, np.ndarray, np.ndarray]] = []  # arguments of `Part.skinned`

    def adds_to(self, state: bake_state.BakeState) -> bool:
        """Whether an earlier bake is kept: bakes of single frames add up."""
        return state.target == "SHAPE_KEYS" and not (self.options.moves or state.is_keyed)

    def add(self, block: Block) -> None:
        # Skinned when the keys are there: the positions of all frames would need as much memory
        # once more, and it takes longer to get that memory than to skin.
        self._poses.append((block.frames, block.matrices, block.values))

    def write(self, state: bake_state.BakeState) -> None:
        obj = self.part.obj
        bake_state.base_key(obj)
        names = bake_state.add_keys(
            obj,
            state,
            ((f"MMD {name_of(frame)}", positions) for frame, positions in self._positions()),
        )
        keys = obj.data.shape_keys
        shown, ours = set(names), set(state.keys)
        for key in keys.key_blocks:
            if key.name not in shown and key != keys.reference_key and not key.mute:
                key.mute = True
                if key.name not in ours:
                    state.muted.append(key.name)
        # Before curves are added, since it may copy their action.
        sliders.mute_sliders(obj, state.sliders, state.keys)
        if self.options.moves:
            indices = range(len(names))
            state.curves = sliders.add_pulses(keys, names, self.options.times, indices)
        else:
            keys.key_blocks[names[0]].value = 1.0
        obj.show_only_shape_key = False
        bake_state.switch_armature_off(obj, self.part.armature, state)

    def close(self, done: bool) -> None:
        self._poses.clear()

    def _positions(self) -> Iterator[tuple[float, np.ndarray]]:
        """Each frame and its positions (V, 3), which are valid until the next."""
        longest = max(len(frames) for frames, *_ in self._poses)
        room = self.part.skinner.buffers(longest)
        for frames, matrices, values in self._poses:
            buffers = [array[: len(frames)] for array in room]
            positions, _ = self.part.skinned(frames, matrices, values, buffers)
            yield from zip(frames, positions, strict=True)
