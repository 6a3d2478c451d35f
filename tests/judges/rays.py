# SPDX-License-Identifier: MIT
"""Ray casting of triangles, one ray per pixel in float64, to judge pictures. Written from the
documentation of `mmdskin.Camera`, not from the C."""

import numpy as np

BOTH_SIDES = 0x01


def axes(camera):
    """Rows right, up, ahead of a camera (position, target, up, fov)."""
    position, target, up = (np.asarray(part, np.float64) for part in camera[:3])
    ahead = (target - position) / np.linalg.norm(target - position)
    right = np.cross(up, ahead)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(ahead, right), ahead])


def project(points, camera, size):
    """Columns, rows and depths of points (n,3) in a picture of size (width, height)."""
    width, height = size
    seen = (np.asarray(points, np.float64) - camera[0]) @ axes(camera).T
    unit = height / 2 / np.tan(np.radians(camera[3]) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = seen[:, :2] / seen[:, 2:] * unit * [1, -1] + [width / 2, height / 2]
    return np.column_stack([place, seen[:, 2]])


def rays(places, camera, size):
    """Directions (n,3), one unit ahead, through pixel positions (n,2) of column and row."""
    width, height = size
    unit = height / 2 / np.tan(np.radians(camera[3]) / 2)
    flat = (np.asarray(places, np.float64) - [width / 2, height / 2]) / unit * [1, -1]
    return np.column_stack([flat, np.ones(len(flat))]) @ axes(camera)


def drawn_sides(materials, count):
    """Per triangle (T,): 1 if one side is drawn, 2 if both, 0 if none."""
    sides = np.zeros(count, int)
    first = 0
    for material in materials:
        end = first + material.index_count // 3
        sides[first:end] = 0 if material.diffuse[3] <= 0 else 1 + (material.flags & BOTH_SIDES)
        first = end
    return sides


def cast(places, positions, triangles, sides, camera, size):
    """(depths, triangles, depths of the second hit) of the rays through positions; inf and -1 if none."""
    corners = project(positions, camera, size)[triangles]
    assert (corners[..., 2] > 0).all(), "a triangle reaches behind the camera"
    left, top = corners[..., :2].min(1).T.copy()
    right, bottom = corners[..., :2].max(1).T.copy()
    directions = rays(places, camera, size)
    points = np.asarray(positions, np.float64)[triangles] - np.asarray(camera[0], np.float64)
    depths, owners = np.full((2, len(places)), np.inf), np.full(len(places), -1)
    for i, (place, ray) in enumerate(zip(places, directions, strict=True)):
        x, y = place
        around = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
        near = np.flatnonzero(around & (sides > 0))
        a, b, c = points[near].transpose(1, 0, 2)
        # Moeller and Trumbore: t ray = a + u (b - a) + v (c - a)
        ab, ac = b - a, c - a
        across = np.cross(ray, ac)
        det = (ab * across).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = -(a * across).sum(1) / det
            turned = np.cross(-a, ab)
            v = (turned @ ray) / det
            t = (ac * turned).sum(1) / det
        # the front is where corners are clockwise: det > 0 in left-handed space
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & ((det > 0) | (sides[near] == 2)) & (det != 0)
        t, near = t[hit], near[hit]
        order = np.argsort(t, kind="stable")[:2]
        depths[: len(order), i] = t[order]
        if len(order):
            owners[i] = near[order[0]]
    return depths[0], owners, depths[1]
