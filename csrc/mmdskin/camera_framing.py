# SPDX-License-Identifier: MIT
"""framing(): one camera that sees all frames of a dance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin.argument import camera_rows, check_mesh, frame_numbers, parse_size, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

FOV, MARGIN = 30, 1.05  # as where render() frames a single picture
MOST_FRAMES = 1000  # of a motion that are looked at
POSES_AT_ONCE = 64
_FARTHEST = 1e9  # of a camera


def framing(
    mesh: mmdskin.Model | mmdskin.Mesh,
    shown: mmdskin.Motion | mmdskin.Pose | mmdskin.Skinned | None = None,
    frames: ArrayLike | None = None,
    *,
    size: tuple[int, int] = (512, 512),
) -> mmdskin.Camera:
    """One camera in front of a mesh that sees it in all frames, for render().

        camera = mmdskin.framing(model, motion)

    shown: a Pose or the result of skin(), of one frame or many; of a Model also a Motion, or None: the
        rest pose.
    frames: of a Motion; None: all of its frame_range. Of more than 1,000 it takes as many.
    size: as in render().

    Raises TypeError and ValueError.
    """
    check_mesh(mesh)
    parse_size(size)
    found: Iterable[mmdskin.Skinned[Any, Any]]
    model = mesh if isinstance(mesh, mmdskin.Model) else None
    if model is not None and (shown is None or isinstance(shown, mmdskin.Motion)):
        if frames is None:
            first, last = shown.frame_range if shown else (0, 0)
            frames = np.linspace(first, last, min(last - first + 1, MOST_FRAMES))
        else:
            numbers = frame_numbers(frames)
            frames = numbers[:: max(1, -(-len(numbers) // MOST_FRAMES))]
        found = (out for _, out in mmdskin.frames(model, shown, frames, normals=False))
    elif frames is not None:
        raise ValueError("frames: expected None unless a Motion is shown")
    elif isinstance(shown, mmdskin.Pose):
        found = _skinned(mesh, shown)
    elif isinstance(shown, mmdskin.Skinned):
        found = iter([shown])
    else:
        expected = "a Motion, a Pose or a Skinned" if model else "a Pose or a Skinned of the Mesh"
        raise wrong_type(shown, f"shown: expected {expected}", "load_motion")
    camera = camera_of(*_box(model, found), size)
    if camera is None:
        raise ValueError(f"shown: a vertex is not finite or farther than {_FARTHEST:g}")
    return camera


def batch_camera(
    mesh: mmdskin.Model | mmdskin.Mesh, shown: mmdskin.Pose | mmdskin.Skinned, size: tuple[int, int]
) -> NDArray[np.float64] | None:
    """The camera of render() for a batch without one, as a row. None: render() finds out what is wrong."""
    found = _skinned(mesh, shown) if isinstance(shown, mmdskin.Pose) else iter([shown])
    camera = camera_of(*_box(mesh if isinstance(mesh, mmdskin.Model) else None, found), size)
    return None if camera is None else camera_rows(camera)


def _skinned(mesh: mmdskin.Model | mmdskin.Mesh, pose: mmdskin.Pose) -> Iterable[mmdskin.Skinned]:
    matrices = np.asarray(pose.bone_matrices)
    members = [(matrices, 2 if matrices.shape[-1:] == (7,) else 3)]  # and axes of one frame
    if pose.morph_weights is not None:
        members.append((np.asarray(pose.morph_weights), 1))
    counts = [len(member) if member.ndim > axes else 1 for member, axes in members]
    for first in range(0, max(counts), POSES_AT_ONCE):
        part = slice(first, first + POSES_AT_ONCE)
        of_part = [
            member[part] if count > 1 else member
            for (member, _), count in zip(members, counts, strict=True)
        ]
        yield mmdskin.skin(mesh, *of_part, normals=False)


def _box(
    model: mmdskin.Model | None, found: Iterable[mmdskin.Skinned]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corners of the box around all vertices that are drawn."""
    drawn: Any = slice(None)
    if model is not None:
        count = sum(material.index_count for material in model.materials)
        drawn = np.unique(model.triangles[: count // 3])
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for out in found:
        points = np.asarray(out.positions)[..., drawn, :].reshape(-1, 3)
        if points.size:
            low, high = np.minimum(low, points.min(0)), np.maximum(high, points.max(0))
    empty = not (low <= high).all() and not np.isnan(low).any()
    return (np.zeros(3), np.zeros(3)) if empty else (low, high)


def camera_of(
    low: NDArray[np.float64], high: NDArray[np.float64], size: tuple[int, int]
) -> mmdskin.Camera | None:
    if not np.abs([low, high]).max() <= _FARTHEST:
        return None
    center, half = (low + high) / 2, (high - low) / 2
    extent = MARGIN * max(half[0] * size[1] / size[0], half[1]) or 1
    distance = half[2] + extent / math.tan(math.radians(FOV / 2))
    position = center - (0, 0, distance)
    if not np.abs(position).max() <= _FARTHEST:
        return None
    return mmdskin.Camera(position, center, np.array((0.0, 1, 0)), FOV)
