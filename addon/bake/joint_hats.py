# SPDX-License-Identifier: GPL-3.0-or-later
"""How a driver tells the poses of one joint apart: hats, which are 1 in a pose and 0 in others.

Where the angles of the poses differ the angle decides, with straight lines from each pose to the
next one and to rest; beyond the greatest angle the value stays 1. Where poses turn a joint by the
same angle about other axes, the distance of whole rotations decides.

A rotation is a quaternion w, x, y, z, as the variables of a driver have it. Only functions that
Blender knows by itself occur: such drivers need no permission for scripts.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

_APART = math.radians(0.5)  # what lies nearer is one pose to a joint
_FLAT = _APART / 2  # about a rotation the value is 1 so far, as acos is noise there
_REST = (1.0, 0.0, 0.0, 0.0)


def bend(rotation):
    """The angle of a rotation, in radians; 0 where it counts as rest."""
    angle = _angle(rotation)
    return angle if angle > _APART else 0.0


class ByAngle(NamedTuple):
    """0 up to the angle `low`, 1 at `peak`, 0 again from `high` on, which None has never."""

    low: float
    peak: float
    high: float | None

    @property
    def expression(self):
        turned = "2*acos(min(1,abs(w)))"
        rise = f"({turned}-{self.low:.9g})/{self.peak - self.low:.9g}"
        fall = ""
        if self.high is not None:
            fall = f",({self.high:.9g}-{turned})/{self.high - self.peak:.9g}"
        return f"max(0,min(1,{rise}{fall}))"

    def values(self, rotations):
        """What the expression gives for (n, 4) rotations."""
        turned = _distances(rotations, _REST)
        values = (turned - self.low) / (self.peak - self.low)
        if self.high is not None:
            values = np.minimum(values, (self.high - turned) / (self.high - self.peak))
        return np.clip(values, 0, 1)


class ByDistance(NamedTuple):
    """1 at a rotation, 0 from the angle `reach` away from it."""

    rotation: tuple
    reach: float

    @property
    def expression(self):
        dot = "+".join(f"{n}*({c:.9g})" for n, c in zip("wxyz", self.rotation, strict=True))
        away = f"2*acos(min(1,abs({dot})))"
        return f"max(0,min(1,({self.reach:.9g}-{away})/{self.reach - _FLAT:.9g}))"

    def values(self, rotations):
        away = _distances(rotations, self.rotation)
        return np.clip((self.reach - away) / (self.reach - _FLAT), 0, 1)


def by_angle(poses, keyed):
    """{frame: hat} of the keyed frames; None where poses turn the joint by the same angle.

    `poses`: {frame: rotation} where a value is 1 or must be 0; of those that are one to the joint
    the last has the hat.
    """
    still, kept = _still_and_kept(poses)
    angles = sorted((bend(one), frame) for frame, one in kept.items())
    if any(high - low <= _APART for (low, _), (high, _) in pairwise(angles)):
        return None
    lows = [max(map(_angle, still)), *(angle for angle, _ in angles)]
    highs = [*(angle for angle, _ in angles[1:]), None]
    shapes = zip(angles, lows, highs, strict=False)
    found = {frame: ByAngle(low, angle, high) for (angle, frame), low, high in shapes}
    return {frame: hat for frame, hat in found.items() if frame in keyed}


def by_distance(poses, keyed):
    """The same for any poses."""
    still, kept = _still_and_kept(poses)
    found = {}
    for frame in sorted(keyed & kept.keys()):
        others = still + [one for other, one in kept.items() if other != frame]
        reach = max(_APART, _distances(np.array(others), kept[frame]).min())
        found[frame] = ByDistance(kept[frame], reach)
    return found


def _still_and_kept(poses):
    still = [_REST, *(one for one in poses.values() if not bend(one))]
    lost = {frame for frame, _ in alike(poses)}
    return still, {f: one for f, one in poses.items() if bend(one) and f not in lost}


def alike(poses, differ=lambda one, other: True):
    """Frames that no hat could tell from a later one, as (frame, later), where they differ."""
    kept, rotations, lost = [], np.empty((0, 4)), []
    for frame in reversed(poses):
        if not bend(poses[frame]):
            continue
        near = np.flatnonzero(_distances(rotations, poses[frame]) <= _APART)
        if not len(near):
            kept.append(frame)
            rotations = np.concatenate([rotations, [poses[frame]]])
        elif differ(frame, kept[near[0]]):
            lost.append((frame, kept[near[0]]))
    return lost


def _angle(rotation):
    return 2 * math.atan2(math.hypot(*rotation[1:]), abs(rotation[0]))


def _distances(rotations, other):
    """The angles (n,) of the rotations between (n, 4) rotations and another."""
    rotations, other = np.asarray(rotations, np.float64), np.array(other, np.float64)
    lengths = np.stack([rotations - other, rotations + other])
    lengths = np.sort(np.linalg.norm(lengths, axis=2), axis=0)
    return 4 * np.arctan2(lengths[0], lengths[1])
