# SPDX-License-Identifier: MIT
"""The poses of a source, and those of a target while they are computed, for all frames at once, in the
canonical axes of their bodies."""

from collections.abc import Iterable

import numpy as np

from mmdskin.retargeting.body import Body, Joints
from mmdskin.retargeting.slots import SIDES
from mmdskin.rotations import Array, apply, transpose


class Source(Joints):
    """Poses by world matrices (F,B,4,4). D bones show where a model's legs are."""

    def __init__(self, body: Body, world: Array, in_place: bool = False) -> None:
        super().__init__(world[..., :3, 3], {**body.human, **body.skeleton.doubles})
        self.body, self._away = body, np.zeros(3)
        if in_place:
            self._away = (self.legs() - body.origin) * (1, 0, 1)

    def at(self, slot: str) -> Array:
        return super().at(slot) @ self.body.C.T - self._away


class Layout:
    """Where a body's joints come from. Bones with a rotation of their own have a row; all others
    follow the nearest such bone above them, or row 0, which does not turn."""

    def __init__(self, body: Body, bones: Iterable[int]) -> None:
        tree, parents = body.skeleton.tree, body.skeleton.parents
        self.body, self.carrier = body, body.carrier
        self.row = {bone: n for n, bone in enumerate(bones, 1)}
        doubles = {bone: body.human[slot] for slot, bone in body.skeleton.doubles.items()}
        rows = np.zeros(len(parents) + 1, int)  # [-1] is that of the roots' parent
        for bone in tree.order:
            rows[bone] = self.row.get(doubles.get(bone, bone), rows[parents[bone]])
        self.driver, self.above = rows[:-1], rows[parents]  # what turns a bone, and its parent
        self.offsets = body.positions - np.where(parents[:, None] >= 0, body.positions[parents], 0)
        self.carried = np.array(tree.below(self.carrier))
        depths = np.array(tree.depth[:-1])
        levels = (np.flatnonzero(depths == depth) for depth in range(1, depths.max() + 1))
        self.levels = [(bones, parents[bones]) for bones in levels]  # below the roots


class Posing(Joints):
    """The pose of a body: `turns` (F,n,3,3) of the layout's rows, deltas from the reference; `positions`
    (F,B,3) of the joints; `shift` (F,3) of the body."""

    def __init__(self, layout: Layout, turns: Array) -> None:
        self.layout, self.turns = layout, turns
        self.row, self.body, self.human = layout.row, layout.body, layout.body.human
        self.shift = np.zeros((len(turns), 3))
        self.place()

    def deltas(self, part: str) -> Array:
        """Of a part on both sides: (F,2,3,3)."""
        return self.turns[:, [self.row[self.body.human[side + part]] for side in SIDES]]

    def turn(self, part: str, rotations: Array) -> None:
        """Turns the bones of a part, and their twist bones, further: (F,2,3,3)."""
        for i, slot in enumerate(side + part for side in SIDES):
            for bone in (self.body.human[slot], self.body.twists.get(slot, -1)):
                if bone in self.row:
                    row = self.row[bone]
                    self.turns[:, row] = rotations[:, i] @ self.turns[:, row]

    def move(self, offset: Array) -> None:
        """Moves the body by (F,3)."""
        self.shift += offset
        self.positions[:, self.layout.carried] += offset[:, None]

    def place(self) -> None:
        """Finds the joints."""
        self.positions = apply(self.turns[:, self.layout.above], self.layout.offsets)
        self.positions[:, self.layout.carrier] += self.shift
        for bones, parents in self.layout.levels:
            self.positions[:, bones] += self.positions[:, parents]

    def transforms(self) -> Array:
        """World matrices (F,B,4,4)."""
        self.place()
        C, rest = self.body.C, self.body.reference[:, :3, :3]
        turned = transpose(C) @ self.turns @ C
        out = np.zeros((*self.positions.shape[:2], 4, 4))
        out[..., :3, :3] = turned[:, self.layout.driver] @ rest
        out[..., :3, 3] = self.positions @ C
        out[..., 3, 3] = 1
        return out
