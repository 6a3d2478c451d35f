# SPDX-License-Identifier: MIT
"""The three methods that lessen the bulge of dual quaternions, in float64: the judge of every kernel.

bulge_free (Kim and Han 2014), bulge_compensated (Sulema and Rudenko 2020) and centers_of_rotation
(Le and Hodgins 2016), written from their formulas and not from the C.
"""

from typing import NamedTuple

import numpy as np
from judges import twin

SIGMA = EPSILON = 0.1
_SHORT = 1e-4  # a bone shorter than this has no direction


class Influences(NamedTuple):
    """What acts on each vertex, by falling weight, the lower bone first among equals; (V,4) each."""

    bones: np.ndarray  # -1 where there is none
    weights: np.ndarray  # float64 of what is stored as float32, 0 where there is none


def influences(mesh):
    """Weights by their sum, slots of the same bone merged."""
    weights, _ = twin.normalised_weights(mesh)
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
    """(B,2,3) head and tail of each bone at rest; NaN where nothing gives one.

    Its own tail; else the whole segment of the bone whose rotation it copies; else its parent's.
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
            if np.linalg.norm(tail - head) > _SHORT:
                result[number] = head, tail
                break
            copies = bone.append is not None and bone.append.rotation and bone.append.ratio != 0
            at = bone.append.source if copies and bone.append.source >= 0 else bone.parent
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


def chain_share(found, side):
    """Of the weights that are not the leading bone's, the share of bones in line with it."""
    others = found.weights[:, 1:]
    joined = (side[found.bones[:, :1], found.bones[:, 1:]] != 0) & (found.bones[:, 1:] >= 0)
    total = others.sum(1)
    share = np.divide((others * joined).sum(1), total, out=np.zeros(len(total)), where=total != 0)
    return share.clip(0, 1)


# Centres of rotation


def similarity(a, b, sigma=SIGMA):
    """Equation (1), of two weight vectors."""
    a, b = np.float64(a), np.float64(b)
    across = np.outer(a, b) - np.outer(b, a)
    terms = np.outer(a * b, a * b) * np.exp(-((across / sigma) ** 2))
    return terms.sum() - np.trace(terms)


def _parts(n):
    """(n*n,3): barycentric centroids of the equal parts of a triangle whose sides are cut in n."""
    upright = [(i + 1 / 3, j + 1 / 3) for i in range(n) for j in range(n - i)]
    upset = [(i + 2 / 3, j + 2 / 3) for i in range(n) for j in range(n - 1 - i)]
    corner = np.float64(upright + upset) / n
    return np.column_stack([corner, 1 - corner.sum(1)])


def centers(positions, triangles, found, sigma=SIGMA, epsilon=EPSILON):
    """(V,3) by equation (4); the vertex itself where nothing is like it."""
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
    cuts = np.maximum(1, np.ceil(np.max(apart, axis=0, initial=0) / epsilon)).astype(int)
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
        for n in np.unique(cuts[chosen]):
            t = chosen[cuts[chosen] == n]
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
        share = (b_j * b_k * area)[:, 0]
        summed = np.column_stack([share[:, None] * centroid, share])
        vertices = np.flatnonzero(both[:, j] & both[:, k])
        distinct, which = np.unique(dense[vertices][:, [j, k]], axis=0, return_inverse=True)
        sums = np.empty((len(distinct), 4))
        for first in range(0, len(distinct), 64):
            a = distinct[first : first + 64]
            across = a[:, :1] * b_k[:, 0] - a[:, 1:] * b_j[:, 0]
            sums[first : first + 64] = np.exp(-((across / sigma) ** 2)) @ summed
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
    centres=None,
):
    """(positions, normals) in float64; `mesh` as for `twin.skin_frame`."""
    matrices = np.concatenate([np.asarray(matrices, np.float64), np.eye(4)[None]])
    found = influences(mesh)
    p = twin.morph_positions(mesh, weights)
    n = np.asarray(mesh.normals, np.float64)
    rigid = twin.rotations(matrices)
    turn, move, defined = twin.blend_qdef(
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
        c = np.asarray(centres, np.float64)[v]
        moved = _turned(turn[v], p[v] - c) + _turned(blend[:, :3, :3], c) + blend[:, :3, 3]
    else:
        moved = _turned(turn[v], p[v]) + move[v]
        segments, side = np.asarray(segments, np.float64), chains(parents)
        if method == "bulge_free":
            share = correction * chain_share(few, side)
            moved = pull_to_segment(p[v], moved, few, share, segments, rigid, matrices)
        else:
            rest = np.asarray(mesh.positions, np.float64)[v]
            k = compensation(rest, few, segments, side)
            moved += correction * k[:, None] * outward(few, segments, rigid)
    positions[v] = moved
    normals[v] = twin.unit_or(_turned(turn[v], n[v]), n[v])
    normals[(n == 0).all(1)] = 0
    return positions, normals


def _turned(turns, vectors):
    return np.einsum("vij,vj->vi", turns, vectors)


def _foot(point, head, along):
    """The point of the segment nearest to `point`, by how far it lies along."""
    x = ((point - head) * along).sum(1) / (along * along).sum(1)
    return head + x.clip(0, 1)[:, None] * along


def pull_to_segment(v, p, found, share, segments, rigid, matrices):
    """Vertices that left the segment of their leading bone, brought back to their distance."""
    lead = found.bones[:, 0]
    head, along = segments[lead, 0], segments[lead, 1] - segments[lead, 0]
    now = _turned(rigid[lead], head) + matrices[lead, :3, 3]
    rest = np.linalg.norm(v - _foot(v, head, along), axis=1)
    foot = _foot(p, now, _turned(rigid[lead], along))
    distance = np.linalg.norm(p - foot, axis=1)
    grown = distance > rest  # False where there is no segment
    factor = np.divide(rest, distance, out=np.ones(len(p)), where=grown)
    pulled = foot + (1 + share * (factor - 1))[:, None] * (p - foot)
    return np.where(grown[:, None], pulled, p)


def compensation(v, found, segments, side):
    """(V,) k: how far a vertex moves along the outward direction of its two leading bones."""
    b0, b1 = found.bones[:, 0], found.bones[:, 1]
    w0, w1, w2 = found.weights[:, :3].T
    along = twin.unit_or(segments[:, 1] - segments[:, 0])
    possible = (w1 > 0) & np.isfinite(along).all(1)[b0] & np.isfinite(along).all(1)[b1]
    w1 = np.where(possible, w1, 1)
    x = w1 / (w0 + w1)
    profile = 2.2 * x - 9.6 * x**2 + 10.4 * x**3
    radius = np.linalg.norm(np.cross(v - segments[b0, 0], along[b0]), axis=1)
    k = side[b0, b1] * radius * profile * (1 - w2 / w1) * (w0 + w1)
    return np.where(possible, k, 0)


def outward(found, segments, rigid):
    b0, b1 = found.bones[:, 0], found.bones[:, 1]
    along = np.nan_to_num(twin.unit_or(segments[:, 1] - segments[:, 0]))
    q = twin.quaternions(rigid)
    between = twin.product(q[b0], q[b1] * [-1, -1, -1, 1])
    between *= np.where(between[:, 3:] < 0, -1, 1)
    axis = twin.unit_or(between[:, :3])
    outside = twin.unit_or(_turned(rigid[b0], along[b0]) + _turned(rigid[b1], along[b1]))
    # 1 - w from the other parts: 1 - w itself loses half of the digits near rest
    sine = (between[:, :3] ** 2).sum(1)
    reach = np.minimum(1, 2 * np.sqrt(sine / (1 + between[:, 3])))
    across = outside - axis * (axis * outside).sum(1, keepdims=True)
    return np.where(b1[:, None] >= 0, reach[:, None] * across, 0)
