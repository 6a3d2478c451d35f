# SPDX-License-Identifier: MIT
"""Sampling, bone morphs, appends and forward kinematics in float64 and plain numpy: the judge of
poses without IK. Written from the text of the definition, not from the C.

Models are `pmx_file.PMX`, motions `motion_file.Motion`; quaternions are x y z w, b acts first in
`product(a, b)`.
"""

import math

import numpy as np
from judges.twin import effective_weights, product, quaternions
from judges.twin import quaternion_matrix as matrix

IDENTITY = np.array([0.0, 0, 0, 1])
BONE_MORPH = 2
ROUNDED_PI = 3.14
__all__ = ["matrix", "product", "quaternions"]


def normalized(q):
    q = np.asarray(q, np.float64)  # before its length, which float32 would round
    length = np.linalg.norm(q)
    return q / length if length > 0 else IDENTITY


def about(axis, angle):
    """The rotation by `angle` about `axis`, which may have any length."""
    axis = np.asarray(axis, np.float64)
    return np.append(axis / np.linalg.norm(axis) * math.sin(angle / 2), math.cos(angle / 2))


def slerp(a, b, t):
    """Slerp along the shorter arc; outside 0..1 it continues on the same circle."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a @ b < 0:
        b = -b
    # the component of b perpendicular to a has the length of the angle's sine
    across = b - a * (a @ b)
    sine = np.linalg.norm(across)
    if sine < 1e-12:
        return a
    angle = math.atan2(sine, a @ b)
    return a * math.cos(t * angle) + across / sine * math.sin(t * angle)


# Sampling


def bezier(row, x, steps=12):
    """Value at x of the curve x1 y1 x2 y2 (bytes), by bisection."""
    x1, y1, x2, y2 = (v / 127 for v in row)
    if x <= 0 or x >= 1 or (x1 == y1 and x2 == y2):
        return min(max(x, 0.0), 1.0)

    def cubic(t, a, b):
        return 3 * (1 - t) ** 2 * t * a + 3 * (1 - t) * t**2 * b + t**3

    t = width = 0.5
    for _ in range(steps):
        error = cubic(t, x1, x2) - x
        if error == 0:
            break
        width /= 2
        t += width if error < 0 else -width
    return cubic(t, y1, y2)


def segment(frames, frame):
    """(key before, key after, position between them from 0 to 1)."""
    after = int(np.searchsorted(frames, frame, "right"))
    if after == 0:
        return 0, 0, 0.0
    if after == len(frames):
        return after - 1, after - 1, 0.0
    first, second = float(frames[after - 1]), float(frames[after])
    return after - 1, after, (frame - first) / (second - first)


def projected(q, axis):
    """MMD's fixed axis: the full angle about the axis."""
    axis, q = np.asarray(axis, np.float64), np.asarray(q, np.float64)
    length = np.linalg.norm(axis)
    if length == 0:
        return q
    side = -1 if q[:3] @ axis < 0 else 1
    return np.append(axis / length * np.linalg.norm(q[:3]) * side, q[3])


def bone_at(track, frame, axis=None, steps=12):
    """(translation, rotation) of a bone track."""
    a, b, x = segment(track.frames, frame)
    q = np.asarray(track.rotations, np.float64)
    ends = [normalized(q[k] if axis is None else projected(q[k], axis)) for k in (a, b)]
    heights = [bezier(row, x, steps) for row in track.interpolation[b]]
    t = np.asarray(track.translations, np.float64)
    return t[a] + (t[b] - t[a]) * heights[:3], slerp(*ends, heights[3])


def morph_at(track, frame):
    a, b, x = segment(track.frames, frame)
    w = np.asarray(track.weights, np.float64)
    return w[a] + (w[b] - w[a]) * x


def axis_turn(axis, angle):
    """3x3 matrix of a rotation about a coordinate axis, for column vectors."""
    return matrix(about(np.eye(3)[axis], angle))


def camera_at(track, frame, steps=12):
    """(position, target, up, fov) of a camera track, docs/mmd-behavior.md#camera-light-shadow.

    MMD takes twelve `steps` along its curves, many steps are the curve itself.
    """
    target, rotation, distance, fov = np.array([0.0, 10, 0]), np.zeros(3), -45.0, 30.0
    if len(track.frames):
        a, b, x = segment(track.frames, frame)
        if int(track.frames[b]) - int(track.frames[a]) <= 1:
            x = 0.0  # a cut
        h = [bezier(row, x, steps) for row in track.interpolation[b]]
        heights = np.array([*h[:3], h[3], h[3], h[3], h[4], h[5]])
        rows = [track.targets, track.rotations, track.distances, track.view_angles]
        values = np.column_stack([np.float64(v) for v in rows])
        values = values[a] + (values[b] - values[a]) * heights
        target, rotation, distance, fov = values[:3], values[3:6], values[6], values[7]
    turn = axis_turn(2, rotation[2]) @ axis_turn(0, rotation[0]) @ axis_turn(1, rotation[1])
    position = target + turn.T @ [0, 0, distance]
    if distance >= 0:
        target = position + turn[2]
    return position, target, turn[1], fov


def sample(model, motion, frame, steps=12):
    """(translations (B,3), rotations (B,4), sliders (M,)) of a frame."""
    bones = {track.name: track for track in motion.bones}
    morphs = {track.name: track for track in motion.morphs}
    translations = np.zeros((len(model.bones), 3))
    rotations = np.tile(IDENTITY, (len(model.bones), 1))
    taken = set()
    for i, bone in enumerate(model.bones):
        if bone.name in bones and bone.name not in taken:
            found = bone_at(bones[bone.name], frame, bone.fixed_axis, steps)
            translations[i], rotations[i] = found
            taken.add(bone.name)
    sliders = [morph_at(morphs[m.name], frame) if m.name in morphs else 0.0 for m in model.morphs]
    return translations, rotations, np.array(sliders, np.float64)


# Forward kinematics


def evaluation_order(bones):
    """Order by (after physics, layer (at least the parent's), index), with ancestors first."""
    keys = [None] * len(bones)

    def key(i):
        if keys[i] is None:
            own = (bool(bones[i].after_physics), bones[i].layer)
            parent = bones[i].parent
            keys[i] = max(own, key(parent)) if parent >= 0 else own
        return keys[i]

    order = []

    def emit(i):
        if i not in emitted:
            if bones[i].parent >= 0:
                emit(bones[i].parent)
            emitted.add(i)
            order.append(i)

    emitted = set()
    for i in sorted(range(len(bones)), key=lambda i: (*key(i), i)):
        emit(i)
    return order


def own_values(model, translations, rotations, sliders):
    """The user's values with bone morphs: translations add, rotations multiply on the outside."""
    t = np.array(translations, np.float64)
    q = np.array([normalized(r) for r in np.asarray(rotations, np.float64)]).reshape(-1, 4)
    if sliders is None:
        return t, q
    for morph, weight in zip(model.morphs, effective_weights(model.morphs, sliders), strict=True):
        if morph.kind != BONE_MORPH or weight == 0:
            continue
        for bone, values in zip(morph.indices, morph.values.astype(np.float64), strict=True):
            t[bone] += weight * values[:3]
            q[bone] = product(slerp(IDENTITY, normalized(values[3:]), weight), q[bone])
    return t, q


def scaled(q, ratio, pi=ROUNDED_PI):
    """`ratio` times the rotation, as MMD computes it: from the matrix, and with 3.14 for pi."""
    r = matrix(normalized(q))
    v, w = np.split(quaternions(r[None])[0], [3])
    if np.trace(r) >= 0:
        sign = np.sign(w[0])
    else:
        sign = np.sign(v[np.argmax(np.diag(r))])
    v, w = v * sign, float(w[0] * sign)
    half = math.acos(min(max(w, -1.0), 1.0)) - (pi if w < 0 else 0)
    length = np.linalg.norm(v)
    if half == 0 or length < 1.2e-7:
        return IDENTITY
    return np.append(v / length * math.sin(half * ratio), math.cos(half * ratio))


class Rig:
    def __init__(self, bones, t, q, pi):
        self.bones, self.t, self.q, self.pi = bones, t, q, pi
        self.append_t = np.zeros_like(t)
        self.append_q = np.tile(IDENTITY, (len(bones), 1))
        self.rest = np.array([b.position for b in bones], np.float64).reshape(-1, 3)
        self.world = np.tile(np.eye(4), (len(bones), 1, 1))

    def place(self, i):
        parent = self.bones[i].parent
        local = np.eye(4)
        local[:3, :3] = matrix(product(self.q[i], self.append_q[i]))
        rest = self.rest[i] - (self.rest[parent] if parent >= 0 else 0)
        local[:3, 3] = rest + self.t[i] + self.append_t[i]
        self.world[i] = self.world[parent] @ local if parent >= 0 else local

    def append(self, i):
        wanted = self.bones[i].append
        if not wanted or wanted.source in (-1, i):
            return
        s = wanted.source
        if wanted.rotation:
            turn = product(self.q[s], self.append_q[s])
            if wanted.local:
                turn = quaternions(self.world[s][None, :3, :3])[0]
            self.append_q[i] = scaled(turn, np.float32(wanted.ratio), self.pi)
        if wanted.translation:
            moved = self.t[s] + self.append_t[s]
            if wanted.local:
                moved = self.world[s][:3, 3] - self.rest[s]
            self.append_t[i] = np.float32(wanted.ratio) * moved


def settles(bones):
    """Whether a still pose stays after some evaluations: no append depends on itself."""
    reads = {}
    for i, bone in enumerate(bones):
        wanted = bone.append
        if not wanted or wanted.source in (-1, i) or not (wanted.rotation or wanted.translation):
            continue
        reads[i] = [wanted.source]
        while wanted.local and bones[reads[i][-1]].parent >= 0:
            reads[i].append(bones[reads[i][-1]].parent)
    left = set(reads)
    while left:
        ready = {i for i in left if not left.intersection(reads[i])}
        if not ready:
            return False
        left -= ready
    return True


def worlds(model, translations, rotations, sliders=None, pi=ROUNDED_PI):
    """World matrices (B,4,4) of local values, without IK."""
    rig = Rig(model.bones, *own_values(model, translations, rotations, sliders), pi)
    order = evaluation_order(model.bones)
    for i in order:
        rig.place(i)
    for _ in order if settles(model.bones) else (1,):
        before = rig.append_t.tobytes(), rig.append_q.tobytes()
        for i in order:
            rig.append(i)
            rig.place(i)
        if before == (rig.append_t.tobytes(), rig.append_q.tobytes()):
            break
    return rig.world


def rest_positions(model):
    return np.array([b.position for b in model.bones], np.float64).reshape(-1, 3)


def skinning(model, translations, rotations, sliders=None):
    """Skinning matrices (B,4,4): world times the translation by minus the rest position."""
    m = worlds(model, translations, rotations, sliders)
    m[:, :3, 3] -= np.einsum("bij,bj->bi", m[:, :3, :3], rest_positions(model))
    return m


# Measures for tests


def origins(matrices, rest):
    """Positions of bones with rest positions (B,3) under skinning matrices (…,B,4,4)."""
    m = np.asarray(matrices, np.float64)
    return np.einsum("...bij,bj->...bi", m[..., :3, :3], rest) + m[..., :3, 3]


def degrees_between(a, b):
    """Angles between rotation matrices (…,3,3), exact for small ones."""
    chord = np.linalg.norm(np.asarray(a, np.float64) - b, axis=(-2, -1)) / math.sqrt(8)
    return np.degrees(2 * np.arcsin(np.minimum(chord, 1)))
