# SPDX-License-Identifier: MIT
"""Feet on scaled copies of the source's paths: where they are planted, the target's are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mmdskin.retargeting.rotations import Array, across, apply, between, length, unit
from mmdskin.retargeting.slots import SIDES

if TYPE_CHECKING:
    from collections.abc import Callable

    from mmdskin.retargeting.align import Body
    from mmdskin.retargeting.posing import Posing

_THERE = 1e-5  # of a leg: an ankle this near to its goal is not moved
_STRAIGHT, _BENT = 0.005, 0.03  # of a leg: the knee's distance from the line of hip and ankle
_PLANTED, _IN_THE_AIR = 0.1, 0.25  # of a leg: heights of ankles
_FRAMES = 4  # at 30 a second, before and after, in which the body comes down
_FRONT = np.array([0.0, 0.0, -1.0])


def smooth(x: Array, low: float, high: float) -> Array:
    """From 0 at `low` to 1 at `high`."""
    t = np.clip((x - low) / (high - low), 0, 1)
    found: Array = t * t * (3 - 2 * t)
    return found


def two_bone(
    root: Array, goal: Array, upper: float, lower: float, pole: Array, reach: float | None = None
) -> tuple[Array, Array]:
    """The middle and the end of two bones that begin at `root` and bend toward `pole`. The end is at
    the goal, or on the line to it if that is nearer or farther than the bones, or `reach`, allow."""
    toward = goal - root
    distance = length(toward)[..., None]
    line = toward / np.maximum(distance, 1e-9)
    reach = (upper + lower) * (1 - 1e-7) if reach is None else reach
    distance = np.clip(distance, min(abs(upper - lower) + 1e-6, reach), reach)
    along = (upper**2 - lower**2 + distance**2) / (2 * distance)
    aside = np.sqrt(np.maximum(upper**2 - along**2, 0))
    return root + line * along + unit(across(pole, line)) * aside, root + line * distance


def put_feet(
    source: Body, target: Body, places: Callable[[str], Array], posing: Posing, k: float, fps: float
) -> list[str]:
    """Puts the feet of a target whose rotations are found where the source has them, times k.
    places: joints of the source by slot."""
    goals = {side: _goal(source, target, places, posing, k, side) for side in SIDES}
    there = {
        side: length(goals[side] - posing.at(side + "Foot")) < _THERE * target.leg for side in SIDES
    }
    drop = _drop(target, posing, goals, there, fps)
    posing.move(drop[:, None] * (0.0, -1.0, 0.0))
    for side in SIDES:
        _bend_leg(target, posing, goals[side], there[side] & (drop == 0), side)
    if not drop.any():
        return []
    lowered = f"{np.count_nonzero(drop)} frames, at most {drop.max():.3g}"
    return [f"body: lowered where a leg is too short ({lowered})"]


def _goal(
    source: Body, target: Body, places: Callable[[str], Array], posing: Posing, k: float, side: str
) -> Array:
    """Of the ankle (F,3): as high above its own rest as the source's, and no toe deeper in the floor
    than the source's, or than at rest."""
    foot, toes = side + "Foot", side + "Toes"
    goal: Array = target.origin + k * (places(foot) - source.origin)
    goal[:, 1] += target.at(foot)[1] - target.ankle - k * (source.at(foot)[1] - source.ankle)
    if toes in source.human and toes in target.human:
        rest = target.at(toes)[1]
        lowest = np.minimum(rest + k * (places(toes)[:, 1] - source.at(toes)[1]), rest)
        toe = goal[:, 1] + apply(posing.delta(foot), target.at(toes) - target.at(foot))[:, 1]
        goal[:, 1] += np.maximum(lowest - toe, 0)
    return goal


def _drop(
    target: Body,
    posing: Posing,
    goals: dict[str, Array],
    there: dict[str, Array],
    fps: float,
) -> Array:
    """How far the body comes down (F,) so that a planted leg is long enough: the need of each frame,
    its maximum over some frames, smoothed by a window of the same width, so never less than needed."""
    drop = np.zeros(len(posing.places))
    for side in SIDES:
        hip, reach = posing.at(side + "UpperLeg") - goals[side], target.reach[side]
        flat = np.hypot(hip[:, 0], hip[:, 2])
        need = (
            np.where(flat < reach, hip[:, 1] - np.sqrt(np.maximum(reach**2 - flat**2, 0)), 0)
            * ~there[side]
        )
        height = (goals[side][:, 1] - target.at(side + "Foot")[1]) / target.leg
        drop = np.maximum(drop, need * (1 - smooth(height, _PLANTED, _IN_THE_AIR)))
    if not drop.any():
        return drop
    width = max(1, round(_FRAMES * fps / 30))
    padded = np.pad(drop, 2 * width, mode="edge")
    widest = np.lib.stride_tricks.sliding_window_view(padded, 2 * width + 1).max(-1)
    window = np.hanning(2 * width + 3)[1:-1]
    smoothed: Array = np.convolve(widest, window / window.sum(), "valid")
    return smoothed


def _bend_leg(target: Body, posing: Posing, goal: Array, there: Array, side: str) -> None:
    upper, lower, foot = (side + part for part in ("UpperLeg", "LowerLeg", "Foot"))
    hip, knee, ankle = (posing.at(slot).copy() for slot in (upper, lower, foot))
    line = unit(ankle - hip)
    bend = across(knee - hip, line)
    front = unit(across(posing.delta(upper) @ _FRONT, line))
    bent = smooth(length(bend)[..., None] / target.leg, _STRAIGHT, _BENT)
    pole = bent * unit(bend) + (1 - bent) * front
    lengths = target.length(upper), target.length(lower)
    new_knee, new_ankle = two_bone(hip, goal, *lengths, pole, target.reach[side])
    bend_limb(posing, upper, lower, (hip, knee, ankle), (new_knee, new_ankle), ~there)


def bend_limb(
    posing: Posing,
    upper: str,
    lower: str,
    joints: tuple[Array, Array, Array],
    moved: tuple[Array, Array],
    where: Array,
) -> None:
    """Turns two bones so that their joints come to other places; elsewhere they keep every bit."""
    root, middle, end = joints
    first = between(middle - root, moved[0] - root)
    second = between(end - middle, moved[1] - moved[0])
    for slot, turn in ((upper, first), (lower, second)):
        posing.turn(slot, np.where(where[:, None, None], turn, np.eye(3)))
