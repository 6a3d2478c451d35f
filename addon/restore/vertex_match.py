# SPDX-License-Identifier: GPL-3.0-or-later
"""Match the vertices of a mesh in the scene to the vertices of a model file.

By the index that importers store in a vertex group, if the position agrees; else by position and UV,
for meshes that were split, merged or created by other importers; else by the index alone, if most
other indices are valid: then the vertex was moved.
"""

import numpy as np
from bpy.types import ID, Object, VertexGroup
from mathutils.kdtree import KDTree

from ..blender import arrays, blender_versions
from ..blender.native import mmdskin
from ..scene import mesh_source, mmd_tools

_SAME = 1e-5  # relative to the model's size: vertices this close are the same
_MOVED = 0.05  # relative to the model's size: search radius for an edited vertex


def match(
    obj: Object, weights: mesh_source.Weights, pmx: "mmdskin.Model", to_mesh: np.ndarray
) -> np.ndarray:
    """(V,) file vertex of each vertex of `obj`, -1 for none.

    `weights` are those of `mesh_source`; `to_mesh` (4, 4) maps the file's space to the mesh's.
    """
    positions = mesh_source.rest_positions(obj.data).astype(np.float64)
    targets = pmx.positions @ to_mesh[:3, :3].T + to_mesh[:3, 3]
    found = np.full(len(positions), -1)
    if not len(positions) or not len(targets):
        return found
    size = max(np.ptp(targets, axis=0).max(), 1e-6)
    claimed = _claimed(obj, weights, len(targets))
    distance = np.full(len(positions), np.inf)
    has = claimed >= 0
    distance[has] = np.linalg.norm(positions[has] - targets[claimed[has]], axis=1)

    sure = distance <= _SAME * size
    found[sure] = claimed[sure]
    rest = np.flatnonzero(~sure)
    uvs = np.stack([pmx.uvs[:, 0], 1 - pmx.uvs[:, 1]], 1)
    found[rest] = _nearest(positions[rest], _uvs(obj.data)[rest], targets, uvs, _SAME * size)
    if 2 * sure.sum() > len(positions):
        moved = (found < 0) & (distance <= _MOVED * size)
        once = np.bincount(np.concatenate([claimed[has], found[found >= 0]])) == 1
        moved[moved] = once[claimed[moved]]
        found[moved] = claimed[moved]
    return found


def _claimed(obj: Object, weights: mesh_source.Weights, count: int) -> np.ndarray:
    """(V,) the vertex indices stored in the mesh, -1 for none."""
    numbers = np.full(len(obj.data.vertices), -1)
    group: VertexGroup | None = obj.vertex_groups.get(mmd_tools.VERTEX_ORDER)
    if group is not None:
        chosen = weights.group == group.index
        exact = weights.weight[chosen].astype(np.float64) * count
        near = np.rint(exact)
        near[(np.abs(exact - near) > 0.1) | (near >= count)] = -1
        numbers[weights.vertex[chosen]] = near
    return numbers


def _uvs(mesh: ID) -> np.ndarray:
    """(V, 2) UV of any corner of each vertex."""
    uvs = np.zeros((len(mesh.vertices), 2), np.float32)
    if mesh.uv_layers and len(mesh.loops):
        vertex = arrays.read(mesh.loops, "vertex_index", dtype=np.int32)
        uvs[vertex] = arrays.read(*blender_versions.uvs(mesh.uv_layers[0]), 2)
    return uvs


def _nearest(
    positions: np.ndarray,
    uvs: np.ndarray,
    targets: np.ndarray,
    target_uvs: np.ndarray,
    reach: float,
) -> np.ndarray:
    """(n,) the target within reach with the closest UV, -1 for none."""
    tree = KDTree(len(targets))
    for number, target in enumerate(targets.tolist()):
        tree.insert(target, number)
    tree.balance()
    found = np.full(len(positions), -1)
    for row, place in enumerate(positions.tolist()):
        near = sorted(number for _, number, _ in tree.find_range(place, reach))
        if near:
            found[row] = near[np.abs(target_uvs[near] - uvs[row]).max(axis=1).argmin()]
    return found
