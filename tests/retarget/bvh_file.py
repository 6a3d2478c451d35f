# SPDX-License-Identifier: MIT
"""Writes BVH files: a skeleton of our own that walks, and any angles. Shares no code with the reader.

BVH has a right-handed space, +y up; our walker faces +z, is 170 cm tall and stands with level arms.
"""

from typing import NamedTuple

import numpy as np

FPS = 120
ROOT = ("Xposition", "Yposition", "Zposition", "Zrotation", "Yrotation", "Xrotation")
ANGLES = ("Zrotation", "Xrotation", "Yrotation")


class Joint(NamedTuple):
    name: str
    parent: int
    offset: tuple
    channels: tuple = ANGLES


def _walker():
    """Joints by the names of motion capture, and their places from the parent's, cm."""
    body = [
        ("Hips", None, (0, 96, 0)),
        ("Spine", "Hips", (0, 10, 0)),
        ("Spine1", "Spine", (0, 20, 0)),
    ]
    body += [
        ("Neck", "Spine1", (0, 22, 0)),
        ("Head", "Neck", (0, 9, 1)),
        ("Head end", "Head", (0, 15, 0)),
    ]
    sides = (("Left", 1), ("Right", -1))
    limbs = [
        (side, [("Shoulder", "Spine1", (3 * x, 17, 0)), ("Arm", 0, (13 * x, 0, -1)),
                ("ForeArm", 0, (28 * x, 0, 0)), ("Hand", 0, (25 * x, 0, 0)), ("Hand end", 0, (9 * x, 0, 0))])
        for side, x in sides
    ] + [
        (side, [("UpLeg", "Hips", (9 * x, -4, 0)), ("Leg", 0, (0, -42, 0.5)), ("Foot", 0, (0, -41, -1.5)),
                ("ToeBase", 0, (0, -6, 13)), ("ToeBase end", 0, (0, 0, 6))])
        for side, x in sides
    ]  # fmt: skip
    for side, limb in limbs:
        for (name, parent, offset), (before, _, _) in zip(
            limb, [("", "", ()), *limb], strict=False
        ):
            body.append((side + name, parent or side + before, offset))
    names = [name for name, _, _ in body]
    return [
        Joint(name, names.index(parent) if parent else -1, offset, ROOT if not parent else ANGLES)
        for name, parent, offset in body
    ]


def _turn(axis, degrees):
    """(F,3,3) of right-handed turns."""
    a = np.radians(degrees)
    out = np.zeros((len(a), 3, 3))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out[:, axis, axis] = 1
    out[:, j, j] = out[:, k, k] = np.cos(a)
    out[:, k, j], out[:, j, k] = np.sin(a), -np.sin(a)
    return out


def is_end(joint):
    return joint.name.endswith(" end")


def worlds(joints, values):
    """World matrices (F,B,4,4) in the file's own axes, by the definition of the format: each joint is
    its place, then its turns in the order of its channels, in its parent's space."""
    out = np.zeros((len(values), len(joints), 4, 4))
    column = 0
    for i, joint in enumerate(joints):
        local = np.tile(np.eye(4), (len(values), 1, 1))
        local[:, :3, 3] = joint.offset
        for channel in () if is_end(joint) else joint.channels:
            axis = "XYZ".index(channel[0])
            if channel.endswith("position"):
                local[:, axis, 3] = values[:, column]
            else:
                turn = np.tile(np.eye(4), (len(values), 1, 1))
                turn[:, :3, :3] = _turn(axis, values[:, column])
                local = local @ turn
            column += 1
        out[:, i] = local if joint.parent < 0 else out[:, joint.parent] @ local
    return out


def text(joints, values, fps=FPS, newline="\n"):
    """The file; values (F,C) of the joints' channels in their order."""
    children = [[] for _ in joints]
    for i, joint in enumerate(joints):
        if joint.parent >= 0:
            children[joint.parent].append(i)
    lines = ["HIERARCHY"]

    def write(i, depth):
        joint, tab = joints[i], "\t" * depth
        kind = (
            "End Site"
            if is_end(joint)
            else f"{'ROOT' if joint.parent < 0 else 'JOINT'} {joint.name}"
        )
        lines.extend([tab + kind, tab + "{"])
        lines.append(tab + "\tOFFSET " + " ".join(f"{x:.6f}" for x in joint.offset))
        if not is_end(joint):
            lines.append(f"{tab}\tCHANNELS {len(joint.channels)} " + " ".join(joint.channels))
        for child in children[i]:
            write(child, depth + 1)
        lines.append(tab + "}")

    for i, joint in enumerate(joints):
        if joint.parent < 0:
            write(i, 0)
    lines += ["MOTION", f"Frames: {len(values)}", f"Frame Time: {1 / fps:.7f}"]
    lines += [" ".join(f"{x:.6f}" for x in row) for row in values]
    return newline.join([*lines, ""])


def walk(seconds=3.0):
    """(joints, values): steps of our walker. The foot that stands is where it was a frame before: the
    hips' place follows from it."""
    joints = _walker()
    names = [joint.name for joint in joints]
    t = np.arange(int(seconds * FPS)) / FPS
    columns = {}
    for i, joint in enumerate(joints):
        if not is_end(joint):
            columns |= {(i, channel): len(columns) + n for n, channel in enumerate(joint.channels)}
    values = np.zeros((len(t), len(columns)))

    def turn(name, axis, degrees):
        values[:, columns[names.index(name), f"{axis}rotation"]] = degrees

    step = 2 * np.pi * t * 0.9
    for side, sign in (("Left", 1), ("Right", -1)):
        phase = step + (0 if sign > 0 else np.pi)
        swing, bend = 32 * np.sin(phase), 6 + 34 * np.clip(np.cos(phase), 0, 1) ** 2
        turn(side + "UpLeg", "X", -swing - bend / 2)
        turn(side + "Leg", "X", bend)
        turn(side + "Foot", "X", swing - bend / 2)  # flat
        turn(side + "Arm", "Z", -72 * sign)
        turn(side + "Arm", "Y", 30 * np.sin(phase) * sign)
        turn(side + "ForeArm", "Y", (-25 - 10 * np.sin(phase)) * sign)
        turn(side + "Hand", "X", 12 * np.sin(phase))
    turn("Hips", "Y", 6 * np.sin(step))
    turn("Spine", "Y", -8 * np.sin(step))
    turn("Head", "Y", 12 * np.sin(step / 2))
    places = [columns[0, channel] for channel in ROOT[:3]]
    feet = worlds(joints, values)[..., :3, 3][
        :, [names.index(s + "Foot") for s in ("Left", "Right")]
    ]
    stands = np.argmin(feet[..., 1], -1)
    hips = np.zeros((len(t), 3))
    hips[:, 1] = 9 - np.min(feet[..., 1], -1)  # the ankle's height at rest
    for f in range(1, len(t)):
        a, b = feet[f - 1, stands[f]], feet[f, stands[f]]
        hips[f, [0, 2]] = hips[f - 1, [0, 2]] - (b - a)[[0, 2]]
    values[:, places] = hips
    return joints, values


def z_up(joints, values):
    """The same skeleton and motion where z points up and -y to the front, as Blender exports it."""
    turned, values = [], values.copy()
    column = 0
    names = {"X": ("X", 1), "Y": ("Z", 1), "Z": ("Y", -1)}
    for joint in joints:
        channels = []
        for channel in joint.channels if not is_end(joint) else ():
            axis, sign = names[channel[0]]
            channels.append(axis + channel[1:])
            values[:, column] *= sign
            column += 1
        x, y, z = joint.offset
        turned.append(joint._replace(offset=(x, -z, y), channels=tuple(channels)))
    return turned, values


def write_walk(folder):
    (folder / "walk.bvh").write_text(text(*walk()), encoding="ascii")
