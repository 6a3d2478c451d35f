# SPDX-License-Identifier: MIT
"""Hands that meet keep their gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mmdskin.retargeting.feet import bend_limb, smooth, two_bone
from mmdskin.retargeting.rotations import Array, across, unit
from mmdskin.retargeting.slots import ARM, SIDES

if TYPE_CHECKING:
    from collections.abc import Callable

    from mmdskin.retargeting.align import Body
    from mmdskin.retargeting.posing import Posing

_NEAR, _FAR = 0.30, 0.55  # arm lengths between the wrists
_PASSES = 2


def nearness(gap: Array, arm: float) -> Array:
    """How far hands meet: 1 for wrists within 0.30 arm lengths, 0 beyond 0.55. gap: (F,3)."""
    found: Array = 1 - smooth(np.linalg.norm(gap, axis=-1) / arm, _NEAR, _FAR)
    return found


def join_hands(
    source: Body, target: Body, places: Callable[[str], Array], posing: Posing
) -> list[str]:
    """Moves both wrists equally so that their gap is the source's times the ratio of the arms, by
    two-bone IK in the plane of each elbow. places: joints of the source by slot."""
    gap = places("leftHand") - places("rightHand")
    near = nearness(gap, source.arm)
    if not near.any():
        return []
    gap = gap * (target.arm / source.arm)
    for _ in range(_PASSES):
        posing.place()
        middle = (posing.at("leftHand") + posing.at("rightHand")) / 2
        wrists = {side: posing.at(side + "Hand").copy() for side in SIDES}
        for side, sign in zip(SIDES, (0.5, -0.5), strict=True):
            goal = wrists[side] + near[:, None] * (middle + sign * gap - wrists[side])
            upper, lower = (side + part for part in ARM[:2])
            shoulder, elbow = posing.at(upper).copy(), posing.at(lower).copy()
            pole = across(elbow - shoulder, unit(wrists[side] - shoulder))
            lengths = target.length(upper), target.length(lower)
            moved = two_bone(shoulder, goal, *lengths, pole)
            bend_limb(posing, upper, lower, (shoulder, elbow, wrists[side]), moved, near > 0)
    return [f"hands: their gap is kept in {np.count_nonzero(near)} frames"]
