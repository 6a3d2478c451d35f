# SPDX-License-Identifier: GPL-3.0-or-later
"""How a driver tells the poses of one joint apart: expressions that are 1 in a pose and 0 in others.

Where the angles of the poses differ the angle decides, with straight lines from each pose to the
next one and to rest; beyond the greatest angle the value stays 1. Where poses turn a joint by the
same angle about other axes, the distance of whole rotations decides.

A rotation is a quaternion w, x, y, z, as the variables of a driver have it. Only functions that
Blender knows by itself occur: such drivers need no permission for scripts.
"""

import math

import numpy as np

_APART = math.radians(0.5)  # what lies nearer is one pose to a joint
_FLAT = _APART / 2  # about a rotation the value is 1 so far, as acos is noise there
_REST = (1.0, 0.0, 0.0, 0.0)


def bend(rotation):
    """The angle of a rotation, in radians; 0 where it counts as rest."""
    angle = _angle(rotation)
    return angle if angle > _APART else 0.0


def expressions(poses, keyed, differ):
    """({frame: expression} for the keyed frames, frames that had to give way as (frame, winner)).

    `poses`: {frame: rotation} of all poses, the last wins where two are the same; `differ` says of
    two frames whether it matters which of them wins.
    """
    kept, lost = _kept(poses, differ, lambda one, other: abs(_angle(one) - _angle(other)))
    if not lost:
        return _by_angle(poses, kept, keyed), lost
    kept, lost = _kept(poses, differ, _distance)
    return _by_distance(poses, kept, keyed), lost


def _kept(poses, differ, distance):
    kept, lost = [], []
    for frame in reversed(poses):
        if not bend(poses[frame]):
            continue
        near = [one for one in kept if distance(poses[one], poses[frame]) <= _APART]
        if not near:
            kept.append(frame)
        elif differ(frame, near[0]):
            lost.append((frame, near[0]))
    return kept, lost


def _by_angle(poses, kept, keyed):
    rest = max((_angle(one) for one in poses.values() if not bend(one)), default=0.0)
    angles = sorted((_angle(poses[frame]), frame) for frame in kept)
    lows = [rest, *(angle for angle, _ in angles)]
    highs = [*(angle for angle, _ in angles[1:]), None]
    turned = "2*acos(min(1,abs(w)))"
    found = {}
    for (angle, frame), low, high in zip(angles, lows, highs, strict=False):
        rise = f"({turned}-{low:.9g})/{angle - low:.9g}"
        fall = "" if high is None else f",({high:.9g}-{turned})/{high - angle:.9g}"
        if frame in keyed:
            found[frame] = f"max(0,min(1,{rise}{fall}))"
    return found


def _by_distance(poses, kept, keyed):
    still = [_REST, *(one for one in poses.values() if not bend(one))]
    found = {}
    for frame in keyed & set(kept):
        others = still + [poses[one] for one in kept if one != frame]
        reach = max(_APART, min(_distance(poses[frame], other) for other in others))
        dot = "+".join(f"{n}*({c:.9g})" for n, c in zip("wxyz", poses[frame], strict=True))
        away = f"2*acos(min(1,abs({dot})))"
        found[frame] = f"max(0,min(1,({reach:.9g}-{away})/{reach - _FLAT:.9g}))"
    return found


def _angle(rotation):
    return 2 * math.atan2(math.hypot(*rotation[1:]), abs(rotation[0]))


def _distance(one, other):
    """The angle of the rotation between two."""
    one, other = np.array(one), np.array(other)
    lengths = sorted((np.linalg.norm(one - other), np.linalg.norm(one + other)))
    return 4 * math.atan2(*lengths)
