# SPDX-License-Identifier: GPL-3.0-or-later
"""Which vertex of a model file each vertex of a mesh in the scene was.

By the number that importers keep in a vertex group, where the place agrees; else by place and UV,
for meshes that were cut up, merged or brought in by other importers; else, where the numbers of
most others hold, by the number alone: the vertex was moved.
"""

from typing import Any

import bpy
import numpy as np

from .. import blender_versions, mesh_source, mmd_tools

_SAME = 1e-5  # of the model's size: vertices this close are one
_MOVED = 0.05  # of the model's size: as far as an edited vertex is looked for


def match(
    obj: bpy.types.Object, weights: mesh_source.Weights, pmx: Any, to_mesh: np.ndarray
) -> np.ndarray:
    """(V,) file vertex of each vertex of `obj`, -1 where there is none.

    `weights` are those of `mesh_source`; `to_mesh` (4, 4) leads from the file's space to the mesh's.
    """
    places = mesh_source.rest_positions(obj.data).astype(np.float64)
    targets = pmx.positions @ to_mesh[:3, :3].T + to_mesh[:3, 3]
    found = np.full(len(places), -1)
    if not len(places) or not len(targets):
        return found
    size = max(np.ptp(targets, axis=0).max(), 1e-6)
    claimed = _claimed(obj, weights, len(targets))
    distance = np.full(len(places), np.inf)
    has = claimed >= 0
    distance[has] = np.linalg.norm(places[has] - targets[claimed[has]], axis=1)

    sure = distance <= _SAME * size
    found[sure] = claimed[sure]
    rest = np.flatnonzero(~sure)
    uvs = np.stack([pmx.uvs[:, 0], 1 - pmx.uvs[:, 1]], 1)
    found[rest] = _nearest(places[rest], _uvs(obj.data)[rest], targets, uvs, _SAME * size)
    if 2 * sure.sum() > len(places):
        moved = (found < 0) & (distance <= _MOVED * size)
        once = np.bincount(np.concatenate([claimed[has], found[found >= 0]])) == 1
        moved[moved] = once[claimed[moved]]
        found[moved] = claimed[moved]
    return found


def _claimed(obj, weights, count):
    """(V,) the numbers that the mesh keeps, -1 where it keeps none."""
    numbers = np.full(len(obj.data.vertices), -1)
    group = obj.vertex_groups.get(mmd_tools.VERTEX_ORDER)
    if group is not None:
        chosen = weights.group == group.index
        exact = weights.weight[chosen].astype(np.float64) * count
        near = np.rint(exact)
        near[(np.abs(exact - near) > 0.1) | (near >= count)] = -1
        numbers[weights.vertex[chosen]] = near
    return numbers


def _uvs(mesh):
    """(V, 2) of any corner of each vertex."""
    uvs = np.zeros((len(mesh.vertices), 2), np.float32)
    if mesh.uv_layers and len(mesh.loops):
        layer = mesh.uv_layers[0]
        corners = np.empty((len(mesh.loops), 2), np.float32)
        collection, attribute = blender_versions.uvs(layer)
        collection.foreach_get(attribute, corners.ravel())
        vertex = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", vertex)
        uvs[vertex] = corners
    return uvs


def _nearest(places, uvs, targets, target_uvs, reach):
    """(n,) the target within reach whose UV is closest, -1 where there is none.

    Both are sorted into cells of a grid; where a cell's border may part two that belong together,
    a grid that is shifted by half a cell joins them.
    """
    found = np.full(len(places), -1)
    cell = 8 * reach
    for shift in np.ndindex(2, 2, 2):
        left = np.flatnonzero(found < 0)
        if not len(left):
            break
        offset = np.array(shift) * cell / 2
        left_cells, target_cells = _cells(places[left] + offset, targets + offset, cell)
        order = np.argsort(target_cells, kind="stable")
        first = np.searchsorted(target_cells[order], left_cells, "left")
        counts = np.searchsorted(target_cells[order], left_cells, "right") - first
        # All pairs that share a cell.
        row = np.repeat(np.arange(len(left)), counts)
        step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        target = order[np.repeat(first, counts) + step]
        close = np.linalg.norm(places[left[row]] - targets[target], axis=1) <= reach
        row, target = row[close], target[close]
        apart = np.abs(uvs[left[row]] - target_uvs[target]).max(axis=1)
        best = np.lexsort((target, apart, row))
        row, once = np.unique(row[best], return_index=True)
        found[left[row]] = target[best][once]
    return found


def _cells(points, others, cell):
    """The cell of each point as one number, alike for both."""
    both = np.floor(np.concatenate([points, others]) / cell).astype(np.int64)
    both -= both.min(axis=0)
    height, depth = both.max(axis=0)[1:] + 1
    numbers = (both[:, 0] * height + both[:, 1]) * depth + both[:, 2]
    return numbers[: len(points)], numbers[len(points) :]
