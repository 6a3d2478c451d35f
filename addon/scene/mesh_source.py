# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinning data of a mesh in the scene: vertex groups, SDEF keys, deform types, shape keys.

Everything is in mesh space and in Blender's vertex order. What a PMX file has and Blender has no place for
is stored as attributes, which stay with their vertices through edits:

`mmd_deform` (INT, point) is the deform type of each vertex, numbered as in `mmdskin.Model.deform`.
Weights are in vertex groups; only if vertex groups cannot store them (below 0, above 1, a bone
twice), `mmd_group_1` to `_4` (INT) and `mmd_weight_1` to `_4` (FLOAT) store all influences. SDEF
points are mmd_tools' shape keys `mmd_sdef_c`, `mmd_sdef_r0`, `mmd_sdef_r1`.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from bpy.types import ID, Object, ShapeKey

from ..blender import arrays, blender_versions
from ..blender.user_error import UserError
from . import mmd_tools, stored

BDEF1, BDEF2, BDEF4, SDEF, QDEF = range(5)
# Blender stores normals as 16 bit angles: those of one vertex differ by up to 0.2 degrees.
_SAME_NORMAL = np.cos(np.radians(0.5))
_AFTER_NUMBERS = 2**31  # exceeds the number of every bone in its file
DEFORM_NAMES = ("BDEF1", "BDEF2", "BDEF4", "SDEF", "QDEF")
DEFORM = "mmd_deform"
GROUPS = tuple(f"mmd_group_{slot}" for slot in range(1, 5))
WEIGHTS = tuple(f"mmd_weight_{slot}" for slot in range(1, 5))

_KINDS = dict.fromkeys((DEFORM, *GROUPS), "INT") | dict.fromkeys(WEIGHTS, "FLOAT")
_TYPES = {"INT": np.int32, "FLOAT": np.float32}


class Weights(NamedTuple):
    """One entry per vertex and vertex group, as three arrays of equal length."""

    vertex: np.ndarray
    group: np.ndarray
    weight: np.ndarray


class Normals(NamedTuple):
    """Normals, one or more for each vertex: the first V are those of the vertices themselves."""

    values: np.ndarray  # (N, 3) float32
    vertices: np.ndarray  # (N,) the vertex that each normal follows
    corners: np.ndarray | None  # (C,) the normal of each face corner; None if it is its vertex's
    shares: np.ndarray  # (N, 1) float32: how many corners have each normal

    @property
    def domain(self) -> str:
        """The domain of an attribute that can store them."""
        return "POINT" if self.corners is None else "CORNER"

    def in_domain(self, normals: np.ndarray) -> np.ndarray:
        """Of normals (N, 3) of another pose, those of each item of the domain."""
        return normals if self.corners is None else normals[self.corners]

    def of_vertices(self, normals: np.ndarray) -> np.ndarray:
        """(V, 3) float32: for each vertex, the sum of those of its corners, in the same direction."""
        if self.corners is None:
            return normals
        shares = (normals * self.shares).T
        total = np.stack([np.bincount(self.vertices, share) for share in shares], axis=1)
        return total.astype(np.float32)


class Source(NamedTuple):
    bones: tuple  # names of the deforming bones that have a vertex group, in group order
    bone_indices: np.ndarray  # (V, 4) int32 into `bones`, -1 is empty
    bone_weights: np.ndarray  # (V, 4) float32
    deform: np.ndarray  # (V,) uint8
    sdef: np.ndarray  # (V, 3, 3) float32: C, R0, R1; None without SDEF vertices
    limited: int  # vertices with more than four bones, of which the four strongest are used
    weights: Weights


def read(obj: Object, armature: Object) -> Source:
    """The Source of a mesh object deformed by `armature`."""
    check_counts(obj)
    bones, bone_of_group = deforming_bones(obj, armature)
    order = group_order([group.name for group in obj.vertex_groups], armature)
    weights = _weights(obj)
    influences, limited = _strongest_four(weights, bone_of_group, order)
    count = len(obj.data.vertices)
    indices = np.full((count, 4), -1, np.int32)
    values = np.zeros((count, 4), np.float32)
    slot = _rank(influences.vertex, count)
    indices[influences.vertex, slot] = bone_of_group[influences.group]
    values[influences.vertex, slot] = influences.weight

    stored_data = deform_attributes(obj.data)
    if {*GROUPS, *WEIGHTS} <= stored_data.keys() and len(bone_of_group):
        exact = _exact_influences(stored_data, influences, bone_of_group, order)
        unchanged, exact_indices, exact_weights = exact
        indices[unchanged], values[unchanged] = exact_indices[unchanged], exact_weights[unchanged]

    used = (indices >= 0).sum(axis=1)
    deform = np.where(used < 2, BDEF1, np.where(used == 2, BDEF2, BDEF4)).astype(np.uint8)
    sdef = _sdef(obj.data)
    types = stored_data.get(DEFORM)
    if types is not None:
        deform[types == QDEF] = QDEF
        if sdef is not None:
            deform[(types == SDEF) & (used == 2)] = SDEF
    elif sdef is not None:
        # mmd_tools sets C to the vertex itself if the file has no SDEF. Of three groups or
        # more its driver takes the lowest two; these weights were edited, and here all count.
        moved = (sdef[:, 0] != rest_positions(obj.data)).any(axis=1)
        deform[moved & (used == 2)] = SDEF
    return Source(bones, indices, values, deform, sdef, limited, weights)


def group_order(names: Sequence[str], armature: Object) -> np.ndarray:
    """(G,) int64: of the two bones of an SDEF vertex, bone 0 has the group of the lower value.

    In our own imports that is the bone's number in the file, which stays if groups are sorted; new
    bones follow. Otherwise it is the group's own number, as in mmd_tools, whose numbers users may change.
    """
    order = np.arange(len(names), dtype=np.int64) + _AFTER_NUMBERS
    for index, name in enumerate(names):
        number = stored.number(armature.pose.bones.get(name), mmd_tools.NUMBER)
        if number >= 0:
            order[index] = number
    return order


def rest_positions(mesh: ID) -> np.ndarray:
    """(V, 3) float32: the reference key, or the mesh itself if it has no shape keys."""
    keys = mesh.shape_keys
    if keys:
        return key_positions(keys.reference_key)
    return arrays.read(*blender_versions.positions(mesh), 3)


def key_positions(key: ShapeKey) -> np.ndarray:
    """(V, 3) float32 of one shape key."""
    return arrays.read(*blender_versions.key_positions(key), 3)


def normals(mesh: ID) -> Normals:
    """The normals of the mesh at rest, for Blender 4.1 and later.

    A model's file has one normal per vertex, and so do most meshes; sharp edges and flat faces have
    more.
    """
    shown = arrays.read(mesh.corner_normals, "vector", 3)
    vertex = arrays.read(*blender_versions.corner_vertices(mesh), dtype=np.int32)
    count = len(mesh.vertices)
    values = np.zeros((count, 3), np.float32)
    values[:, 2] = 1  # for vertices without a face
    values[vertex[::-1]] = shown[::-1]
    own = np.flatnonzero((values[vertex] * shown).sum(axis=1) < _SAME_NORMAL)
    corners = vertex.copy()
    corners[own] = count + np.arange(len(own))
    vertices = np.concatenate([np.arange(count), vertex[own]])
    values = np.concatenate([values, shown[own]])
    shares = np.bincount(corners, minlength=len(values)).astype(np.float32)[:, None]
    return Normals(values, vertices, corners if len(own) else None, shares)


def morphs(
    obj: Object, weights: Weights, absent: Iterable[str] = ()
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(name, indices, offsets) of each shape key that Blender mixes, for `mmdskin.Mesh`.

    Offsets are relative to each key's reference key, and scaled by its vertex group.
    Keys named in `absent` are left out.
    """
    keys = obj.data.shape_keys
    if not keys:
        return []
    absent = mmd_tools.NOT_MORPHS.union(absent, {keys.reference_key.name})
    found = []
    points = {}
    for key in keys.key_blocks:
        if key.name in absent:
            continue
        reference = key.relative_key
        if reference.name not in points:
            points[reference.name] = key_positions(reference)
        offsets = key_positions(key) - points[reference.name]
        group = obj.vertex_groups.get(key.vertex_group) if key.vertex_group else None
        if group is not None:
            offsets *= group_weights(weights, group.index, len(offsets))[:, None]
        x, y, z = (offsets != 0).T  # much faster than `any` along an axis of three
        indices = np.flatnonzero(x | y | z).astype(np.int32)
        found.append((key.name, indices, offsets[indices]))
    return found


def check_counts(obj: Object) -> None:
    """UserError if a shape key does not match the mesh."""
    keys = obj.data.shape_keys
    count = len(obj.data.vertices)
    if not keys:
        return
    if not keys.use_relative:
        raise UserError("'{name}' has absolute shape keys: enable Relative first", name=obj.name)
    for key in keys.key_blocks:
        if len(key.data) != count:
            raise UserError(
                "Shape key '{key}' of '{name}' has {points} points"
                " but the mesh has {vertices} vertices",
                key=key.name,
                name=obj.name,
                points=len(key.data),
                vertices=count,
            )


def deforming_bones(obj: Object, armature: Object) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the deforming bones that have a vertex group, in group order, and for each vertex group
    the index of its bone or -1."""
    deforming = {bone.name for bone in armature.data.bones if bone.use_deform}
    names: list[str] = []
    bone_of_group = np.full(len(obj.vertex_groups), -1, np.int32)
    for group in obj.vertex_groups:
        if group.name in deforming:
            bone_of_group[group.index] = len(names)
            names.append(group.name)
    return tuple(names), bone_of_group


def _weights(obj: Object) -> Weights:
    group, weight, ends = [], [], [0]  # Blender reads them one by one only
    for point in obj.data.vertices:
        for entry in point.groups:
            group.append(entry.group)
            weight.append(entry.weight)
        ends.append(len(group))
    vertex = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return Weights(vertex, np.array(group, np.int64), np.array(weight, np.float32))


def _strongest_four(
    weights: Weights, bone_of_group: np.ndarray, group_order: np.ndarray
) -> tuple[Weights, int]:
    """The nonzero entries, at most four per vertex, sorted by vertex and the order of groups."""
    known = weights.group < len(bone_of_group)
    known[known] = bone_of_group[weights.group[known]] >= 0
    known &= weights.weight > 0
    vertex, group, weight = (values[known] for values in weights)
    count = int(weights.vertex[-1]) + 1 if len(weights.vertex) else 0
    order = np.lexsort((-weight, vertex))
    keep = order[_rank(vertex[order], count) < 4]
    limited = int((np.bincount(vertex, minlength=1) > 4).sum())
    keep = keep[np.lexsort((group[keep], group_order[group[keep]], vertex[keep]))]
    return Weights(vertex[keep], group[keep], weight[keep]), limited


def _exact_influences(
    columns: dict[str, np.ndarray],
    influences: Weights,
    bone_of_group: np.ndarray,
    group_order: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The vertices whose groups still agree with the file's influences, and these."""
    groups, weights = (np.stack([columns[n] for n in names], 1) for names in (GROUPS, WEIGHTS))
    known = (groups >= 0) & (groups < len(bone_of_group))
    ranks = np.where(known, group_order[np.where(known, groups, 0)], np.iinfo(np.int64).max)
    order = np.argsort(ranks, axis=1, kind="stable")
    groups, weights, known = (np.take_along_axis(v, order, 1) for v in (groups, weights, known))
    bones = np.where(known, bone_of_group[np.where(known, groups, 0)], -1).astype(np.int32)
    vertex = np.nonzero(known)[0]
    count, width = len(groups), len(bone_of_group)
    pairs = vertex * width + groups[known], influences.vertex * width + influences.group
    place, slot = np.unique(np.concatenate(pairs), return_inverse=True)
    in_file, now = np.split(slot, [len(vertex)])
    held = np.clip(np.bincount(in_file, weights[known], len(place)), 0, 1)
    change = np.abs(held - np.bincount(now, influences.weight, len(place)))
    unchanged = np.ones(count, bool)
    unchanged[place[change > 1e-6] // width] = False
    return unchanged, bones, np.where(bones >= 0, weights, 0).astype(np.float32)


def _rank(vertex: np.ndarray, count: int) -> np.ndarray:
    """Position of each entry among the entries of its vertex; `vertex` is sorted."""
    first = np.concatenate(([0], np.cumsum(np.bincount(vertex, minlength=count))))
    return np.arange(len(vertex)) - first[vertex]


def group_weights(weights: Weights, group: int, count: int) -> np.ndarray:
    """(V,) float32 of one vertex group, 0 for vertices that are not in it."""
    values = np.zeros(count, np.float32)
    chosen = weights.group == group
    values[weights.vertex[chosen]] = weights.weight[chosen]
    return values


def _sdef(mesh: ID) -> np.ndarray | None:
    keys = mesh.shape_keys
    blocks = [keys.key_blocks.get(name) for name in mmd_tools.SDEF_KEYS] if keys else []
    if not blocks or None in blocks:
        return None
    return np.ascontiguousarray(np.stack([key_positions(key) for key in blocks], axis=1))


# Attributes of deform data


def store_deform_data(
    mesh: ID, deform: np.ndarray, groups: np.ndarray, weights: np.ndarray
) -> None:
    """Store (V,) deform types and (V, 4) influences: vertex group indices (-1 is empty), weights."""
    attributes = {DEFORM: deform}
    if _exceed_groups(groups, weights):
        attributes |= zip(GROUPS + WEIGHTS, (*groups.T, *weights.T), strict=True)
    set_deform_attributes(mesh, attributes)


def deform_attributes(mesh: ID) -> dict[str, np.ndarray]:
    """The attributes that exist, by name, for `set_deform_attributes`."""
    found = {name: mesh.attributes.get(name) for name in _KINDS}
    return {
        name: arrays.read(attribute.data, "value", dtype=_TYPES[_KINDS[name]])
        for name, attribute in found.items()
        if attribute and (attribute.domain, attribute.data_type) == ("POINT", _KINDS[name])
    }


def set_deform_attributes(mesh: ID, attributes: dict[str, np.ndarray]) -> None:
    arrays.drop(mesh, *_KINDS)
    for name, values in attributes.items():
        kind = _KINDS[name]
        arrays.add(mesh, name, "POINT", values.astype(_TYPES[kind]), kind)


def _exceed_groups(groups: np.ndarray, weights: np.ndarray) -> bool:
    used = groups >= 0
    if ((weights < 0) | (weights > 1))[used].any():
        return True
    ordered = np.sort(np.where(used, groups, -1), axis=1)
    return bool(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any())
