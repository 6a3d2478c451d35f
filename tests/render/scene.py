# SPDX-License-Identifier: MIT
"""Squares before a camera that sees one unit of them per picture: scenes whose pixels are known by hand."""

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
    """Of one square, its colour in any light."""
    return PLAIN._replace(ambient=tuple(color[:3]), diffuse=(0, 0, 0, color[3]))._replace(**members)


def squares(*places, side=1.0, turned=()):
    """(Mesh, Skinned) of a square around each place; those whose numbers are in `turned` face away."""
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


def draw(mesh, skinned, **options):
    options = {"camera": CAMERA, "size": (8, 8)} | options
    return mmdskin.render(mesh, skinned, **options)
