# SPDX-License-Identifier: MIT
"""Nine rigs that reveal MMD's physics settings: a PMX and a VMD each, and a page of instructions.

    python capture_rigs.py FOLDER

Which step, gravity, limits and start MMD uses is not public. Anyone with MMD and MMDBridge can find
out in a quarter of an hour. The models and motions are generated here and free for any use.
"""

import itertools
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import mmdskin
import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = tuple[float, float, float]
Limits = tuple[Vector, Vector]
Key = tuple[int, Vector, tuple[float, float, float, float]]
Mode = Literal["follow_bone", "physics", "physics_and_bone"]
Shape = Literal["sphere", "box", "capsule"]
FOLLOWS: Mode = "follow_bone"
MOVED: Mode = "physics"
TURNED: Mode = "physics_and_bone"
MODES = FOLLOWS, MOVED, TURNED
SHAPES: tuple[Shape, ...] = "sphere", "box", "capsule"
NOTHING, EVERYTHING = 0, 0xFFFF  # masks: the groups a body collides with
FREE: Limits = (-1, -1, -1), (1, 1, 1)
FIXED: Limits = (0, 0, 0), (0, 0, 0)
DEGREE = np.pi / 180


class Bone(NamedTuple):
    name: str
    position: Vector
    parent: int


class Rig:
    """A model under construction, and its motion."""

    def __init__(self, name: str, asks: str, last: int, *, extra: str = "") -> None:
        self.name, self.asks, self.last, self.extra = name, asks, last, extra
        self.bones: list[Bone] = []
        self.bodies: list[mmdskin.RigidBody] = []
        self.joints: list[mmdskin.Joint] = []
        self.keys: dict[str, list[Key]] = {}
        self.off: list[tuple[str, int]] = []  # (bone, frame): keys with physics switched off
        self.impulses: list[tuple[int, Vector, Vector]] = []  # (body, velocity, torque) of a morph
        self.pushes: list[tuple[int, float]] = []  # (frame, weight) of this morph

    def body(
        self,
        name: str,
        position: Vector,
        *,
        parent: int = -1,
        bone: int | None = None,
        **fields: Any,
    ) -> int:
        """Adds a body, and a bone of its name unless `bone` is given; returns the body's index."""
        if bone is None:
            bone = len(self.bones)
            self.bones.append(Bone(name, position, parent))
        defaults: dict[str, Any] = {
            "group": 0,
            "mask": NOTHING,
            "shape": "box",
            "size": (0.3, 0.8, 0.3),
            "rotation": (0, 0, 0),
            "mass": 1,
            "linear_damping": 0.1,
            "angular_damping": 0.1,
            "restitution": 0,
            "friction": 0.5,
            "mode": MOVED,
        }
        record = mmdskin.RigidBody(
            name=name, name_english=name, bone=bone, position=position, **(defaults | fields)
        )
        self.bodies.append(record)
        return len(self.bodies) - 1

    def joint(
        self,
        a: int,
        b: int,
        position: Vector,
        *,
        rotation: Vector = (0, 0, 0),
        moves: Limits = FIXED,
        turns: Limits = FREE,
        springs: Limits = FIXED,
    ) -> None:
        """`moves` and `turns` are (lower, upper) limits, `springs` (translation, rotation)."""
        name = f"j{len(self.joints)}"
        record = mmdskin.Joint(
            name, name, "spring_6dof", a, b, position, rotation, *moves, *turns, *springs
        )
        self.joints.append(record)

    def hang(self, body: int, from_body: int, **fields: Any) -> None:
        """A joint at the upper end of a body."""
        x, y, z = self.bodies[body].position
        self.joint(from_body, body, (x, y + self.bodies[body].size[1], z), **fields)

    def key(self, bone: str, frame: int, place: Vector = (0, 0, 0), turn: float = 0.0) -> None:
        """Adds a keyframe, rotated about z in degrees."""
        half = turn * DEGREE / 2
        self.keys.setdefault(bone, []).append((frame, place, (0, 0, np.sin(half), np.cos(half))))

    def swing(self, bone: str, reach: float, every: int, last: int) -> None:
        """Adds keys from side to side; the first and the last one are in the middle."""
        sides = itertools.cycle([(reach, 0, 0), (-reach, 0, 0)])
        self.key(bone, 0)
        for frame, place in zip(range(every, last, every), sides, strict=False):
            self.key(bone, frame, place, place[0] * 5)
        self.key(bone, last)


def root(rig: Rig, *, position: Vector = (0, 16, 0), name: str = "root") -> int:
    return rig.body(name, position, mode=FOLLOWS, size=(0.5, 0.2, 0.5))


def chain(rig: Rig, top: int, count: int, **fields: Any) -> int:
    """Boxes hanging from `top` in a chain."""
    above = top
    for i in range(count):
        x, y, z = rig.bodies[above].position
        drop = 0.8 + (0.2 if i == 0 else 0.8)
        parent = rig.bodies[above].bone
        body = rig.body(f"box{len(rig.bodies)}", (x, y - drop, z), parent=parent)
        rig.hang(body, above, **fields)
        above = body
    return above


def swung_chain() -> Rig:
    asks = (
        "steps per second, iterations per step, gravity; whether bones move per step or per frame"
    )
    rig = Rig("1_swung_chain", asks, 150)
    limits = ((-0.6, -0.2, -0.6), (0.6, 0.2, 0.6))
    chain(rig, root(rig), 4, turns=limits, springs=((0, 0, 0), (20, 20, 20)))
    rig.swing("root", 4, 12, 150)
    return rig


def rotated() -> Rig:
    rig = Rig("2_rotated", "the order of the angles of bodies and joints", 120)
    top = root(rig)
    turns = ((-0.9, -0.3, -0.1), (0.2, 0.6, 0.4))
    for i, (body, joint) in enumerate(
        [((0.5, 0.9, 1.2), (0, 0, 0)), ((0, 0, 0), (0.9, -0.7, 0.4)), ((1.2, 0.4, -0.8),) * 2]
    ):
        x = 3 * (i - 1)
        box = rig.body(f"box{i + 1}", (x, 15, 0), parent=0, rotation=body, size=(0.2, 0.8, 0.5))
        rig.joint(top, box, (x, 15.8, 0), rotation=joint, turns=turns)
    rig.swing("root", 3, 15, 120)
    return rig


def limits() -> Rig:
    rig = Rig("3_limits", "limits inverted, locked away from zero, near 90 and 180 degrees", 120)
    top = root(rig)
    quarter, half, third = 89.5 * DEGREE, 179.5 * DEGREE, 30 * DEGREE
    for i, turns in enumerate(
        [
            ((0.5, 0.5, 0.5), (-0.5, -0.5, -0.5)),
            ((third, 0, third), (third, 0, third)),
            ((-0.2, -quarter, -0.2), (0.2, quarter, 0.2)),
            ((-half, -0.2, -half), (half, 0.2, half)),
        ]
    ):
        x = 3 * i - 4.5
        box = rig.body(f"box{i + 1}", (x, 15, 0), parent=0)
        rig.joint(top, box, (x, 15.8, 0), turns=turns)
    rig.swing("root", 5, 15, 120)
    return rig


def joined() -> Rig:
    rig = Rig("4_joined_bodies", "whether joined bodies touch each other", 90)
    touching: dict[str, Any] = {"mask": EVERYTHING, "shape": "sphere", "size": (1, 0, 0)}
    held = rig.body("root", (0, 16, 0), mode=FOLLOWS, **touching)
    ball = rig.body("ball", (0.6, 15, 0), parent=0, **touching)
    rig.joint(held, ball, (0, 16, 0), moves=((-3, -3, -3), (3, 3, 3)), turns=FREE)
    rig.key("root", 0)
    return rig


def coming_to_rest() -> Rig:
    rig = Rig("5_coming_to_rest", "additional damping of slow bodies, sleep", 300)
    top = root(rig)
    still: dict[str, Any] = {"linear_damping": 0, "angular_damping": 0, "parent": 0}
    pendulum = rig.body("pendulum", (-3, 13.4, 0), size=(0.3, 2.4, 0.3), **still)
    rig.hang(pendulum, top)
    damped: dict[str, Any] = still | {"angular_damping": 0.9}
    # doors on slightly tilted hinges: with additional damping, slow doors stay where they are
    for i, lean in enumerate((0.02, 0.002)):
        hinge, door = (2 + 2 * i, 14, 0), (2 + 2 * i, 14, 0.8)
        box = rig.body(f"door{i + 1}", door, size=(0.1, 0.8, 0.8), **damped)
        rig.joint(top, box, hinge, rotation=(0, 0, -lean), turns=((0, -1.5, 0), (0, 1.5, 0)))
    rig.key("root", 0)
    rig.key("root", 5, (0.6, 0, 0))
    return rig


def ground() -> Rig:
    rig = Rig(
        "6_ground", "whether there is a ground plane y = 0, its friction and restitution", 120
    )
    root(rig, position=(0, 12, 0))
    touching: dict[str, Any] = {
        "mask": EVERYTHING,
        "linear_damping": 0,
        "angular_damping": 0,
        "restitution": 0.5,
    }
    sizes = {"sphere": (1, 0, 0), "box": (1, 0.6, 0.8), "capsule": (0.6, 1.5, 0)}
    for i, (shape, size) in enumerate(sizes.items()):
        tilt = (0, 0, 0.3 * i)
        place = (4 * (i - 1), 6, 0)
        rig.body(shape, place, shape=shape, size=size, rotation=tilt, **touching)
    rig.key("root", 0)
    return rig


def modes() -> Rig:
    asks = "position of 'physics + bone', two bodies on one bone, one mode below the other"
    rig = Rig("7_modes", asks, 120)
    top = root(rig)
    pull: dict[str, Any] = {"moves": ((-3, -3, -3), (3, 3, 3)), "turns": FREE}
    aligned = rig.body("aligned", (-4, 15, 0), parent=0, mode=TURNED)
    rig.joint(top, aligned, (-4, 15.8, 0), **pull)
    first = rig.body("shared", (0, 15, 0), parent=0)
    rig.hang(first, top)
    second = rig.body("shared2", (0.8, 14.5, 0), bone=rig.bodies[first].bone, mass=3)
    rig.hang(second, top)
    upper = rig.body("upper", (4, 15, 0), parent=0)
    rig.hang(upper, top)
    lower = rig.body("lower", (4, 13.4, 0), parent=rig.bodies[upper].bone, mode=TURNED)
    rig.joint(upper, lower, (4, 14.2, 0), **pull)
    rig.swing("root", 3, 15, 120)
    return rig


def switches() -> Rig:
    asks = "keys that switch physics off and on, the start, a jump"
    rig = Rig(
        "8_switches",
        asks,
        180,
        extra="Then set the frame to 45, and capture again from there as `8_switches_from_45.vmd`.",
    )
    chain(rig, root(rig), 2)
    for frame, place in [(0, 0), (20, 3), (59, 3), (60, 33), (180, 33)]:
        rig.key("root", frame, (place, 0, 0))
    for bone in ("box1", "box2"):
        for frame in (0, 90, 120):
            rig.key(bone, frame)
        rig.off.append((bone, 90))
    return rig


def impulse() -> Rig:
    asks = "impulse morphs: MMD itself rejects PMX 2.1, other programs may not"
    rig = Rig("8_impulse", asks, 120, extra="Skip it if the program rejects the model.")
    box = chain(rig, root(rig), 2)
    rig.key("root", 0)
    rig.impulses.append((box, (4, 0, 2), (0, 1, 0)))
    rig.pushes += [(0, 0), (29, 0), (30, 1), (31, 0), (90, 0)]
    return rig


def pile() -> Rig:
    rig = Rig("9_pile", "friction and stacks; compared by statistics only", 300)
    touching: dict[str, Any] = {"mask": EVERYTHING}
    rig.body("floor", (0, 4, 0), mode=FOLLOWS, size=(8, 0.5, 8), **touching)
    for i in range(3):
        place = (0.2 * i, 5.6 + 2.1 * i, 0.1 * i)
        rig.body(f"box{i + 1}", place, size=(1, 1, 1), **touching)
    capsule: dict[str, Any] = {"shape": "capsule", "size": (0.5, 2, 0), "rotation": (0, 0, 1.4)}
    rig.body("capsule", (0.3, 13, 0), **(touching | capsule))
    rig.key("floor", 0)
    return rig


def rigs() -> list[Rig]:
    makers = (swung_chain, rotated, limits, joined, coming_to_rest, ground, modes, switches)
    return [maker() for maker in (*makers, impulse, pile)]


# The files. Indices have one byte, vertex indices two.


def text(string: str) -> bytes:
    data = string.encode("utf-16-le")
    return struct.pack("<i", len(data)) + data


def names(name: str) -> bytes:
    return text(name) * 2


def counted(records: Iterable[bytes]) -> bytes:
    records = list(records)
    return struct.pack("<i", len(records)) + b"".join(records)


BOX = np.array(list(itertools.product((-1, 1), repeat=3)), float)
FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def box_of(body: mmdskin.RigidBody) -> NDArray[np.float64]:
    """Corners (8, 3) of the box around a body's shape."""
    x, y, z = body.rotation
    turns: list[NDArray[np.float64]] = []
    for axis, angle in ((1, y), (0, x), (2, z)):  # Ry Rx Rz
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[[i, j], [i, j]] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        turns.append(turn)
    radius, height, _ = body.size
    size = {
        "sphere": (radius,) * 3,
        "box": body.size,
        "capsule": (radius, radius + height / 2, radius),
    }[body.shape]
    return BOX * size @ (turns[0] @ turns[1] @ turns[2]).T + body.position


def pmx(rig: Rig) -> bytes:
    """Bytes of the model, with a visible box for each body."""
    version = 2.1 if rig.impulses else 2.0
    out = [struct.pack("<4sf9B", b"PMX ", version, 8, 0, 0, 2, 1, 1, 1, 1, 1)]
    out += [names(rig.name), names(rig.asks)]
    vertices: list[bytes] = []
    triangles: list[int] = []
    for number, body in enumerate(rig.bodies):
        corners = box_of(body)
        for corner, way in zip(corners, corners - body.position, strict=True):
            normal = way / np.linalg.norm(way)
            vertices.append(struct.pack("<8fBbf", *corner, *normal, 0, 0, 0, body.bone, 1))
        for a, b, c, d in FACES:
            triangles += [8 * number + i for i in (a, b, c, a, c, d)]
    out += [counted(vertices), counted(struct.pack("<H", i) for i in triangles), counted([])]
    colors = (0.6, 0.7, 0.9, 1), (0.1, 0.1, 0.1), 5, (0.3, 0.35, 0.45)
    edge = (0, 0, 0, 1, 1)
    surface = struct.pack("<11fB5f", *colors[0], *colors[1], colors[2], *colors[3], 0x1F, *edge)
    texture = struct.pack("<bbBBB", -1, -1, 0, 1, 0)
    surface += texture + text("") + struct.pack("<i", len(triangles))
    out += [counted([names("boxes") + surface]), counted(map(bone_record, rig.bones))]
    out += [counted([impulse_morph(rig)] if rig.impulses else []), counted(frames_shown(rig))]
    out += [counted(map(body_record, rig.bodies)), counted(map(joint_record, rig.joints))]
    if rig.impulses:
        out.append(counted([]))  # soft bodies
    return b"".join(out)


def bone_record(bone: Bone) -> bytes:
    turns_moves_shown_operable = 0x2 | 0x4 | 0x8 | 0x10
    record = struct.pack("<3fbi", *bone.position, bone.parent, 0)
    return names(bone.name) + record + struct.pack("<H3f", turns_moves_shown_operable, 0, -0.5, 0)


def impulse_morph(rig: Rig) -> bytes:
    other, kind = 4, 10
    pushes = [struct.pack("<bB6f", body, 0, *v, *turn) for body, v, turn in rig.impulses]
    return names("push") + struct.pack("<BB", other, kind) + counted(pushes)


def frames_shown(rig: Rig) -> Iterator[bytes]:
    """The display frames: the first bone, the morphs, then the other bones."""
    bones = [struct.pack("<Bb", 0, number) for number in range(len(rig.bones))]
    morphs = [struct.pack("<Bb", 1, 0)] if rig.impulses else []
    yield text("Root") * 2 + b"\x01" + counted(bones[:1])
    yield text("表情") + text("Exp") + b"\x01" + counted(morphs)
    yield names("bones") + b"\x00" + counted(bones[1:])


def body_record(body: mmdskin.RigidBody) -> bytes:
    kind = struct.pack("<bBHB", body.bone, body.group, body.mask, SHAPES.index(body.shape))
    placed = struct.pack("<9f", *body.size, *body.position, *body.rotation)
    damping = body.linear_damping, body.angular_damping
    rest = struct.pack(
        "<5fB", body.mass, *damping, body.restitution, body.friction, MODES.index(body.mode)
    )
    return names(body.name) + kind + placed + rest


def joint_record(joint: mmdskin.Joint) -> bytes:
    return (
        names(joint.name)
        + struct.pack("<Bbb", 0, joint.body_a, joint.body_b)
        + b"".join(struct.pack("<3f", *vector) for vector in joint[5:])
    )


def motion(rig: Rig) -> mmdskin.Motion:
    bones: list[tuple[str, ArrayLike, ArrayLike, ArrayLike, None]] = []
    for name, keys in rig.keys.items():
        frames, positions, turns = zip(*sorted(keys), strict=True)
        bones.append((name, frames, positions, turns, None))
    morphs: list[tuple[str, ArrayLike, ArrayLike]] = []
    if rig.pushes:
        frames, weights = zip(*rig.pushes, strict=True)
        morphs.append(("push", frames, weights))
    return mmdskin.Motion.from_tracks(bones, morphs, name=rig.name)


BONES_AT, KEY_BYTES, SWITCH_AT = (
    54,
    111,
    49,
)  # in a VMD: offset of the first key, size of a key, offset of its physics flag
OFF = b"\x63\x0f"


def switched_off(rig: Rig, path: Path) -> None:
    """Sets the flag "physics off" on keys of a VMD."""
    data = bytearray(path.read_bytes())
    [count] = struct.unpack_from("<I", data, BONES_AT - 4)
    for start in range(BONES_AT, BONES_AT + count * KEY_BYTES, KEY_BYTES):
        name = bytes(data[start : start + 15]).split(b"\0")[0].decode("cp932")
        if (name, *struct.unpack_from("<I", data, start + 15)) in rig.off:
            data[start + SWITCH_AT : start + SWITCH_AT + 2] = OFF
    path.write_bytes(data)


STEPS = """\
# Capturing MMD's physics

You need MikuMikuDance 9.32 and MMDBridge. Leave all settings of MMD at their defaults. For each row
of the table, in a new scene (File > New, ファイル > 新規):

1. Drop the `.pmx` on the window, then the `.vmd` of the same name.
2. Physics > Anytime (物理演算 > 常に演算). Open Physics > Gravity (重力設定) once and note the numbers.
3. Go to frame 0 (the frame box shows 0), and wait until nothing moves.
4. MMDBridge > settings (プラグイン設定): script `mmdbridge_vmd.py`, run on, frames 0 to the last frame
   in the table, 30 frames per second.
5. File > Render to AVI (AVIファイルに出力) over the same frames at 30 frames per second. Save the VMD
   that MMDBridge writes under the name of the rig.

Send the VMDs, the versions of MMD and MMDBridge, and the numbers of step 2.

| rig | last frame | question | also |
|---|---|---|---|
"""


def page(made: Iterable[Rig]) -> str:
    rows = (f"| {rig.name} | {rig.last} | {rig.asks} | {rig.extra} |\n" for rig in made)
    return STEPS + "".join(rows)


def main(path: str) -> None:
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    made = rigs()
    for rig in made:
        (folder / f"{rig.name}.pmx").write_bytes(pmx(rig))
        motion(rig).save(folder / f"{rig.name}.vmd")
        switched_off(rig, folder / f"{rig.name}.vmd")
    (folder / "steps.md").write_text(page(made), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
