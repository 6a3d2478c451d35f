# SPDX-License-Identifier: MIT
"""Skeleton: the bones of a rig, and which of them is which part of a human."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import mmdskin
from mmdskin.argument import wrong_type
from mmdskin.retargeting.bones import Tree, matrices
from mmdskin.retargeting.name_map import by_names
from mmdskin.retargeting.shape_map import by_shape
from mmdskin.retargeting.slots import PHALANGES, REQUIRED, SIDES, SLOTS, SPINE, doubts_of

_LEGS = ("leftUpperLeg", "rightUpperLeg")


class Skeleton:
    """The bones of a rig, and which of them is which part of a human. Immutable and picklable.

        skeleton = mmdskin.Skeleton(names, parents, rest)
        skeleton.human["leftHand"], skeleton.doubts

    names: B strings.
    parents: (B,) indices, -1 for roots; in any order.
    rest: (B,4,4) world matrices of the bones at rest in MMD's axes and units: convert() brings those
        of other programs. Scale in them is dropped; a scale of zero leaves a bone unturned.
    human: {slot: name or index of a bone, or None for no bone}. What it does not name is found by
        names, then by the shape of the tree. Slots are those of VRM 1.0: hips, neck, head, jaw;
        with left or right before them Shoulder, UpperArm, LowerArm, Hand, UpperLeg, LowerLeg, Foot,
        Toes and Eye; and Thumb, Index, Middle, Ring and Little, each with Proximal, Intermediate and
        Distal. The humanoid of a VRM file is such a map. spine and upperChest bound the spine, which
        otherwise reaches from the hips to the neck.
    reference: (B,4,4) matrices of the pose that counts as rest, if that is not `rest`:
        standing, limbs straight. None: retarget() takes the rest pose if it is upright, else the best
        frame of a motion.

    The members, beside these: human, {slot: bone}, has what was given and found. spine: the bones
    between hips and neck, by the tree, whatever their names. doubts, {slot: reason}: required slots
    without a bone, and what contradicts a body. notes: the same as texts, and how the map was made.

    Raises ValueError for shapes that do not fit, indices out of range, cycles of parents, numbers
    that are not finite or above 1e9, matrices that do not end with the row 0 0 0 1, and slots or bones
    that do not exist.
    """

    names: tuple[str, ...]
    parents: NDArray[np.int64]
    rest: NDArray[np.float64]
    human: Mapping[str, int]
    spine: tuple[int, ...]
    doubts: Mapping[str, str]
    notes: tuple[str, ...]
    reference: NDArray[np.float64] | None

    def __init__(
        self,
        names: Sequence[str],
        parents: ArrayLike,
        rest: ArrayLike,
        *,
        human: Mapping[str, str | int | None] | None = None,
        reference: ArrayLike | None = None,
    ) -> None:
        self.tree = Tree(names, parents)
        self.names, self.parents = self.tree.names, self.tree.parents
        self.rest = matrices(rest, "rest", self.names)
        self.reference = None if reference is None else matrices(reference, "reference", self.names)
        self._given = self._bones_of(human or {})
        named, special = by_names(self.tree, self.rest[:, :3, 3])
        self.doubles, self.twists, self.roots = (special[k] for k in ("double", "twist", "root"))
        # MMD's bones: at rest it is on the floor, and its knees stop where MMD's do.
        self.is_mmd = "center" in self.roots
        self._map(named, self.rest[:, :3, 3])
        self._is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Only while it is made: pickles and maps are those of what was given."""
        if "_is_made" in vars(self):
            raise AttributeError(f"{name}: a Skeleton never changes; replace() makes another one")
        super().__setattr__(name, value)

    def replace(
        self,
        *,
        human: Mapping[str, str | int | None] | None = None,
        reference: ArrayLike | None = None,
    ) -> Skeleton:
        """A Skeleton with other slots or another reference.

        human: slots that change, as in Skeleton(); None frees a slot.
        reference: (B,4,4) world matrices.

        Raises ValueError as Skeleton() does.
        """
        return Skeleton(
            self.names,
            self.parents,
            self.rest,
            human={**self._given, **self._bones_of(human or {})},
            reference=self.reference if reference is None else reference,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(Skeleton, human=self._given, reference=self.reference)
        return rebuild, (self.names, self.parents, self.rest)

    def __repr__(self) -> str:
        return f"<Skeleton of {len(self.names)} bones, {len(self.human)} slots>"

    def _bones_of(self, human: Mapping[str, str | int | None]) -> dict[str, int | None]:
        """Checks slots that a user gave; VRM 1.0's thumbs are MMD's, one joint on."""
        human = dict(human)
        for side in SIDES:
            if side + "ThumbMetacarpal" in human:
                joints = [human.pop(f"{side}Thumb{p}", None) for p in ("Metacarpal", *PHALANGES)]
                joints = [bone for bone in joints if bone is not None]
                human |= dict(zip((f"{side}Thumb{p}" for p in PHALANGES), joints, strict=False))
        found: dict[str, int | None] = {}
        for slot, bone in human.items():
            if slot not in SLOTS + SPINE:
                raise ValueError(f'human: no slot is named "{slot}"')
            if isinstance(bone, str):
                if self.names.count(bone) != 1:
                    what = "two bones are" if bone in self.names else "no bone is"
                    raise ValueError(f'human["{slot}"]: {what} named "{bone}"')
                bone = self.names.index(bone)
            if bone is not None and not hasattr(bone, "__index__"):
                what = f"expected a name, an index or None, not {type(bone)!r}"
                raise TypeError(f'human["{slot}"]: {what}')
            if bone is not None and not 0 <= bone < len(self.names):
                raise ValueError(f'human["{slot}"]: bone {bone} of {len(self.names)}')
            found[slot] = None if bone is None else int(bone)
        return found

    def _map(self, named: dict[str, int], positions: NDArray[np.float64]) -> None:
        given = {slot: bone for slot, bone in self._given.items() if bone is not None}
        human = {slot: bone for slot, bone in given.items() if slot not in SPINE}
        how = ["mapped as given"] if human else []

        def add(slots: dict[str, int]) -> list[str]:
            free = {slot: bone for slot, bone in slots.items() if bone not in human.values()}
            new = {s: b for s, b in free.items() if s not in human and s not in self._given}
            human.update(new)
            return list(new)

        if add(named):
            how.append("mapped by names")
        legs = [human[slot] for slot in _LEGS if slot in human]
        if len(legs) == 2 and "hips" not in self._given:
            above = [bone for bone in self.tree.common(*legs) if bone not in legs]
            if above and human.get("hips") not in above:
                human["hips"] = above[0]
        is_open = any(slot not in human and slot not in self._given for slot in REQUIRED)
        if is_open and (new := add(by_shape(self.tree, positions))):
            how.append(f"mapped by the shape of the tree: {', '.join(new)}")
        self.human = MappingProxyType({slot: human[slot] for slot in SLOTS if slot in human})
        self.spine = self._find_spine()
        ends = (slot for slot in (SPINE[0], SPINE[-1]) if slot in given)
        misplaced = [slot for slot in ends if given[slot] not in self.spine]
        self.doubts = MappingProxyType(doubts_of(self.tree, positions, self.human, misplaced))
        self.notes = (*how, *(f"{slot}: {reason}" for slot, reason in self.doubts.items()))

    def _find_spine(self) -> tuple[int, ...]:
        top = self.human.get("neck", self.human.get("head"))
        legs = [self.human[slot] for slot in _LEGS if slot in self.human]
        if top is None or len(legs) < 2:
            return ()
        body = set(self.tree.common(*legs))
        found = [bone for bone in self.tree.chain(top)[:0:-1] if bone not in body]
        lowest, _, highest = (self._given.get(slot) for slot in SPINE)
        start = found.index(lowest) if lowest in found else 0
        stop = found.index(highest) + 1 if highest in found else len(found)
        return tuple(found[start:stop])


def require(skeleton: Skeleton, name: str) -> None:
    """Raises TypeError for what is no Skeleton, ValueError if a slot that every humanoid needs has no
    bone."""
    if not isinstance(skeleton, Skeleton):
        expected = f"{name}: expected a Skeleton"
        if isinstance(skeleton, mmdskin.Model):
            raise TypeError(f"{expected}, not {type(skeleton)!r}; Model.skeleton is one")
        raise wrong_type(skeleton, expected, "load_bvh() or load_gltf")
    missing = ", ".join(slot for slot in REQUIRED if slot not in skeleton.human)
    if missing:
        raise ValueError(f"{name}: no bone is {missing}; name them by replace(human=...)")


def of_model(model: mmdskin.Model) -> Skeleton:
    """Model.skeleton: at rest no bone of a model is turned."""
    rest = np.tile(np.eye(4), (len(model.bones), 1, 1))
    rest[:, :3, 3] = np.reshape([bone.position for bone in model.bones], (-1, 3))
    return Skeleton([bone.name for bone in model.bones], [b.parent for b in model.bones], rest)
