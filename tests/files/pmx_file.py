# SPDX-License-Identifier: MIT
"""PMX 2.0 and 2.1 files in plain Python: judge of the native reader, writer of test files.

Nothing is repaired or validated. `read` takes bytes or a path, `write` gives bytes, `layout` also
says where each record begins; the records of `pmx_records` are names of this module too.
"""

import struct

import numpy as np
from files.pmx_records import *  # noqa: F403
from files.pmx_records import (
    AFTER_PHYSICS,
    APPEND_ROTATION,
    APPEND_TRANSLATION,
    BDEF1,
    BDEF2,
    BDEF4,
    ENCODINGS,
    EXTERNAL_PARENT,
    FIXED_AXIS,
    IK,
    INDEX_ORDER,
    IS_IK,
    LOCAL_APPEND,
    LOCAL_AXES,
    MORPH_COLUMNS,
    MORPH_INDEX,
    MORPH_KINDS,
    PMX,
    QDEF,
    SDEF,
    STRUCTURAL,
    TAIL_IS_BONE,
    Append,
    Bone,
    DisplayFrame,
    IKLink,
    Joint,
    Material,
    Morph,
    RigidBody,
    SoftBody,
)  # fmt: skip


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def unpack(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def one(self, form):
        return self.unpack(form)[0]

    def text(self):
        raw = self.data[self.at + 4 : self.at + 4 + self.one("i")]
        self.at += len(raw)
        if self.encoding == "utf-16-le":
            raw = raw[: len(raw) // 2 * 2]
        return raw.decode(self.encoding, "replace").split("\0")[0]

    def texts(self, n):
        return [self.text() for _ in range(n)]

    def index(self, letter):
        return self.one(self.index_form[letter])


def read(source):
    """PMX from the bytes, or from the path, of a file."""
    if not isinstance(source, bytes | bytearray):
        with open(source, "rb") as file:
            source = file.read()
    r = _Reader(bytes(source))
    magic, version, settings_count = r.unpack("4sfB")
    assert magic == b"PMX ", magic
    settings = r.unpack(f"{settings_count}B")
    r.encoding = ENCODINGS[settings[0]]
    sizes = dict(zip(INDEX_ORDER, settings[2:8], strict=True))
    r.index_form = {k: {1: "b", 2: "h", 4: "i"}[n] for k, n in sizes.items()}
    r.index_form["v"] = {1: "B", 2: "H", 4: "i"}[sizes["v"]]
    m = PMX(round(version, 3), *r.texts(4), encoding=r.encoding, index_sizes=sizes)
    _read_vertices(r, m, settings[1])
    count = r.one("i")
    flat = np.array(r.unpack(f"{count}" + r.index_form["v"]), np.int64).astype(np.int32)
    m.triangles = flat[: count // 3 * 3].reshape(-1, 3)
    m.textures = r.texts(r.one("i"))
    m.materials = [_read_material(r) for _ in range(r.one("i"))]
    m.bones = [_read_bone(r) for _ in range(r.one("i"))]
    m.morphs = [_read_morph(r) for _ in range(r.one("i"))]
    m.display_frames = [_read_display_frame(r) for _ in range(r.one("i"))]
    m.rigid_bodies = [_read_rigid_body(r) for _ in range(r.one("i"))]
    m.joints = [_read_joint(r) for _ in range(r.one("i"))]
    if version > 2.05 and r.at < len(r.data):
        m.soft_bodies = [_read_soft_body(r) for _ in range(r.one("i"))]
    m.trailing = r.data[r.at :]
    return m


def _read_vertices(r, m, extra):
    n = r.one("i")
    fixed = np.zeros((n, 8 + 4 * extra), np.float32)
    m.deform = np.zeros(n, np.uint8)
    m.bone_indices = np.full((n, 4), -1, np.int32)
    m.bone_weights = np.zeros((n, 4), np.float32)
    m.sdef = np.zeros((n, 3, 3), np.float32)
    m.edge_scales = np.zeros(n, np.float32)
    bone, fixed_form = r.index_form["b"], f"{8 + 4 * extra}fB"
    for i in range(n):
        *fixed[i], kind = r.unpack(fixed_form)
        m.deform[i] = kind
        if kind == BDEF1:
            m.bone_indices[i, 0], m.bone_weights[i, 0] = r.one(bone), 1
        elif kind in (BDEF2, SDEF):
            *m.bone_indices[i, :2], weight = r.unpack(f"2{bone}f")
            m.bone_weights[i, :2] = weight, np.float32(1) - np.float32(weight)
            if kind == SDEF:
                m.sdef[i] = np.reshape(r.unpack("9f"), (3, 3))
        elif kind in (BDEF4, QDEF):
            values = r.unpack(f"4{bone}4f")
            m.bone_indices[i], m.bone_weights[i] = values[:4], values[4:]
        else:
            raise ValueError(f"vertex {i}: deform type {kind}")
        m.edge_scales[i] = r.one("f")
    m.positions, m.normals, m.uvs = fixed[:, :3].copy(), fixed[:, 3:6].copy(), fixed[:, 6:8].copy()
    m.additional_uvs = fixed[:, 8:].reshape(n, extra, 4).copy()


def _read_material(r):
    names = r.texts(2)
    v = r.unpack("11fB5f")
    texture, sphere, mode, shared = r.index("t"), r.index("t"), r.one("B"), bool(r.one("B"))
    toon = r.one("B") if shared else r.index("t")
    memo = r.text()
    return Material(
        *names,
        v[:4],
        v[4:7],
        v[7],
        v[8:11],
        v[11],
        v[12:16],
        v[16],
        texture,
        sphere,
        mode,
        shared,
        toon,
        memo,
        r.one("i"),
    )


def _read_bone(r):
    b = Bone(*r.texts(2), r.unpack("3f"), r.index("b"), *r.unpack("iH"))
    b.after_physics = bool(b.flags & AFTER_PHYSICS)
    if b.flags & TAIL_IS_BONE:
        b.tail_bone, b.tail_offset = r.index("b"), None
    else:
        b.tail_offset = r.unpack("3f")
    if b.flags & (APPEND_ROTATION | APPEND_TRANSLATION):
        bits = (b.flags & bit != 0 for bit in (APPEND_ROTATION, APPEND_TRANSLATION, LOCAL_APPEND))
        b.append = Append(r.index("b"), r.one("f"), *bits)
    if b.flags & FIXED_AXIS:
        b.fixed_axis = r.unpack("3f")
    if b.flags & LOCAL_AXES:
        b.local_axes = (r.unpack("3f"), r.unpack("3f"))
    if b.flags & EXTERNAL_PARENT:
        b.external_parent = r.one("i")
    if b.flags & IS_IK:
        b.ik = IK(r.index("b"), *r.unpack("if"), [_read_link(r) for _ in range(r.one("i"))])
    return b


def _read_link(r):
    link = IKLink(r.index("b"))
    if r.one("B"):
        link.lower, link.upper = r.unpack("3f"), r.unpack("3f")
    return link


def _read_morph(r):
    m = Morph(*r.texts(2), *r.unpack("BB"))
    n, columns = r.one("i"), MORPH_COLUMNS[m.kind]
    indices, values = np.zeros(n, np.int64), np.zeros((n, columns), np.float32)
    index = r.index_form[MORPH_INDEX[m.kind]]
    # the first column of material and impulse records is a byte
    form = index + (
        f"B{columns - 1}f" if MORPH_KINDS[m.kind] in ("material", "impulse") else f"{columns}f"
    )
    for i in range(n):
        indices[i], *values[i] = r.unpack(form)
    m.indices, m.values = indices.astype(np.int32), values
    return m


def _read_display_frame(r):
    f = DisplayFrame(*r.texts(2), bool(r.one("B")))
    for _ in range(r.one("i")):
        kind = r.one("B")
        f.elements.append((kind, r.index("m" if kind else "b")))
    return f


def _read_rigid_body(r):
    names, bone = r.texts(2), r.index("b")
    head, v, mode = r.unpack("BHB"), r.unpack("14f"), r.one("B")
    return RigidBody(*names, bone, *head, v[:3], v[3:6], v[6:9], *v[9:], mode)


def _read_joint(r):
    return Joint(
        *r.texts(2), r.one("B"), r.index("r"), r.index("r"), *(r.unpack("3f") for _ in range(8))
    )


def _read_soft_body(r):
    s = SoftBody(*r.texts(2), r.one("B"), r.index("a"), *r.unpack("BHBiiffi"))
    s.config, s.cluster, s.iterations, s.stiffness = (
        r.unpack(f) for f in ("12f", "6f", "4i", "3f")
    )
    s.anchors = [(r.index("r"), r.index("v"), r.one("B")) for _ in range(r.one("i"))]
    s.pins = [r.index("v") for _ in range(r.one("i"))]
    return s


class _Writer:
    def __init__(self, encoding, sizes):
        self.parts, self.at, self.encoding, self.marks = [], 0, encoding, {}
        self.index_form = {k: {1: "b", 2: "h", 4: "i"}[n] for k, n in sizes.items()}
        self.index_form["v"] = {1: "B", 2: "H", 4: "i"}[sizes["v"]]

    def raw(self, data):
        self.parts.append(data)
        self.at += len(data)

    def pack(self, form, *values):
        self.raw(struct.pack("<" + form, *values))

    def text(self, *strings):
        for s in strings:
            data = s if isinstance(s, bytes) else s.encode(self.encoding)
            self.pack("i", len(data))
            self.raw(data)

    def index(self, letter, *values):
        self.pack(f"{len(values)}{self.index_form[letter]}", *values)

    def section(self, name, records, write):
        """Writes count and records; `marks` gets their offsets: "bones" of the count, "bones[3]" of a record."""
        self.marks[name] = self.at
        self.pack("i", len(records))
        for i, record in enumerate(records):
            self.marks[f"{name}[{i}]"] = self.at
            write(self, record)


def index_sizes(m):
    """The smallest index sizes, as an editor chooses them."""
    counts = {
        "v": len(m.positions),
        "t": len(m.textures),
        "a": len(m.materials),
        "b": len(m.bones),
        "m": len(m.morphs),
        "r": len(m.rigid_bodies),
    }
    limits = {k: (255, 65535) if k == "v" else (127, 32767) for k in INDEX_ORDER}
    return {k: 1 if n <= limits[k][0] else 2 if n <= limits[k][1] else 4 for k, n in counts.items()}


def write(m):
    """Bytes of the file."""
    return layout(m)[0]


def layout(m):
    """Bytes of the file, and the offsets of its sections and records by name."""
    sizes = m.index_sizes or index_sizes(m)
    w = _Writer(m.encoding, sizes)
    extra = m.additional_uvs.shape[1]
    w.pack(
        "4sfB8B",
        b"PMX ",
        m.version,
        8,
        ENCODINGS.index(m.encoding),
        extra,
        *(sizes[k] for k in INDEX_ORDER),
    )
    w.text(m.name, m.name_english, m.comment, m.comment_english)
    _write_vertices(w, m, extra)
    w.marks["faces"] = w.at
    w.pack("i", m.triangles.size)
    w.index("v", *m.triangles.ravel().tolist())
    w.section("textures", m.textures, _Writer.text)
    w.section("materials", m.materials, _write_material)
    w.section("bones", m.bones, _write_bone)
    w.section("morphs", m.morphs, _write_morph)
    w.section("display_frames", m.display_frames, _write_display_frame)
    w.section("rigid_bodies", m.rigid_bodies, _write_rigid_body)
    w.section("joints", m.joints, _write_joint)
    if m.version > 2.05:
        w.section("soft_bodies", m.soft_bodies, _write_soft_body)
    w.raw(m.trailing)
    return b"".join(w.parts), w.marks


def _write_vertices(w, m, extra):
    n = len(m.positions)
    fixed = np.concatenate(
        [m.positions, m.normals, m.uvs, m.additional_uvs.reshape(n, 4 * extra)], 1
    ).tolist()
    bones, weights, bone = m.bone_indices.tolist(), m.bone_weights.tolist(), w.index_form["b"]
    fixed_form = f"{8 + 4 * extra}fB"
    w.marks["vertices"] = w.at
    w.pack("i", n)
    for i, kind in enumerate(m.deform.tolist()):
        w.marks[f"vertices[{i}]"] = w.at
        w.pack(fixed_form, *fixed[i], kind)
        if kind == BDEF1:
            w.pack(bone, bones[i][0])
        elif kind in (BDEF2, SDEF):
            w.pack(f"2{bone}f", *bones[i][:2], weights[i][0])
            if kind == SDEF:
                w.pack("9f", *m.sdef[i].ravel().tolist())
        elif kind in (BDEF4, QDEF):
            w.pack(f"4{bone}4f", *bones[i], *weights[i])
        w.pack("f", m.edge_scales[i])


def _write_material(w, a):
    w.text(a.name, a.name_english)
    w.pack(
        "11fB5f",
        *a.diffuse,
        *a.specular,
        a.specular_power,
        *a.ambient,
        a.flags,
        *a.edge_color,
        a.edge_size,
    )
    w.index("t", a.texture, a.sphere_texture)
    w.pack("BB", a.sphere_mode, a.shared_toon)
    w.pack("B" if a.shared_toon else w.index_form["t"], a.toon)
    w.text(a.memo)
    w.pack("i", a.index_count)


def bone_flags(b):
    """The flags in the file: those of `b.flags` without effect, and those that the fields imply."""
    flags = b.flags & ~(STRUCTURAL | AFTER_PHYSICS)
    implied = {
        TAIL_IS_BONE: b.tail_bone is not None,
        IS_IK: b.ik,
        FIXED_AXIS: b.fixed_axis is not None,
        LOCAL_AXES: b.local_axes is not None,
        AFTER_PHYSICS: b.after_physics,
        EXTERNAL_PARENT: b.external_parent is not None,
        APPEND_ROTATION: b.append and b.append.rotation,
        APPEND_TRANSLATION: b.append and b.append.translation,
        LOCAL_APPEND: b.append and b.append.local,
    }
    return flags | sum(bit for bit, on in implied.items() if on and not flags & bit)


def _write_bone(w, b):
    w.text(b.name, b.name_english)
    w.pack("3f", *b.position)
    w.index("b", b.parent)
    w.pack("iH", b.layer, bone_flags(b))
    if b.tail_bone is not None:
        w.index("b", b.tail_bone)
    else:
        w.pack("3f", *b.tail_offset)
    if b.append:
        w.index("b", b.append.source)
        w.pack("f", b.append.ratio)
    if b.fixed_axis is not None:
        w.pack("3f", *b.fixed_axis)
    if b.local_axes is not None:
        w.pack("6f", *b.local_axes[0], *b.local_axes[1])
    if b.external_parent is not None:
        w.pack("i", b.external_parent)
    if b.ik:
        w.index("b", b.ik.target)
        w.pack("ifi", b.ik.loop_count, b.ik.unit_angle, len(b.ik.links))
        for link in b.ik.links:
            w.index("b", link.bone)
            w.pack("B", link.lower is not None)
            if link.lower is not None:
                w.pack("6f", *link.lower, *link.upper)


def _write_morph(w, m):
    w.text(m.name, m.name_english)
    w.pack("BBi", m.panel, m.kind, len(m.indices))
    kind = MORPH_KINDS[m.kind]
    index = w.index_form[MORPH_INDEX[m.kind]]
    for i, row in zip(np.asarray(m.indices).tolist(), np.asarray(m.values).tolist(), strict=True):
        if kind in ("material", "impulse"):
            w.pack(f"{index}B{len(row) - 1}f", i, int(row[0]), *row[1:])
        else:
            w.pack(f"{index}{len(row)}f", i, *row)


def _write_display_frame(w, f):
    w.text(f.name, f.name_english)
    w.pack("Bi", f.special, len(f.elements))
    for kind, i in f.elements:
        w.pack("B", kind)
        w.index("m" if kind else "b", i)


def _write_rigid_body(w, b):
    w.text(b.name, b.name_english)
    w.index("b", b.bone)
    w.pack("BHB", b.group, b.mask, b.shape)
    w.pack("9f", *b.size, *b.position, *b.rotation)
    w.pack("5fB", b.mass, b.linear_damping, b.angular_damping, b.restitution, b.friction, b.mode)


def _write_joint(w, j):
    w.text(j.name, j.name_english)
    w.pack("B", j.kind)
    w.index("r", j.body_a, j.body_b)
    w.pack("12f", *j.position, *j.rotation, *j.translation_lower, *j.translation_upper)
    w.pack("12f", *j.rotation_lower, *j.rotation_upper, *j.translation_spring, *j.rotation_spring)


def _write_soft_body(w, s):
    w.text(s.name, s.name_english)
    w.pack("B", s.shape)
    w.index("a", s.material)
    w.pack(
        "BHBiiffi",
        s.group,
        s.mask,
        s.flags,
        s.bending_distance,
        s.cluster_count,
        s.mass,
        s.margin,
        s.aero_model,
    )
    w.pack("12f6f4i3f", *s.config, *s.cluster, *s.iterations, *s.stiffness)
    w.pack("i", len(s.anchors))
    for body, vertex, near in s.anchors:
        w.index("r", body)
        w.index("v", vertex)
        w.pack("B", near)
    w.pack("i", len(s.pins))
    w.index("v", *s.pins)
