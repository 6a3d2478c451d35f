# SPDX-License-Identifier: MIT
"""The reference, the pose that counts as rest: which one it is, and what the motion corrects in it."""

import itertools

import numpy as np

from mmdskin.retargeting.body import Joints
from mmdskin.retargeting.skeleton import Skeleton
from mmdskin.retargeting.slots import ARM, LEG, SIDES
from mmdskin.rotations import Array, about, apply, degrees_between, transpose, unit

_UPRIGHT = 35.0  # degrees by which an upright pose may miss the ideal
_TRIED = 400  # frames
_LEVEL = 0.08  # of a leg
_SLOW, _FEWEST = 0.25, 10  # legs per second of a planted ankle; frames in which it is planted
_FLAT, _SPREAD = 3.0, 12.0  # degrees: of a foot's pitch that is left, and of its quartiles
_UP = np.array([0.0, 1.0, 0.0])


def degrees_off(joints: Joints) -> Array:
    """Degrees (...) by which joints miss standing upright with straight limbs: the worst of the
    trunk, which should be upright, thighs and shins, which should point down, elbows, and arms, which
    should be in the plane of the body."""
    arm, leg = ([joints.sides(part) for part in limb] for limb in (ARM, LEG))
    across = [unit(one[..., 0, :] - one[..., 1, :]) for one in (arm[0], leg[0])]
    left, up = unit(across[0] + across[1]), unit(joints.at("head") - joints.legs())
    upper, lower = (unit(b - a) for a, b in itertools.pairwise(arm))
    misses = [
        degrees_between(up, _UP)[..., None],
        *(degrees_between(unit(b - a), -_UP) for a, b in itertools.pairwise(leg)),
        degrees_between(upper, lower),
        np.abs(90 - degrees_between(upper, np.cross(left, up)[..., None, :])),
        degrees_between(upper, np.stack([left, -left], -2)) - 100,  # arms may hang
    ]
    return np.concatenate(misses, -1).max(-1)


def prepare(
    skeleton: Skeleton, poses: Array | None = None, fps: float = 30.0
) -> tuple[Array, list[str]]:
    """The reference (B,4,4) and notes about it. poses: (F,B,4,4) world matrices of its motion.

    It is the skeleton's own, uncorrected, or the rest pose if it is upright, else the frame that is
    most upright. In a motion of at least a second the lower ankle shows where the floor is: a reference whose
    ankles are elsewhere is moved there. Planted feet, slow and low, show how a sole is flat.
    """
    if skeleton.reference is not None:
        return skeleton.reference, ["reference: as given"]
    human, reference = skeleton.human, skeleton.rest
    score, what = float(degrees_off(Joints(reference[:, :3, 3], human))), "rest pose"
    if score > _UPRIGHT and poses is not None and len(poses):
        step = -(-len(poses) // _TRIED)
        scores = degrees_off(Joints(poses[::step, :, :3, 3], human))
        best = 0 if scores[0] < _UPRIGHT else int(np.argmin(scores))
        if scores[best] < score:
            score, what, reference = float(scores[best]), f"frame {best * step}", poses[best * step]
    notes = [f"reference: {what}, {score:.0f} degrees from standing upright"]
    if poses is not None and len(poses) >= max(fps, 2):
        reference = reference.copy()
        rest = Joints(reference[:, :3, 3], human)
        leg = float(np.linalg.norm(rest.at("leftFoot") - rest.at("leftUpperLeg")))
        notes += _level(skeleton, reference, poses, leg)
        notes += _flatten_soles(skeleton, reference, poses, leg * _SLOW / fps)
    return reference, notes


def _level(skeleton: Skeleton, reference: Array, poses: Array, leg: float) -> list[str]:
    """Rest poses of BVH hang around the origin."""
    ankles = [skeleton.human[side + "Foot"] for side in SIDES]
    floor = np.percentile(poses[:, ankles, 1, 3].min(1), 5)
    moved = floor - reference[ankles, 1, 3].mean()
    if abs(moved) <= _LEVEL * leg:
        return []
    reference[:, 1, 3] += moved
    return [f"reference: moved by {moved:.3g} to the level of the motion's ankles"]


def _flatten_soles(skeleton: Skeleton, reference: Array, poses: Array, slow: float) -> list[str]:
    """In many rest poses soles are not flat. slow: units per frame of a planted ankle."""
    human, notes = skeleton.human, []
    C = Joints(reference[:, :3, 3], human).facing()
    for side in SIDES:
        ankle = human[side + "Foot"]
        toe = human.get(side + "Toes", next(iter(skeleton.tree.children[ankle]), None))
        if toe is None:
            continue
        path = poses[:, ankle, :3, 3]
        still = np.linalg.norm(np.gradient(path, axis=0), axis=-1) < slow
        if still.sum() < _FEWEST:
            continue
        low = still & (path[:, 1] <= np.percentile(path[still, 1], 40))
        pitches = _pitch(poses[low, toe, :3, 3] - path[low])
        turn = np.median(pitches) - _pitch(reference[toe, :3, 3] - reference[ankle, :3, 3])
        if abs(turn) <= _FLAT or np.ptp(np.percentile(pitches, [25, 75])) >= _SPREAD:
            continue
        K = transpose(C) @ about(0, np.radians(turn)) @ C
        foot = skeleton.tree.below(ankle)
        center = reference[ankle, :3, 3].copy()
        reference[foot, :3, :3] = K @ reference[foot, :3, :3]
        reference[foot, :3, 3] = center + apply(K, reference[foot, :3, 3] - center)
        notes.append(f"reference: {side}Foot turned by {turn:.0f} degrees to stand flat")
    return notes


def _pitch(toward_toe: Array) -> Array:
    """Degrees above the horizontal."""
    return np.degrees(np.arcsin(np.clip(unit(toward_toe)[..., 1], -1, 1)))
