# SPDX-License-Identifier: MIT
"""Rotations as matrices (...,3,3) and as quaternions x y z w (...,4), float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])
_CROSS = np.array([[0, 2, 1], [2, 1, 0], [1, 0, 2]])  # the matrix that multiplies as cross(v, .)
_SIGNS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def unit(v: Array) -> Array:
    """Vectors of length 1; zero stays zero."""
    found: Array = v / np.maximum(length(v)[..., None], 1e-12)
    return found


def length(v: Array) -> Array:
    """Faster than np.linalg.norm for a few vectors, as is cross()."""
    found: Array = np.sqrt(np.einsum("...i,...i->...", v, v))
    return found


def cross(a: Array, b: Array) -> Array:
    found: Array = a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]
    return found


def transpose(m: Array) -> Array:
    return np.swapaxes(m, -1, -2)


def apply(m: Array, v: Array) -> Array:
    """m v, where the leading axes broadcast."""
    return (m @ v[..., None])[..., 0]


def dot(a: Array, b: Array) -> Array:
    """With the last axis kept: (...,1)."""
    found: Array = np.sum(a * b, -1, keepdims=True)
    return found


def across(v: Array, axis: Array) -> Array:
    """The part of v that is perpendicular to a unit axis."""
    found: Array = v - dot(v, axis) * axis
    return found


def from_quaternions(q: Array) -> Array:
    q = unit(np.asarray(q, float))
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    ]
    return np.stack(rows, -1).reshape(*x.shape, 3, 3)


def to_quaternions(m: Array) -> Array:
    """w >= 0. Of the four forms, that with the largest denominator is used."""
    m = np.asarray(m, float)
    xx, yy, zz = (m[..., i, i] for i in range(3))
    x = m[..., 2, 1] - m[..., 1, 2]
    y = m[..., 0, 2] - m[..., 2, 0]
    z = m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    squares = np.stack([xx - yy - zz, yy - xx - zz, zz - xx - yy, xx + yy + zz], -1) + 1
    form = squares.argmax(-1)[..., None, None]
    rows = np.stack([squares[..., 0], xy, xz, x, xy, squares[..., 1], yz, y], -1)
    rows = np.concatenate(
        [rows, np.stack([xz, yz, squares[..., 2], z, x, y, z, squares[..., 3]], -1)], -1
    ).reshape(*squares.shape, 4)
    q = unit(np.take_along_axis(rows, form, -2)[..., 0, :])
    return np.where(q[..., 3:] < 0, -q, q)


def multiply(p: Array, q: Array) -> Array:
    """The quaternions of from_quaternions(p) @ from_quaternions(q)."""
    a, b, c, d = np.moveaxis(np.asarray(p, float), -1, 0)
    x, y, z, w = np.moveaxis(np.asarray(q, float), -1, 0)
    parts = [
        *(d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x),
        *(d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z),
    ]
    return np.stack(parts, -1)


def between(a: Array, b: Array) -> Array:
    """The smallest rotation from direction a to direction b; half a turn about some axis if they
    are opposite; none if one of them is zero."""
    a, b = unit(np.asarray(a, float)), unit(np.asarray(b, float))
    axis, c = cross(a, b), dot(a, b)[..., None]
    K = axis[..., _CROSS] * _SIGNS
    turned = np.eye(3) + K + K @ K / np.maximum(1 + c, 1e-9)
    opposite = c < 1e-12 - 1
    if opposite.any():
        least = np.eye(3)[np.argmin(np.abs(a), -1)]
        axis = unit(across(least, a))
        turned = np.where(opposite, 2 * axis[..., None] * axis[..., None, :] - np.eye(3), turned)
    rotations: Array = turned
    return rotations


def frame_of(x: Array, y: Array) -> Array:
    """Columns: x; y without its part along x; and the cross product of the two."""
    x = unit(x)
    z = unit(cross(x, y))
    return np.stack([x, cross(z, x), z], -1)


def about(axis: int, angle: Array) -> Array:
    """Rotations about the axis 0, 1 or 2 by radians (...)."""
    out = np.zeros((*np.shape(angle), 3, 3))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out[..., axis, axis] = 1
    out[..., j, j] = out[..., k, k] = np.cos(angle)
    out[..., k, j] = np.sin(angle)
    out[..., j, k] = -out[..., k, j]
    return out


def slerp(a: Array, b: Array, t: float | Array) -> Array:
    """Rotations from a (t = 0) to b (t = 1), the shorter arc."""
    p, q = to_quaternions(a), to_quaternions(b)
    q = np.where(dot(p, q) < 0, -q, q)
    angle = 2 * np.arctan2(length(p - q), length(p + q))[..., None]
    sine = np.sin(angle)
    straight = sine < 1e-9
    sine = np.where(straight, 1, sine)
    first = np.where(straight, 1 - t, np.sin((1 - t) * angle) / sine)
    second = np.where(straight, t, np.sin(t * angle) / sine)
    return from_quaternions(first * p + second * q)


def nearest(m: Array) -> Array:
    """The rotations nearest to matrices (...,3,3) that may scale or shear."""
    u, _, v = np.linalg.svd(m)
    u[..., 2] *= np.sign(np.linalg.det(u @ v))[..., None]
    rotations: Array = u @ v
    return rotations


def degrees_between(a: Array, b: Array) -> Array:
    """Of directions."""
    a, b = unit(a), unit(b)
    half = np.arctan2(length(a - b), length(a + b))
    angle: Array = np.degrees(2 * half)
    return angle
