# SPDX-License-Identifier: MIT
"""Our own sample model, built in code: five limbs with faces, one per deform type, on a base.

`build_sample()` gives a PMX 2.1 file, `bend(degrees)` and `twist(degrees)` skinning matrices that
pose every limb's elbow the same, `limb_vertices("SDEF")` the vertices of one limb. Run as a script it
writes the file and its texture.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
from files import pmx_file as pmx
from sample.shapes import capsule, patch, texture_png

LIMBS = ("BDEF1", "BDEF2", "BDEF4", "SDEF", "QDEF")
SPACING, RADIUS = 7.0, 1.0
BOTTOM, ELBOW, WRIST, TOP = 1.0, 7.0, 11.5, 13.0
# the elbow's weights change over this many units on either side
BLEND = 1.6
COLORS = (
    (0.42, 0.65, 0.86),
    (0.90, 0.48, 0.42),
    (0.93, 0.74, 0.35),
    (0.44, 0.76, 0.55),
    (0.68, 0.55, 0.85),
)
# of the limbs, the base, the tail and the faces
PART_COLORS = (*COLORS, (0.55, 0.57, 0.62), (0.35, 0.37, 0.42), (0.13, 0.12, 0.18))
# on the front of every limb: part, then x, y, width, height
FACE = (
    ("left_eye", 0.42, 11.2, 0.36, 0.56),
    ("right_eye", -0.42, 11.2, 0.36, 0.56),
    ("mouth", 0.0, 10.3, 0.62, 0.2),
)
LIFT = 0.03
TEXTURE = "tex/格子.png"

CENTER = 0
# bones of limb i, from 1 + 4 i on: upper, fore, wrist, helper (rotates by half of the elbow)
UPPER, FORE, HAND, HELPER = range(4)
TAIL = 1 + 4 * len(LIMBS)


def limb_x(limb):
    return (limb - (len(LIMBS) - 1) / 2) * SPACING


def limb_bone(limb, part):
    return 1 + 4 * limb + part


def smoothstep(x):
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)


class _Parts:
    """Vertex arrays of the parts, one after the other."""

    def __init__(self):
        self.rows = {
            k: []
            for k in (
                "positions",
                "normals",
                "uvs",
                "deform",
                "bone_indices",
                "bone_weights",
                "sdef",
            )
        }
        self.triangles, self.ranges, self.count = [], {}, 0

    def add(self, name, positions, normals, uvs, triangles, deform, bones, weights, sdef=None):
        n = len(positions)
        pad = ((0, 0), (0, 4 - len(bones)))
        self.rows["positions"].append(positions)
        self.rows["normals"].append(normals)
        self.rows["uvs"].append(uvs)
        self.rows["deform"].append(np.full(n, deform))
        self.rows["bone_indices"].append(np.pad(np.tile(bones, (n, 1)), pad, constant_values=-1))
        self.rows["bone_weights"].append(np.pad(np.asarray(weights), pad))
        self.rows["sdef"].append(np.zeros((n, 3, 3)) if sdef is None else sdef)
        self.triangles.append(triangles + self.count)
        self.ranges[name] = range(self.count, self.count + n)
        self.count += n

    def arrays(self):
        types = {"deform": np.uint8, "bone_indices": np.int32}
        arrays = {
            k: np.concatenate(v).astype(types.get(k, np.float32)) for k, v in self.rows.items()
        }
        return arrays, np.concatenate(self.triangles).astype(np.int32)


def _limb_deform(limb, y):
    """Bones, weights and SDEF parameters of vertices at height y of a limb."""
    kind = LIMBS[limb]
    upper, fore, hand, helper = (limb_bone(limb, part) for part in range(4))
    w1 = smoothstep((y - ELBOW + BLEND) / (2 * BLEND))
    w_hand = smoothstep((y - WRIST + 0.5) / 1.0)
    sdef = None
    if kind == "BDEF1":
        bones, weights = [upper], np.ones((len(y), 1))
    elif kind in ("BDEF2", "SDEF"):
        bones, weights = [upper, fore], np.stack([1 - w1, w1], 1)
        if kind == "SDEF":
            # C: the vertex's projection on the axis; R0 and R1: from there towards each bone
            center = np.stack([np.full_like(y, limb_x(limb)), y, np.zeros_like(y)], 1)
            reach = np.stack([np.zeros_like(y), np.full_like(y, BLEND), np.zeros_like(y)], 1)
            sdef = np.stack([center, center - reach, center + reach], 1)
    elif kind == "BDEF4":
        half = 4 * w1 * (1 - w1) * 0.4
        bones = [upper, helper, fore, hand]
        weights = np.stack(
            [(1 - w1) * (1 - half), half, w1 * (1 - half) * (1 - w_hand), w1 * (1 - half) * w_hand],
            1,
        )
    else:
        bones = [upper, fore, hand]
        weights = np.stack([1 - w1, w1 * (1 - w_hand), w1 * w_hand], 1)
    return bones, weights, sdef


def _add_limb(parts, limb):
    kind = LIMBS[limb]
    positions, normals, uvs, triangles, y = capsule(BOTTOM, TOP, RADIUS)
    positions = np.add(positions, [limb_x(limb), 0, 0])
    deform = LIMBS.index(kind), *_limb_deform(limb, y)
    parts.add(kind, positions, normals, uvs, triangles, *deform)
    if kind == "BDEF1":
        rows = parts.rows["bone_indices"][-1]
        rows[y >= ELBOW, 0] = limb_bone(limb, FORE)


def _add_face(parts, limb):
    """Eyes and a mouth, deformed like the limb that they are on."""
    for name, x, y, width, height in FACE:
        positions, normals, triangles, heights = patch(x, y, width, height, RADIUS, LIFT)
        deform = LIMBS.index(LIMBS[limb]), *_limb_deform(limb, heights)
        positions = np.add(positions, [limb_x(limb), 0, 0])
        uvs = np.full((len(heights), 2), 0.01)  # in one square of the texture
        parts.add(f"{name}_{LIMBS[limb]}", positions, normals, uvs, triangles, *deform)
        if LIMBS[limb] == "BDEF1":
            parts.rows["bone_indices"][-1][:, 0] = limb_bone(limb, FORE)


def _bones():
    bones = [pmx.Bone("センター", "center", (0, 0, 0), tail_offset=(0, 1, 0), flags=0x1E)]
    for limb, kind in enumerate(LIMBS):
        x, base = limb_x(limb), limb_bone(limb, 0)
        bones += [
            pmx.Bone(
                f"上腕_{kind}",
                f"upper_{kind}",
                (x, BOTTOM, 0),
                CENTER,
                tail_bone=base + FORE,
                tail_offset=None,
            ),
            pmx.Bone(
                f"ひじ_{kind}",
                f"elbow_{kind}",
                (x, ELBOW, 0),
                base,
                tail_bone=base + HAND,
                tail_offset=None,
                local_axes=((0.0, 1.0, 0.0), (0.0, 0.0, -1.0)),
            ),
            pmx.Bone(
                f"手首_{kind}",
                f"wrist_{kind}",
                (x, WRIST, 0),
                base + FORE,
                tail_offset=(0, TOP - WRIST, 0),
            ),
            pmx.Bone(
                f"ひじ補助_{kind}",
                f"elbow_helper_{kind}",
                (x, ELBOW, 0),
                base,
                layer=1,
                tail_offset=(0, 1, 0),
                append=pmx.Append(base + FORE, 0.5),
            ),
        ]
    x = limb_x(0) - 4.5
    knee = ((-np.pi, 0.0, 0.0), (-0.0087, 0.0, 0.0))
    bones += [
        pmx.Bone("尾１", "tail_1", (x, 0.5, 0), CENTER, tail_bone=TAIL + 1, tail_offset=None),
        pmx.Bone("尾２", "tail_2", (x, 4.5, 0.1), TAIL, tail_bone=TAIL + 2, tail_offset=None),
        pmx.Bone("尾３", "tail_3", (x, 8.5, 0), TAIL + 1, tail_offset=(0, 1.5, 0)),
        pmx.Bone(
            "尾ＩＫ",
            "tail_ik",
            (x, 8.5, 0),
            CENTER,
            tail_offset=(0, 0, 1),
            ik=pmx.IK(TAIL + 2, 40, 2.0, [pmx.IKLink(TAIL + 1, *knee), pmx.IKLink(TAIL)]),
        ),
        pmx.Bone(
            "尾追従",
            "tail_follow",
            (x, 10.0, 0),
            CENTER,
            layer=2,
            tail_offset=(0, 1, 0),
            append=pmx.Append(TAIL + 3, -0.25, rotation=False, translation=True, local=True),
        ),
        pmx.Bone(
            "捩り", "twist", (x, 2.5, 0), TAIL, tail_offset=(0, 1, 0), fixed_axis=(0.0, 1.0, 0.0)
        ),
        pmx.Bone(
            "外部親",
            "external",
            (0, 0, 2),
            CENTER,
            tail_offset=(0, 1, 0),
            external_parent=3,
            after_physics=True,
        ),
    ]
    return bones


def _swell(m, where, amount):
    """Vertex morph along the normals, as (indices, offsets), of the forearms of all limbs."""
    y = m.positions[:, 1]
    strength = np.exp(-(((y - where) / 0.9) ** 2)) * amount
    limbs = np.concatenate([*map(limb_vertices, LIMBS), face_vertices()])
    indices = limbs[abs(strength[limbs]) > 1e-3]
    return indices.astype(np.int32), strength[indices, None] * m.normals[indices]


def _face_morph(m, offset, *names):
    """Vertex morph of these parts of every face: the offset in y of (x, y) from a part's center."""
    where = {name: (x, y) for name, x, y, _, _ in FACE}
    rows = []
    for limb, kind in enumerate(LIMBS):
        for name in names:
            indices, (x, y) = limb_vertices(f"{name}_{kind}"), where[name]
            rows.append((indices, offset(*(m.positions[indices, :2] - (limb_x(limb) + x, y)).T)))
    indices, offsets = (np.concatenate(column) for column in zip(*rows, strict=True))
    return indices.astype(np.int32), offsets[:, None] * np.float32([0, 1, 0])


def _morphs(m):
    sdef = limb_vertices("SDEF").astype(np.int32)
    uv = np.tile(np.float32([0.0, 0.25, 0.0, 0.0]), (len(sdef), 1))
    bends = np.array([limb_bone(i, FORE) for i in range(len(LIMBS))])
    rotation = np.tile(
        np.float32([0, 0, 0, 0, 0, -np.sin(np.pi / 8), np.cos(np.pi / 8)]), (len(bends), 1)
    )
    fade = [1.0, 0.0, 0.0, 0.0, -0.5] + [0.0] * 24  # add: diffuse alpha
    tint = [0.0] + [1.0, 0.6, 0.6, 1.0] + [1.0] * 24  # multiply: redder

    eyes = "left_eye", "right_eye"

    def column(*values):
        return np.reshape(np.float32(values), (-1, 1))

    return [
        pmx.Morph("膨らみ", "swell", 4, 1, *_swell(m, 9.0, 0.55)),
        pmx.Morph("細り", "slim", 4, 1, *_swell(m, 9.0, -0.4)),
        pmx.Morph("節", "knot", 4, 1, *_swell(m, ELBOW, 0.35)),
        pmx.Morph("筋肉", "muscle", 3, 0, np.int32([0, 2]), column(1.0, 0.5)),
        pmx.Morph("切替", "switch", 2, 9, np.int32([0, 1]), column(1.0, 0.75)),
        pmx.Morph("切替群", "switch group", 1, 0, np.int32([4, 2]), column(1.0, -0.25)),
        pmx.Morph("模様移動", "slide", 4, 3, sdef, uv),
        pmx.Morph("追加UV移動", "slide uv1", 4, 4, sdef[:100], uv[:100] * 2),
        pmx.Morph("腕曲げ", "bend", 4, 2, bends.astype(np.int32), rotation),
        pmx.Morph("透過", "fade", 4, 8, np.int32([-1, 3]), np.float32([fade, tint])),
        pmx.Morph("衝撃", "impulse", 4, 10, np.int32([1]), np.float32([[1, 0, 5, 0, 0, 0, 1]])),
        pmx.Morph("まばたき", "blink", 2, 1, *_face_morph(m, lambda x, y: -0.85 * y, *eyes)),
        pmx.Morph("あ", "a", 3, 1, *_face_morph(m, lambda x, y: 2.2 * y, "mouth")),
        pmx.Morph("にっこり", "smile", 3, 1, *_face_morph(m, lambda x, y: 2.5 * x**2, "mouth")),
    ]


@cache
def _parts():
    parts = _Parts()
    for limb in range(len(LIMBS)):
        _add_limb(parts, limb)
    # base: a lying capsule, and the tail that the IK chain moves
    width = SPACING * len(LIMBS) / 2 + 3.5
    positions, normals, uvs, triangles, _ = capsule(-width, width, 0.9, along=30)
    sideways = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]])
    parts.add(
        "base",
        positions @ sideways.T,
        normals @ sideways.T,
        uvs,
        triangles,
        pmx.BDEF1,
        [CENTER],
        np.ones((len(positions), 1)),
    )
    positions, normals, uvs, triangles, y = capsule(0.5, 10.0, 0.35, around=12)
    w2 = smoothstep((y - 3.5) / 2)
    w3 = smoothstep((y - 7.9) / 1.2)
    weights = np.stack([1 - w2, w2 * (1 - w3), w2 * w3], 1)
    tail = np.add(positions, [limb_x(0) - 4.5, 0, 0])
    parts.add("tail", tail, normals, uvs, triangles, pmx.BDEF4, [TAIL, TAIL + 1, TAIL + 2], weights)
    for limb in range(len(LIMBS)):
        _add_face(parts, limb)
    return parts


def limb_vertices(kind):
    """Vertex indices of the limb of that deform type; also of "base", "tail" and the
    parts of faces, as "mouth_SDEF"."""
    return np.array(_parts().ranges[kind])


def face_vertices():
    """Vertex indices of all faces."""
    parts = [f"{name}_{kind}" for kind in LIMBS for name, *_ in FACE]
    return np.concatenate([limb_vertices(part) for part in parts])


def limb_triangles(kind):
    """Triangles (n,3) of one part, counted from its own first vertex."""
    parts = _parts()
    return parts.triangles[list(parts.ranges).index(kind)] - parts.ranges[kind].start


def sample():
    """The sample as a `pmx_file.PMX`."""
    parts = _parts()
    arrays, triangles = parts.arrays()
    m = pmx.PMX(
        version=2.1, name="見本の腕", name_english="sample limbs", triangles=triangles, **arrays
    )
    m.comment = "変形方式の見本\r\n自作モデル。自由に使えます。"
    m.comment_english = "Five limbs, one per deform type.\r\nMade by code, MIT licence."
    n = len(m.positions)
    m.edge_scales = np.ones(n, np.float32)
    m.additional_uvs = np.zeros((n, 1, 4), np.float32)
    m.additional_uvs[:, 0, :2] = m.uvs
    m.textures = [TEXTURE]
    bodies = len(LIMBS) + 2
    faces = np.concatenate(parts.triangles[bodies:])
    for name, color, part in zip(
        [*LIMBS, "台", "尾", "顔"], PART_COLORS, [*parts.triangles[:bodies], faces], strict=True
    ):
        m.materials.append(
            pmx.Material(
                f"材質_{name}",
                name,
                (*color, 1.0),
                (0.2, 0.2, 0.2),
                20.0,
                tuple(0.4 * c for c in color),
                flags=0x1E,
                edge_color=(0.1, 0.1, 0.15, 1.0),
                edge_size=0.6,
                texture=0,
                shared_toon=True,
                toon=2,
                memo="見本",
                index_count=part.size,
            )
        )
    m.bones = _bones()
    m.morphs = _morphs(m)
    arms = [(0, limb_bone(i, part)) for i in range(len(LIMBS)) for part in range(4)]
    m.display_frames = [
        pmx.DisplayFrame("Root", "Root", True, [(0, CENTER)]),
        pmx.DisplayFrame("表情", "Exp", True, [(1, i) for i in range(len(m.morphs))]),
        pmx.DisplayFrame("腕", "arms", False, arms),
        pmx.DisplayFrame("尾", "tail", False, [(0, i) for i in range(TAIL, len(m.bones))]),
    ]
    x = limb_x(0) - 4.5
    m.rigid_bodies = [
        pmx.RigidBody("台", "base", CENTER, 0, 0xFFFE, 1, (20.0, 0.9, 0.9), mode=0),
        pmx.RigidBody(
            "尾先",
            "tail tip",
            TAIL + 2,
            1,
            0xFFFD,
            2,
            (0.35, 1.5, 0.0),
            (x, 9.2, 0.0),
            (0.0, 0.0, 0.1),
            0.5,
            mode=1,
        ),
    ]
    limit = (0.3, 0.3, 0.3)
    m.joints = [
        pmx.Joint(
            "尾継",
            "tail joint",
            0,
            0,
            1,
            (x, 8.5, 0.0),
            (0.0, 0.0, 0.0),
            rotation_lower=tuple(-v for v in limit),
            rotation_upper=limit,
            rotation_spring=(10.0, 10.0, 10.0),
        ),
    ]
    tail = parts.ranges["tail"]
    m.soft_bodies = [
        pmx.SoftBody("柔体", "soft", 0, 6, anchors=[(1, tail.start, 0)], pins=[tail.start + 1])
    ]
    return m


@cache
def build_sample():
    """Bytes of the sample's PMX 2.1 file."""
    return pmx.write(sample())


def _pose(axis, degrees):
    """Skinning matrices (B,4,4): forearms rotated about the elbow, helpers by half."""
    matrices = np.tile(np.eye(4), (len(_bones()), 1, 1))
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]], float)
    for limb in range(len(LIMBS)):
        pivot = np.array([limb_x(limb), ELBOW, 0])
        for part, fraction in ((FORE, 1), (HAND, 1), (HELPER, 0.5)):
            a = np.radians(degrees) * fraction
            r = np.eye(3) + np.sin(a) * k + (1 - np.cos(a)) * (k @ k)
            m = matrices[limb_bone(limb, part)]
            m[:3, :3], m[:3, 3] = r, pivot - r @ pivot
    return matrices.astype(np.float32)


def bend(degrees):
    """Skinning matrices (B,4,4) with every elbow bent sideways (towards +x)."""
    return _pose((0, 0, -1), degrees)


def twist(degrees):
    """Skinning matrices (B,4,4) with every forearm twisted about the limb's axis."""
    return _pose((0, 1, 0), degrees)


def write_sample(folder):
    """Writes sample.pmx and its texture; returns the path of the model."""
    folder = Path(folder)
    (folder / TEXTURE).parent.mkdir(parents=True, exist_ok=True)
    (folder / TEXTURE).write_bytes(texture_png())
    (folder / "sample.pmx").write_bytes(build_sample())
    return folder / "sample.pmx"


if __name__ == "__main__":
    print(write_sample(sys.argv[1] if len(sys.argv) > 1 else "."))
