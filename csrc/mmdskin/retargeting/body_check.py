# SPDX-License-Identifier: MIT
"""What contradicts that mapped bones are a human's body."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from mmdskin.retargeting.slots import ARM, LEG, REQUIRED, SIDES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mmdskin.retargeting.bones import Bones

_SHORTEST, _LONGEST = 0.4, 2.5  # an upper arm or thigh, of the part below it
_UNEQUAL = 0.1  # left and right


def doubts_of(rig: Bones, human: Mapping[str, int], misplaced: Sequence[str]) -> dict[str, str]:
    """{slot: reason}. misplaced: ends of the spine that are not in it."""
    places = rig.rest[:, :3, 3]
    doubts = {slot: "no bone" for slot in REQUIRED if slot not in human}
    doubts |= dict.fromkeys(misplaced, "is not between hips and neck")

    slots_of: dict[int, str] = {}
    for slot, bone in human.items():
        if slots_of.setdefault(bone, slot) != slot:
            doubts[slot] = f"the same bone as {slots_of[bone]}"

    def place(slot: str) -> np.ndarray:
        found: np.ndarray = places[human[slot]]
        return found

    lengths = {}
    for side in SIDES:
        for limb in (ARM, LEG):
            slots = [side + part for part in limb]
            if any(slot not in human for slot in slots):
                continue
            for upper, lower in itertools.pairwise(slots):
                if not rig.tree.is_above(human[upper], human[lower]):
                    doubts.setdefault(lower, f"is not below {upper}")
                lengths[upper] = float(np.linalg.norm(place(lower) - place(upper)))
            first, second = lengths[slots[0]], lengths[slots[1]]
            if not _SHORTEST * second < first < _LONGEST * second:
                doubts[slots[1]] = f"{slots[0]} is {first:.3g} long, {slots[1]} {second:.3g}"
    for slot, length in lengths.items():
        other = lengths.get("right" + slot[4:]) if slot.startswith("left") else None
        if other is not None and abs(length - other) > _UNEQUAL * max(length, other):
            doubts[slot] = f"{length:.3g} long, on the right {other:.3g}"
    if not any(slot in doubts for slot in REQUIRED) and _faces_back(places, human):
        doubts["leftFoot"] = "toes point back: left and right may be swapped"
    return doubts


def _faces_back(places: np.ndarray, human: Mapping[str, int]) -> bool:
    left = places[human["leftUpperLeg"]] - places[human["rightUpperLeg"]]
    up = places[human["head"]] - places[human["hips"]]
    forward = np.cross(up, left)  # left-handed axes
    toes = [(human[s + "Toes"], human[s + "Foot"]) for s in SIDES if s + "Toes" in human]
    return bool(toes) and all((places[toe] - places[foot]) @ forward < 0 for toe, foot in toes)


def require(human: Mapping[str, int], name: str) -> None:
    """Raises ValueError if a slot that every humanoid needs has no bone."""
    missing = [slot for slot in REQUIRED if slot not in human]
    if missing:
        what = ", ".join(missing)
        raise ValueError(f"{name}: no bone is {what}; name them by replace(human=...)")
