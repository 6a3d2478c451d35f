# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex groups of the bones, mmd_tools' two helper groups, and the exact deform data."""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy.types import Object

from ..scene import deform_data, mmd_tools

if TYPE_CHECKING:
    import mmdskin


def fill(obj: Object, pmx: "mmdskin.Model", bone_names: list[str]) -> None:
    """Add a vertex group to `obj` for each bone, in the file's order."""
    groups = [obj.vertex_groups.new(name=name) for name in bone_names]
    vertex, bone, weight = _influences(pmx)
    for start, end in _runs(bone, weight):
        groups[bone[start]].add(vertex[start:end].tolist(), weight[start], "REPLACE")
    deform_data.store(obj.data, pmx.deform, pmx.bone_indices, pmx.bone_weights)


def add_helpers(obj: Object, pmx: "mmdskin.Model") -> None:
    """`mmd_edge_scale`, and `mmd_vertex_order`, which keeps vertex indices through edits."""
    count = len(pmx.positions)
    edge = obj.vertex_groups.new(name=mmd_tools.EDGE_SCALE)
    scales = np.clip(pmx.edge_scales, 0, 1)
    order = np.argsort(scales, kind="stable")
    for start, end in _runs(scales[order]):
        edge.add(order[start:end].tolist(), scales[order[start]], "REPLACE")
    if count and pmx.edge_scales.max() > 1:
        mesh: Any = obj.data
        excess = mesh.attributes.new(mmd_tools.EDGE_EXCESS, "FLOAT", "POINT")
        excess.data.foreach_set("value", np.maximum(pmx.edge_scales, 1).astype(np.float32))
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
    count = len(columns[0])
    if not count:
        return iter(())
    changes = np.zeros(count - 1, bool)
    for column in columns:
        changes |= column[1:] != column[:-1]
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), count]
    return pairwise(bounds)
