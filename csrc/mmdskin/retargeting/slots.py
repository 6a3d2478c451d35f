# SPDX-License-Identifier: MIT
"""The slots of a humanoid, named as in VRM 1.0, and what contradicts that bones in them are a body."""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from mmdskin.retargeting.bones import Tree

SIDES = ("left", "right")
ARM = ("UpperArm", "LowerArm", "Hand")
LEG = ("UpperLeg", "LowerLeg", "Foot")
LIMBS = {"arm": ("Shoulder", *ARM), "leg": (*LEG, "Toes")}
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
PHALANGES = ("Proximal", "Intermediate", "Distal")
REQUIRED = ("hips", "head", *(side + part for side in SIDES for part in ARM + LEG))
MIDDLE = ("hips", "neck", "head", "jaw")
SLOTS = (
    *MIDDLE,
    *(side + part for side in SIDES for limb in LIMBS.values() for part in limb),
    *(side + finger + phalanx for side in SIDES for finger in FINGERS for phalanx in PHALANGES),
    *(side + "Eye" for side in SIDES),
)
SPINE = ("spine", "chest", "upperChest")  # of which the first and the last bound the spine

_SHORTEST, _LONGEST = 0.4, 2.5  # an upper arm or thigh, of the part below it
_UNEQUAL = 0.1  # left and right


def doubts_of(
    tree: Tree, positions: np.ndarray, human: Mapping[str, int], misplaced: Iterable[str]
) -> dict[str, str]:
    """{slot: reason}. positions: (B,3) at rest. misplaced: ends of the spine that are not in it."""
    at = {slot: positions[bone] for slot, bone in human.items()}
    doubts = {slot: "no bone" for slot in REQUIRED if slot not in human}
    doubts |= dict.fromkeys(misplaced, "is not between hips and neck")

    slots_of: dict[int, str] = {}
    for slot, bone in human.items():
        if slots_of.setdefault(bone, slot) != slot:
            doubts[slot] = f"the same bone as {slots_of[bone]}"

    lengths = {}
    for side, limb in itertools.product(SIDES, (ARM, LEG)):
        slots = [side + part for part in limb]
        if not human.keys() >= set(slots):
            continue
        for upper, lower in itertools.pairwise(slots):
            if not tree.is_above(human[upper], human[lower]):
                doubts.setdefault(lower, f"is not below {upper}")
            lengths[upper] = float(np.linalg.norm(at[lower] - at[upper]))
        first, second = (lengths[slot] for slot in slots[:2])
        if not _SHORTEST * second < first < _LONGEST * second:
            doubts[slots[1]] = f"{slots[0]} is {first:.3g} long, {slots[1]} {second:.3g}"
    for part in ARM + LEG:
        pair = [lengths[side + part] for side in SIDES if side + part in lengths]
        if len(pair) == 2 and abs(pair[0] - pair[1]) > _UNEQUAL * max(pair):
            doubts["left" + part] = f"{pair[0]:.3g} long, on the right {pair[1]:.3g}"
    if not doubts.keys() & set(REQUIRED) and _faces_back(at):
        doubts["leftFoot"] = "toes point back: left and right may be swapped"
    return doubts


def _faces_back(positions: Mapping[str, np.ndarray]) -> bool:
    left = positions["leftUpperLeg"] - positions["rightUpperLeg"]
    forward = np.cross(positions["head"] - positions["hips"], left)  # left-handed axes
    sides = [side for side in SIDES if side + "Toes" in positions]
    toes = [positions[side + "Toes"] - positions[side + "Foot"] for side in sides]
    return bool(toes) and all(toe @ forward < 0 for toe in toes)
