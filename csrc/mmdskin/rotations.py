# SPDX-License-Identifier: MIT
"""Rotations as matrices (...,3,3) and as quaternions x y z w (...,4), float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])
_CROSS = np.array([[0, 2, 1], [2, 1, 0], [1, 0, 2]])
_SIGNS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def unit(v: Array) -> Array:
    """Vectors of length 1; zero stays zero."""
    return v / np.maximum(length(v)[..., None], 1e-12)


def length(v: Array) -> Array:
    """Faster than np.linalg.norm for a few vectors, as is cross()."""
    return np.sqrt(np.einsum("...i,...i->...", v, v))


def cross(a: Array, b: Array) -> Array:
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def _skew(v: Array) -> Array:
    """The matrix that multiplies as cross(v, .)"""
    return v[..., _CROSS] * _SIGNS


def transpose(m: Array) -> Array:
    return np.swapaxes(m, -1, -2)


def apply(m: Array, v: Array) -> Array:
    """m v, where the leading axes broadcast."""
    return (m @ v[..., None])[..., 0]


def dot(a: Array, b: Array) -> Array:
    """With the last axis kept: (...,1)."""
    return np.sum(a * b, -1, keepdims=True)


def across(v: Array, axis: Array) -> Array:
    """The part of v that is perpendicular to a unit axis."""
    return v - dot(v, axis) * axis


def from_quaternions(q: Array) -> Array:
    q = unit(np.asarray(q, float))
    K = _skew(q[..., :3])
    return np.eye(3) + 2 * (q[..., 3:, None] * K + K @ K)


def to_quaternions(m: Array) -> Array:
    """w >= 0. Each row of 4 q qᵀ is a multiple of q: the longest is used."""
    m = np.asarray(m, float)
    outer = np.empty((*m.shape[:-2], 4, 4))
    outer[..., :3, :3] = m + transpose(m)
    outer[..., 3, :3] = outer[..., :3, 3] = m[..., _LAST, _NEXT] - m[..., _NEXT, _LAST]
    trace, squares = np.einsum("...ii->...", m), np.einsum("...ii->...i", outer)
    squares[..., :3] += (1 - trace)[..., None]
    squares[..., 3] = 1 + trace
    longest = squares.argmax(-1)[..., None, None]
    q = unit(np.take_along_axis(outer, longest, -2)[..., 0, :])
    return np.where(q[..., 3:] < 0, -q, q)


def multiply(p: Array, q: Array) -> Array:
    """The quaternions of from_quaternions(p) @ from_quaternions(q)."""
    a, b, v, w = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    return np.concatenate([w * a + v * b + cross(a, b), v * w - dot(a, b)], -1)


def between(a: Array, b: Array) -> Array:
    """The smallest rotation from direction a to direction b; half a turn about some axis if they
    are opposite; none if one of them is zero."""
    a, b = unit(np.asarray(a, float)), unit(np.asarray(b, float))
    K, cosine = _skew(cross(a, b)), dot(a, b)[..., None]
    turned = np.eye(3) + K + K @ K / np.maximum(1 + cosine, 1e-9)
    opposite = cosine < 1e-12 - 1
    if opposite.any():
        axis = unit(across(np.eye(3)[np.argmin(np.abs(a), -1)], a))
        turned = np.where(opposite, 2 * axis[..., None] * axis[..., None, :] - np.eye(3), turned)
    return turned


def frame_of(x: Array, y: Array) -> Array:
    """Columns: x; y without its part along x; and the cross product of the two."""
    x = unit(x)
    z = unit(cross(x, y))
    return np.stack([x, cross(z, x), z], -1)


def about(axis: int, angle: float | Array) -> Array:
    """Rotations about the axis 0, 1 or 2 by radians (...)."""
    K = _skew(np.eye(3)[axis])
    angle = np.asarray(angle)[..., None, None]
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def slerp(a: Array, b: Array, t: float | Array) -> Array:
    """Rotations from a (t = 0) to b (t = 1), the shorter arc: sin((1-t) x) p + sin(t x) q, where x
    is the angle between the quaternions."""
    p, q = to_quaternions(a), to_quaternions(b)
    q = np.where(dot(p, q) < 0, -q, q)
    turns = 2 / np.pi * np.arctan2(length(p - q), length(p + q))[..., None]
    return from_quaternions((1 - t) * np.sinc((1 - t) * turns) * p + t * np.sinc(t * turns) * q)


def nearest(m: Array) -> Array:
    """The rotations nearest to matrices (...,3,3) that may scale or shear."""
    u, _, v = np.linalg.svd(m)
    u[..., 2] *= np.sign(np.linalg.det(u @ v))[..., None]
    return u @ v


def degrees_between(a: Array, b: Array) -> Array:
    """Of directions."""
    a, b = unit(a), unit(b)
    return np.degrees(2 * np.arctan2(length(a - b), length(a + b)))
