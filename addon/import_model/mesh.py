# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh: vertices in the file's order, triangles, UV maps, normals, weights and shape keys.

Group morphs are shape keys, too: they move vertices linearly, so a key with the sum of their vertex morphs
matches MMD's group exactly.
"""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import Any

import bpy
import numpy as np
from bpy.types import Mesh, Object, ShapeKey

from ..blender import arrays, blender_versions
from ..blender.native import mmdskin
from ..scene import mmd_tools, names
from ..scene.mesh_source import SDEF, key_positions, store_deform_data
from ..scene.mmd_tools import RESERVED_KEYS, SDEF_KEYS
from .model_import import ModelImport

_FOLDED = np.cos(np.radians(179))


def to_blender(points: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """(n, 3) float32 in Blender's axes: swaps y and z, which mirrors, as in mmd_tools."""
    return np.ascontiguousarray(points[:, [0, 2, 1]] * np.float32(scale))


def create(importing: ModelImport, name: str) -> Mesh:
    """The mesh, whose triangles have the index of their material already."""
    pmx, of_material = importing.pmx, _materials(importing.pmx)
    kept = _drawable(importing, of_material)
    triangles = pmx.triangles[kept, ::-1]  # Blender's winding
    mesh = bpy.data.meshes.new(name)
    _geometry(mesh, to_blender(pmx.positions, importing.scale), triangles)
    if pmx.materials and len(triangles):
        arrays.write(*blender_versions.material_indices(mesh), of_material[kept])
    _uv_maps(importing, mesh, triangles.ravel())
    _normals(mesh, to_blender(pmx.normals))
    return mesh


def _materials(pmx: "mmdskin.Model") -> np.ndarray:
    """(T,) material index of each triangle; the rest belongs to the last material."""
    counts = [record.index_count // 3 for record in pmx.materials]
    found = np.full(len(pmx.triangles), max(len(counts) - 1, 0), np.int32)
    found[: sum(counts)] = np.repeat(np.arange(len(counts)), counts)
    return found


def _drawable(importing: ModelImport, of_material: np.ndarray) -> np.ndarray:
    """Indices of the triangles to import: without PMX 2.1's points and lines, and like mmd_tools without
    those that have the same material and vertices as an earlier one."""
    a, b, c = corners = np.sort(importing.pmx.triangles, axis=1).T
    whole = np.flatnonzero((a != b) & (b != c))
    if len(whole) < len(a):
        importing.caution(
            "Skipped 1 triangle that uses a vertex twice",
            "Skipped {count} triangles that use a vertex twice",
            count=len(a) - len(whole),
        )
    rows = np.stack([of_material, *corners])[:, whole]
    order = np.lexsort(rows)  # stable: keeps the first of equals
    again = np.zeros(len(whole), bool)
    again[order[1:]] = (rows[:, order[1:]] == rows[:, order[:-1]]).all(axis=0)
    if again.any():
        importing.caution(
            "Skipped 1 triangle that duplicates another of the same material",
            "Skipped {count} triangles that duplicate others of the same material",
            count=int(again.sum()),
        )
    return whole[~again]


def _geometry(mesh: Mesh, positions: np.ndarray, triangles: np.ndarray) -> None:
    mesh.vertices.add(len(positions))
    mesh.loops.add(triangles.size)
    mesh.polygons.add(len(triangles))
    arrays.write(*blender_versions.positions(mesh), positions)
    arrays.write(*blender_versions.corner_vertices(mesh), triangles.astype(np.int32))
    arrays.write(mesh.polygons, "loop_start", np.arange(0, triangles.size, 3, dtype=np.int32))
    blender_versions.finish_triangles(mesh)
    mesh.update(calc_edges=True)


def _uv_maps(importing: ModelImport, mesh: Mesh, corners: np.ndarray) -> None:
    """`UVMap`, and as in mmd_tools `UV1` for x and y, `_UV1` for z and w of the additional UVs."""
    channels = list(enumerate(importing.pmx.additional_uvs.transpose(1, 0, 2), 1))
    maps = {"UVMap": importing.pmx.uvs} | {f"UV{i}": channel[:, :2] for i, channel in channels}
    maps |= {f"_UV{i}": channel[:, 2:] for i, channel in channels if channel[:, 2:].any()}
    for name, uvs in maps.items():
        layer = mesh.uv_layers.new(name=name, do_init=False)
        if layer is None:
            importing.caution(
                "UV map '{name}' was skipped: the mesh has as many UV maps as Blender allows",
                name=name,
            )
            continue
        flipped = np.stack([uvs[:, 0], 1 - uvs[:, 1]], 1)[corners]
        arrays.write(*blender_versions.uvs(layer), flipped)
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
    corners = arrays.read(mesh.loops, "vertex_index", dtype=np.int32)
    edge_of = arrays.read(mesh.loops, "edge_index", dtype=np.int32)
    a, b, c = arrays.read(mesh.vertices, "co", 3)[corners].reshape(-1, 3, 3).transpose(1, 0, 2)
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
        arrays.write(mesh.edges, "use_edge_sharp", sharp)


# Vertex groups


def add_weights(importing: ModelImport, obj: Object) -> None:
    """Add a vertex group to `obj` for each bone, in the file's order."""
    pmx = importing.pmx
    groups = [obj.vertex_groups.new(name=name) for name in importing.bone_names]
    vertex, bone, weight = _influences(pmx)
    for start, end in _runs(bone, weight):
        groups[bone[start]].add(vertex[start:end].tolist(), weight[start], "REPLACE")
    store_deform_data(obj.data, pmx.deform, pmx.bone_indices, pmx.bone_weights)


def add_helpers(obj: Object, pmx: "mmdskin.Model") -> None:
    """`mmd_edge_scale`, and `mmd_vertex_order`, which keeps vertex indices through edits."""
    count = len(pmx.positions)
    edge = obj.vertex_groups.new(name=mmd_tools.EDGE_SCALE)
    scales = np.clip(pmx.edge_scales, 0, 1)
    order = np.argsort(scales, kind="stable")
    for start, end in _runs(scales[order]):
        edge.add(order[start:end].tolist(), scales[order[start]], "REPLACE")
    if count and pmx.edge_scales.max() > 1:
        excess = np.maximum(pmx.edge_scales, 1).astype(np.float32)
        arrays.add(obj.data, mmd_tools.EDGE_EXCESS, "POINT", excess)
    numbers = obj.vertex_groups.new(name=mmd_tools.VERTEX_ORDER)
    weights = (np.arange(count) / max(count, 1)).tolist()
    add: Any = numbers.add
    deque(map(add, zip(range(count)), weights, repeat("REPLACE")), maxlen=0)
    edge.lock_weight = numbers.lock_weight = True


def _influences(pmx: "mmdskin.Model") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, bones and weights of all nonzero influences, sorted by bone and weight."""
    vertex = np.repeat(np.arange(len(pmx.positions)), 4)
    bone, weight = pmx.bone_indices.ravel(), pmx.bone_weights.ravel()
    used = (bone >= 0) & (weight != 0)
    vertex, bone, weight = vertex[used], bone[used], weight[used]
    # A bone may influence a vertex twice; its vertex group has the sum.
    pair = vertex * (int(bone.max(initial=0)) + 1) + bone
    _, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=weight, minlength=len(first))
    vertex, bone, weight = vertex[first], bone[first], np.clip(sums, 0, 1).astype(np.float32)
    order = np.lexsort((vertex, weight, bone))
    return vertex[order], bone[order], weight[order]


def _runs(*columns: np.ndarray) -> Iterator[tuple[int, int]]:
    """(start, end) of runs of equal rows."""
    changes = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    count = len(columns[0])
    return pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), count] if count else [])


# Shape keys


def add_sdef(importing: ModelImport, obj: Object) -> None:
    """mmd_tools' three SDEF keys; the bone of the lower number is bone 0."""
    pmx, sdef = importing.pmx, importing.pmx.deform == SDEF
    if not sdef.any():
        return
    basis = _basis(obj)
    points = pmx.sdef[sdef]
    pair = pmx.bone_indices[sdef]
    swapped = pair[:, 0] > pair[:, 1]
    points[swapped, 1:] = points[swapped, :0:-1]
    for column, name in enumerate(SDEF_KEYS):
        positions = basis.copy()
        positions[sdef] = to_blender(points[:, column], importing.scale)
        _add(obj, name, positions).mute = True


def add_morphs(importing: ModelImport, obj: Object) -> None:
    """Create keys for the morphs that move vertices."""
    morphs, scale, basis = importing.pmx.morphs, importing.scale, _basis(obj)
    for number, name in enumerate(names.morphs(morphs, RESERVED_KEYS, importing.english)):
        parts = _vertex_parts(morphs, number)
        if not parts:
            continue
        positions = basis.copy()
        for part, factor in parts:
            np.add.at(positions, part.indices, to_blender(part.values, scale * factor))
        _add(obj, name, positions)
        importing.key_names[number] = name


def _vertex_parts(
    morphs: "tuple[mmdskin.Morph, ...]", number: int
) -> "list[tuple[mmdskin.Morph, float]]":
    """(morph, factor) of a morph's vertex morphs; MMD does not nest groups."""
    morph = morphs[number]
    if morph.kind == "vertex":
        return [(morph, 1.0)]
    if morph.kind != "group":
        return []
    children = zip(morph.indices.tolist(), morph.values[:, 0].tolist(), strict=True)
    return [
        (morphs[child], ratio)
        for child, ratio in children
        if child >= 0 and morphs[child].kind == "vertex"
    ]


def _basis(obj: Object) -> np.ndarray:
    """(V, 3) float32 of the reference key, which is created if missing."""
    keys = obj.data.shape_keys
    key = keys.reference_key if keys else obj.shape_key_add(name="Basis", from_mix=False)
    return key_positions(key)


def _add(obj: Object, name: str, positions: np.ndarray) -> ShapeKey:
    key = obj.shape_key_add(name=name, from_mix=False)
    arrays.write(*blender_versions.key_positions(key), positions)
    key.value = 0.0
    return key
