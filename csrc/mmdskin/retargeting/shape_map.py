# SPDX-License-Identifier: MIT
"""Which bone is which by topology and geometry alone: a fallback for names that say nothing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdskin.retargeting.slots import FINGERS, PHALANGES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mmdskin.retargeting.bones import Bones

_FEWEST = 14  # bones of a body
# Of the height:
_ASIDE = 0.01  # bones this far from the middle belong to a side
_SAME = 0.01  # bones this near are at the same joint: the last one counts
_FLOOR = 0.12  # tips of legs are this near to the floor
_ARMS = 0.3  # tips of arms are above
_ANKLE = 0.2  # the ankle is below
_SHOULDER = 0.09  # where upper arms begin, from the middle


def by_shape(rig: Bones) -> dict[str, int]:
    """Legs and arms are the mirrored chains that reach lowest and farthest. {} if there are none."""
    places = rig.rest[:, :3, 3]
    if len(places) < _FEWEST:
        return {}
    height = np.ptp(places[:, 1])
    centered = places[np.abs(places[:, 0]) < 0.02 * height, 0]
    middle = float(np.median(centered)) if len(centered) else 0.0
    floor = places[:, 1].min()
    human: dict[str, int] = {}
    for side, sign in (("left", 1), ("right", -1)):
        limbs = _Side(rig, (places - [middle, floor, 0]) / max(height, 1e-9), sign)
        leg, arm = limbs.leg(), limbs.arm()
        if not leg or not arm:
            return {}
        human |= {side + part: bone for part, bone in {**leg, **arm}.items()}
    return human | _center(rig, human, middle, height)


class _Side:
    """One side of a body of height 1 whose floor is y = 0; `out` is how far a bone is from the middle."""

    def __init__(self, rig: Bones, places: NDArray[Any], sign: int) -> None:
        self.tree, self.places, self.out = rig.tree, places, places[:, 0] * sign
        self.is_aside = self.out > _ASIDE
        self.tips = [
            b for b, below in enumerate(self.tree.children) if not below and self.is_aside[b]
        ]

    def _length(self, a: int, b: int) -> float:
        return float(np.linalg.norm(self.places[a] - self.places[b]))

    def _path(self, tip: int) -> list[int]:
        return [bone for bone in self.tree.chain(tip)[::-1] if self.is_aside[bone]]

    def leg(self) -> dict[str, int]:
        y = self.places[:, 1]
        paths = [self._path(tip) for tip in self.tips if y[tip] < _FLOOR]
        path = max(paths, key=lambda p: (len(p) >= 3, len(p)), default=[])
        if len(path) < 3:
            return {}
        path = path[path.index(max(path, key=lambda bone: y[bone])) :]
        bends = itertools.pairwise(path)
        ankle = next(
            (
                a
                for a, b in bends
                if y[a] < _ANKLE
                and abs(self.places[b, 2] - self.places[a, 2]) > 0.5 * self._length(a, b)
            ),
            path[-1],
        )
        between = path[1 : path.index(ankle)]
        if not between:
            return {}
        hip = path[0]
        knee = min(between, key=lambda bone: abs(y[bone] - (y[hip] + y[ankle]) / 2))
        while between[0] != knee and self._length(hip, between[0]) < _SAME:
            hip = between.pop(0)
        found = {"UpperLeg": hip, "LowerLeg": knee, "Foot": ankle}
        toes = path[path.index(ankle) + 1 :]
        return {**found, "Toes": toes[0]} if toes else found

    def arm(self) -> dict[str, int]:
        tips = [tip for tip in self.tips if self.places[tip, 1] > _ARMS]
        if not tips:
            return {}
        hands = {bone for bone in range(len(self.out)) if self._has_fingers(bone)}
        path = max(
            (self._path(tip) for tip in tips),
            key=lambda path: (not hands.isdisjoint(path), self.out[path[-1]]),  # sleeves are longer
        )
        hand = next((bone for bone in path[::-1] if bone in hands), path[-1])
        upper = path[: path.index(hand)]
        pairs = [(a, b) for n, a in enumerate(upper) for b in upper[n + 1 :]]
        if not pairs:
            return {}

        def cost(pair: tuple[int, int]) -> float:
            shoulder, elbow = pair
            above, below = self._length(shoulder, elbow), self._length(elbow, hand)
            equal = abs(np.log(max(above, 1e-9) / max(below, 1e-9)))
            return float(equal + 0.6 * abs(self.out[shoulder] - _SHOULDER) / _SHOULDER)

        shoulder, elbow = min(pairs, key=cost)
        while (below := upper[upper.index(shoulder) + 1]) != elbow and (
            self._length(shoulder, below) < _SAME
        ):
            shoulder = below
        found = {"UpperArm": shoulder, "LowerArm": elbow, "Hand": hand}
        if shoulder != upper[0]:
            found["Shoulder"] = upper[upper.index(shoulder) - 1]
        return found | self._fingers(hand)

    def _has_fingers(self, bone: int) -> bool:
        children = self.tree.children
        return len([child for child in children[bone] if children[child]]) >= 3

    def _fingers(self, hand: int) -> dict[str, int]:
        chains = []
        for bone in self.tree.children[hand]:
            chain = [bone]
            while self.tree.children[chain[-1]]:
                chain.append(max(self.tree.children[chain[-1]], key=lambda b: self.tree.size[b]))
            if len(chain) > 1:
                chains.append(chain)
        if len(chains) != len(FINGERS):
            return {}
        tips = np.array([self.places[chain[-1]] - self.places[hand] for chain in chains])
        tips /= np.linalg.norm(tips, axis=1, keepdims=True)
        along = np.median(tips, 0)
        thumb = chains.pop(int(np.argmin(tips @ along)))
        aside = self.places[thumb[0]] - self.places[hand]
        aside = aside - (aside @ along) * along
        chains.sort(key=lambda chain: -float((self.places[chain[0]] - self.places[hand]) @ aside))
        return {
            finger + phalanx: bone
            for finger, chain in zip(FINGERS, (thumb, *chains), strict=True)
            for phalanx, bone in zip(PHALANGES, chain, strict=False)
        }


def _center(rig: Bones, human: dict[str, int], middle: float, height: float) -> dict[str, int]:
    """Hips, neck and head."""
    tree, places = rig.tree, rig.rest[:, :3, 3]
    found = {}
    hips = tree.common(human["leftUpperLeg"], human["rightUpperLeg"])
    chest = tree.common(human["leftUpperArm"], human["rightUpperArm"])
    if hips:
        found["hips"] = hips[0]
    tips = [
        bone
        for bone, below in enumerate(tree.children)
        if not below
        and chest
        and tree.is_above(chest[0], bone)
        and abs(places[bone, 0] - middle) < 0.03 * height
        and places[bone, 1] > places[chest[0], 1]
    ]
    if tips:
        chain = tree.chain(max(tips, key=lambda bone: places[bone, 1]))
        path = chain[: chain.index(chest[0])][::-1]
        if len(path) > 1:
            found["neck"] = path[0]
        found["head"] = path[min(1, len(path) - 1)]
    return found
