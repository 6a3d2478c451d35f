# SPDX-License-Identifier: MIT
"""What a fit has left out or lost, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable

import mmdskin

_SKIPPED = {  # by mmd_motion_fit_skip
    1: "left out: no vertex and no IK depends on it",
    2: "left out: a rigid body moves it",
    3: "left out: an earlier bone has the same name",
    4: "its rotation is left out: a rigid body turns it",
}
_NOTED_DEGREES = 0.1


def report(
    keys: int,
    max_distance: float,
    bones: Iterable[tuple[str, int, float, float]],
    names: Iterable[tuple[str, str, str]],
) -> mmdskin.FitReport:
    """bones: name, why it is skipped (0: it is not), the angle off its fixed axis in radians, and by how much
    it was scaled, sheared or mirrored. names: tracks, their names that do not fit into a VMD, and why."""
    notes = []
    for name, skipped, off_axis, scale in bones:
        degrees = math.degrees(off_axis)
        if skipped:
            notes.append((name, _SKIPPED[skipped]))
        elif degrees >= _NOTED_DEGREES:
            notes.append((name, f"off its fixed axis by up to {degrees:.1f} degrees"))
        if not skipped and scale:
            notes.append((name, f"scaled, sheared or mirrored by up to {scale:.3f}, which is lost"))
    for _, name, fault in names:
        note = (name, f"its name {fault}: MMD does not find it")
        if note not in notes:
            notes.append(note)
    return mmdskin.FitReport(keys, max_distance, tuple(notes))
