# SPDX-License-Identifier: MIT
"""VMD and VPD files in plain Python: the judge of the native reader, and the writer of test data.

`read` gives a Motion with the members of `mmdskin.Motion`; `keys` gives the records as they stand
in a VMD; `write_vmd` and `write_vpd` give bytes.
"""

import re
import struct
from collections import namedtuple

import numpy as np

BoneKey = namedtuple(
    "BoneKey", "name frame translation rotation block", defaults=[(0, 0, 0), (0, 0, 0, 1), None]
)
MorphKey = namedtuple("MorphKey", "name frame weight")
CameraKey = namedtuple(
    "CameraKey", "frame distance target rotation block view_angle projection",
    defaults=[-45.0, (0, 10, 0), (0, 0, 0), bytes([20, 107, 20, 107] * 6), 30, 0],
)  # fmt: skip
LightKey = namedtuple("LightKey", "frame color direction")
ShadowKey = namedtuple("ShadowKey", "frame mode distance")
PropertyKey = namedtuple("PropertyKey", "frame visible states")  # states: (name, on) each

BoneTrack = namedtuple(
    "BoneTrack", "name frames translations rotations interpolation physics stored"
)
MorphTrack = namedtuple("MorphTrack", "name frames weights")
Camera = namedtuple(
    "Camera", "frames distances targets rotations interpolation view_angles perspective"
)
Light = namedtuple("Light", "frames colors directions")
Shadow = namedtuple("Shadow", "frames modes distances")
Properties = namedtuple("Properties", "frames visible ik_names ik_enabled")
Motion = namedtuple("Motion", "name frame_range bones morphs camera light shadow properties")
Keys = namedtuple(
    "Keys", "name bones morphs camera light shadow properties", defaults=["", *[()] * 6]
)

STRAIGHT = (20, 20, 107, 107)
SECTIONS = ("bones", "morphs", "camera", "light", "shadow", "properties")


def field(raw):
    """The bytes of a fixed field before its terminating NUL."""
    return raw.split(b"\0")[0]


def decode(raw):
    return field(raw).decode("cp932", "surrogateescape")


def encode(name, size):
    """A fixed field; names may also be bytes."""
    raw = name if isinstance(name, bytes) else name.encode("cp932", "surrogateescape")
    return raw[:size].ljust(size, b"\0")


def block(curves, flag=b"\0\0"):
    """The 64 bytes of a bone key, as MMD writes them; curves: (4,4), as in BoneTrack."""
    row = [curves[channel][i] for i in range(4) for channel in range(4)]
    rows = [row[k:] + [0] * k for k in range(4)]
    rows[0][2:4] = flag
    return bytes(byte for row in rows for byte in row)


# Records as in the file


def _records(data, at, form):
    """The records of one section and its end; () if the file ends before it."""
    if at == len(data):
        return [], at
    (count,) = struct.unpack_from("<I", data, at)
    end = at + 4 + count * struct.calcsize("<" + form)
    return list(struct.iter_unpack("<" + form, data[at + 4 : end])), end


def _property_keys(data, at):
    keys = []
    if at == len(data):
        return keys
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    for _ in range(count):
        frame, visible, states = struct.unpack_from("<IBI", data, at)
        at += 9
        pairs = list(struct.iter_unpack("<20sB", data[at : at + 21 * states]))
        at += 21 * states
        states_of_key = [(field(name[:15]), on) for name, on in pairs]  # MMD uses only 15 bytes
        keys.append(PropertyKey(frame, visible, states_of_key))
    return keys


def keys(data):
    """The Keys of a VMD, names as bytes, nothing sorted or repaired."""
    assert data.startswith(b"Vocaloid Motion Data"), data[:30]
    name_size = 10 if data.startswith(b"Vocaloid Motion Data file") else 20
    name, at = decode(data[30 : 30 + name_size]), 30 + name_size
    bones, at = _records(data, at, "15sI3f4f64s")
    morphs, at = _records(data, at, "15sIf")
    camera, at = _records(data, at, "If3f3f24sIB")
    light, at = _records(data, at, "I3f3f")
    shadow, at = _records(data, at, "IBf")
    return Keys(
        name,
        [BoneKey(field(r[0]), r[1], r[2:5], r[5:9], r[9]) for r in bones],
        [MorphKey(field(r[0]), *r[1:]) for r in morphs],
        [CameraKey(r[0], r[1], r[2:5], r[5:8], *r[8:]) for r in camera],
        [LightKey(r[0], r[1:4], r[4:7]) for r in light],
        [ShadowKey(*r) for r in shadow],
        _property_keys(data, at),
    )


# The result of a reader


def _floats(values, width=None):
    """Float32 with NaN and infinity as 0."""
    array = np.array(values, np.float32).reshape(-1, width) if width else np.array(values, "f4")
    return np.where(np.isfinite(array), array, np.float32(0))


def _rotations(values):
    rotations = np.array(values, np.float64).reshape(-1, 4)
    lengths = np.linalg.norm(rotations, axis=1)
    bad = ~np.isfinite(lengths) | (lengths == 0)
    rotations[bad], lengths[bad] = (0, 0, 0, 1), 1
    return (rotations / lengths[:, None]).astype(np.float32)


def _frames(records):
    return np.array([r.frame for r in records], np.uint32)


def _ascending(records):
    """Keys sorted by frame; of equal frames the last in the file."""
    return [record for _, record in sorted({r.frame: r for r in records}.items())]


def _grouped(records):
    groups = {}
    for r in records:
        groups.setdefault(r.name, []).append(r)
    return [(decode(name), _ascending(group)) for name, group in groups.items()]


def _curves(raw):
    """(4,4): channels x, y, z, rotation; x1 y1 x2 y2 of each."""
    rows = np.frombuffer(raw, np.uint8).reshape(4, 4, 4)  # row, parameter, channel
    if not rows[1:].any():
        return np.minimum(rows[0].T, 127)
    return np.minimum(rows[:, :, 0], 127)


def _camera_curves(raw):
    return np.minimum(np.frombuffer(raw, np.uint8).reshape(6, 4)[:, [0, 2, 1, 3]], 127)


def _stored(key):
    return struct.pack("<4f", *key.rotation) + key.block


def _bone_track(name, group, stored):
    return BoneTrack(
        name,
        _frames(group),
        _floats([k.translation for k in group], 3),
        _rotations([k.rotation for k in group]),
        np.array([_curves(k.block) for k in group], np.uint8).reshape(-1, 4, 4),
        np.array([k.block[2:4] != b"\x63\x0f" for k in group], bool),
        np.frombuffer(b"".join(map(_stored, group)), np.uint8).reshape(-1, 80) if stored else None,
    )


def _camera(records):
    k = _ascending(records)
    return Camera(
        _frames(k),
        _floats([r.distance for r in k]),
        _floats([r.target for r in k], 3),
        _floats([r.rotation for r in k], 3),
        np.array([_camera_curves(r.block) for r in k], np.uint8).reshape(-1, 6, 4),
        _floats([r.view_angle for r in k]),
        np.array([r.projection == 0 for r in k], bool),
    )


def _light(records):
    k = _ascending(records)
    return Light(_frames(k), _floats([r.color for r in k], 3), _floats([r.direction for r in k], 3))


def _shadow(records):
    k = _ascending(records)
    modes = np.array([min(r.mode, 2) for r in k], np.uint8)
    return Shadow(_frames(k), modes, _floats([r.distance for r in k]))


def _properties(records):
    k = _ascending(records)
    names = list(dict.fromkeys(name for r in records for name, _ in r.states))
    enabled = np.ones((len(k), len(names)), bool)
    for row, r in zip(enabled, k, strict=True):
        for name, on in r.states:
            row[names.index(name)] = on != 0
    visible = np.array([r.visible != 0 for r in k], bool)
    return Properties(_frames(k), visible, tuple(map(decode, names)), enabled)


def _motion(found, stored=True):
    bones = [_bone_track(*group, stored) for group in _grouped(found.bones)]
    morphs = [
        MorphTrack(name, _frames(group), _floats([k.weight for k in group]))
        for name, group in _grouped(found.morphs)
    ]
    frames = [k.frame for section in SECTIONS for k in getattr(found, section)]
    span = (min(frames), max(frames)) if frames else (0, 0)
    tracks = _camera(found.camera), _light(found.light), _shadow(found.shadow)
    return Motion(found.name, span, bones, morphs, *tracks, _properties(found.properties))


def read(source):
    """Motion from the bytes, or from the path, of a VMD or VPD file."""
    if not isinstance(source, bytes | bytearray):
        with open(source, "rb") as file:
            source = file.read()
    if source.startswith(b"Vocaloid Pose Data file"):
        return _motion(_pose_keys(bytes(source).decode("cp932", "surrogateescape")), stored=False)
    return _motion(keys(bytes(source)))


def _pose_keys(text):
    """The Keys of a well-formed VPD."""
    text = re.sub(r"[ \t]*//.*", "", text.replace("\r\n", "\n"))
    name = re.search(r"^(.*?)(\.osm)?;", text, re.MULTILINE).group(1)
    bones, morphs = [], []
    straight = block([STRAIGHT] * 4)
    for kind, title, body in re.findall(r"^(Bone|Morph)\d+\{(.*)\n([^}]*)\}", text, re.MULTILINE):
        numbers = [float(n) for n in re.split(r"[,;\s]+", body.strip()) if n]
        raw = title.encode("cp932", "surrogateescape")
        if kind == "Bone":
            bones.append(BoneKey(raw, 0, numbers[:3], numbers[3:], straight))
        else:
            morphs.append(MorphKey(raw, 0, numbers[0]))
    return Keys(name.strip(), bones, morphs)


# Writers


def _pack_bone(k):
    curves = k.block or block([STRAIGHT] * 4)
    return struct.pack(
        "<15sI7f64s", encode(k.name, 15), k.frame, *k.translation, *k.rotation, curves
    )


def _pack_camera(k):
    numbers = (k.distance, *k.target, *k.rotation)
    return struct.pack("<I7f24sIB", k.frame, *numbers, k.block, k.view_angle, k.projection)


def _pack_property(k):
    states = b"".join(struct.pack("<20sB", encode(name, 20), on) for name, on in k.states)
    return struct.pack("<IBI", k.frame, k.visible, len(k.states)) + states


_PACK = {
    "bones": _pack_bone,
    "morphs": lambda k: struct.pack("<15sIf", encode(k.name, 15), k.frame, k.weight),
    "camera": _pack_camera,
    "light": lambda k: struct.pack("<I6f", k.frame, *k.color, *k.direction),
    "shadow": lambda k: struct.pack("<IBf", *k),
    "properties": _pack_property,
}


def write_vmd(found, *, last="properties", version=2):
    """The bytes of a VMD; `last` is the section after which the file ends."""
    title = "Vocaloid Motion Data 0002" if version == 2 else "Vocaloid Motion Data file"
    parts = [encode(title, 30), encode(found.name, 20 if version == 2 else 10)]
    for section in SECTIONS[: SECTIONS.index(last) + 1]:
        records = getattr(found, section)
        parts.append(struct.pack("<I", len(records)))
        parts += map(_PACK[section], records)
    return b"".join(parts)


def write_vpd(found, *, count=None, newline="\r\n"):
    """The bytes of a VPD; `count` is the declared number of bones; None is the true one."""
    lines = ["Vocaloid Pose Data file", "", f"{found.name}.osm;\t\t// 親ファイル名"]
    lines += [f"{len(found.bones) if count is None else count};\t\t// 総ポーズボーン数", ""]
    for i, k in enumerate(found.bones):
        values = [",".join(f"{n:.6f}" for n in part) for part in (k.translation, k.rotation)]
        lines += [f"Bone{i}{{{k.name}", f"  {values[0]};\t\t\t\t// trans x,y,z"]
        lines += [f"  {values[1]};\t\t// Quaternion x,y,z,w", "}", ""]
    for i, k in enumerate(found.morphs):
        lines += [f"Morph{i}{{{k.name}", f"  {k.weight:.6f};", "}", ""]
    return newline.join(lines).encode("cp932")
