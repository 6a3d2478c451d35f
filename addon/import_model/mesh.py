# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh: vertices in the order of the file, triangles, UV maps and the file's normals."""

from typing import Any

import bpy
import numpy as np

from .. import blender_versions
from ..translations import tr

_FOLDED = np.cos(np.radians(179))


def to_blender(points, scale=1.0):
    """(n, 3) float32 in Blender's axes: y and z change places, which mirrors, as in mmd_tools."""
    return np.ascontiguousarray(points[:, [0, 2, 1]] * np.float32(scale))


def create(name, pmx, scale, report):
    """The mesh and, for each of its triangles, the number of the file's triangle."""
    kept = _drawable(pmx, report)
    triangles = pmx.triangles[kept, ::-1]  # Blender's winding
    mesh = bpy.data.meshes.new(name)
    _geometry(mesh, to_blender(pmx.positions, scale), triangles)
    _uv_maps(mesh, pmx, triangles.ravel(), report)
    _normals(mesh, to_blender(pmx.normals))
    return mesh, kept


def put(collection: Any, name: str, values: np.ndarray) -> None:
    """Write all values of one attribute; fast where `values` has the type Blender stores."""
    collection.foreach_set(name, np.ascontiguousarray(values).ravel())


def materials_of(pmx):
    """(T,) the number of each triangle's material; what is left over belongs to the last one."""
    counts = [max(record.index_count, 0) // 3 for record in pmx.materials]
    ends = np.minimum(np.cumsum(counts or [0]), len(pmx.triangles))
    ends[-1] = len(pmx.triangles)
    return np.searchsorted(ends, np.arange(len(pmx.triangles)), side="right").astype(np.int32)


def _drawable(pmx, report):
    """Numbers of the triangles without PMX 2.1's points and lines, and what mmd_tools leaves out:

    triangles of a material's that have the three vertices of an earlier one.
    """
    a, b, c = corners = np.sort(pmx.triangles, axis=1).T
    whole = np.flatnonzero((a != b) & (b != c))
    if len(whole) < len(a):
        report.warn(
            tr("{count} triangles use a vertex twice and were left out", count=len(a) - len(whole))
        )
    rows = np.stack([materials_of(pmx), *corners])[:, whole]
    order = np.lexsort(rows)  # stable: the first of equals stays
    again = np.zeros(len(whole), bool)
    again[order[1:]] = (rows[:, order[1:]] == rows[:, order[:-1]]).all(axis=0)
    if again.any():
        report.warn(
            tr(
                "{count} triangles lie on another of their material and were left out",
                count=int(again.sum()),
            )
        )
    return whole[~again]


def _geometry(mesh, positions, triangles):
    mesh.vertices.add(len(positions))
    mesh.loops.add(triangles.size)
    mesh.polygons.add(len(triangles))
    put(*blender_versions.positions(mesh), positions)
    put(*blender_versions.corner_vertices(mesh), triangles.astype(np.int32))
    put(mesh.polygons, "loop_start", np.arange(0, triangles.size, 3, dtype=np.int32))
    blender_versions.finish_triangles(mesh)
    mesh.update(calc_edges=True)


def _uv_maps(mesh, pmx, corners, report):
    """`UVMap`, and as in mmd_tools `UV1` for x and y, `_UV1` for z and w of the additional UVs."""
    maps = [("UVMap", pmx.uvs)]
    channels = [pmx.additional_uvs[:, i] for i in range(pmx.additional_uvs.shape[1])]
    maps += [(f"UV{i}", channel[:, :2]) for i, channel in enumerate(channels, 1)]
    maps += [
        (f"_UV{i}", channel[:, 2:]) for i, channel in enumerate(channels, 1) if channel[:, 2:].any()
    ]
    for name, uvs in maps:
        layer = mesh.uv_layers.new(name=name, do_init=False)
        if layer is None:
            report.warn(tr("Blender has no room for the UV map '{name}'", name=name))
            continue
        flipped = np.stack([uvs[:, 0], 1 - uvs[:, 1]], 1)[corners]
        put(*blender_versions.uvs(layer), flipped)
    if mesh.uv_layers:
        mesh.uv_layers.active_index = 0


def _normals(mesh, normals):
    if not len(mesh.polygons):
        return
    _sharpen_folds(mesh)
    blender_versions.use_custom_normals(mesh)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    # A zero vector makes Blender keep its own normal there.
    mesh.normals_split_custom_set_from_vertices(unit.tolist())


def _sharpen_folds(mesh):
    """Mark edges where two triangles lie on each other; Blender has no mean normal to start from."""
    corners, edge_of = (np.empty(len(mesh.loops), np.int32) for _ in range(2))
    mesh.loops.foreach_get("vertex_index", corners)
    mesh.loops.foreach_get("edge_index", edge_of)
    positions = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", positions)
    a, b, c = positions.reshape(-1, 3)[corners].reshape(-1, 3, 3).transpose(1, 0, 2)
    facing = np.cross(b - a, c - a)
    facing /= np.maximum(np.linalg.norm(facing, axis=1, keepdims=True), 1e-30)
    order = np.argsort(edge_of, kind="stable")
    first, second = order[:-1], order[1:]
    paired = edge_of[first] == edge_of[second]
    first, second = first[paired], second[paired]
    folded = (facing[first // 3] * facing[second // 3]).sum(1) < _FOLDED
    sharp = np.zeros(len(mesh.edges), bool)
    sharp[edge_of[first[folded]]] = True
    if sharp.any():
        put(mesh.edges, "use_edge_sharp", sharp)
