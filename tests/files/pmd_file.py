# SPDX-License-Identifier: MIT
"""PMD files in plain Python: the judge of the native reader, and the writer of test files.

`read` gives the records as they stand in the file, `as_pmx` what they mean as a `pmx_file.PMX`,
`write` gives bytes. Names may be given as bytes.
"""

import struct
from dataclasses import dataclass, field

import numpy as np
from files import pmx_file as pmx

NONE = 0xFFFF
ROTATE, MOVE, IK, UNKNOWN, UNDER_IK, FOLLOWS, EFFECTOR, HIDDEN, TWIST, SHARES = range(10)
VERTEX = np.dtype(
    [("position", "<f4", 3), ("normal", "<f4", 3), ("uv", "<f4", 2), ("bones", "<u2", 2)]
    + [("percent", "u1"), ("no_edge", "u1")]
)
OPTIONAL = ("display", "english", "toons", "bodies", "joints")
DEFAULT_TOONS = [f"toon{i:02d}.bmp" for i in range(1, 11)]


@dataclass
class Material:
    diffuse: tuple = (1.0, 1.0, 1.0, 1.0)
    specular_power: float = 5.0
    specular: tuple = (0.0, 0.0, 0.0)
    ambient: tuple = (0.5, 0.5, 0.5)
    toon: int = 0xFF
    edge: int = 0
    index_count: int = 0
    texture: str = ""


@dataclass
class Bone:
    name: str
    position: tuple = (0.0, 0.0, 0.0)
    parent: int = NONE
    tail: int = 0
    type: int = ROTATE
    ik_field: int = 0


@dataclass
class Solver:
    bone: int
    target: int
    links: list
    loops: int = 40
    angle: float = 0.5


@dataclass
class Morph:
    name: str
    category: int
    indices: list
    offsets: list  # (n,3)


@dataclass
class Body:
    name: str
    bone: int = NONE
    group: int = 0
    mask: int = 0xFFFF
    shape: int = 0
    numbers: tuple = (
        0.0,
    ) * 14  # size, position, rotation 3 each, mass, 2 dampings, restitution, friction
    mode: int = 0


@dataclass
class Joint:
    name: str
    body_a: int
    body_b: int
    numbers: tuple = (0.0,) * 24


@dataclass
class PMD:
    name: str = ""
    comment: str = ""
    vertices: np.ndarray = field(default_factory=lambda: np.zeros(0, VERTEX))
    indices: list = field(default_factory=list)
    materials: list = field(default_factory=list)
    bones: list = field(default_factory=list)
    solvers: list = field(default_factory=list)
    morphs: list = field(default_factory=list)
    shown_morphs: list = field(default_factory=list)
    frame_names: list = field(default_factory=list)
    shown_bones: list = field(default_factory=list)  # (bone, frame counted from 1)
    english: tuple | None = (
        None  # name, comment, names of bones, of morphs except the base, of frames
    )
    toons: list | None = None
    bodies: list | None = None
    joints: list | None = None


def _text(raw):
    return raw.split(b"\0")[0].decode("cp932", "replace")


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def unpack(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def one(self, form):
        return self.unpack(form)[0]

    def text(self, size=20):
        return _text(self.one(f"{size}s"))

    def texts(self, count, size=20):
        return [self.text(size) for _ in range(count)]

    def left(self):
        return len(self.data) - self.at


def read(source):
    """PMD from the bytes, or from the path, of a valid file."""
    if not isinstance(source, bytes | bytearray):
        with open(source, "rb") as file:
            source = file.read()
    r = _Reader(bytes(source))
    assert r.unpack("3sf") == (b"Pmd", 1.0)
    m = PMD(r.text(), r.text(256))
    m.vertices = np.frombuffer(r.one(f"{r.one('I') * VERTEX.itemsize}s"), VERTEX)
    m.indices = list(r.unpack(f"{r.one('I')}H"))
    m.materials = [_read_material(r) for _ in range(r.one("I"))]
    m.bones = [_read_bone(r) for _ in range(r.one("H"))]
    m.solvers = [_read_solver(r) for _ in range(r.one("H"))]
    m.morphs = [_read_morph(r) for _ in range(r.one("H"))]
    m.shown_morphs = list(r.unpack(f"{r.one('B')}H"))
    m.frame_names = r.texts(r.one("B"), 50)
    m.shown_bones = [r.unpack("HB") for _ in range(r.one("I"))]
    if r.left() and r.one("B"):
        named = len(m.bones), max(len(m.morphs) - 1, 0)
        m.english = r.text(), r.text(256), *map(r.texts, named), r.texts(len(m.frame_names), 50)
    if r.left():
        m.toons = r.texts(10, 100)
    if r.left():
        m.bodies = [_read_body(r) for _ in range(r.one("I"))]
    if r.left():
        m.joints = [Joint(r.text(), *r.unpack("II"), r.unpack("24f")) for _ in range(r.one("I"))]
    assert not r.left()
    return m


def _read_material(r):
    v = r.unpack("11fBBI")
    return Material(v[:4], v[4], v[5:8], v[8:11], *v[11:], r.text())


def _read_bone(r):
    name, (parent, tail, kind, ik_field), position = r.text(), r.unpack("HHBH"), r.unpack("3f")
    return Bone(name, position, parent, tail, kind, ik_field)


def _read_solver(r):
    bone, target, count, loops, angle = r.unpack("HHBHf")
    return Solver(bone, target, list(r.unpack(f"{count}H")), loops, angle)


def _read_morph(r):
    name, (count, category) = r.text(), r.unpack("IB")
    offsets = [r.unpack("I3f") for _ in range(count)]
    return Morph(name, category, [o[0] for o in offsets], [o[1:] for o in offsets])


def _read_body(r):
    return Body(r.text(), *r.unpack("HBHB"), r.unpack("14f"), r.one("B"))


# Conversion to PMX


def read_as_pmx(source):
    return as_pmx(read(source))


def as_pmx(m):
    v = m.vertices
    out = pmx.PMX(1.0, m.name, "", m.comment, "", encoding="utf-8")
    if m.english:
        out.name_english, out.comment_english = m.english[:2]
    out.positions, out.normals, out.uvs = v["position"], v["normal"], v["uv"]
    out.additional_uvs = np.zeros((len(v), 0, 4), np.float32)
    out.sdef = np.zeros((len(v), 3, 3), np.float32)
    out.edge_scales = np.where(v["no_edge"] == 0, np.float32(1), np.float32(0))
    _skin(v, out)
    out.triangles = np.array(m.indices[: len(m.indices) // 3 * 3], np.int32).reshape(-1, 3)
    out.materials = [_material(m, i, out.textures) for i in range(len(m.materials))]
    out.bones = _bones(m)
    out.morphs = _morphs(m)
    out.rigid_bodies = [_body(m, body) for body in m.bodies or ()]
    out.joints = [_joint(joint) for joint in m.joints or ()]
    return out


def _skin(v, out):
    first, second = v["bones"].astype(np.int32).T
    same = first == second
    weight = v["percent"].astype(np.float32) / np.float32(100)
    out.deform = np.where(same, pmx.BDEF1, pmx.BDEF2).astype(np.uint8)
    out.bone_indices = np.full((len(v), 4), -1, np.int32)
    out.bone_indices[:, 0], out.bone_indices[:, 1] = first, np.where(same, -1, second)
    out.bone_weights = np.zeros((len(v), 4), np.float32)
    out.bone_weights[:, 0] = np.where(same, 1, weight)
    out.bone_weights[:, 1] = np.where(same, 0, 1 - weight)


def _index(textures, name):
    if name not in textures:
        textures.append(name)
    return textures.index(name)


def _material(m, i, textures):
    given = m.materials[i]
    out = pmx.Material(f"材質{i + 1}", "", given.diffuse, given.specular, given.specular_power)
    out.ambient, out.index_count = given.ambient, given.index_count
    alpha = given.diffuse[3]
    out.flags = 1 * (alpha < 1) | 0x12 * (given.edge != 0) | 0x0C * (abs(alpha - 0.98) > 1e-6)
    for part in filter(None, given.texture.split("*")):
        ending = part[-4:].lower()
        if ending in (".sph", ".spa"):
            out.sphere_texture = _index(textures, part)
            out.sphere_mode = 1 if ending == ".sph" else 2
        else:
            out.texture = _index(textures, part)
    if given.toon < 10:
        name = (m.toons or DEFAULT_TOONS)[given.toon]
        out.shared_toon = name in DEFAULT_TOONS
        out.toon = DEFAULT_TOONS.index(name) if out.shared_toon else _index(textures, name)
    return out


def _bone(m, i):
    b, count = m.bones[i], len(m.bones)
    out = pmx.Bone(b.name, position=b.position, parent=b.parent if b.parent < count else -1)
    out.name_english = m.english[2][i] if m.english else ""
    hidden = b.type in (UNKNOWN, EFFECTOR, HIDDEN, SHARES)
    out.flags = 0x12 | 0x8 * (not hidden) | 0x4 * (b.type in (MOVE, IK))
    out.layer = {IK: 1, FOLLOWS: 2}.get(b.type, 0)
    if b.type != SHARES and 0 < b.tail < count:
        out.tail_bone, out.tail_offset = b.tail, None
    if b.type == FOLLOWS:
        out.append = pmx.Append(b.ik_field, 1.0)
    if b.type == SHARES:
        signed = struct.unpack("<h", struct.pack("<H", b.ik_field))[0]
        out.append = pmx.Append(b.tail, signed / 100)
    if b.type == TWIST:
        axis = np.subtract(m.bones[b.tail].position, b.position)
        out.fixed_axis = tuple(axis / np.linalg.norm(axis))
    return out


def _bones(m):
    bones = [_bone(m, i) for i in range(len(m.bones))]
    for s in m.solvers:
        carrier = s.bone
        if bones[carrier].ik:
            above = bones[carrier]
            carrier = len(bones)
            bones.append(pmx.Bone(above.name + "+", position=above.position, parent=s.bone))
        knees = ("左ひざ", "右ひざ")
        limits = [tuple(np.radians((degrees, 0, 0))) for degrees in (-180, -0.5)]
        links = [pmx.IKLink(i, *(limits if bones[i].name in knees else ())) for i in s.links]
        bones[carrier].ik = pmx.IK(s.target, s.loops, 4 * s.angle, links)
        bones[carrier].layer = max(bones[carrier].layer, 1)
    for b in bones:
        above = b.parent
        while above >= 0:
            b.layer = max(b.layer, bones[above].layer)
            above = bones[above].parent
    return bones


def _morphs(m):
    base = next((morph for morph in m.morphs if morph.category == 0), None)
    names = iter(m.english[3] if m.english else ())
    result = []
    for morph in m.morphs:
        if morph.category == 0:
            continue
        indices = [base.indices[i] if base else i for i in morph.indices]
        values = np.array(morph.offsets, np.float32).reshape(-1, 3)
        name = next(names, "")
        result.append(
            pmx.Morph(morph.name, name, morph.category, 1, np.array(indices, int), values)
        )
    return result


def _body(m, b):
    n = b.numbers
    place = m.bones[b.bone if b.bone != NONE else 0].position
    position = tuple(np.add(np.float32(n[3:6]), np.float32(place)))
    bone = b.bone if b.bone != NONE else -1
    return pmx.RigidBody(
        b.name, "", bone, b.group, b.mask, b.shape, n[:3], position, n[6:9], *n[9:], b.mode
    )


def _joint(j):
    return pmx.Joint(
        j.name, "", 0, j.body_a, j.body_b, *(j.numbers[k : k + 3] for k in range(0, 24, 3))
    )


# Writing


def _field(name, size):
    raw = name if isinstance(name, bytes) else name.encode("cp932")
    return raw[:size].ljust(size, b"\0")


def _pack(form, *values):
    return struct.pack("<" + form, *values)


def _listed(form, values, of_count="H"):
    return _pack(of_count, len(values)) + b"".join(form(v) for v in values)


def _pack_material(a):
    numbers = (*a.diffuse, a.specular_power, *a.specular, *a.ambient, a.toon, a.edge, a.index_count)
    return _pack("11fBBI", *numbers) + _field(a.texture, 20)


def _pack_bone(b):
    return _field(b.name, 20) + _pack("HHBH3f", b.parent, b.tail, b.type, b.ik_field, *b.position)


def _pack_solver(s):
    return _pack(
        f"HHBHf{len(s.links)}H", s.bone, s.target, len(s.links), s.loops, s.angle, *s.links
    )


def _pack_morph(a):
    offsets = zip(a.indices, a.offsets, strict=True)
    records = b"".join(_pack("I3f", i, *offset) for i, offset in offsets)
    return _field(a.name, 20) + _pack("IB", len(a.indices), a.category) + records


def _pack_body(b):
    head = _pack("HBHB14fB", b.bone, b.group, b.mask, b.shape, *b.numbers, b.mode)
    return _field(b.name, 20) + head


def _pack_joint(j):
    return _field(j.name, 20) + _pack("II24f", j.body_a, j.body_b, *j.numbers)


def _pack_english(names, frame_count):
    if not names:
        return b"\0"
    fields = [_field(names[0], 20), _field(names[1], 256)]
    fields += [_field(n, 20) for part in names[2:4] for n in part]
    return b"\1" + b"".join(fields + [_field(n, 50) for n in names[4][:frame_count]])


def write(m, *, last="joints", toons=True):
    """The bytes of a PMD; `last` (of OPTIONAL) is the block after which the file ends. In a file
    without toons the bodies follow the English block directly."""
    parts = [b"Pmd", _pack("f", 1.0), _field(m.name, 20), _field(m.comment, 256)]
    parts += [_pack("I", len(m.vertices)), m.vertices.tobytes()]
    parts += [_pack(f"I{len(m.indices)}H", len(m.indices), *m.indices)]
    parts += [_listed(_pack_material, m.materials, "I"), _listed(_pack_bone, m.bones)]
    parts += [_listed(_pack_solver, m.solvers), _listed(_pack_morph, m.morphs)]
    parts += [_listed(lambda i: _pack("H", i), m.shown_morphs, "B")]
    parts += [_listed(lambda n: _field(n, 50), m.frame_names, "B")]
    parts += [_listed(lambda pair: _pack("HB", *pair), m.shown_bones, "I")]
    names = [_field(n, 100) for n in m.toons or DEFAULT_TOONS]
    optional = [
        _pack_english(m.english, len(m.frame_names)),
        b"".join(names) if toons else b"",
        _listed(_pack_body, m.bodies or [], "I"),
        _listed(_pack_joint, m.joints or [], "I"),
    ]
    return b"".join(parts + optional[: OPTIONAL.index(last)])
