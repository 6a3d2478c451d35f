# SPDX-License-Identifier: MIT
"""retarget(): the motion of one rig on another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

import mmdskin
from mmdskin.retargeting.align import Body, alignment
from mmdskin.retargeting.feet import put_feet
from mmdskin.retargeting.hands import join_hands
from mmdskin.retargeting.posing import Posing
from mmdskin.retargeting.reference import prepare
from mmdskin.retargeting.rotations import Array, slerp
from mmdskin.retargeting.skeleton import Skeleton, matrices
from mmdskin.retargeting.slots import REQUIRED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Retargeted(NamedTuple):
    """What retarget() returns: world matrices (F,B,4,4) or (B,4,4), float64, of the target's bones in
    MMD's axes and units; and notes, texts that name what was chosen, corrected and left out."""

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
    space, where R0 is the reference, the pose that stands for "at rest", C turns it to face -Z, and A
    is the smallest rotation that makes the limbs of both references parallel:

        R_t = C_t^-1 (C_s R_s R_s0^-1 C_s^-1) A C_t R_t0

    The middle of the legs is where the source's is, times k, the ratio of the legs, on the level of
    the ankles. Bones without a slot keep their rest relative to their parent.

    source, target: Skeletons; of a model, model.skeleton.
    poses: a Pose of the source's model, or world matrices (F,B,4,4) or (B,4,4) of its bones in MMD's
        axes and units. A pose or motion of less than a second corrects no reference.
    feet: whether the ankles move on the source's paths, times k, by two-bone IK: where the source
        stands, so does the target, and legs turn by some degrees. False: legs have the source's
        directions, and feet slide where proportions differ.
    hands: whether wrists that are close keep their gap, times the ratio of the arms.
    scale: k; None: the ratio of the legs' lengths.
    root: "in_place" leaves out how the body travels over the floor.
    fps: of the poses, by which feet that stand are recognized.

    Raises ValueError if a required slot of either has no bone (hips, head, and of each side UpperArm,
    LowerArm, Hand, UpperLeg, LowerLeg, Foot), for shapes that do not fit, numbers that are not
    finite, and a scale or fps that is not positive.
    """
    for name, one in (("source", source), ("target", target)):
        if not isinstance(one, Skeleton):
            raise TypeError(f"{name}: expected a Skeleton, not {type(one)!r}")
    for name, number in (("scale", scale), ("fps", fps)):
        if number is not None and not 0 < number < np.inf:
            raise ValueError(f"{name}: {number}, expected a positive number")
    if root not in ("scaled", "in_place"):
        raise ValueError(f'root: unknown "{root}", expected scaled or in_place')
    for name, one in (("source", source), ("target", target)):
        missing = [slot for slot in REQUIRED if slot not in one.human]
        if missing:
            what = ", ".join(missing)
            raise ValueError(f"{name}: no bone is {what}; name them by replace(human=...)")
    world, is_batch = _world_of(source, poses)
    # The same body needs no correction, and the rest of a model stands on the floor.
    corrects = not source.is_mmd and source.names != target.names
    reference, notes = prepare(source, world if corrects else None, fps)
    read = Body(source, reference, "source")
    body = Body(target, prepare(target)[0], "target")
    k = body.leg / read.leg if scale is None else scale
    moves = _Motion(read, world, root)
    posing = Posing(body, _turns(read, body, moves), len(world))
    posing.place()
    legs = (posing.at("leftUpperLeg") + posing.at("rightUpperLeg")) / 2
    posing.shift += body.origin + k * (moves.middle() - read.origin) - legs
    posing.place()
    told = [f"source: {note}" for note in notes]
    told.append(f"scale: {k:.4g}")
    if feet and len(world):
        told += put_feet(read, body, moves.places, posing, k, fps)
    if hands and len(world):
        told += join_hands(read, body, moves.places, posing)
    unmoved = [slot for slot in target.human if slot not in source.human]
    if unmoved:
        told.append(f"not in the source: {', '.join(unmoved)}")
    unused = [slot for slot in source.human if slot not in target.human]
    if unused:
        told.append(f"not in the target: {', '.join(unused)}")
    transforms = posing.transforms()
    return Retargeted(transforms if is_batch else transforms[0], tuple(told))


class _Motion:
    """The source's motion in its canonical axes. D bones show where a model's legs are."""

    def __init__(self, body: Body, world: Array, root: str) -> None:
        self.body, self._world = body, world
        self.human = {**body.human, **body.skeleton.doubles}
        self._away = np.zeros((len(world), 3))
        if root == "in_place":
            self._away = (self.middle() - body.origin) * [1, 0, 1]

    def places(self, slot: str) -> Array:
        """Of a joint: (F,3)."""
        found: Array = self._world[:, self.human[slot], :3, 3] @ self.body.C.T - self._away
        return found

    def middle(self) -> Array:
        found: Array = (self.places("leftUpperLeg") + self.places("rightUpperLeg")) / 2
        return found

    def delta(self, bone: int) -> Array:
        """Of a bone's rotation from the reference: (F,3,3)."""
        C, rest = self.body.C, self.body.reference[bone, :3, :3]
        found: Array = C @ self._world[:, bone, :3, :3] @ (rest.T @ C.T)
        return found


def _turns(source: Body, target: Body, moves: _Motion) -> dict[int, Array]:
    """{bone of the target: deltas (F,3,3) from its reference}."""
    A = alignment(source, target)
    turns = {}

    def aligned(bone: int, slot: str) -> Array:
        found: Array = moves.delta(bone) @ A[slot] if slot in A else moves.delta(bone)
        return found

    for slot, bone in target.human.items():
        if slot not in source.human:
            continue
        far = source.twists.get(slot, moves.human[slot])  # twist bones turn what lies beyond them
        if slot in target.twists:
            turns[target.twists[slot]] = aligned(far, slot)
            far = moves.human[slot]
        turns[bone] = aligned(far, slot)
    # Spines: at (j + 1) / m of m bones there is the rotation at that part of the source's n.
    chain = [moves.delta(source.human["hips"]), *(moves.delta(bone) for bone in source.spine)]
    for j, bone in enumerate(target.spine, 1):
        at = j * len(source.spine) / len(target.spine)
        low = int(at)
        turns[bone] = chain[low] if at == low else slerp(chain[low], chain[low + 1], at - low)
    return turns


def _world_of(skeleton: Skeleton, poses: Any) -> tuple[Array, bool]:
    """World matrices (F,B,4,4), and whether there was more than one frame."""
    if not isinstance(poses, mmdskin.Pose):
        world = matrices(poses, "poses", skeleton.names)
    else:
        skinning = matrices(poses.bone_matrices, "poses", skeleton.names)
        world = skinning @ skeleton.rest
    return (world, True) if world.ndim == 4 else (world[None], False)
