# SPDX-License-Identifier: GPL-3.0-or-later
"""What edges and ground shadows show, which are geometry nodes of objects of their own."""

import bpy
import imported
import numpy as np

# Without a camera, an edge of size 1 is as wide as 45 units away from MMD's: in a picture 512
# pixels high with a field of view of 30 degrees, one pixel.
WIDTH = 45 * 0.08 * 2 * np.tan(np.radians(15)) / 512


def hull_of(mesh):
    """All points of a mesh object's edges, also of faces that cannot be seen."""
    bpy.context.view_layer.update()
    hull = f"{mesh.name}_edges"
    instances = bpy.context.evaluated_depsgraph_get().object_instances
    return next(
        imported.read(one.object.data.vertices, "co", 3)
        for one in instances
        if one.is_instance and one.parent.name == hull
    )


def shown(mesh):
    """(V, 3) of a mesh object, and by kind the points and the number of faces of its followers."""
    bpy.context.view_layer.update()
    graph = bpy.context.evaluated_depsgraph_get()
    found = {}
    for one in graph.object_instances:
        if one.is_instance and one.parent.type == "VOLUME":
            kind = "ground" if "ground" in one.parent.name else "edges"
            found[kind] = _visible(one.object.data)
    points = imported.read(mesh.evaluated_get(graph).data.vertices, "co", 3)
    world = np.array(mesh.matrix_world, np.float32)
    return points @ world[:3, :3].T + world[:3, 3], found


def _visible(mesh):
    """The positions of points in faces that can be seen, and the number of these faces."""
    mesh.calc_loop_triangles()
    points = imported.read(mesh.vertices, "co", 3)
    corners = imported.read(mesh.loop_triangles, "vertices", 3, np.int32)
    faces = imported.read(mesh.loop_triangles, "polygon_index", 1, np.int32)
    a, b, c = (points[corners[:, i]] for i in range(3))
    seen = np.abs(np.cross(b - a, c - a)).max(1) > 1e-12
    hidden = [one and one.name.startswith("MMD No Edge") for one in mesh.materials]
    if any(hidden):
        slots = imported.read(mesh.polygons, "material_index", 1, np.int32)
        seen &= ~np.array(hidden)[slots[faces]]
    return points[np.unique(corners[seen])], len(np.unique(faces[seen]))


def distances(points, others):
    """From each of the points to the closest of the others."""
    return np.array([np.linalg.norm(others - point, axis=1).min() for point in points])
