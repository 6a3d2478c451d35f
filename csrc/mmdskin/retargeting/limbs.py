# SPDX-License-Identifier: MIT
"""IK of limbs by two bones: feet on scaled copies of the source's paths, hands that keep their gap."""

import numpy as np

from mmdskin.retargeting.posing import Posing, Source
from mmdskin.retargeting.slots import ARM, LEG, SIDES
from mmdskin.rotations import Array, across, apply, between, length, unit

_THERE = 1e-5  # of a leg: an ankle this near to its goal is not moved
_STRAIGHT, _BENT = 0.005, 0.03  # of a leg: the knee's distance from the line of hip and ankle
_PLANTED, _IN_THE_AIR = 0.1, 0.25  # of a leg: heights of ankles
_FRAMES = 4  # at 30 a second, before and after, in which the body comes down
_FRONT = np.array([0.0, 0.0, -1.0])
_NEAR, _FAR = 0.30, 0.55  # arm lengths between the wrists
_PASSES = 2


def _smooth(x: Array, low: float, high: float) -> Array:
    """From 0 at `low` to 1 at `high`."""
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def two_bone(
    root: Array, goal: Array, lengths: Array, pole: Array, reach: Array | None = None
) -> tuple[Array, Array]:
    """The middle and the end (...,3) of two bones of some lengths (2,...) that begin at `root` and bend
    toward `pole`. The end is at the goal, or on the line to it if that is nearer or farther than the
    bones, or `reach`, allow."""
    upper, lower = lengths
    reach = (upper + lower) * (1 - 1e-7) if reach is None else reach
    distance = length(goal - root)
    line = (goal - root) / np.maximum(distance, 1e-9)[..., None]
    distance = np.clip(distance, np.minimum(np.abs(upper - lower) + 1e-6, reach), reach)
    along = (upper**2 - lower**2 + distance**2) / (2 * distance)
    aside = np.sqrt(np.maximum(upper**2 - along**2, 0))
    middle = root + line * along[..., None] + unit(across(pole, line)) * aside[..., None]
    return middle, root + line * distance[..., None]


def put_feet(source: Source, target: Posing, k: float, fps: float) -> list[str]:
    """Puts the feet of a target whose rotations are found where the source has them, times k: where
    they are planted, the target's are."""
    goals = _goals(source, target, k)
    there = length(goals - target.sides("Foot")) < _THERE * target.body.leg
    drop = _drop(target, goals, there, fps)
    target.move(drop[:, None] * (0.0, -1.0, 0.0))
    _bend_legs(target, goals, ~(there & (drop == 0)[:, None]))
    if not drop.any():
        return []
    lowered = f"frames: {np.count_nonzero(drop)}, at most {drop.max():.3g}"
    return [f"body: lowered where a leg is too short ({lowered})"]


def _goals(source: Source, target: Posing, k: float) -> Array:
    """Of the ankles (F,2,3): as high above their own rest as the source's, and no toe deeper in the
    floor than the source's, or than at rest. Without toes the ankle is that."""
    a, b = source.body, target.body
    goals = b.feet + k * (source.sides("Foot") - a.feet)
    known = a.human.keys() & b.human.keys()
    toes = [side + ("Toes" if side + "Toes" in known else "Foot") for side in SIDES]
    rest = b.each(toes)
    lowest = rest[:, 1] + np.minimum(k * (source.each(toes) - a.each(toes))[..., 1], 0)
    toe = goals + apply(target.deltas("Foot"), rest - b.sides("Foot"))
    goals[..., 1] += np.maximum(lowest - toe[..., 1], 0)
    return goals


def _drop(target: Posing, goals: Array, there: Array, fps: float) -> Array:
    """How far the body comes down (F,) so that a planted leg is long enough: the need of each frame,
    its maximum over some frames, smoothed by a window of the same width, so never less than needed."""
    body = target.body
    hip = target.sides("UpperLeg") - goals
    below = body.reach**2 - hip[..., 0] ** 2 - hip[..., 2] ** 2
    need = np.where(below > 0, hip[..., 1] - np.sqrt(np.maximum(below, 0)), 0) * ~there
    height = (goals - body.feet)[..., 1] / body.leg
    drop = (need * (1 - _smooth(height, _PLANTED, _IN_THE_AIR))).max(1).clip(0)
    if not drop.any():
        return drop
    width = max(1, round(_FRAMES * fps / 30))
    padded = np.pad(drop, 2 * width, mode="edge")
    widest = np.lib.stride_tricks.sliding_window_view(padded, 2 * width + 1).max(-1)
    window = np.hanning(2 * width + 3)[1:-1]
    return np.convolve(widest, window / window.sum(), "valid")


def _bend_legs(target: Posing, goals: Array, where: Array) -> None:
    """In the planes in which they are bent; straight ones toward their front."""
    hip, knee, ankle = (target.sides(part) for part in LEG)
    line = unit(ankle - hip)
    bend = across(knee - hip, line)
    front = unit(across(target.deltas("UpperLeg") @ _FRONT, line))
    bent = _smooth(length(bend)[..., None] / target.body.leg, _STRAIGHT, _BENT)
    pole = bent * unit(bend) + (1 - bent) * front
    moved = two_bone(hip, goals, target.body.leg_bones, pole, target.body.reach)
    _bend(target, LEG, moved, where)


def _bend(target: Posing, limb: tuple[str, ...], moved: tuple[Array, Array], where: Array) -> None:
    """Turns two bones on both sides so that their ends come to other positions; elsewhere they keep
    every bit. where: (F,2) or (F,1)."""
    root, middle, end = (target.sides(part) for part in limb)
    first = between(middle - root, moved[0] - root)
    second = between(end - middle, moved[1] - moved[0])
    for part, turn in zip(limb, (first, second), strict=False):
        target.turn(part, np.where(where[..., None, None], turn, np.eye(3)))


def nearness(gap: Array, arm: float) -> Array:
    """How far hands meet: 1 for wrists within 0.30 arm lengths, 0 beyond 0.55. gap: (F,3)."""
    return 1 - _smooth(length(gap) / arm, _NEAR, _FAR)


def meeting(wrists: Array, gap: Array, near: Array) -> Array:
    """Where wrists (F,2,3) go that their gap becomes another one (F,3), by the share `near` (F,):
    both by half of what is missing."""
    missing = near[:, None] * (gap - (wrists[:, 0] - wrists[:, 1])) / 2
    return wrists + np.stack([missing, -missing], 1)


def join_hands(source: Source, target: Posing) -> list[str]:
    """Moves both wrists equally so that their gap is the source's times the ratio of the arms, by
    two-bone IK in the plane of each elbow."""
    near = nearness(source.gap(), source.body.arm)
    if not near.any():
        return []
    gap = source.gap() * (target.body.arm / source.body.arm)
    for _ in range(_PASSES):
        target.place()
        shoulder, elbow, wrist = (target.sides(part) for part in ARM)
        pole = across(elbow - shoulder, unit(wrist - shoulder))
        goals = meeting(wrist, gap, near)
        moved = two_bone(shoulder, goals, target.body.arm_bones, pole)
        _bend(target, ARM, moved, (near > 0)[:, None])
    return [f"hands: their gap is kept (frames: {np.count_nonzero(near)})"]
