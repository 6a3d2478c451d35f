# SPDX-License-Identifier: MIT
"""Bodies and joints of the character: her hair and skirt swing, and collide with her limbs."""

from itertools import pairwise

import numpy as np
from files import pmx_file as pmx
from sample.character import skeleton as s

FOLLOW, SWING = 0, 1  # modes
SPHERE, BOX, CAPSULE = range(3)  # shapes
HEAD, LIMBS, ROOTS, HAIR, SKIRT = range(5)  # groups
# What each group collides with, as bits of the groups. Roots of hair are inside the head: joints
# against contacts would never come to rest.
MEETS = {
    HEAD: 1 << HAIR,
    LIMBS: 1 << ROOTS | 1 << HAIR | 1 << SKIRT,
    ROOTS: 1 << LIMBS,
    HAIR: 1 << HEAD | 1 << LIMBS,
    SKIRT: 1 << LIMBS,
}


class _World:
    def __init__(self):
        self.bodies, self.joints, self.index = [], [], {}

    def body(self, name, english, bone, group, shape, size, position, rotation=(0, 0, 0), **fields):
        self.index[name] = len(self.bodies)
        size, position, rotation = (tuple(map(float, row)) for row in (size, position, rotation))
        record = pmx.RigidBody(
            name,
            english,
            s.number(bone),
            group,
            MEETS[group],
            shape,
            size,
            position,
            rotation,
            **fields,
        )
        self.bodies.append(record)

    def joint(self, name, first, second, position, rotation, limit, spring=0.0, shift=0.0):
        """`limit`: degrees about x, y and z in both directions."""
        limit, shift = np.radians(limit), np.full(3, shift)
        self.joints.append(
            pmx.Joint(
                name, name, 0, self.index[first], self.index[second],
                tuple(map(float, position)), tuple(map(float, rotation)),
                translation_lower=tuple(-shift), translation_upper=tuple(shift),
                rotation_lower=tuple(-limit), rotation_upper=tuple(limit),
                rotation_spring=(spring,) * 3,
            )
        )  # fmt: skip


def _between(start, end):
    """Middle, length, and the angles (x, y, z; applied in the order z, x, y) that align a
    capsule's y axis with the line from one point to the other."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    along = end - start
    length = np.linalg.norm(along)
    x, y, z = along / length
    return (start + end) / 2, length, (np.arccos(np.clip(y, -1, 1)), np.arctan2(x, z), 0.0)


def _limb(world, name, english, bone, start, end, radius):
    middle, length, rotation = _between(start, end)
    size = (radius, max(length - radius, 0.1), 0)
    world.body(name, english, bone, LIMBS, CAPSULE, size, middle, rotation)


def _limbs(world):
    world.body("頭", "head", "頭", HEAD, SPHERE, (2.75, 0, 0), (0, 18.1, 0))
    _limb(world, "上半身", "upper body", "上半身", (0, 11.4, 0), (0, 12.6, 0), 1.0)
    _limb(world, "上半身2", "upper body 2", "上半身2", (0, 12.6, 0), (0, 14.0, 0), 1.15)
    _limb(world, "下半身", "lower body", "下半身", (-0.5, 10.3, 0), (0.5, 10.3, 0), 1.1)
    for side, english, flip in s.SIDES:
        arm, elbow, wrist = (flip * np.array(place) for place in (s.ARM, s.ELBOW, s.WRIST))
        hip, knee, ankle = (flip * np.array(place) for place in (s.HIP, s.KNEE, s.ANKLE))
        _limb(world, f"{side}腕", f"{english} arm", f"{side}腕", arm, elbow, 0.5)
        _limb(world, f"{side}ひじ", f"{english} elbow", f"{side}ひじ", elbow, wrist, 0.45)
        _limb(world, f"{side}足", f"{english} leg", f"{side}足D", hip, knee, 1.0)
        _limb(world, f"{side}ひざ", f"{english} knee", f"{side}ひざD", knee, ankle, 0.6)


def _tails(world):
    radii = (0.55, 0.75, 0.65, 0.4)
    for side, english, flip in s.SIDES:
        places = [flip * np.array(place) for place in s.TAIL]
        before = "頭"
        for i, (start, end, radius) in enumerate(zip(places, places[1:], radii, strict=False), 1):
            name = f"{side}髪{i}"
            middle, length, rotation = _between(start, end)
            size = (radius, max(length - radius, 0.1), 0)
            world.body(
                name, f"{english} tail {i}", name, HAIR if i > 1 else ROOTS,
                CAPSULE, size, middle, rotation,
                mode=SWING, mass=0.6 / i, linear_damping=0.6, angular_damping=0.9,
            )  # fmt: skip
            limit = (8, 8, 8) if i == 1 else (22, 12, 22)
            world.joint(name, before, name, start, (0, 0, 0), limit, 20.0 if i == 1 else 2.0)
            before = name


def _cowlick(world):
    size = (0.4, 0, 0)  # if it were lighter or smaller, its spring would shake it
    world.body(
        "アホ毛", "cowlick", "アホ毛1", ROOTS, SPHERE, size, s.COWLICK[1],
        mode=SWING, mass=0.1, linear_damping=0.9, angular_damping=0.9,
    )  # fmt: skip
    world.joint("アホ毛", "頭", "アホ毛", s.COWLICK[0], (0, 0, 0), (25, 5, 25), 30.0)


def _skirt(world):
    """Boxes in rings, attached to the ones above and to their neighbors."""
    heights = (*s.SKIRT_HEIGHTS, 7.2)
    for c in range(s.SKIRT_CHAINS):
        azimuth = 2 * np.pi * c / s.SKIRT_CHAINS
        before = "下半身"
        for i, (top, bottom) in enumerate(pairwise(heights), 1):
            start, end = (np.array(s.skirt_point(c, y)) for y in (top, bottom))
            lean = np.arcsin(np.hypot(*(end - start)[[0, 2]]) / np.linalg.norm(end - start))
            width = np.pi * s.skirt_radius((top + bottom) / 2) / s.SKIRT_CHAINS
            rotation = (-lean, azimuth, 0)
            name = f"スカート{c}_{i}"
            world.body(
                name, f"skirt {c} {i}", name, SKIRT, BOX,
                (width, np.linalg.norm(end - start) / 2, 0.1), (start + end) / 2, rotation,
                mode=SWING, mass=0.4 / i, linear_damping=0.7, angular_damping=0.9,
            )  # fmt: skip
            limit = (25, 3, 6) if i == 1 else (20, 3, 6)
            world.joint(name, before, name, start, rotation, limit, 5.0)
            before = name
    for c in range(s.SKIRT_CHAINS):
        for i in (1, 2, 3):
            other = (c + 1) % s.SKIRT_CHAINS
            middle = (np.array(s.skirt_point(c, heights[i])) + s.skirt_point(other, heights[i])) / 2
            azimuth = 2 * np.pi * (c + 0.5) / s.SKIRT_CHAINS
            name = f"スカート横{c}_{i}"
            pair = f"スカート{c}_{i}", f"スカート{other}_{i}"
            world.joint(name, *pair, middle, (0, azimuth, 0), (15, 15, 15), 1.0, 0.2)


def bodies_and_joints():
    world = _World()
    _limbs(world)
    _tails(world)
    _cowlick(world)
    _skirt(world)
    return world.bodies, world.joints
