# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh: vertices in the file's order, triangles, UV maps and the file's normals."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.types import Mesh

from ..blender import blender_versions
from ..blender.translations import tr, tr_count
from .options import Report

if TYPE_CHECKING:
    import mmdskin

_FOLDED = np.cos(np.radians(179))


def to_blender(points: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """(n, 3) float32 in Blender's axes: swaps y and z, which mirrors, as in mmd_tools."""
    return np.ascontiguousarray(points[:, [0, 2, 1]] * np.float32(scale))


def create(
    name: str, pmx: "mmdskin.Model", scale: float, report: Report
) -> tuple[Mesh, np.ndarray]:
    """The mesh, and the index in the file of each of its triangles."""
    kept = _drawable(pmx, report)
    triangles = pmx.triangles[kept, ::-1]  # Blender's winding
    mesh = bpy.data.meshes.new(name)
    _geometry(mesh, to_blender(pmx.positions, scale), triangles)
    _uv_maps(mesh, pmx, triangles.ravel(), report)
    _normals(mesh, to_blender(pmx.normals))
    return mesh, kept


def put(collection: Any, name: str, values: np.ndarray) -> None:
    """Write all values of one attribute; fast if `values` has the type that Blender stores."""
    collection.foreach_set(name, np.ascontiguousarray(values).ravel())


def materials_of(pmx: "mmdskin.Model") -> np.ndarray:
    """(T,) material index of each triangle; the rest belongs to the last material."""
    counts = [max(record.index_count, 0) // 3 for record in pmx.materials]
    ends = np.minimum(np.cumsum(counts or [0]), len(pmx.triangles))
    ends[-1] = len(pmx.triangles)
    return np.searchsorted(ends, np.arange(len(pmx.triangles)), side="right").astype(np.int32)


def _drawable(pmx: "mmdskin.Model", report: Report) -> np.ndarray:
    """Indices of the triangles to import: without PMX 2.1's points and lines, and like mmd_tools

    without triangles that have the same material and vertices as an earlier one.
    """
    a, b, c = corners = np.sort(pmx.triangles, axis=1).T
    whole = np.flatnonzero((a != b) & (b != c))
    if len(whole) < len(a):
        report.warn(
            tr_count(
                "Skipped 1 triangle that uses a vertex twice",
                "Skipped {count} triangles that use a vertex twice",
                len(a) - len(whole),
            )
        )
    rows = np.stack([materials_of(pmx), *corners])[:, whole]
    order = np.lexsort(rows)  # stable: keeps the first of equals
    again = np.zeros(len(whole), bool)
    again[order[1:]] = (rows[:, order[1:]] == rows[:, order[:-1]]).all(axis=0)
    if again.any():
        report.warn(
            tr_count(
                "Skipped 1 triangle that duplicates another of the same material",
                "Skipped {count} triangles that duplicate others of the same material",
                count=int(again.sum()),
            )
        )
    return whole[~again]


def _geometry(mesh: Mesh, positions: np.ndarray, triangles: np.ndarray) -> None:
    mesh.vertices.add(len(positions))
    mesh.loops.add(triangles.size)
    mesh.polygons.add(len(triangles))
    put(*blender_versions.positions(mesh), positions)
    put(*blender_versions.corner_vertices(mesh), triangles.astype(np.int32))
    put(mesh.polygons, "loop_start", np.arange(0, triangles.size, 3, dtype=np.int32))
    blender_versions.finish_triangles(mesh)
    mesh.update(calc_edges=True)


def _uv_maps(mesh: Mesh, pmx: "mmdskin.Model", corners: np.ndarray, report: Report) -> None:
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
            report.warn(
                tr(
                    "UV map '{name}' was skipped: the mesh has as many UV maps as Blender allows",
                    name=name,
                )
            )
            continue
        flipped = np.stack([uvs[:, 0], 1 - uvs[:, 1]], 1)[corners]
        put(*blender_versions.uvs(layer), flipped)
    if mesh.uv_layers:
        mesh.uv_layers.active_index = 0


def _normals(mesh: Mesh, normals: np.ndarray) -> None:
    if not len(mesh.polygons):
        return
    _sharpen_folds(mesh)
    blender_versions.use_custom_normals(mesh)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    # A zero vector lets Blender keep its own normal.
    mesh.normals_split_custom_set_from_vertices(unit.tolist())


def _sharpen_folds(mesh: Mesh) -> None:
    """Mark edges of coincident triangles as sharp; Blender has no mean normal there."""
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
