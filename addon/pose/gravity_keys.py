# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframes on the gravity of a model: its value at each frame of a simulation."""

import hashlib
import math
from typing import NamedTuple

import bpy
import numpy as np

from ..blender import actions, blender_versions, fcurves

PATH = "mmdskin.physics_gravity"
_MOST = 100_000  # rows


class Timing(NamedTuple):
    """The animation times of the frames of a simulation, of which a second has 30."""

    first: float  # of frame 0
    rate: float  # from each frame to the next
    last: float  # after which the value stays


class Rows(NamedTuple):
    """Gravity along Blender's axes at frames 0, 1, …; the last one applies afterwards."""

    numbers: bytes  # float64

    def __str__(self) -> str:
        return hashlib.sha256(self.numbers).hexdigest()

    def array(self) -> np.ndarray:
        """(F, 3)."""
        return np.frombuffer(self.numbers).reshape(-1, 3)


_known: dict[int, tuple[tuple, Rows]] = {}  # by armature object: what Rows were made of, and they


def rows_of(armature: bpy.types.Object, now: tuple[float, ...], timing: Timing) -> Rows | None:
    """The Rows of keyframes; `now` is the value of axes without any. None without keyframes."""
    found = _curves(armature.original)
    if not found:
        return None
    still = [0.0 if axis in found else value for axis, value in enumerate(now)]
    shapes = b"".join(fcurves.shape(curve) for curve in found.values())
    key = (tuple(still), timing, hashlib.sha256(shapes).digest())
    identity = blender_versions.identity(armature)
    known = _known.get(identity)
    if known is None or known[0] != key:
        known = _known[identity] = key, _sampled(found, still, timing)
    return known[1]


def _curves(armature: bpy.types.Object) -> dict[int, bpy.types.FCurve]:
    """By axis."""
    found: dict[int, bpy.types.FCurve] = {}
    if armature.animation_data is not None:
        for curves in actions.played(armature.animation_data):
            for axis in range(3):
                curve = curves.find(PATH, index=axis)
                if curve is not None and len(curve.keyframe_points) and not curve.mute:
                    found[axis] = curve
    return found


def _sampled(found: dict[int, bpy.types.FCurve], still: list[float], timing: Timing) -> Rows:
    ends = [curve.range()[1] for curve in found.values()]
    count = math.ceil((max(timing.last, *ends) - timing.first) / timing.rate) + 1
    rows = np.tile(np.array(still, np.float64), (min(max(count, 1), _MOST), 1))
    for axis, curve in found.items():
        for number in range(len(rows)):
            rows[number, axis] = curve.evaluate(timing.first + number * timing.rate)
    same = np.flatnonzero((rows != rows[-1]).any(axis=1))
    return Rows(rows[: same[-1] + 2 if len(same) else 1].tobytes())
