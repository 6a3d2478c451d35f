# SPDX-License-Identifier: MIT
"""A skeleton measured in its reference, and how references of two bodies agree."""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

import mmdskin
from mmdskin.retargeting.skeleton import Skeleton, of_model, require
from mmdskin.retargeting.slots import ARM, FINGERS, LEG, PHALANGES, SIDES
from mmdskin.rotations import Array, about, apply, between, frame_of, length, unit

STANDARD_LEG = 9.419  # units, of MMD's own models, for which or for whose kin most dances are made
MMD_KNEE = np.radians(-0.5)  # the least bend that MMD's IK leaves
_ZERO = 1e-4  # of a leg: shorter bones have no direction


class Joints:
    """Places (...,B,3) of bones, by slots."""

    def __init__(self, positions: Array, human: Mapping[str, int]) -> None:
        self.positions, self.human = positions, human

    def at(self, slot: str) -> Array:
        """(...,3)."""
        return self.positions[..., self.human[slot], :]

    def each(self, slots: Iterable[str]) -> Array:
        """Of several slots: (...,n,3)."""
        return np.stack([self.at(slot) for slot in slots], -2)

    def sides(self, part: str) -> Array:
        """On the left and on the right: (...,2,3)."""
        return self.each(side + part for side in SIDES)

    def legs(self) -> Array:
        """The middle between them: (...,3)."""
        return self.sides("UpperLeg").mean(-2)

    def gap(self) -> Array:
        """From the right hand to the left: (...,3)."""
        return self.at("leftHand") - self.at("rightHand")

    def facing(self) -> Array:
        """The rotation about Y that brings the left to +X: (3,3)."""
        left, right = self.sides("UpperLeg") + self.sides("UpperArm")
        x, _, z = left - right
        return about(1, np.arctan2(z, x))


class Body(Joints):
    """A skeleton's reference in canonical axes, in which its left is +X; C (3,3) turns world axes to
    them. leg, arm: lengths; leg_bones, arm_bones (2,2): of upper and lower ones, left and right; reach
    (2,): the longest distance from hip to ankle. origin (3,): below the middle of the legs, on the level
    of the ankles; feet (2,3): the same, at the height of each ankle. `name` is for errors."""

    def __init__(self, skeleton: Skeleton, reference: Array, name: str = "skeleton") -> None:
        self.skeleton, self.reference, self.name = skeleton, reference, name
        self.spine, self.twists = skeleton.spine, skeleton.twists
        world = Joints(reference[:, :3, 3], skeleton.human)
        self.C = world.facing()
        super().__init__(world.positions @ self.C.T, skeleton.human)
        legs, arms = (np.array([self.sides(part) for part in limb]) for limb in (LEG, ARM))
        self.leg_bones, self.arm_bones = (length(np.diff(limb, axis=0)) for limb in (legs, arms))
        self.leg, self.arm = (float(b.sum(0).mean()) for b in (self.leg_bones, self.arm_bones))
        if min(self.leg, self.arm) < 1e-6:
            raise ValueError(f"{name}: legs or arms have no length")
        hip, knee, ankle = legs
        self.origin = self.legs()
        self.origin[1] = ankle[:, 1].mean()
        self.feet = np.where([False, True, False], ankle, self.origin)
        self.reach = self.leg_bones.sum(0) * (1 - 1e-7)
        if skeleton.is_mmd:  # with the knee at its limit
            stretched = knee - hip + apply(about(0, MMD_KNEE), ankle - knee)
            self.reach = length(stretched) * (1 - 1e-7)

    def direction(self, slot: str, following: str) -> Array | None:
        """From joint to joint; None without one of them, or at the same place."""
        if not self.human.keys() >= {slot, following}:
            return None
        along = self.at(following) - self.at(slot)
        return unit(along) if np.linalg.norm(along) > _ZERO * self.leg else None

    def palm(self, side: str) -> Array | None:
        """Columns: toward the fingers, toward the index, and their cross product."""
        roots = [f"{side}{finger}Proximal" for finger in FINGERS[1:]]
        roots = [slot for slot in roots if slot in self.human]
        if len(roots) < 3 or "Index" not in roots[0]:
            return None
        along = self.each(roots).mean(0) - self.at(side + "Hand")
        aside = self.at(roots[0]) - self.at(roots[-1])
        flat = np.linalg.norm(np.cross(along, aside)) < _ZERO**2 * self.leg**2
        return None if flat else frame_of(along, aside)

    @property
    def carrier(self) -> int:
        """The bone that moves the whole body: MMD's センター, else the lowest above legs and head."""
        ends = [self.human[slot] for slot in ("leftUpperLeg", "rightUpperLeg", "head")]
        common = self.skeleton.tree.common(*ends)
        if not common:
            raise ValueError(f"{self.name}: no bone is above the legs and the head")
        center = self.skeleton.roots.get("center")
        return center if center in common else common[0]


def body_of(model: mmdskin.Model, name: str) -> Body:
    """Of a model at rest. Raises ValueError for one that is no human."""
    skeleton = of_model(model)
    require(skeleton, name)
    return Body(skeleton, skeleton.rest, name)


def alignment(source: Body, target: Body) -> dict[str, Array]:
    """{slot: A (3,3)}: the rotation from the target's reference to the source's. Others need none:
    neutral stays neutral, sole stays on sole.

    Along limbs A = between(A_parent d_target, d_source) A_parent, the smallest rotation between the
    bones' directions, so that A- and T-poses agree and the roll of bones does not matter. Hands agree
    by their palms, fingers as limbs.
    """
    A = {}

    def along(chain: Iterable[str], turned: Array) -> Array:
        """Of all joints but the last."""
        for slot, following in itertools.pairwise(chain):
            if slot in source.human and slot in target.human:
                wanted, found = (one.direction(slot, following) for one in (source, target))
                if wanted is not None and found is not None:
                    turned = between(turned @ found, wanted) @ turned
                A[slot] = turned
        return turned

    for side in SIDES:
        along((side + part for part in LEG), np.eye(3))
        hand = along((side + part for part in ARM), np.eye(3))
        wanted, found = source.palm(side), target.palm(side)
        if wanted is not None and found is not None:
            hand = wanted @ found.T
        A[side + "Hand"] = hand
        for finger in FINGERS:
            along((side + finger + phalanx for phalanx in (*PHALANGES, "Tip")), hand)
    return A
