# SPDX-License-Identifier: MIT
"""retarget(): the motion of one rig on another."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import mmdskin
from mmdskin.retargeting.body import Body, alignment
from mmdskin.retargeting.bones import matrices
from mmdskin.retargeting.limbs import join_hands, put_feet
from mmdskin.retargeting.posing import Layout, Posing, Source
from mmdskin.retargeting.reference import prepare
from mmdskin.retargeting.skeleton import Skeleton, require
from mmdskin.retargeting.slots import LIMBS, SIDES
from mmdskin.rotations import Array, slerp, transpose

_ALIKE = 0.01  # of a leg


class Retargeted(NamedTuple):
    """What retarget() returns.

    transforms: (F,B,4,4) or (B,4,4) float64, world matrices of the target's bones in MMD's axes and
        units.
    notes: texts that name what was chosen, corrected and left out.
    """

    transforms: NDArray[np.float64]
    notes: tuple[str, ...]


def retarget(
    source: Skeleton,
    poses: mmdskin.Pose | ArrayLike,
    target: Skeleton,
    *,
    feet: bool = True,
    hands: bool = False,
    scale: float | None = None,
    root: Literal["scaled", "in_place"] = "scaled",
    fps: float = 30.0,
) -> Retargeted:
    """Moves a rig as another one moves.

        out = mmdskin.retarget(model.skeleton, model.pose(motion, frames), skeleton)
        out.transforms, out.notes

    Rotations of the target's bone t from those of the source's bone s in the same slot, in world
    space, where R0 is the reference, the pose that counts as rest, C turns it to face -Z, and A
    is the smallest rotation that makes the limbs of both references parallel:

        R_t = C_t^-1 (C_s R_s R_s0^-1 C_s^-1) A C_t R_t0

    The middle of the legs is where the source's is, times k, the ratio of the legs, on the level of
    the ankles. Bones without a slot keep their rest relative to their parent.

    source, target: Skeletons; of a model, model.skeleton.
    poses: a Pose of the source's model, or world matrices (F,B,4,4) or (B,4,4) of its bones in MMD's
        axes and units. A pose or motion of less than a second corrects no reference.
    feet: whether the ankles move on the source's paths, times k, by two-bone IK: where the source's
        foot is planted, so is the target's, and legs turn by some degrees. False: legs have the source's
        directions, and feet slide where proportions differ.
    hands: whether wrists that are close keep their gap, times the ratio of the arms.
    scale: k; None: the ratio of the legs' lengths.
    root: "in_place" leaves out how the body travels over the floor.
    fps: of the poses, by which planted feet are recognized.

    Raises ValueError if a required slot of either has no bone (hips, head, and of each side UpperArm,
    LowerArm, Hand, UpperLeg, LowerLeg, Foot), for shapes that do not fit, numbers that are not
    finite, and a scale or fps that is not positive.
    """
    for name, one in (("source", source), ("target", target)):
        require(one, name)
    for name, number in (("scale", scale), ("fps", fps)):
        if number is not None and not 0 < number < np.inf:
            raise ValueError(f"{name}: {number}, expected a positive number")
    if root not in ("scaled", "in_place"):
        raise ValueError(f'root: unknown "{root}", expected scaled or in_place')
    world, is_batch = world_of(source, poses)
    # At rest a model is on the floor; and what both have alike has to stay.
    corrects = len(world) > 1 and not source.is_mmd and not _legs_agree(source, target)
    plan = _Plan(source, target, world, fps) if corrects else _plan(source, target)
    read, body = plan.read, plan.body
    k = body.leg / read.leg if scale is None else scale
    motion = Source(read, world, in_place=root == "in_place")
    posing = Posing(plan.layout, plan.turns(world[..., :3, :3]))
    posing.move(body.origin + k * (motion.legs() - read.origin) - posing.legs())
    told = [*plan.notes, f"scale: {k:.4g}"]
    if feet and len(world):
        told += put_feet(motion, posing, k, fps)
    if hands and len(world):
        told += join_hands(motion, posing)
    for one, other, name in ((target, source, "source"), (source, target, "target")):
        lacks = [slot for slot in one.human if slot not in other.human]
        if lacks:
            told.append(f"not in the {name}: {', '.join(lacks)}")
    transforms = posing.transforms()
    return Retargeted(transforms if is_batch else transforms[0], tuple(told))


class _Plan:
    """What two skeletons determine: which of the target's bones follows which of the source's."""

    def __init__(
        self, source: Skeleton, target: Skeleton, world: Array | None = None, fps: float = 30.0
    ) -> None:
        bodies, notes = [], []
        for one, name, poses in ((source, "source", world), (target, "target", None)):
            reference, told = prepare(one, poses, fps)
            bodies.append(Body(one, reference, name))
            notes += [f"{name}: {note}" for note in told]
        self.notes = notes
        self.read, self.body = bodies
        A = alignment(*bodies)
        human = {**source.human, **source.doubles}  # D bones show where a model's legs are
        found: dict[int, tuple[int, Array]] = {}  # bone of the target: of the source, aligned by A
        for slot, bone in target.human.items():
            if slot not in human:
                continue
            near = human[slot]
            far = source.twists.get(slot, near)  # twist bones turn what lies beyond them
            aligned = A.get(slot, np.eye(3))
            found[bone] = near if slot in target.twists else far, aligned
            if slot in target.twists:
                found[target.twists[slot]] = far, aligned
        # Spines: the jth of m bones has the rotation at j / m of the source's chain.
        chain = [source.human["hips"], *source.spine]
        blends: dict[int, tuple[int, float]] = {}
        for j, bone in enumerate(target.spine, 1):
            low, part = divmod(j * len(source.spine) / len(target.spine), 1)
            found[bone] = chain[int(low)], np.eye(3)
            if part:
                blends[bone] = chain[int(low) + 1], part
        self.layout = Layout(self.body, found)
        self.blends = [self.layout.row[bone] for bone in blends]
        self.parts = np.array([part for _, part in blends.values()])[:, None]
        self.bones = [bone for bone, _ in (*found.values(), *blends.values())]
        rest = self.read.reference[self.bones, :3, :3]
        # With C on the left, it makes rotations of the source deltas from its reference.
        turned = [A for _, A in found.values()] + [np.eye(3)] * len(blends)
        self.right = transpose(rest) @ self.read.C.T @ np.array(turned)

    def turns(self, rotations: Array) -> Array:
        """Of the layout's rows, for rotations (F,B,3,3) of the source: deltas (F,n,3,3)."""
        found = np.empty((len(rotations), 1 + len(self.bones), 3, 3))
        found[:, 0] = np.eye(3)
        found[:, 1:] = self.read.C @ rotations[:, self.bones] @ self.right
        rows = found.shape[1] - len(self.blends)
        if self.blends:
            found[:, self.blends] = slerp(found[:, self.blends], found[:, rows:], self.parts)
        return found[:, :rows]


def _compare_legs(source: Skeleton, target: Skeleton) -> bool:
    """Whether the joints of legs are at the same heights at rest, but for the scale."""
    slots = [side + part for side in SIDES for part in LIMBS["leg"]]
    slots = [slot for slot in slots if slot in source.human and slot in target.human]
    a, b = (one.rest[[one.human[slot] for slot in slots], :3, 3] for one in (source, target))
    k, m = (np.linalg.norm(np.ptp(legs, axis=0)) for legs in (a, b))
    return bool((np.abs(a[:, 1] * m - b[:, 1] * k) <= _ALIKE * k * m).all())


# Live poses come one by one, for the same rigs.
_plan = lru_cache(maxsize=8)(_Plan)
_legs_agree = lru_cache(maxsize=8)(_compare_legs)


def world_of(skeleton: Skeleton, poses: Any) -> tuple[Array, bool]:
    """World matrices (F,B,4,4), and whether there was more than one frame."""
    if isinstance(poses, mmdskin.Pose):
        world = matrices(poses.bone_matrices, "poses", skeleton.names) @ skeleton.rest
    else:
        world = matrices(poses, "poses", skeleton.names)
    return (world, True) if world.ndim == 4 else (world[None], False)
