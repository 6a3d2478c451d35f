# SPDX-License-Identifier: MIT
"""The three methods that reduce the bulge of dual quaternions, in float64, to judge every kernel.

bulge_free (Kim and Han 2014), bulge_compensated (Sulema and Rudenko 2020) and centers_of_rotation
(Le and Hodgins 2016), written from their formulas and not from the C.
"""

from typing import NamedTuple

import numpy as np
from judges import twin

SIGMA = EPSILON = 0.1
MIN_BONE_LENGTH = 1e-4  # a shorter bone has no segment of its own


class Influences(NamedTuple):
    """The influences of each vertex by decreasing weight, among equals the lower bone first; (V,4) each."""

    bones: np.ndarray  # -1 where there is none
    weights: np.ndarray  # the stored float32 as float64, 0 where there is none


def influences(mesh):
    """Weights divided by their sum, with slots of the same bone merged."""
    weights, _ = twin.normalized_weights(mesh)
    index = np.where(weights != 0, np.asarray(mesh.bone_indices), -1)
    for first in range(4):
        for later in range(first + 1, 4):
            same = (index[:, first] == index[:, later]) & (index[:, later] >= 0)
            weights[same, first] += weights[same, later]
            weights[same, later], index[same, later] = 0, -1
    weights = weights.astype(np.float32).astype(np.float64)
    index = np.where(weights != 0, index, -1)
    order = np.lexsort((index, -weights), axis=1)
    return Influences(np.take_along_axis(index, order, 1), np.take_along_axis(weights, order, 1))


def model_segments(bones):
    """Head and tail (B,2,3) of each bone at rest; NaN where no rule gives one.

    To its own tail; else the segment of the bone whose rotation it appends; else its parent's.
    """
    result = np.full((len(bones), 2, 3), np.nan)
    for number in range(len(bones)):
        seen, at = set(), number
        while 0 <= at < len(bones) and at not in seen:
            seen.add(at)
            bone = bones[at]
            head = np.float64(bone.position)
            if bone.tail_bone is not None and bone.flags & 1:
                inside = 0 <= bone.tail_bone < len(bones)
                tail = np.float64(bones[bone.tail_bone].position) if inside else head
            else:
                tail = head + np.float64(bone.tail_offset)
            if np.linalg.norm(tail - head) > MIN_BONE_LENGTH:
                result[number] = head, tail
                break
            appends = bone.append is not None and bone.append.rotation and bone.append.ratio != 0
            at = bone.append.source if appends and bone.append.source >= 0 else bone.parent
    return result


def chains(parents):
    """(B,B): +1 where the row's bone is an ancestor of the column's, -1 a descendant, 0 neither."""
    side = np.zeros((len(parents),) * 2, np.int8)
    for bone in range(len(parents)):
        at, seen = parents[bone], {bone}
        while at >= 0 and at not in seen:
            seen.add(at)
            side[at, bone], side[bone, at] = 1, -1
            at = parents[at]
    return side


def chain_ratio(found, side):
    """The fraction of the other bones' weights that belongs to bones in the leading bone's chain."""
    others = found.weights[:, 1:]
    in_chain = (side[found.bones[:, :1], found.bones[:, 1:]] != 0) & (found.bones[:, 1:] >= 0)
    total = others.sum(1)
    ratio = np.divide((others * in_chain).sum(1), total, out=np.zeros(len(total)), where=total != 0)
    return ratio.clip(0, 1)


# Centers of rotation


def similarity(a, b, sigma=SIGMA):
    """Equation (1) for two weight vectors."""
    a, b = np.float64(a), np.float64(b)
    difference = np.outer(a, b) - np.outer(b, a)
    terms = np.outer(a * b, a * b) * np.exp(-((difference / sigma) ** 2))
    return terms.sum() - np.trace(terms)


def _parts(n):
    """Barycentric centroids (n*n,3) of the equal parts of a triangle with n parts per edge."""
    upright = [(i + 1 / 3, j + 1 / 3) for i in range(n) for j in range(n - i)]
    inverted = [(i + 2 / 3, j + 2 / 3) for i in range(n) for j in range(n - 1 - i)]
    corner = np.float64(upright + inverted) / n
    return np.column_stack([corner, 1 - corner.sum(1)])


def centers_of_rotation(positions, triangles, found, sigma=SIGMA, epsilon=EPSILON):
    """Centers (V,3) by equation (4); the vertex itself where nothing is similar to it."""
    positions = np.asarray(positions, np.float64)
    bone_count = found.bones.max(initial=-1) + 1
    dense = np.zeros((len(positions), bone_count + 1))
    np.put_along_axis(dense, found.bones, found.weights.clip(0, 1), 1)
    dense = dense[:, :bone_count]
    corners = positions[triangles]
    areas = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    w = dense[triangles]
    apart = [np.linalg.norm(w[:, i] - w[:, i - 1], axis=1) for i in range(3)]
    subdivisions = np.maximum(1, np.ceil(np.max(apart, axis=0, initial=0) / epsilon)).astype(int)
    moments, weight = np.zeros_like(positions), np.zeros(len(positions))
    both = dense > 0
    touched = w.max(1, initial=0) > 0 if len(w) else np.zeros((0, bone_count), bool)
    pairs = {
        pair
        for row in np.unique(np.sort(found.bones, 1), axis=0)
        for i, j in enumerate(row)
        for pair in ((int(j), int(k)) for k in row[i + 1 :])
        if j >= 0 and pair[0] != pair[1]
    }
    for j, k in sorted(pairs):
        chosen = np.flatnonzero(touched[:, j] & touched[:, k])
        if not len(chosen):
            continue
        pieces = []
        for n in np.unique(subdivisions[chosen]):
            t = chosen[subdivisions[chosen] == n]
            at = _parts(n)
            pieces.append(
                np.concatenate(
                    [
                        np.einsum("pc,tcb->tpb", at, w[t][:, :, [j, k]]),
                        np.einsum("pc,tcx->tpx", at, corners[t]),
                        np.broadcast_to(areas[t, None, None] / n**2, (len(t), n * n, 1)),
                    ],
                    -1,
                ).reshape(-1, 6)
            )
        b_j, b_k, centroid, area = np.split(np.concatenate(pieces), [1, 2, 5], axis=1)
        mass = (b_j * b_k * area)[:, 0]
        summed = np.column_stack([mass[:, None] * centroid, mass])
        vertices = np.flatnonzero(both[:, j] & both[:, k])
        distinct, which = np.unique(dense[vertices][:, [j, k]], axis=0, return_inverse=True)
        sums = np.empty((len(distinct), 4))
        for first in range(0, len(distinct), 64):
            a = distinct[first : first + 64]
            difference = a[:, :1] * b_k[:, 0] - a[:, 1:] * b_j[:, 0]
            sums[first : first + 64] = np.exp(-((difference / sigma) ** 2)) @ summed
        sums *= 2 * distinct.prod(1)[:, None]
        moments[vertices] += sums[which.ravel(), :3]
        weight[vertices] += sums[which.ravel(), 3]
    defined = weight > 0
    return np.where(defined[:, None], moments / np.where(defined, weight, 1)[:, None], positions)


# One frame


def skin_frame(
    mesh,
    matrices,
    weights=None,
    *,
    method,
    correction=1.0,
    segments=None,
    parents=None,
    centers=None,
):
    """(positions, normals) in float64; `mesh` as for `twin.skin_frame`."""
    matrices = np.concatenate([np.asarray(matrices, np.float64), np.eye(4)[None]])
    found = influences(mesh)
    p = twin.morph_positions(mesh, weights)
    n = np.asarray(mesh.normals, np.float64)
    rigid = twin.rotations(matrices)
    rotation, translation, defined = twin.blend_qdef(
        found.weights, twin.quaternions(rigid)[found.bones], matrices[found.bones, :3, 3]
    )
    proper = np.linalg.det(matrices[:, :3, :3]) > 0
    defined &= ((found.bones < 0) | proper[found.bones]).all(1) & (found.bones[:, 0] >= 0)
    positions, normals, _ = twin.skin_frame(mesh, matrices[:-1], weights, method="linear")
    if method == "centers_of_rotation":
        defined &= found.bones[:, 1] >= 0
    v = np.flatnonzero(defined)
    few = Influences(found.bones[v], found.weights[v])
    if method == "centers_of_rotation":
        blend = np.einsum("vk,vkij->vij", few.weights, matrices[few.bones])
        c = np.asarray(centers, np.float64)[v]
        moved = _times(rotation[v], p[v] - c) + _times(blend[:, :3, :3], c) + blend[:, :3, 3]
    else:
        moved = _times(rotation[v], p[v]) + translation[v]
        segments, side = np.asarray(segments, np.float64), chains(parents)
        if method == "bulge_free":
            amount = correction * chain_ratio(few, side)
            moved = correct_bulge(p[v], moved, few, amount, segments, rigid, matrices)
        else:
            rest = np.asarray(mesh.positions, np.float64)[v]
            k = compensation_factor(rest, few, segments, side)
            moved += correction * k[:, None] * bulge_offset(few, segments, rigid)
    positions[v] = moved
    normals[v] = twin.normalized_or(_times(rotation[v], n[v]), n[v])
    normals[(n == 0).all(1)] = 0
    return positions, normals


def _times(matrices, vectors):
    return np.einsum("vij,vj->vi", matrices, vectors)


def _nearest_on_segment(point, head, segment):
    """The point of the segment (a vector from `head`) nearest to `point`."""
    x = ((point - head) * segment).sum(1) / (segment * segment).sum(1)
    return head + x.clip(0, 1)[:, None] * segment


def correct_bulge(v, p, found, amount, segments, rigid, matrices):
    """Moves vertices that dual quaternions move away from the segment of their leading bone back to
    their rest distance."""
    lead = found.bones[:, 0]
    head, segment = segments[lead, 0], segments[lead, 1] - segments[lead, 0]
    posed_head = _times(rigid[lead], head) + matrices[lead, :3, 3]
    rest_distance = np.linalg.norm(v - _nearest_on_segment(v, head, segment), axis=1)
    nearest = _nearest_on_segment(p, posed_head, _times(rigid[lead], segment))
    distance = np.linalg.norm(p - nearest, axis=1)
    bulges = distance > rest_distance  # False where there is no segment
    factor = np.divide(rest_distance, distance, out=np.ones(len(p)), where=bulges)
    corrected = nearest + (1 + amount * (factor - 1))[:, None] * (p - nearest)
    return np.where(bulges[:, None], corrected, p)


def compensation_factor(v, found, segments, side):
    """k (V,): how far a vertex moves along the offset of its two leading bones."""
    b0, b1 = found.bones[:, 0], found.bones[:, 1]
    w0, w1, w2 = found.weights[:, :3].T
    u = twin.normalized_or(segments[:, 1] - segments[:, 0])
    possible = (w1 > 0) & np.isfinite(u).all(1)[b0] & np.isfinite(u).all(1)[b1]
    w1 = np.where(possible, w1, 1)
    x = w1 / (w0 + w1)
    profile = 2.2 * x - 9.6 * x**2 + 10.4 * x**3
    radius = np.linalg.norm(np.cross(v - segments[b0, 0], u[b0]), axis=1)
    k = side[b0, b1] * radius * profile * (1 - w2 / w1) * (w0 + w1)
    return np.where(possible, k, 0)


def bulge_offset(found, segments, rigid):
    """o (V,3) of docs/methods.md#bulge-compensated."""
    b0, b1 = found.bones[:, 0], found.bones[:, 1]
    u = np.nan_to_num(twin.normalized_or(segments[:, 1] - segments[:, 0]))
    q = twin.quaternions(rigid)
    relative = twin.product(q[b0], q[b1] * [-1, -1, -1, 1])
    relative *= np.where(relative[:, 3:] < 0, -1, 1)
    axis = twin.normalized_or(relative[:, :3])
    bisector = twin.normalized_or(_times(rigid[b0], u[b0]) + _times(rigid[b1], u[b1]))
    # 1 - w from x, y and z: computed directly it loses half of the digits for small angles
    square = (relative[:, :3] ** 2).sum(1)
    amount = np.minimum(1, 2 * np.sqrt(square / (1 + relative[:, 3])))
    orthogonal = bisector - axis * (axis * bisector).sum(1, keepdims=True)
    return np.where(b1[:, None] >= 0, amount[:, None] * orthogonal, 0)
