# SPDX-License-Identifier: MIT
"""Squares in front of a camera whose picture is one unit high: scenes whose pixels are known by hand."""

import mmdskin
import numpy as np

# Squares of side 1 around (0, 0, z), clockwise as seen from -z, fill this camera's picture at z = 0.
CAMERA = mmdskin.Camera((0, 0, -1), (0, 0, 0), (0, 1, 0), float(np.degrees(2 * np.arctan(0.5))))
CORNERS = np.float32([[-0.5, -0.5, 0], [-0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, -0.5, 0]])
PLAIN = mmdskin.Material(
    *("", "", (1, 1, 1, 1), (0, 0, 0), 0, (1, 1, 1), 0, (0, 0, 0, 1), 1, -1, -1, "none", -1, False),
    *("", 6),
)


def material(color=(1, 1, 1, 1), **members):
    """Material of one square, with the same color in any light."""
    return PLAIN._replace(ambient=tuple(color[:3]), diffuse=(0, 0, 0, color[3]))._replace(**members)


def squares(*places, side=1.0, turned=()):
    """(Mesh, Skinned) of a square around each position; those with indices in `turned` face away."""
    points = np.concatenate([CORNERS * np.float32(side) + np.float32(place) for place in places])
    corners = np.int32([[0, 1, 2], [0, 2, 3]])
    triangles = [(corners[:, ::-1] if i in turned else corners) + 4 * i for i in range(len(places))]
    normals = np.tile(np.float32([0, 0, -1]), (len(points), 1))
    mesh = mmdskin.Mesh(
        points,
        np.zeros((len(points), 1), np.int32),
        np.ones((len(points), 1), np.float32),
        normals=normals,
        triangles=np.concatenate(triangles),
    )
    return mesh, mmdskin.Skinned(points, normals, None)


def mesh_of(positions, normals, triangles):
    """(Mesh, Skinned) of vertices that no bone moves."""
    positions, normals = np.float32(positions), np.float32(normals)
    mesh = mmdskin.Mesh(
        positions,
        np.zeros((len(positions), 1), np.int32),
        np.ones((len(positions), 1), np.float32),
        normals=normals,
        triangles=np.int32(triangles),
    )
    return mesh, mmdskin.Skinned(positions, normals, None)


def ball_arrays(steps):
    """Directions to the vertices of a ball of steps by steps quads, and its triangles."""
    down, around = np.mgrid[0 : steps + 1, 0 : steps + 1] * np.pi / steps
    around = around * 2
    normals = np.stack(
        [np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)], -1
    ).reshape(-1, 3)
    a = (np.arange(steps)[:, None] * (steps + 1) + np.arange(steps)).ravel()
    b, c = a + 1, a + steps + 1
    return normals, np.concatenate([np.stack([a, b, c], 1), np.stack([b, c + 1, c], 1)])


def ball(steps=64, radius=1.0, center=(0, 0, 0)):
    """(Mesh, Skinned) of a ball."""
    normals, triangles = ball_arrays(steps)
    return mesh_of(normals * radius + center, normals, triangles)


BOX_SIDES = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))


def boxes(*places):
    """(Mesh, Skinned) of boxes, each (center, half size), with the normals of their sides."""
    positions, normals, triangles = [], [], []
    for center, half in places:
        for side in np.float64(BOX_SIDES):
            across = np.roll(side, 1)
            up = np.cross(side, across)
            corners = [
                side - across - up,
                side - across + up,
                side + across + up,
                side + across - up,
            ]
            first = len(positions)
            positions += [np.add(center, np.multiply(corner, half)) for corner in corners]
            normals += [side] * 4
            # clockwise seen from outside, in left-handed coordinates
            triangles += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    triangles = np.int32(triangles)
    a, b, c = np.float64(positions)[triangles].transpose(1, 0, 2)
    turned = (np.cross(b - a, c - a) * np.float64(normals)[triangles[:, 0]]).sum(1) < 0
    triangles[turned] = triangles[turned][:, ::-1]
    return mesh_of(positions, normals, triangles)


def shows(image, color):
    """Where a picture has a color, of numbers to 255. OpenGL lets drivers round halves either way."""
    return (np.abs(image - np.float64(color)) <= 0.5).all(-1)


def draw(mesh, skinned, **options):
    options = {"camera": CAMERA, "size": (8, 8)} | options
    return mmdskin.render(mesh, skinned, **options)
