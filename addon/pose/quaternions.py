# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations as quaternions w x y z."""

import numpy as np
from bpy.types import PoseBone
from mathutils import Quaternion


def from_matrices(matrices: np.ndarray) -> np.ndarray:
    """(F, 4) unit quaternions of rotations (F, 3, 3), without sign flips."""
    return from_matrix_rows(np.ascontiguousarray(matrices.transpose(1, 2, 0))).T


def from_matrix_rows(matrices: np.ndarray) -> np.ndarray:
    """(4, ..., F) of (3, 3, ..., F), as `from_matrices`."""
    result = unit_rows(matrices)
    remove_flips(result)
    return result


def remove_flips(rows: np.ndarray) -> None:
    """Let the first of quaternions (4, ..., F) have w >= 0, and each be close to the one before it."""
    turns = np.einsum("i...,i...->...", rows[..., 1:], rows[..., :-1]) < 0
    starts = rows[0, ..., :1] < 0
    if turns.any() or starts.any():
        changes = np.concatenate([starts, turns], axis=-1)
        rows *= np.cumprod(np.where(changes, -1, 1), axis=-1)


def unit_rows(matrices: np.ndarray) -> np.ndarray:
    """(4, ...) unit quaternions, with any sign, of rotations (3, 3, ...) that may be scaled.

    Elements come first, so that each operation works on long rows.
    """
    lengths = np.sqrt(np.einsum("ij...,ij...->j...", matrices, matrices))
    flat = (lengths == 0).any(axis=0) & np.isfinite(lengths).all(axis=0)
    if flat.any():  # scaled to zero, to hide a part
        matrices, lengths = matrices.copy(), np.where(flat, 1, lengths)
        matrices[:, :, flat] = _nearest(matrices[:, :, flat])
    m = matrices / lengths
    # The product of each component with w; if w is small, another component is more accurate.
    result = np.empty((4, *m.shape[2:]))
    result[0] = 1 + m[0, 0] + m[1, 1] + m[2, 2]
    np.subtract(m[2, 1], m[1, 2], out=result[1])
    np.subtract(m[0, 2], m[2, 0], out=result[2])
    np.subtract(m[1, 0], m[0, 1], out=result[3])
    far = result[0] < 1  # rotated by more than 120 degrees
    if far.any():
        result[:, far] = _by_largest(m[:, :, far])
    result /= np.sqrt(np.einsum("i...,i...->...", result, result))
    return result


def _nearest(matrices: np.ndarray) -> np.ndarray:
    """(3, 3, F): the rotations nearest to matrices of any scale."""
    u, _, v = np.linalg.svd(matrices.transpose(2, 0, 1))
    u[..., 2] *= np.sign(np.linalg.det(u @ v))[..., None]
    return (u @ v).transpose(1, 2, 0)


def _by_largest(m: np.ndarray) -> np.ndarray:
    """(4, F): each component times the largest of them."""
    i, j, k = m[0, 0], m[1, 1], m[2, 2]
    w, x, y, z = squares = np.array([1 + i + j + k, 1 + i - j - k, 1 - i + j - k, 1 - i - j + k])
    a, b, c = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    d, e, f = m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2]
    choices = np.array([[w, a, b, c], [a, x, d, e], [b, d, y, f], [c, e, f, z]])
    return np.take_along_axis(choices, squares.argmax(axis=0)[None, None], axis=0)[0]


def in_mode(bone: PoseBone, rotations: np.ndarray) -> tuple[str, np.ndarray]:
    """The channel of a bone's rotation mode, and its values (F, C) for rotations (F, 4) that follow the
    bone's own: with the nearest signs and turns."""
    if bone.rotation_mode == "QUATERNION":
        is_far = rotations[0] @ np.array(bone.rotation_quaternion) < 0
        return "rotation_quaternion", -rotations if is_far else rotations
    found = [Quaternion(rotation) for rotation in rotations.tolist()]
    if bone.rotation_mode == "AXIS_ANGLE":
        pairs = [one.to_axis_angle() for one in found]
        return "rotation_axis_angle", np.array([(angle, *axis) for axis, angle in pairs])
    eulers = [bone.rotation_euler]
    for one in found:
        eulers.append(one.to_euler(bone.rotation_mode, eulers[-1]))
    return "rotation_euler", np.array(eulers[1:])


def turns(maps: np.ndarray) -> np.ndarray:
    """(B, 3, 3) from the axes of rotations to others, for maps of vectors, perhaps scaled or mirrored: a
    mirror image rotates the other way about the axis."""
    left, _, right = np.linalg.svd(maps)
    found = left @ right
    return np.linalg.det(found)[:, None, None] * found


def about_axes(vectors: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(K, 3) x y z of quaternions as MMD registers keys of bones with these fixed axes (K, 3).

    See docs/mmd-behavior.md#fixed-axis.
    """
    axes = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-30)
    signs = np.where((vectors * axes).sum(axis=1, keepdims=True) < 0, -1, 1)
    return axes * np.linalg.norm(vectors, axis=1, keepdims=True) * signs


def matrix_rows(quaternions: np.ndarray) -> np.ndarray:
    """(3, 3, ...): the rotations of quaternions (4, ...) of any length."""
    w, x, y, z = quaternions
    scale = 2 / np.einsum("i...,i...->...", quaternions, quaternions)
    sx, sy, sz = scale * x, scale * y, scale * z
    xx, yy, zz, xy, xz, yz = sx * x, sy * y, sz * z, sx * y, sx * z, sy * z
    wx, wy, wz = sx * w, sy * w, sz * w
    rows = [
        [1 - yy - zz, xy - wz, xz + wy],
        [xy + wz, 1 - xx - zz, yz - wx],
        [xz - wy, yz + wx, 1 - xx - yy],
    ]
    return np.array(rows)
