# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions as shape keys, one per frame, in place of the Armature modifier."""

from collections import deque

import numpy as np

from . import animation, record, sliders
from .frames import Block, Options, name_of
from .sources import Part

_ROOM = 1 << 20  # vertices times frames: large arrays get large pages, which are faster to fill


class ShapeKeys:
    """Baked frames of one mesh. A frame range is keyed, so that each key shows at its own frame."""

    def __init__(self, part: Part, bones: list[str], options: Options) -> None:
        self.part, self.options = part, options
        self.positions: deque[np.ndarray] = deque()
        self._room = part.skinner.buffers(0)
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def adds_to(self, state: record.BakeState) -> bool:
        """Whether an earlier bake is kept: bakes of single frames add up."""
        return state.target == "SHAPE_KEYS" and not (self.options.moves or state.is_keyed)

    def start(self) -> None:
        pass

    def buffers(self, frames: int) -> list[np.ndarray]:
        """The next part of an array that is freed when all its frames are in shape keys."""
        if len(self._room[0]) < frames:
            size = max(frames, _ROOM // self.part.skinner.vertex_count)
            self._room = self.part.skinner.buffers(size)
        given = [array[:frames] for array in self._room]
        self._room = [array[frames:] for array in self._room]
        return given

    def add(self, block: Block) -> None:
        self.positions.extend(block.positions)

    def finish(self) -> tuple[()]:
        return ()

    def write(self, state: record.BakeState) -> None:
        obj = self.part.obj
        self._room = self.part.skinner.buffers(0)
        record.base_key(obj)
        names = [
            record.add_key(obj, state, f"MMD {name_of(frame)}", self.positions.popleft()).name
            for frame in self.options.frames
        ]
        keys = obj.data.shape_keys
        shown = set(names)
        for key in keys.key_blocks:
            if key.name not in shown and key != keys.reference_key and not key.mute:
                key.mute = True
                if key.name not in state.keys:
                    state.muted.append(key.name)
        # Before curves are added, since it may copy their action.
        sliders.put_aside(obj, state.sliders, state.keys)
        if self.options.moves:
            places = range(len(names))
            state.curves = animation.add_pulses(keys, names, self.options.times, places)
        else:
            keys.key_blocks[names[0]].value = 1.0
        obj.show_only_shape_key = False
        record.switch_armature_off(obj, self.part.armature, state)

    def close(self, done: bool) -> None:
        self.positions.clear()
        self._room = self.part.skinner.buffers(0)
