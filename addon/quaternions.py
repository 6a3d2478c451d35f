# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations as quaternions w x y z."""

import numpy as np


def of(matrices: np.ndarray) -> np.ndarray:
    """(F, 4) unit quaternions of rotations (F, 3, 3), without sudden changes of sign."""
    m = matrices / np.linalg.norm(matrices, axis=1, keepdims=True)
    diagonal = m[:, [0, 1, 2], [0, 1, 2]]
    # Four times the square of each component; the largest gives the others best.
    squares = 1 + np.stack(
        [diagonal.sum(1), *(2 * diagonal[:, i] - diagonal.sum(1) for i in range(3))], 1
    )
    a, b, c = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    d, e, f = m[:, 1, 0] + m[:, 0, 1], m[:, 0, 2] + m[:, 2, 0], m[:, 2, 1] + m[:, 1, 2]
    w, x, y, z = squares.T
    choices = np.array([[w, a, b, c], [a, x, d, e], [b, d, y, f], [c, e, f, z]])
    result = choices[squares.argmax(axis=1), :, np.arange(len(m))]
    result /= np.linalg.norm(result, axis=1, keepdims=True)
    turns = (result[1:] * result[:-1]).sum(axis=1) < 0
    signs = np.cumprod(np.concatenate([[1 if result[0, 0] >= 0 else -1], np.where(turns, -1, 1)]))
    return result * signs[:, None]


def matrices(quaternions: np.ndarray) -> np.ndarray:
    """(F, 3, 3) rotations of quaternions, whatever their length."""
    w, x, y, z = quaternions.T
    scale = 2 / (quaternions * quaternions).sum(axis=1)
    rows = [
        [1 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w)],
        [scale * (x * y + z * w), 1 - scale * (x * x + z * z), scale * (y * z - x * w)],
        [scale * (x * z - y * w), scale * (y * z + x * w), 1 - scale * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)
