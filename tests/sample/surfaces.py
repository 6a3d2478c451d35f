# SPDX-License-Identifier: MIT
"""Smooth surfaces from grids of points: tubes along curves, sheets and discs.

A grid's outside is where the direction of its rows × the direction of its columns points; triangles
are clockwise seen from there, as PMX has them.
"""

from typing import NamedTuple

import numpy as np


class Surface(NamedTuple):
    positions: np.ndarray
    normals: np.ndarray
    uvs: np.ndarray
    triangles: np.ndarray
    centers: np.ndarray  # for each vertex, the center of its row


def curve(knots, per_span=24):
    """Points (n,k) of a smooth curve through the knots (Catmull-Rom)."""
    knots = np.asarray(knots, float)
    before, after = 2 * knots[0] - knots[1], 2 * knots[-1] - knots[-2]
    p = np.concatenate([[before], knots, [after]])
    t = np.linspace(0, 1, per_span, endpoint=False)[:, None]
    spans = [
        b
        + t * (c - a) / 2
        + t**2 * (2 * a - 5 * b + 4 * c - d) / 2
        + t**3 * (3 * (b - c) + d - a) / 2
        for a, b, c, d in zip(p, p[1:], p[2:], p[3:], strict=False)
    ]
    return np.concatenate([*spans, knots[-1:]])


def grid(points, uvs=None, closed=False):
    """The surface through points (rows, columns, 3); `closed`: the last column equals the first."""
    points = np.asarray(points, float)
    n, m, _ = points.shape
    if uvs is None:
        uvs = np.stack(np.meshgrid(np.linspace(0, 1, m), np.linspace(0, 1, n)), -1)
    i, j = np.meshgrid(np.arange(n - 1), np.arange(m - 1), indexing="ij")
    a, b = (i * m + j).ravel(), ((i + 1) * m + j).ravel()
    triangles = np.concatenate([np.stack([a, b, b + 1], 1), np.stack([a, b + 1, a + 1], 1)])
    positions = points.reshape(-1, 3)
    area = np.linalg.norm(_areas(positions, triangles), axis=1)
    triangles = triangles[area > 1e-9]
    # At a pole one vertex of the row is in no triangle.
    used, corners = np.unique(triangles, return_inverse=True)
    triangles = corners.reshape(triangles.shape)
    centers = np.repeat((points[:, :-1] if closed else points).mean(1), m, axis=0)[used]
    positions, uvs = positions[used], np.reshape(uvs, (-1, 2))[used]
    return Surface(positions, smooth_normals(positions, triangles), uvs, triangles, centers)


def _areas(positions, triangles):
    a, b, c = (positions[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def smooth_normals(positions, triangles):
    """Unit normals weighted by area; vertices at the same position have the same normal."""
    _, place = np.unique(np.round(positions, 5) + 0.0, axis=0, return_inverse=True)
    place = place.ravel()
    sums = np.zeros((place.max() + 1, 3))
    np.add.at(sums, place[triangles].ravel(), np.repeat(_areas(positions, triangles), 3, axis=0))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.maximum(lengths, 1e-12))[place]


def tube(knots, rings, around=20, caps=(0, 0), side=(1, 0, 0), squareness=2, seam=0):
    """A tube along a curve: knots of x, y, z and the radii towards `side` and across it.

    Round ends are `caps` long; 0 leaves an end open. The seam is at `seam`
    degrees from `side`.
    """
    dense = curve(knots)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(dense[:, :3], axis=0), axis=1))])
    places = _ring_places(length[-1], rings, caps)
    rows = np.stack([np.interp(places, length, column) for column in dense.T], 1)
    path, radii = rows[:, :3], rows[:, 3:]
    for cap, from_end in zip(caps, (places, length[-1] - places), strict=True):
        if cap:
            depth = np.clip(1 - from_end / cap, 0, 1)
            radii = radii * np.sqrt(1 - depth**2)[:, None]
    ahead = np.stack([np.gradient(dense[:, i], length) for i in range(3)], 1)
    ahead = np.stack([np.interp(places, length, column) for column in ahead.T], 1)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    u = side - (ahead @ side)[:, None] * ahead
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(u, ahead)
    angle = np.radians(seam) + np.linspace(0, 2 * np.pi, around + 1)
    circle = [np.sign(f) * abs(f) ** (2 / squareness) for f in (np.cos(angle), np.sin(angle))]
    spokes = (
        radii[:, :1, None] * u[:, None] * circle[0][:, None]
        + radii[:, 1:, None] * v[:, None] * circle[1][:, None]
    )
    uvs = np.stack(np.meshgrid(np.linspace(0, 1, around + 1), places / length[-1]), -1)
    return grid(path[:, None] + spokes, uvs, closed=True)


def _ring_places(length, rings, caps):
    """Evenly spaced along the curve, and denser in round ends."""
    spacing = 1 - np.cos(np.linspace(0, np.pi / 2, 5, endpoint=False))
    first, last = (cap * spacing if cap else np.empty(0) for cap in caps)
    middle = np.linspace(caps[0], length - caps[1], rings)
    return np.concatenate([first, middle, (length - last)[::-1]])


def disc(center, size, rings=3, around=20):
    """Points (rows, columns, 2) of an ellipse: the grid runs outwards, clockwise seen from -z."""
    angle = -np.linspace(0, 2 * np.pi, around + 1)
    r = np.linspace(0, 1, rings + 1)[:, None, None]
    return center + r * np.stack([np.cos(angle), np.sin(angle)], -1) * np.divide(size, 2)


def joined(*surfaces):
    """Several surfaces as one."""
    starts = np.cumsum([0, *(len(s.positions) for s in surfaces[:-1])])
    triangles = [s.triangles + start for s, start in zip(surfaces, starts, strict=True)]
    columns = {
        name: np.concatenate([getattr(s, name) for s in surfaces])
        for name in ("positions", "normals", "uvs", "centers")
    }
    return Surface(triangles=np.concatenate(triangles), **columns)


def mirrored(surface):
    """The surface mirrored at x = 0."""
    flip = np.array([-1, 1, 1])
    return surface._replace(
        positions=surface.positions * flip,
        normals=surface.normals * flip,
        triangles=surface.triangles[:, ::-1],
        centers=surface.centers * flip,
    )


def moved(surface, rotation=None, offset=(0, 0, 0)):
    """The surface rotated by a matrix, then translated."""
    rotation = np.eye(3) if rotation is None else rotation
    return surface._replace(
        positions=surface.positions @ rotation.T + offset,
        normals=surface.normals @ rotation.T,
        centers=surface.centers @ rotation.T + offset,
    )
