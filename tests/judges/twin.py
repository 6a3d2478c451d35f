# SPDX-License-Identifier: MIT
"""The formulas of mmdskin a second time, in float64 and plain numpy, to judge every kernel.

Written from the text of the definition, not from the C: morph procedure, BDEF, SDEF, QDEF, normals,
tangents and every fallback, one function each, under the names that skin_scalar.c lists. Matrices
are row-major and act on column vectors.
"""

from dataclasses import dataclass, field

import numpy as np

BDEF1, BDEF2, BDEF4, SDEF, QDEF = range(5)
# slots of bone_indices that each deform type uses
SLOTS = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1]], bool)


@dataclass
class Mesh:
    """The fields of `mmdskin.Mesh`, padded to four slots; a `pmx_file.PMX` can be used instead."""

    positions: np.ndarray
    bone_indices: np.ndarray
    bone_weights: np.ndarray
    normals: np.ndarray | None = None
    tangents: np.ndarray | None = None
    deform: np.ndarray | None = None
    sdef: np.ndarray | None = None
    morphs: list = field(default_factory=list)

    def __post_init__(self):
        n, k = np.shape(self.bone_indices)
        pad = ((0, 0), (0, 4 - k))
        self.bone_indices = np.pad(np.asarray(self.bone_indices), pad, constant_values=-1)
        self.bone_weights = np.pad(np.asarray(self.bone_weights, np.float32), pad)
        if self.deform is None:
            self.deform = np.full(n, BDEF4, np.uint8)
        if self.sdef is None:
            self.sdef = np.zeros((n, 3, 3), np.float32)


def flip_choice(weight, count):
    """The child that a flip morph selects, or None: (int)((n + 1) w) - 1, at most the last."""
    chosen = int((count + 1) * weight) - 1
    return None if chosen < 0 else min(chosen, count - 1)


def effective_weights(morphs, weights):
    """Converts the slider values of all morphs to the weights of those that are neither group nor flip."""
    weights = np.array(weights, np.float64)
    kinds = [m.kind if isinstance(m.kind, str) else _KINDS[m.kind] for m in morphs]

    def flip(j, weight):
        m = morphs[j]
        chosen = flip_choice(weight, len(m.indices)) if len(m.indices) else None
        if chosen is not None and 0 <= m.indices[chosen] < len(morphs):
            weights[m.indices[chosen]] = m.values[chosen][0]

    for j, m in enumerate(morphs):
        if kinds[j] == "flip":
            flip(j, weights[j])
        elif kinds[j] == "group":
            for child, (ratio,) in zip(m.indices, m.values, strict=True):
                if 0 <= child < len(morphs) and kinds[child] == "flip":
                    flip(child, weights[j] * ratio)
    result = np.zeros(len(morphs))
    for j, m in enumerate(morphs):
        if kinds[j] == "group":
            for child, (ratio,) in zip(m.indices, m.values, strict=True):
                if 0 <= child < len(morphs) and kinds[child] not in ("group", "flip"):
                    result[child] += weights[j] * ratio
        elif kinds[j] != "flip":
            result[j] += weights[j]
    return result


_KINDS = (
    "group",
    "vertex",
    "bone",
    "uv",
    "uv1",
    "uv2",
    "uv3",
    "uv4",
    "material",
    "flip",
    "impulse",
)


def morph_positions(mesh, weights):
    p = np.array(mesh.positions, np.float64)
    if weights is None or not len(mesh.morphs):
        return p
    if isinstance(mesh, Mesh):
        moves = [(w, *m) for w, m in zip(weights, mesh.morphs, strict=True)]
    else:
        pairs = zip(effective_weights(mesh.morphs, weights), mesh.morphs, strict=True)
        moves = [(w, m.indices, m.values) for w, m in pairs if m.kind in (1, "vertex")]
    for w, indices, offsets in moves:
        inside = (np.asarray(indices) >= 0) & (np.asarray(indices) < len(p))
        np.add.at(
            p, np.asarray(indices)[inside], float(w) * np.asarray(offsets, np.float64)[inside]
        )
    return p


def normalized_weights(mesh):
    """Weights (V,4) that sum to 1, and a mask of the vertices that have any."""
    used = SLOTS[mesh.deform] & (np.asarray(mesh.bone_indices) >= 0)
    w = (
        np.where(
            np.asarray(mesh.deform)[:, None] == BDEF1,
            1.0,
            np.asarray(mesh.bone_weights, np.float64),
        )
        * used
    )
    total = w.sum(1)
    left = (w != 0).any(1) & (abs(total) >= 1e-6 * abs(w).sum(1))
    return np.where(left[:, None], w / np.where(left, total, 1)[:, None], 0), left


def normalized_or(v, fallback=None):
    """Normalized rows; where zero, the normalized rows of `fallback`, or zero."""
    v = np.asarray(v, np.float64)
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    result = np.divide(v, length, out=np.zeros_like(v), where=length > 1e-300)
    return (
        result if fallback is None else np.where(length > 1e-300, result, normalized_or(fallback))
    )


def _times(matrices, vectors):
    return np.einsum("vij,vj->vi", matrices, vectors)


def linear_normal(linear, normals):
    """Normals times the inverse transpose, up to a positive factor; the input where it does not exist."""
    a, b, c = linear[:, 0], linear[:, 1], linear[:, 2]
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], -2)
    sign = np.where(np.linalg.det(linear) < 0, -1, 1)
    return normalized_or(_times(cofactors * sign[:, None, None], normals), normals)


def rotations(matrices):
    """Rotation of each matrix: Gram-Schmidt on columns x, y, and z = x × y."""
    x = normalized_or(matrices[..., :3, 0])
    y = matrices[..., :3, 1]
    y = normalized_or(y - x * (x * y).sum(-1, keepdims=True))
    return np.stack([x, y, np.cross(x, y)], -1)


def quaternions(r):
    """xyzw of rotation matrices, from the largest of the four components."""
    m = r.reshape(-1, 3, 3)
    xx, yy, zz = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    squares = np.stack([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz], 1)
    xy, xz, yz = m[:, 0, 1] + m[:, 1, 0], m[:, 0, 2] + m[:, 2, 0], m[:, 1, 2] + m[:, 2, 1]
    wx, wy, wz = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    rows = np.stack(
        [
            [squares[:, 0], xy, xz, wx],
            [xy, squares[:, 1], yz, wy],
            [xz, yz, squares[:, 2], wz],
            [wx, wy, wz, squares[:, 3]],
        ]
    )
    best = squares.argmax(1)
    return normalized_or(rows[best, :, np.arange(len(m))]).reshape(*r.shape[:-2], 4)


def bone_rotation(matrices):
    return quaternions(rotations(matrices))


def product(a, b):
    """Quaternion a ⊗ b: b acts first."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate(
        [aw * bv + bw * av + np.cross(av, bv), aw * bw - (av * bv).sum(-1, keepdims=True)], -1
    )


def quaternion_matrix(q):
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def slerp_weights(angle, w0, w1):
    """The factors of slerp for two weights."""
    small = angle < 1e-9
    s = np.where(small, 1, np.sin(angle))
    return [np.where(small, w, np.sin(w * angle) / s) for w in (w0, w1)]


def blend_linear(w, matrices):
    """Weighted sums of matrices (n,k,4,4) with weights (n,k)."""
    return np.einsum("vk,vkij->vij", w, matrices)


def blend_sdef(w0, w1, m0, m1, q0, q1, c, r0, r1, how):
    """Equation (4): rotation and translation of `rotation @ p + move`."""
    dot = (q0 * q1).sum(-1, keepdims=True)
    q1, factors = np.where(dot < 0, -q1, q1), (w0[:, None], w1[:, None])
    if how == "slerp":
        # atan2 for the angle: arccos loses half of the digits near zero
        angle = 2 * np.arctan2(
            np.linalg.norm(q1 - q0, axis=-1, keepdims=True),
            np.linalg.norm(q1 + q0, axis=-1, keepdims=True),
        )
        factors = slerp_weights(angle, *factors)
    rotation = quaternion_matrix(normalized_or(factors[0] * q0 + factors[1] * q1))
    blend = blend_linear(np.stack([w0, w1], 1), np.stack([m0, m1], 1))
    half = (w0 * w1 / 2)[:, None, None] * (m0 - m1)[:, :3, :3]
    target = _times(blend[:, :3, :3], c) + blend[:, :3, 3] + _times(half, r0 - r1)
    return rotation, target - _times(rotation, c)


def blend_qdef(w, q, t):
    """(n,4) weights, (n,4,4) quaternions, (n,4,3) moves to rotation, move and whether defined."""
    pivot = q[np.arange(len(q)), w.argmax(1)]
    sign = np.where((q * pivot[:, None]).sum(-1) < 0, -1, 1)
    dual = product(np.concatenate([t, np.zeros_like(t[..., :1])], -1), q) / 2
    real = ((w * sign)[..., None] * q).sum(1)
    dual = ((w * sign)[..., None] * dual).sum(1)
    length = np.linalg.norm(real, axis=-1)
    defined = length >= 1e-6
    length = np.where(defined, length, 1)[:, None]
    real, dual = real / length, dual / length
    return quaternion_matrix(real), 2 * product(dual, real * [-1, -1, -1, 1])[:, :3], defined


def skin_kind_of(mesh, w, matrices, method):
    """The deform type that skins each vertex: BDEF4 for all linear types, SDEF or QDEF."""
    kind, index = np.asarray(mesh.deform), np.asarray(mesh.bone_indices)
    sdef = (kind == SDEF) & (w[:, 0] != 0) & (w[:, 1] != 0) & (index[:, 0] != index[:, 1])
    sdef &= (np.asarray(mesh.sdef).reshape(-1, 9) != 0).any(1)
    qdef = kind == QDEF
    if method == "linear":
        sdef = qdef = np.zeros(len(kind), bool)
    elif method == "dual_quaternion":
        sdef, qdef = np.zeros(len(kind), bool), np.ones(len(kind), bool)
    proper = np.linalg.det(matrices[:, :3, :3]) > 0
    rigid = ((w == 0) | proper[index]).all(1)
    return np.select([sdef & rigid, qdef & rigid], [SDEF, QDEF], BDEF4)


def skin_frame(mesh, matrices, weights=None, *, method="mmd", sdef_blend="nlerp", tangents=False):
    """(positions, normals, tangents) of one frame in float64; None for what the mesh lacks."""
    # an extra last matrix is for empty slots (index -1), whose weight is zero
    matrices = np.concatenate([np.asarray(matrices, np.float64), np.eye(4)[None]])
    p = morph_positions(mesh, weights)
    w, left = normalized_weights(mesh)
    index = np.asarray(mesh.bone_indices)
    kind = skin_kind_of(mesh, w, matrices, method)
    blend = blend_linear(w, matrices[index])
    blend[~left] = np.eye(4)
    linear, offset = blend[:, :3, :3].copy(), blend[:, :3, 3].copy()
    q = bone_rotation(matrices)
    s = np.flatnonzero(left & (kind == SDEF))
    if len(s):
        i0, i1, c = index[s, 0], index[s, 1], np.asarray(mesh.sdef, np.float64)[s]
        linear[s], offset[s] = blend_sdef(
            w[s, 0],
            w[s, 1],
            matrices[i0],
            matrices[i1],
            q[i0],
            q[i1],
            *c.swapaxes(0, 1),
            sdef_blend,
        )
    d = np.flatnonzero(left & (kind == QDEF))
    if len(d):
        rotation, translation, exists = blend_qdef(w[d], q[index[d]], matrices[index[d], :3, 3])
        d = d[exists]
        linear[d], offset[d] = rotation[exists], translation[exists]
    positions = _times(linear, p) + offset
    if mesh.normals is None:
        return positions, None, None
    n = np.asarray(mesh.normals, np.float64)
    normals = linear_normal(linear, n)
    rigid = np.concatenate([s, d])
    normals[rigid] = normalized_or(_times(linear[rigid], n[rigid]), n[rigid])
    normals[(n == 0).all(1)] = 0
    if not tangents:
        return positions, normals, None
    rest = np.asarray(mesh.tangents, np.float64)
    return positions, normals, orthogonal_tangent(linear, rest, normals)


def orthogonal_tangent(linear, rest, normals):
    t = rest[:, :3]
    moved = _times(linear, t)
    orthogonal = moved - normals * (normals * moved).sum(1, keepdims=True)
    # parallel to the normal up to rounding counts as zero
    orthogonal[np.linalg.norm(orthogonal, axis=1) <= 1e-12 * np.linalg.norm(moved, axis=1)] = 0
    mirrored = np.linalg.det(linear) < 0
    signs = np.where(mirrored[:, None], -rest[:, 3:], rest[:, 3:])
    return np.concatenate([normalized_or(orthogonal, t), signs], 1)


def uv_tangents(positions, normals, uvs, triangles):
    """Tangents (V,4) along u with handedness w, from sums over the triangles with texture area, weighted by
    their angles at the vertex; perpendicular to the normal where the sum vanishes. None if no triangle
    has texture area."""
    p, uv = np.asarray(positions, np.float64), np.asarray(uvs, np.float64)
    n = normalized_or(np.asarray(normals, np.float64))
    t = np.asarray(triangles)
    edges, uv_edges = p[t[:, 1:]] - p[t[:, :1]], uv[t[:, 1:]] - uv[t[:, :1]]
    area = uv_edges[:, 0, 0] * uv_edges[:, 1, 1] - uv_edges[:, 1, 0] * uv_edges[:, 0, 1]
    inverse = np.stack(
        [[uv_edges[:, 1, 1], -uv_edges[:, 0, 1]], [-uv_edges[:, 1, 0], uv_edges[:, 0, 0]]]
    )
    directions = np.einsum("ijt,tjk->itk", inverse * np.where(area < 0, -1, 1), edges)
    used = (area != 0) & (np.linalg.norm(directions, axis=2) > 0).all(0)
    if not used.any():
        return None
    directions = normalized_or(directions)
    sums, angles = np.zeros((2, len(p), 3)), np.zeros(len(p))
    for corner in range(3):
        a, b = (p[t[:, (corner + k) % 3]] - p[t[:, corner]] for k in (1, 2))
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(1)) * used
        np.add.at(angles, t[:, corner], angle)
        for axis in range(2):
            np.add.at(sums[axis], t[:, corner], directions[axis] * angle[:, None])
    tangents = sums[0] - n * (n * sums[0]).sum(1, keepdims=True)
    found = np.linalg.norm(tangents, axis=1) > 1e-6 * angles
    axis_vectors = np.eye(3)[abs(n).argmin(1)]
    tangents[~found] = (axis_vectors - n * (n * axis_vectors).sum(1, keepdims=True))[~found]
    tangents = normalized_or(tangents)
    mirrored = found & ((np.cross(n, tangents) * sums[1]).sum(1) < 0)
    return np.column_stack([tangents, np.where(mirrored, -1, 1)])


def skin(mesh, matrices, weights=None, **options):
    """Like `mmdskin.skin`, also for batches: (F,V,·) arrays when either argument has frames."""
    batched_m, batched_w = np.ndim(matrices) == 4, np.ndim(weights) == 2
    if not (batched_m or batched_w):
        return skin_frame(mesh, matrices, weights, **options)
    frames = max(len(matrices) if batched_m else 1, len(weights) if batched_w else 1)
    results = [
        skin_frame(
            mesh,
            matrices[f % len(matrices)] if batched_m else matrices,
            weights[f % len(weights)] if batched_w else weights,
            **options,
        )
        for f in range(frames)
    ]
    return tuple(None if part[0] is None else np.stack(part) for part in zip(*results, strict=True))
