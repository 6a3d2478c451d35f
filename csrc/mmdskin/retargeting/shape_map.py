# SPDX-License-Identifier: MIT
"""Which bone is which by topology and geometry alone: a fallback for names that say nothing."""

import itertools

import numpy as np

from mmdskin.retargeting.bones import Tree
from mmdskin.retargeting.slots import FINGERS, PHALANGES
from mmdskin.rotations import Array

_FEWEST = 14  # bones of a body
# Of the height:
_ASIDE = 0.01  # bones this far from the middle belong to a side
_SAME = 0.01  # bones this near are at the same joint: the last one counts
_FLOOR = 0.12  # tips of legs are this near to the floor
_ARMS = 0.3  # tips of arms are above
_ANKLE = 0.2  # the ankle is below
_SHOULDER = 0.09  # where upper arms begin, from the middle
_CENTERED = 0.02  # bones this near to the middle show where it is
_HEAD = 0.03  # how far from the middle its tip may be


def by_shape(tree: Tree, positions: Array) -> dict[str, int]:
    """Legs and arms are the mirrored chains that reach lowest and farthest, of positions (B,3) at rest. {}
    if there are none."""
    if len(positions) < _FEWEST:
        return {}
    height = max(np.ptp(positions[:, 1]), 1e-9)
    centered = positions[np.abs(positions[:, 0]) < _CENTERED * height, 0]
    middle = np.median(centered) if len(centered) else 0.0
    body = _Body(tree, (positions - [middle, positions[:, 1].min(), 0]) / height)
    human: dict[str, int] = {}
    for side, sign in (("left", 1), ("right", -1)):
        leg, arm = body.leg(sign), body.arm(sign)
        if not leg or not arm:
            return {}
        human |= {side + part: bone for part, bone in {**leg, **arm}.items()}
    return human | body.center(human)


class _Body:
    """A body of height 1 whose floor is y = 0 and whose middle is x = 0. `sign`: 1 for its left, -1
    for its right."""

    def __init__(self, tree: Tree, positions: Array) -> None:
        self.tree, self.positions = tree, positions
        self.tips = [bone for bone, below in enumerate(self.tree.children) if not below]

    def leg(self, sign: int) -> dict[str, int]:
        y, z = self.positions[:, 1], self.positions[:, 2]
        paths = [path for path in self._paths(sign) if y[path[-1]] < _FLOOR]
        path = max(paths, key=lambda path: (len(path) >= 3, len(path)), default=[])
        if len(path) < 3:
            return {}
        path = path[path.index(max(path, key=lambda bone: y[bone])) :]
        level = (
            upper
            for upper, lower in itertools.pairwise(path)
            if y[upper] < _ANKLE and abs(z[lower] - z[upper]) > 0.5 * self._length(upper, lower)
        )
        ankle = next(level, path[-1])
        hip, *between = path[: path.index(ankle)] or [ankle]
        if not between:
            return {}
        knee = min(between, key=lambda bone: abs(y[bone] - (y[hip] + y[ankle]) / 2))
        hip = self._last_of_joint(hip, between, knee)
        found = {"UpperLeg": hip, "LowerLeg": knee, "Foot": ankle}
        toes = path[path.index(ankle) + 1 :]
        return {**found, "Toes": toes[0]} if toes else found

    def arm(self, sign: int) -> dict[str, int]:
        out = self.positions[:, 0] * sign
        paths = [path for path in self._paths(sign) if self.positions[path[-1], 1] > _ARMS]
        if not paths:
            return {}
        children = self.tree.children
        hands = {b for b, below in enumerate(children) if sum(1 for c in below if children[c]) >= 3}
        # Sleeves are longer.
        path = max(paths, key=lambda path: (not hands.isdisjoint(path), out[path[-1]]))
        hand = next((bone for bone in path[::-1] if bone in hands), path[-1])
        upper = path[: path.index(hand)]

        def cost(pair: tuple[int, int]) -> float:
            shoulder, elbow = pair
            above, below = self._length(shoulder, elbow), self._length(elbow, hand)
            unequal = abs(np.log(max(above, 1e-9) / max(below, 1e-9)))
            return float(unequal + 0.6 * abs(out[shoulder] - _SHOULDER) / _SHOULDER)

        pair = min(itertools.combinations(upper, 2), key=cost, default=None)
        if pair is None:
            return {}
        shoulder, elbow = pair
        shoulder = self._last_of_joint(shoulder, upper[upper.index(shoulder) + 1 :], elbow)
        found = {"UpperArm": shoulder, "LowerArm": elbow, "Hand": hand}
        if shoulder != upper[0]:
            found["Shoulder"] = upper[upper.index(shoulder) - 1]
        return found | self._fingers(hand)

    def center(self, human: dict[str, int]) -> dict[str, int]:
        """Hips, neck and head, by the legs and arms."""
        hips = self.tree.common(human["leftUpperLeg"], human["rightUpperLeg"])
        chest = self.tree.common(human["leftUpperArm"], human["rightUpperArm"])
        found = {"hips": hips[0]} if hips else {}
        x, y = self.positions[:, 0], self.positions[:, 1]
        above = [tip for tip in self.tips if chest and self.tree.is_above(chest[0], tip)]
        tips = [tip for tip in above if abs(x[tip]) < _HEAD and y[tip] > y[chest[0]]]
        if tips:
            chain = self.tree.chain(max(tips, key=lambda bone: y[bone]))
            path = chain[: chain.index(chest[0])][::-1]
            if len(path) > 1:
                found["neck"] = path[0]
            found["head"] = path[min(1, len(path) - 1)]
        return found

    def _length(self, a: int, b: int) -> float:
        return float(np.linalg.norm(self.positions[a] - self.positions[b]))

    def _paths(self, sign: int) -> list[list[int]]:
        """Bones of a side, down to each of its tips."""
        aside = self.positions[:, 0] * sign > _ASIDE
        tips = [tip for tip in self.tips if aside[tip]]
        return [[bone for bone in self.tree.chain(tip)[::-1] if aside[bone]] for tip in tips]

    def _last_of_joint(self, bone: int, below: list[int], stop: int) -> int:
        """Of the bones at the same joint the last one, before `stop`."""
        for other in below[: below.index(stop)]:
            if self._length(bone, other) >= _SAME:
                break
            bone = other
        return bone

    def _fingers(self, hand: int) -> dict[str, int]:
        children, size = self.tree.children, self.tree.size
        chains = []
        for bone in children[hand]:
            chain = [bone]
            while children[chain[-1]]:
                chain.append(max(children[chain[-1]], key=lambda bone: size[bone]))
            if len(chain) > 1:
                chains.append(chain)
        if len(chains) != len(FINGERS):
            return {}
        tips = np.array([self.positions[chain[-1]] - self.positions[hand] for chain in chains])
        tips /= np.linalg.norm(tips, axis=1, keepdims=True)
        along = np.median(tips, 0)
        thumb = chains.pop(int(np.argmin(tips @ along)))
        aside = self.positions[thumb[0]] - self.positions[hand]
        aside = aside - (aside @ along) * along
        chains.sort(
            key=lambda chain: -float((self.positions[chain[0]] - self.positions[hand]) @ aside)
        )
        return {
            finger + phalanx: bone
            for finger, chain in zip(FINGERS, (thumb, *chains), strict=True)
            for phalanx, bone in zip(PHALANGES, chain, strict=False)
        }
