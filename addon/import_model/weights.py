# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex groups of the bones, then mmd_tools' two helper groups, and the exact deform data."""

from collections import deque
from itertools import pairwise, repeat

import numpy as np

from .. import deform_data, mmd_tools


def fill(obj, pmx, bone_names):
    """Give `obj` a group for each bone of the file, in the file's order."""
    groups = [obj.vertex_groups.new(name=name) for name in bone_names]
    vertex, bone, weight = _influences(pmx)
    for start, end in _runs(bone, weight):
        groups[bone[start]].add(vertex[start:end].tolist(), weight[start], "REPLACE")
    deform_data.store(obj.data, pmx.deform, pmx.bone_indices, pmx.bone_weights)


def add_helpers(obj, pmx):
    """`mmd_edge_scale`, and `mmd_vertex_order` which numbers the vertices through edits."""
    count = len(pmx.positions)
    edge = obj.vertex_groups.new(name=mmd_tools.EDGE_SCALE)
    scales = np.clip(pmx.edge_scales, 0, 1)
    order = np.argsort(scales, kind="stable")
    for start, end in _runs(scales[order]):
        edge.add(order[start:end].tolist(), scales[order[start]], "REPLACE")
    numbers = obj.vertex_groups.new(name=mmd_tools.VERTEX_ORDER)
    weights = (np.arange(count) / max(count, 1)).tolist()
    deque(map(numbers.add, zip(range(count)), weights, repeat("REPLACE")), maxlen=0)
    edge.lock_weight = numbers.lock_weight = True


def _influences(pmx):
    """Vertices, bones and weights of all influences, sorted by bone and weight; no zeros."""
    vertex = np.repeat(np.arange(len(pmx.positions)), 4)
    bone, weight = pmx.bone_indices.ravel(), pmx.bone_weights.ravel()
    used = (bone >= 0) & (weight != 0)
    vertex, bone, weight = vertex[used], bone[used], weight[used]
    # A bone may influence a vertex twice; its group holds the sum.
    pair = vertex * (int(bone.max(initial=0)) + 1) + bone
    _, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=weight, minlength=len(first))
    vertex, bone, weight = vertex[first], bone[first], np.clip(sums, 0, 1).astype(np.float32)
    order = np.lexsort((vertex, weight, bone))
    return vertex[order], bone[order], weight[order]


def _runs(*columns):
    """(start, end) of the rows that are equal in all columns."""
    count = len(columns[0])
    if not count:
        return []
    changes = np.zeros(count - 1, bool)
    for column in columns:
        changes |= column[1:] != column[:-1]
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), count]
    return pairwise(bounds)
