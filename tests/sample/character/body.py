# SPDX-License-Identifier: MIT
"""The character's trunk, arms and legs, as (material, surface, rig) of the left side and the middle."""

import numpy as np
from sample.character import skeleton as s
from sample.character.rig import Joint, chain, rigid
from sample.surfaces import joined, tube

UP = np.array((0.0, 1.0, 0.0))


def _along_arm(surface):
    return (surface.centers - s.ARM) @ s.REACH


SHOULDER = Joint(0.0, 0.45, s.REACH)


def _arm_rig(surface, shoulder=SHOULDER):
    twists = [f"左腕捩{i}" for i in (1, 2, 3)] + ["左腕捩"]
    hand = [f"左手捩{i}" for i in (1, 2, 3)] + ["左手捩"]
    joints = [
        shoulder,
        *(Joint(place, 0.18) for place in (0.66, 1.04, 1.42, 1.8)),
        Joint(s.UPPER, 0.95, s.REACH),
        *(Joint(place, 0.16) for place in (4.15, 4.5, 4.85, 5.2)),
        Joint(s.UPPER + s.FORE, 0.35, s.REACH),
    ]
    bones = ["左肩", "左腕", *twists, "左ひじ", *hand, "左手首"]
    return chain(surface, _along_arm(surface), bones, joints)


def _limb(start, direction, stations, **options):
    """A tube along a straight line: stations of distance and radius."""
    knots = [(*(start + direction * place), r, r) for place, r in stations]
    return tube(knots, **options)


def arm():
    stations = [(-0.5, 0.5), (0.4, 0.56), (1.4, 0.56), (2.4, 0.53), (3.0, 0.52), (3.6, 0.52),
                (4.4, 0.49), (5.3, 0.4), (5.9, 0.36), (6.15, 0.34)]  # fmt: skip
    surface = _limb(s.ARM, s.REACH, stations, rings=52, caps=(0.4, 0), side=(0, 0, -1), around=24)
    return surface, _arm_rig(surface)


def hand():
    """A mitten with a thumb."""
    front = np.array((0.0, 0.0, -1.0))
    w = s.WRIST
    palm = [(0.0, 0.0, 0.33, 0.3), (0.35, 0.02, 0.43, 0.3), (0.8, 0.04, 0.47, 0.29),
            (1.2, 0.02, 0.4, 0.25), (1.5, 0.0, 0.26, 0.2)]  # fmt: skip
    knots = [(*(w + a * s.REACH + f * front), ru, rv) for a, f, ru, rv in palm]
    palm = tube(knots, 12, 20, (0.1, 0.3), front)
    knots = [(0.25, 0.25), (0.5, 0.5), (0.78, 0.62), (0.95, 0.66)]
    knots = [(*(w + a * s.REACH + f * front), 0.19, 0.18) for a, f in knots]
    thumb = tube(knots, 8, 12, (0.15, 0.18), s.HINGE)
    surface = joined(palm, thumb)
    return surface, rigid(surface, "左手首")


def puff_sleeve():
    stations = [(-0.75, 0.5), (-0.3, 0.86), (0.35, 1.0), (0.95, 0.92), (1.35, 0.62)]
    surface = _limb(s.ARM, s.REACH, stations, rings=18, caps=(0.3, 0), side=(0, 0, -1), around=28)
    # Nearly all of it rotates with the arm; the rest is inside the bodice.
    return surface, _arm_rig(surface, Joint(-0.35, 0.35))


def band(place, radius, width, thickness=0.07):
    """A ring around the arm."""
    stations = [(place - width, radius), (place, radius + thickness), (place + width, radius)]
    surface = _limb(s.ARM, s.REACH, stations, rings=9, side=(0, 0, -1))
    return surface, _arm_rig(surface)


def _leg_rig(surface):
    axis = np.array((0.0, -1.0, 0.0))
    joints = [
        Joint(-s.HIP[1], 0.7, axis),
        Joint(-s.KNEE[1], 1.0, axis),
        Joint(-s.ANKLE[1], 0.4, axis),
    ]
    bones = ["下半身", "左足D", "左ひざD", "左足首D"]
    return chain(surface, -surface.centers[:, 1], bones, joints)


LEG = [(10.8, 0.85, 0.0), (9.6, 0.95, 0.0), (8.2, 0.9, -0.03), (6.8, 0.74, -0.12), (5.6, 0.66, -0.12),
       (4.4, 0.68, 0.1), (3.2, 0.58, 0.14), (2.0, 0.45, 0.1), (1.2, 0.42, 0.08)]  # fmt: skip


def _leg_tube(thicker, top, bottom, rings, cap):
    heights = np.array([y for y, _, _ in LEG])[::-1]
    radius, depth = (np.array([row[i] for row in LEG])[::-1] for i in (1, 2))
    knots = []
    for y in np.linspace(top, bottom, 14):
        r = np.interp(y, heights, radius) + thicker
        knots.append((s.HIP[0], y, np.interp(y, heights, depth), r, r))
    surface = tube(knots, rings, 24, (cap, 0), (1, 0, 0))
    return surface, _leg_rig(surface)


def leg():
    return _leg_tube(0.0, 10.8, 6.5, 26, 0.5)


def sock():
    return _leg_tube(0.05, 7.35, 1.0, 44, 0.02)


def shoe():
    x = s.ANKLE[0]
    knots = [(x, 0.62, 0.75, 0.42, 0.5), (x, 0.62, 0.3, 0.56, 0.72), (x, 0.5, -0.5, 0.6, 0.66),
             (x, 0.42, -1.2, 0.66, 0.56), (x, 0.4, -1.85, 0.5, 0.46)]  # fmt: skip
    surface = tube(knots, 14, 24, (0.35, 0.55), (1, 0, 0))
    flat = surface.positions.copy()
    flat[:, 1] = np.maximum(flat[:, 1], 0)
    upper = surface._replace(positions=flat)
    knots = [(x, 0.75, 0.12, 0.6, 0.62), (x, 1.15, 0.12, 0.55, 0.57), (x, 1.42, 0.12, 0.52, 0.54)]
    collar = tube(knots, 6, 24, (0, 0.08), (1, 0, 0))
    surface = joined(upper, collar)
    return surface, rigid(surface, "左足首D")


def trunk_rig(surface):
    joints = [Joint(s.WAIST[1], 0.7, UP), Joint(s.CHEST[1], 0.5, UP), Joint(s.NECK[1], 0.25, UP)]
    bones = ["下半身", "上半身", "上半身2", "首"]
    return chain(surface, surface.positions[:, 1], bones, joints)


def bodice():
    knots = [(0, 10.6, 0, 1.25, 1.05), (0, 11.4, 0, 1.08, 0.88), (0, 12.2, -0.02, 1.16, 0.94),
             (0, 13.0, -0.08, 1.38, 1.06), (0, 13.7, 0.0, 1.42, 0.95), (0, 14.25, 0.08, 1.0, 0.72),
             (0, 14.55, 0.1, 0.55, 0.5)]  # fmt: skip
    surface = tube(knots, 32, 28)
    return surface, trunk_rig(surface)


def neck():
    knots = [(0, 14.1, 0.12, 0.5, 0.48), (0, 14.6, 0.1, 0.47, 0.46), (0, 15.9, 0.1, 0.5, 0.5)]
    surface = tube(knots, 10, 20)
    joints = [Joint(s.NECK[1], 0.25, UP), Joint(s.HEAD[1], 0.4, UP)]
    return surface, chain(surface, surface.positions[:, 1], ["上半身2", "首", "頭"], joints)


def shorts():
    knots = [(0, 11.2, 0, 1.05, 0.88), (0, 10.2, 0, 1.6, 1.2), (0, 9.4, 0, 1.75, 1.15),
             (0, 9.0, 0, 1.3, 0.9)]  # fmt: skip
    surface = tube(knots, 12, 28, (0, 0.3))
    return surface, rigid(surface, "下半身")
