# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations as quaternions w x y z."""

import numpy as np


def of(matrices: np.ndarray) -> np.ndarray:
    """(F, 4) unit quaternions of rotations (F, 3, 3), without sudden changes of sign."""
    # Members before matrices, so that each operation is on long rows.
    m = np.ascontiguousarray(matrices.transpose(1, 2, 0))
    m = m / np.sqrt((m * m).sum(axis=0))
    i, j, k = m[0, 0], m[1, 1], m[2, 2]
    # Four times the square of each component; the largest gives the others best.
    w, x, y, z = squares = np.array([1 + i + j + k, 1 + i - j - k, 1 - i + j - k, 1 - i - j + k])
    a, b, c = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    d, e, f = m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2]
    choices = np.array([[w, a, b, c], [a, x, d, e], [b, d, y, f], [c, e, f, z]])
    result = np.take_along_axis(choices, squares.argmax(axis=0)[None, None], axis=0)[0]
    result /= np.sqrt((result * result).sum(axis=0))
    turns = (result[:, 1:] * result[:, :-1]).sum(axis=0) < 0
    signs = np.cumprod(np.concatenate([[1 if result[0, 0] >= 0 else -1], np.where(turns, -1, 1)]))
    return (result * signs).T


def matrices(quaternions: np.ndarray) -> np.ndarray:
    """(F, 3, 3) rotations of quaternions, whatever their length."""
    w, x, y, z = quaternions.T
    scale = 2 / (w * w + x * x + y * y + z * z)
    rows = [
        [1 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w)],
        [scale * (x * y + z * w), 1 - scale * (x * x + z * z), scale * (y * z - x * w)],
        [scale * (x * z - y * w), scale * (y * z + x * w), 1 - scale * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)
