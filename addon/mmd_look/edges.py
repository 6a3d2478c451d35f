# SPDX-License-Identifier: GPL-3.0-or-later
"""The edges of a mesh object: a follower with an inverted hull, and the attributes that it reads."""

from collections.abc import Mapping, Sequence
from typing import Any

import bpy
import numpy as np

from ..blender import arrays, blender_versions, drivers
from ..scene import material_values, mmd_tools, names
from . import edge_nodes, followers, materials

Edged = tuple[int, Any, material_values.MaterialValues]  # slot, material and its values
# By slot: the material and the path of its size.
Driven = Mapping[int, tuple[bpy.types.Material, str]]

_WELD = 1e-5  # points that are closer count as one, if their normals are similar:
_SIMILAR = 0.7  # the least cosine of the angle between them


def add(scene: bpy.types.Scene, obj: bpy.types.Object) -> None:
    """Add the edges of a mesh object, or update their sizes; none if no material has an edge."""
    edged = _edged(obj.data)
    driven: Driven = {  # by drivers, as those of morphs
        slot: (material, values.edge_size.path)
        for slot, material, values in edged
        if values.edge_size.is_driven(material)
    }
    shares_points = _store_sizes(obj, edged, driven)
    hull = followers.find(obj, followers.EDGES)
    if hull is None and edge_nodes.SIZE not in obj.data.attributes:
        return
    known = edge_nodes.variant_of(followers.modifier_of(hull).node_group) if hull else None
    surfaces = [material for _, material, _ in edged]
    replaced = materials.replaced_by_edges(surfaces, known.replaced if known else {})
    has_free_normals = blender_versions.HAS_FREE_NORMALS
    variant = edge_nodes.Variant(frozenset(driven), replaced, shares_points, has_free_normals)
    if hull is None:
        hull = followers.new(obj, followers.EDGES, edge_nodes.group(scene, variant))
    elif known != variant:
        followers.give_nodes(hull, obj, edge_nodes.group(scene, variant))
        edge_nodes.drop_unused()
    modifier = followers.modifier_of(hull)
    for curve in list(drivers.of(hull)):
        if curve.data_path.startswith("modifiers"):
            hull.animation_data.drivers.remove(curve)
    for slot, source in driven.items():
        owner, path = blender_versions.property_of_input(modifier, edge_nodes.size_input(slot))
        drivers.drive(owner, path, "max(x,0)-1", x=source)
    if not has_free_normals:
        blender_versions.set_modifier_input(modifier, edge_nodes.POINTS, len(obj.data.vertices))
        hull.update_tag()


def remove(obj: bpy.types.Object) -> None:
    """Remove the edges of a mesh object and what they need of the mesh."""
    found = followers.find(obj, followers.EDGES)
    if found is not None:
        followers.remove(found)
    others = (other for other in bpy.data.objects if other != obj and other.data == obj.data)
    if not any(followers.find(other, followers.EDGES) for other in others):
        _clear_sizes(obj.data)
    edge_nodes.drop_unused()


def _edged(mesh: Any) -> list[Edged]:
    """The materials that have an edge, or may get one."""
    read = [(slot, one, material_values.read(one)) for slot, one in enumerate(mesh.materials)]
    return [found for found in read if found[2] and found[2].can_have_edge(found[1])]


def _store_sizes(obj: bpy.types.Object, edged: list[Edged], driven: Driven) -> bool:
    """Store each point's edge size and each face's having one; nothing if none has. Returns whether
    faces with and without edges share points.

    Where drivers move the size, 1 is stored instead, and the slot: of several materials at a point,
    the last one.
    """
    mesh = obj.data
    sizes = [0.0] * len(mesh.materials)
    for slot, _, values in edged:
        sizes[slot] = 1.0 if slot in driven else values.edge_size.value
    _clear_sizes(mesh)
    if not any(sizes) or not len(mesh.polygons):
        return False
    corners, counts = _corners(mesh)
    of_faces = per_face(mesh, sizes)
    of_corners = np.repeat(of_faces, counts)
    of_points = np.zeros(len(mesh.vertices), np.float32)
    np.maximum.at(of_points, corners, of_corners)
    if driven:
        slots = [slot if slot in driven else -1 for slot in range(len(sizes))]
        of_slots = per_face(mesh, slots)
        leading = np.full(len(mesh.vertices), -1, np.float32)
        np.maximum.at(leading, corners, np.repeat(of_slots, counts))
        of_points[leading >= 0] = 1.0
        arrays.add(mesh, edge_nodes.SLOT, "POINT", leading.astype(np.int32), "INT")
    if mmd_tools.EDGE_EXCESS in mesh.attributes:
        of_points *= arrays.read(mesh.attributes[mmd_tools.EDGE_EXCESS].data, "value")
    arrays.add(mesh, edge_nodes.SIZE, "POINT", of_points)
    arrays.add(mesh, edge_nodes.EDGED, "FACE", (of_faces > 0).astype(np.float32))
    if edge_nodes.SCALE not in obj.vertex_groups:
        arrays.add(mesh, edge_nodes.SCALE, "POINT", np.ones(len(of_points), np.float32))
    if blender_versions.HAS_FREE_NORMALS:
        mesh.attributes.new(names.HULL_NORMALS, "FLOAT_VECTOR", "POINT")
    else:
        arrays.add(mesh, edge_nodes.WELDED, "POINT", _welded(mesh), "INT")
    is_edged = of_corners > 0
    return bool(np.intersect1d(corners[is_edged], corners[~is_edged]).size)


def _welded(mesh: Any) -> np.ndarray:
    """(V,) int32: for each point, the first one at the same place, with a similar normal in the file.

    Where layers of cloth meet, as at hems, normals differ: MMD's hull is open there.
    """
    normals = _normals(mesh)
    leaders = _first_alike(np.round(arrays.read(mesh.vertices, "co", 3) / _WELD))
    differs = (normals * normals[leaders]).sum(1) < _SIMILAR
    return _first_alike(np.column_stack((leaders, differs)))


def _first_alike(rows: np.ndarray) -> np.ndarray:
    """(N,) int32: for each row, the first equal one."""
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first[group.ravel()].astype(np.int32)


def _normals(mesh: Any) -> np.ndarray:
    """(V, 3) float32 unit normals of points, as the file has them."""
    corners, _ = _corners(mesh)
    total = np.zeros((len(mesh.vertices), 3), np.float32)
    np.add.at(total, corners, arrays.read(*blender_versions.corner_normals(mesh), 3))
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    return np.divide(total, lengths, out=total, where=lengths > 0)


def _corners(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """(L,) int32 point of each corner, and (F,) int32 number of corners of each face."""
    corners = arrays.read(*blender_versions.corner_vertices(mesh), dtype=np.int32)
    return corners, arrays.read(mesh.polygons, "loop_total", dtype=np.int32)


def per_face(mesh: Any, values: Sequence[float]) -> np.ndarray:
    """(F,) float32: for each face, the value of its material."""
    numbers = arrays.read(mesh.polygons, "material_index", dtype=np.int32)
    return np.array(values, np.float32)[np.clip(numbers, 0, len(values) - 1)]


def _clear_sizes(mesh: Any) -> None:
    of_edges = (edge_nodes.SIZE, edge_nodes.EDGED, edge_nodes.SLOT, edge_nodes.SCALE)
    arrays.drop(mesh, *of_edges, edge_nodes.WELDED, names.HULL_NORMALS)
