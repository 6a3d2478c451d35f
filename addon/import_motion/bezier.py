# SPDX-License-Identifier: GPL-3.0-or-later
"""The interpolation curves of a VMD as Bezier handles of keyframes.

Both are cubics from key to key, so a channel that equals one of the file's is exact.
"""

import numpy as np

from ..blender.fcurves import Handles

STRAIGHT = (20, 20, 107, 107)  # the file's curve of a constant speed
_END = 127  # end of both axes of a curve in the file
_THIRDS = np.array([[1.0, 1.0], [2.0, 2.0]]) / 3  # a straight line at constant speed
_SAMPLES = np.linspace(0, 1, 17)[1:-1]
# Basis of a cubic from 0 to 1 at the samples: its inner points and its end.
_FIRST, _SECOND = 3 * (1 - _SAMPLES) ** 2 * _SAMPLES, 3 * (1 - _SAMPLES) * _SAMPLES**2
_LAST = _SAMPLES**3
# Least squares fit of the inner points to samples.
_FIT = np.linalg.pinv(np.stack([_FIRST, _SECOND], axis=1))
_BISECTIONS = 24
_LEAST_PART = 1e-4  # smallest relevant change of a channel
_STIFFNESS = 1e-3  # regularization that keeps handles near the chord; without it curves can pass through zero


def handles(
    frames: np.ndarray, values: np.ndarray, curves: np.ndarray, holds: np.ndarray | None = None
) -> Handles:
    """Handles of one channel; (K, 4) `curves` x1 y1 x2 y2 lead to each key, as in the file.

    `holds`: (K,) bool, where the value stays constant until the next key.
    """
    points = curves[1:].reshape(-1, 2, 2) / _END
    heights = np.diff(values)[:, None] * points[..., 1] + values[:-1, None]
    (found,) = _handles(frames, values[:, None], points[:, None, :, 0], heights[:, None])
    return found._replace(holds=holds)


def cuts(frames: np.ndarray) -> np.ndarray:
    """(K,) bool, for `holds`: keys on adjacent frames of the file are a cut, however many scene frames
    are between them."""
    return np.append(np.diff(frames.astype(np.int64)) <= 1, True)


def location_handles(
    frames: np.ndarray, locations: np.ndarray, curves: np.ndarray, axes: np.ndarray
) -> list[Handles]:
    """Handles of three location channels (K, 3) whose axes differ from the file's.

    (K, 3, 4) `curves` lead to each key, as in the file; `axes` (3, 3) turn its translations into
    locations. A channel that mixes axes gets the times of the axis that moves it most, and the values of
    its handles by least squares.
    """
    moved = np.diff(locations, axis=0)
    parts = (moved @ np.linalg.inv(axes).T)[:, None] * axes
    points = curves[1:].reshape(-1, 3, 2, 2) / _END
    most = np.abs(parts).argmax(axis=2)
    lead = np.take_along_axis(points, most[:, :, None, None], axis=1)
    heights = moved[..., None] * lead[..., 1] + locations[:-1, :, None]
    bends = (points[..., 0] != points[..., 1]).any(axis=-1)
    for axis in range(3):
        part, other = parts[..., axis], np.broadcast_to(points[:, None, axis], lead.shape)
        lead_bends = np.take_along_axis(bends, most, axis=1)
        differs = (other != lead).any(axis=(2, 3)) & (bends[:, None, axis] | lead_bends)
        mixed = differs & (np.abs(part) > _LEAST_PART * np.abs(parts).max(axis=2))
        if mixed.any():
            way = _along(other[mixed], lead[mixed]) - _cubic(lead[mixed][..., 1], _SAMPLES)
            heights[mixed] += part[mixed][:, None] * (way @ _FIT.T)
    return _handles(frames, locations, lead[..., 0], heights)


def _along(points: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """(N, T) values of curves at the times at which `lead` is sampled; (N, 2, 2) each."""
    wanted = _cubic(lead[..., 0], _SAMPLES)
    low, high = np.zeros_like(wanted), np.ones_like(wanted)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_before = _cubic(points[..., 0], middle) < wanted
        low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
    return _cubic(points[..., 1], low)


def _cubic(points: np.ndarray, t: np.ndarray) -> np.ndarray:
    left = 1 - t
    return 3 * left * t * (left * points[:, :1] + t * points[:, 1:]) + t * t * t  # t**3 is slow


def steps(frames: np.ndarray, values: np.ndarray) -> Handles:
    """Handles of a channel that is constant until the next key."""
    count = len(frames)
    return handles(frames, values, np.zeros((count, 4)), np.ones(count, bool))


def rotation_handles(
    frames: np.ndarray, rotations: np.ndarray, curves: np.ndarray
) -> list[Handles]:
    """Handles of the four channels of unit quaternions (K, 4) without sign flips, with (K, 4) `curves`.

    MMD interpolates by slerp along the curve; Blender interpolates each channel and normalizes, which
    lags by up to 8 degrees in half a turn. Handles slightly off the chord bring the rotation within
    0.01 degrees of MMD's for nearly all keys of a dance, and 2.7 at worst.
    """
    points = curves[1:].reshape(-1, 2, 2) / _END
    is_straight = (points[..., 0] == points[..., 1]).all(axis=1)
    points[is_straight] = _THIRDS
    start, end = rotations[:-1], rotations[1:]
    cosine = np.clip((start * end).sum(axis=1), -1, 1)
    # The plane of the rotation: the start, and the orthogonal direction towards the end.
    across = end - start * cosine[:, None]
    sine = np.linalg.norm(across, axis=1)
    across /= np.where(sine > 0, sine, 1)[:, None]
    flat = _arc_points(np.arctan2(sine, cosine), points[..., 1])
    heights = flat[..., :1] * start[:, None] + flat[..., 1:] * across[:, None]
    return _handles(frames, rotations, points[:, None, :, 0], heights.transpose(0, 2, 1))


def _arc_points(angles: np.ndarray, paces: np.ndarray) -> np.ndarray:
    """(S, 2, 2) inner points, in the plane, of cubics that rotate (1, 0) by each angle.

    Least squares of the deviation of their directions from the target directions.
    """
    start = (1 - _SAMPLES) ** 3
    turned = angles[:, None] * _cubic(paces, _SAMPLES)
    sine, cosine = np.sin(turned), np.cos(turned)
    ends = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    chord = np.array([1.0, 0]) + (ends - (1, 0))[:, None] * paces[..., None]
    # For a point (x, y) of the cubic, x sine - y cosine is zero if its direction is right.
    rows = np.stack([_FIRST * sine, -_FIRST * cosine, _SECOND * sine, -_SECOND * cosine], axis=1)
    known = start * sine + _LAST * (ends[:, :1] * sine - ends[:, 1:] * cosine)
    left = -known[..., None] - rows.transpose(0, 2, 1) @ chord.reshape(-1, 4, 1)
    normal = rows @ rows.transpose(0, 2, 1) + _STIFFNESS * np.eye(4)
    shift = np.linalg.solve(normal, rows @ left)
    return chord + shift.reshape(-1, 2, 2)


def outer_handles(frames: np.ndarray, values: np.ndarray) -> list[Handles]:
    """Handles of channels (K, C) whose keys have no curves: one frame long, so that users can grab them."""
    return list(map(Handles, *_outer(frames, values)))


def _outer(frames: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(C, K, 2) left and right handles."""
    keys = np.empty((*values.T.shape, 2))
    keys[..., 0], keys[..., 1] = frames, values.T
    return keys - (1, 0), keys + (1, 0)


def _handles(
    frames: np.ndarray, values: np.ndarray, fractions: np.ndarray, heights: np.ndarray
) -> list[Handles]:
    """Handles of channels (K, C) at fractions (K - 1, C, 2) of the time to the next key, with values
    (K - 1, C, 2)."""
    left, right = _outer(frames, values)
    times = frames[:-1, None, None] + np.diff(frames)[:, None, None] * fractions
    inner = np.stack(np.broadcast_arrays(times, heights), axis=-1)
    right[:, :-1], left[:, 1:] = inner.transpose(2, 1, 0, 3)
    return list(map(Handles, left, right))
