# SPDX-License-Identifier: MIT
"""The pose of a target while it is computed, for all frames at once, in its canonical axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mmdskin.retargeting.rotations import Array, transpose

if TYPE_CHECKING:
    from mmdskin.retargeting.align import Body


class Layout:
    """Where a body's joints come from. Bones with a rotation of their own have a row; all others
    follow the nearest such bone above them, or row 0, which does not turn."""

    def __init__(self, body: Body, bones: list[int]) -> None:
        tree, parents = body.skeleton.tree, body.skeleton.parents
        self.body, self.carrier = body, body.carrier
        self.row = {bone: n for n, bone in enumerate(bones, 1)}
        doubles = {bone: body.human[slot] for slot, bone in body.skeleton.doubles.items()}
        self.driver = np.zeros(len(parents), int)
        for bone in tree.order:
            above = self.driver[parents[bone]] if parents[bone] >= 0 else 0
            self.driver[bone] = self.row.get(doubles.get(bone, bone), above)
        offsets = body.joints - np.where(parents[:, None] >= 0, body.joints[parents], 0)
        mapped = {above for bone in bones for above in tree.chain(bone)}
        below = [bone for bone in tree.order if tree.is_above(self.carrier, bone)]
        self.carried = np.array([self.carrier, *below])
        self.mapped, self.everything = (
            [
                (np.array(level), parents[level], offsets[level], self.carrier in level)
                for depth in range(max(tree.depth) + 1)
                if (level := [bone for bone in chosen if tree.depth[bone] == depth])
            ]
            for chosen in (mapped, tree.order)
        )  # by depth: bones, their parents, their offsets from these, whether the carrier is there


class Posing:
    """The pose of a body: `turns` (F,n,3,3) of the layout's rows, deltas from the reference; `places`
    (F,B,3) of the joints; `shift` (F,3) of the body."""

    def __init__(self, layout: Layout, turns: Array) -> None:
        self.layout, self.turns = layout, turns
        self.row, self.body = layout.row, layout.body
        self.shift = np.zeros((len(turns), 3))
        self.places = np.zeros((len(turns), len(layout.driver), 3))

    def at(self, slot: str) -> Array:
        """(F,3)."""
        found: Array = self.places[:, self.body.human[slot]]
        return found

    def delta(self, slot: str) -> Array:
        """(F,3,3)."""
        found: Array = self.turns[:, self.row[self.body.human[slot]]]
        return found

    def turn(self, slot: str, rotations: Array) -> None:
        """Turns a slot's bone, and its twist bone, further: (F,3,3)."""
        for bone in (self.body.human[slot], self.body.twists.get(slot, -1)):
            if bone in self.row:
                self.turns[:, self.row[bone]] = rotations @ self.turns[:, self.row[bone]]

    def move(self, offset: Array) -> None:
        """Moves the body by (F,3)."""
        self.shift += offset
        self.places[:, self.layout.carried] += offset[:, None]

    def place(self, everything: bool = False) -> None:
        """Finds the joints: of the bones with a row and those above, or of all."""
        layout = self.layout
        for bones, parents, offsets, has_carrier in (
            layout.everything if everything else layout.mapped
        ):
            if parents[0] < 0:
                self.places[:, bones] = offsets
            else:
                turned = self.turns[:, layout.driver[parents]] @ offsets[..., None]
                self.places[:, bones] = self.places[:, parents] + turned[..., 0]
            if has_carrier:
                self.places[:, layout.carrier] += self.shift

    def transforms(self) -> Array:
        """World matrices (F,B,4,4)."""
        self.place(everything=True)
        C, reference = self.body.C, self.body.reference
        out = np.zeros((*self.places.shape[:2], 4, 4))
        out[..., :3, :3] = (transpose(C) @ self.turns @ C)[:, self.layout.driver] @ reference[
            :, :3, :3
        ]
        out[..., :3, 3] = self.places @ C
        out[..., 3, 3] = 1
        return out
