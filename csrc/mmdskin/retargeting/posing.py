# SPDX-License-Identifier: MIT
"""The pose of a target while it is computed, for all frames at once, in its canonical axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mmdskin.retargeting.rotations import Array, transpose

if TYPE_CHECKING:
    from mmdskin.retargeting.align import Body


class Posing:
    """Bones with a rotation of their own have a row of `turns` (F,n,3,3), deltas from the reference;
    all others follow the nearest such bone above them. `places` (F,B,3) are the joints."""

    def __init__(self, body: Body, turns: dict[int, Array], frames: int) -> None:
        tree = body.skeleton.tree
        self.body, self.carrier = body, body.carrier
        self.row = {bone: n for n, bone in enumerate(turns, 1)}
        still = np.broadcast_to(np.eye(3), (frames, 3, 3))
        self.turns = np.stack([still, *turns.values()], 1)
        doubles = {bone: body.human[slot] for slot, bone in body.skeleton.doubles.items()}
        self._parents = body.skeleton.parents
        self._driver = np.zeros(len(self._parents), int)
        for bone in tree.order:
            above = self._driver[self._parents[bone]] if self._parents[bone] >= 0 else 0
            self._driver[bone] = self.row.get(doubles.get(bone, bone), above)
        self._offsets = body.joints - np.where(
            self._parents[:, None] >= 0, body.joints[self._parents], 0
        )
        self.shift = np.zeros((frames, 3))
        self.places = np.zeros((frames, len(self._parents), 3))
        depth = np.array(tree.depth, int)
        mapped = {above for bone in turns for above in tree.chain(bone)}
        self._body_levels, self._levels = (
            [
                np.array([bone for bone in bones if depth[bone] == level], int)
                for level in range(depth.max() + 1)
            ]
            for bones in (mapped, tree.order)
        )

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

    def place(self, everything: bool = False) -> None:
        """Finds the joints: of the mapped bones, or of all."""
        for bones in self._levels if everything else self._body_levels:
            parents = self._parents[bones]
            if len(bones) and parents[0] < 0:
                self.places[:, bones] = self._offsets[bones]
            else:
                turned = self.turns[:, self._driver[parents]] @ self._offsets[bones, :, None]
                self.places[:, bones] = self.places[:, parents] + turned[..., 0]
            if self.carrier in bones:
                self.places[:, self.carrier] += self.shift

    def transforms(self) -> Array:
        """World matrices (F,B,4,4)."""
        self.place(everything=True)
        C, reference = self.body.C, self.body.reference
        out = np.zeros((*self.places.shape[:2], 4, 4))
        out[..., :3, :3] = (transpose(C) @ self.turns @ C)[:, self._driver] @ reference[:, :3, :3]
        out[..., :3, 3] = self.places @ C
        out[..., 3, 3] = 1
        return out
