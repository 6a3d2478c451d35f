# SPDX-License-Identifier: GPL-3.0-or-later
"""The curves between the keys of a VMD as handles of keyframes.

Both are cubics from key to key: a channel of Blender that is one of the file's goes the same way.
"""

import numpy as np

from ..actions import Handles

_END = 127  # of both axes of a curve in the file
_THIRDS = np.array([[1.0, 1.0], [2.0, 2.0]]) / 3  # a straight line at an even pace
_SAMPLES = np.linspace(0, 1, 17)[1:-1]
_STIFFNESS = 1e-3  # of handles against leaving the chord; without it they can pass through zero


def handles(frames: np.ndarray, values: np.ndarray, curves: np.ndarray, holds=None) -> Handles:
    """Of the keys of one channel; (K, 4) `curves` x1 y1 x2 y2 lead to each key, as in the file.

    `holds`: (K,) bool, where nothing lies between a key and the next.
    """
    points = curves[1:].reshape(-1, 2, 2) / _END
    heights = np.diff(values)[:, None] * points[..., 1] + values[:-1, None]
    return _handles(frames, values, points[..., 0], heights, holds)


def steps(frames: np.ndarray, values: np.ndarray) -> Handles:
    """Of a channel that keeps the value of each key until the next."""
    count = len(frames)
    return handles(frames, values, np.zeros((count, 4)), np.ones(count, bool))


def rotation_handles(
    frames: np.ndarray, rotations: np.ndarray, curves: np.ndarray
) -> list[Handles]:
    """Of the four channels of unit quaternions (K, 4) without sudden changes of sign.

    MMD turns at the pace of the curve; Blender goes straight in each channel and normalises, which
    lags by up to 8 degrees in half a turn. Handles that leave the chord a little bring the turn to
    within 0.01 degrees of MMD's for nearly all keys of a dance, and 2.7 at worst.
    """
    rotations = rotations.astype(np.float64)
    points = curves[1:].reshape(-1, 2, 2) / _END
    is_straight = (points[..., 0] == points[..., 1]).all(axis=1)
    points[is_straight] = _THIRDS
    start, end = rotations[:-1], rotations[1:]
    cosine = np.clip((start * end).sum(axis=1), -1, 1)
    # The arc's plane: the start, and the way across it towards the end.
    across = end - start * cosine[:, None]
    sine = np.linalg.norm(across, axis=1)
    across /= np.where(sine > 0, sine, 1)[:, None]
    flat = _arc_points(np.arctan2(sine, cosine), points[..., 1])
    heights = flat[..., :1] * start[:, None] + flat[..., 1:] * across[:, None]
    return [
        _handles(frames, rotations[:, i], points[..., 0], heights[..., i])
        for i in range(rotations.shape[1])
    ]


def _arc_points(angles, paces):
    """(S, 2, 2) inner points, in the plane, of cubics that turn from (1, 0) by each angle.

    Least squares of how far their directions are from those of the pace.
    """
    t = _SAMPLES
    first, second, third, last = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3
    turned = angles[:, None] * (second * paces[:, :1] + third * paces[:, 1:] + last)
    sine, cosine = np.sin(turned), np.cos(turned)
    ends = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    chord = np.array([1.0, 0]) + (ends - (1, 0))[:, None] * paces[..., None]
    # Of a point (x, y) of the cubic x sine - y cosine is zero where its direction is right.
    rows = np.stack([second * sine, -second * cosine, third * sine, -third * cosine], axis=-1)
    known = first * sine + last * (ends[:, :1] * sine - ends[:, 1:] * cosine)
    left = -known - np.einsum("snp,sp->sn", rows, chord.reshape(-1, 4))
    normal = np.einsum("snp,snq->spq", rows, rows) + _STIFFNESS * np.eye(4)
    shift = np.linalg.solve(normal, np.einsum("snp,sn->sp", rows, left)[..., None])
    return chord + shift.reshape(-1, 2, 2)


def _handles(frames, values, shares, heights, holds=None):
    """Of keys whose handles lie at shares (S, 2) of the way to the next key, at heights (S, 2)."""
    keys = np.stack([frames, values], axis=1).astype(np.float64)
    # Outer handles have no curve; a frame long they can be grasped.
    left, right = keys - (1, 0), keys + (1, 0)
    places = keys[:-1, :1] + np.diff(keys[:, :1], axis=0) * shares
    right[:-1] = np.stack([places[:, 0], heights[:, 0]], axis=1)
    left[1:] = np.stack([places[:, 1], heights[:, 1]], axis=1)
    return Handles(left, right, np.zeros(len(keys), bool) if holds is None else holds)
