# SPDX-License-Identifier: MIT
"""Motion.from_poses(), from_locals() and from_camera(): what is fitted, in steps, and what is left out or lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin import _mmdskin  # type: ignore[attr-defined]
from mmdskin.argument import (
    camera_rows,
    check_model,
    check_motion,
    check_word,
    first_frame,
    frame_flags,
    number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

_IK = ("as_keyed", "off", "both")
_SKIPPED = {  # by mmd_motion_fit_skip
    1: "left out: no vertex and no IK depends on it",
    2: "left out: a rigid body moves it",
    3: "left out: an earlier bone has the same name",
    4: "its rotation is left out: a rigid body turns it",
}
_NOTED_DEGREES = 0.1


def from_poses(
    model: mmdskin.Model,
    pose: mmdskin.Pose | ArrayLike,
    *,
    frames: ArrayLike | None = None,
    tolerance: float = 0.02,
    physics_tolerance: float = 0.1,
    ik: str = "off",
    physics: str = "leave",
    like: mmdskin.Motion | None = None,
    threads: int | None = None,
) -> Iterator[float]:
    options = _options(model, tolerance, physics_tolerance, ik, physics, like)
    if ik == "as_keyed":
        raise ValueError(
            'ik: "as_keyed" needs the values of IK bones, which matrices do not hold; use from_locals'
        )
    matrices, weights, moves, turns, losses = _mmdskin._locals_of(
        model, pose, ik == "both", threads
    )
    count = len(matrices) if matrices.ndim == 4 else 1
    first = _first(frames, count)
    return _fit(model, count, first, moves, turns, weights, matrices, losses, options, threads)


def from_locals(
    model: mmdskin.Model,
    translations: Any,
    rotations: ArrayLike | None = None,
    morph_weights: ArrayLike | None = None,
    *,
    frames: ArrayLike | None = None,
    tolerance: float = 0.02,
    physics_tolerance: float = 0.1,
    ik: str = "as_keyed",
    physics: str = "leave",
    like: mmdskin.Motion | None = None,
    threads: int | None = None,
) -> Iterator[float]:
    options = _options(model, tolerance, physics_tolerance, ik, physics, like)
    bones, morphs = len(model.bones), len(model.morphs)
    rest = (
        np.zeros((bones, 3), np.float32),
        np.tile(np.array([0, 0, 0, 1], np.float32), (bones, 1)),
        np.zeros(morphs, np.float32),
    )
    given = _mmdskin._local_values(model, translations, rotations, morph_weights)
    values = [r if one is None else one for one, r in zip(given, rest, strict=True)]
    counts = [len(one) for one, axes in zip(values, (3, 3, 2), strict=True) if one.ndim == axes]
    count = next((some for some in counts if some != 1), 1)
    first = _first(frames, count)
    on: Any = ik == "as_keyed"
    if on and like is not None:
        on = _switches(model, like, first, count)
    pose = model.pose_from(*values, ik=on, threads=threads)
    moves, turns, _ = values
    losses = np.zeros((bones, 2), np.float32)
    if ik == "both":
        _, _, moves, turns, losses = _mmdskin._locals_of(model, pose, True, threads)
    return _fit(model, count, first, moves, turns, pose[1], pose[0], losses, options, threads)


def from_camera(
    camera: mmdskin.Camera,
    frames: ArrayLike | None = None,
    *,
    tolerance: float = 0.02,
    degrees: float = 0.05,
    cuts: ArrayLike = (),
) -> Iterator[float]:
    tolerance, degrees = _positive(tolerance, "tolerance"), _positive(degrees, "degrees")
    rows = camera_rows(camera).reshape(-1, 10)
    if not len(rows):
        raise ValueError("camera: no frames")
    first = first_frame(frames, len(rows))
    flags = frame_flags(cuts, "cuts", first, len(rows))
    fit: Iterator[float] = _mmdskin._fit_camera(
        rows, flags, first, tolerance, math.radians(degrees)
    )
    return fit


def _options(
    model: mmdskin.Model,
    tolerance: float,
    physics_tolerance: float,
    ik: str,
    physics: str,
    like: mmdskin.Motion | None,
) -> tuple[Any, ...]:
    """As `_fit_motion` takes them, once they are checked."""
    check_model(model)
    check_word(ik, "ik", _IK)
    check_word(physics, "physics", ("leave", "keys"))
    distance = _positive(tolerance, "tolerance")
    physics_distance = _positive(physics_tolerance, "physics_tolerance")
    check_motion(like, "like")
    return distance, physics_distance, ik == "off", ik == "as_keyed", physics == "keys", like


def _positive(value: float, name: str) -> float:
    found = number(value, name)
    if not 0 < found < math.inf:
        raise ValueError(f"{name}: expected a positive number")
    return found


def _first(frames: ArrayLike | None, count: int) -> int:
    if not count:
        raise ValueError("pose: no frames")
    return first_frame(frames, count)


def _switches(
    model: mmdskin.Model, like: mmdskin.Motion, first: int, count: int
) -> NDArray[np.bool_]:
    """The IK switches (F,B) of `like`, which the motion keeps: they act on the pose that it is compared with."""
    on = np.ones((count, len(model.bones)), np.bool_)
    keys = like.properties
    if len(keys.frames):
        rows = np.searchsorted(keys.frames, first + np.arange(count), "right") - 1
        enabled = keys.ik_enabled[np.maximum(rows, 0)]
        column = dict(zip(keys.ik_names, range(len(keys.ik_names)), strict=True))
        for i, bone in enumerate(model.bones):
            if bone.ik and bone.name in column:
                on[:, i] = enabled[:, column[bone.name]]
    return on


def _fit(
    model: mmdskin.Model,
    count: int,
    first: int,
    moves: NDArray[Any],
    turns: NDArray[Any],
    weights: NDArray[Any] | None,
    matrices: NDArray[Any],
    losses: NDArray[Any],
    options: tuple[Any, ...],
    threads: int | None,
) -> Iterator[float]:
    """The values of all frames, or of one for all."""
    bones, morphs = len(model.bones), len(model.morphs)
    fit: Iterator[float] = _mmdskin._fit_motion(
        model,
        _each(moves, count, bones, 3),
        _each(turns, count, bones, 4),
        _each(0 if weights is None else weights, count, morphs),
        matrices.reshape(count, bones, 4, 4),
        losses,
        first,
        *options,
        threads,
    )
    return fit


def _each(values: Any, *shape: int) -> NDArray[np.float32]:
    """A copy: the caller's array may change between steps."""
    copy = np.empty(shape, np.float32)
    copy[:] = values
    return copy


def result(
    motion: mmdskin.Motion,
    keys: int,
    worst: float,
    skipped: bytes,
    names: Iterable[tuple[str, str, str]],
    model: mmdskin.Model,
    losses: NDArray[np.float32],
) -> tuple[mmdskin.Motion, mmdskin.FitReport]:
    """What a fit returns. skipped, losses: why each bone is left out (0: it is not), and its angle off its
    fixed axis in radians and by how much it was scaled, sheared or mirrored. names: tracks, their names
    that do not fit into a VMD, and why."""
    notes = []
    for bone, skip, (off_axis, scale) in zip(model.bones, skipped, losses.tolist(), strict=True):
        degrees = math.degrees(off_axis)
        if skip:
            notes.append((bone.name, _SKIPPED[skip]))
        elif degrees >= _NOTED_DEGREES:
            notes.append((bone.name, f"off its fixed axis by up to {degrees:.1f} degrees"))
        if not skip and scale:
            notes.append(
                (bone.name, f"scaled, sheared or mirrored by up to {scale:.3f}, which is lost")
            )
    for _, name, fault in names:
        note = (name, f"its name {fault}: MMD does not find it")
        if note not in notes:
            notes.append(note)
    return motion, mmdskin.FitReport(keys, worst, tuple(notes))
