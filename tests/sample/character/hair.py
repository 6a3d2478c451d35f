# SPDX-License-Identifier: MIT
"""The character's hair: a cap, locks over the forehead and beside the face, two tails, a cowlick."""

import numpy as np
from sample.character import skeleton as s
from sample.character.head import CENTER, skull
from sample.character.rig import Joint, chain, rigid, smoothstep
from sample.surfaces import curve, grid, joined, mirrored, tube

FRONT = np.radians(38)  # angle above the center of the head at which the cap ends over the forehead
NAPE = np.radians(-52)


def cap():
    """The shell from the crown down; its edge rises over the face."""
    azimuth = np.linspace(2 * np.pi, 0, 61)  # from the front, by her right
    fraction = np.linspace(0, 1, 20)[:, None]
    face = smoothstep((np.cos(azimuth) - 0.05) / 0.55)
    # scalloped, as locks end at the nape
    edge = NAPE + (FRONT - NAPE) * face + 0.05 * (1 - face) * abs(np.sin(4.5 * azimuth))
    height = np.pi / 2 + (edge - np.pi / 2) * fraction
    outer = _swollen(skull(azimuth, height), 0.2)
    # Below the center the hair hangs and does not follow the jaw.
    hang = np.clip(-np.sin(height), 0, 1)[..., None]
    middle = _swollen(skull(azimuth, np.zeros_like(height)), 0.2)
    straight = middle * (1 - 0.16 * hang**2)
    straight[..., 1] = outer[..., 1]
    outer = outer + 0.8 * smoothstep(hang * 1.5) * (straight - outer)
    inner = outer[::-1] + 0.08 * (CENTER - outer[::-1])
    u, v = np.meshgrid(azimuth / (2 * np.pi), np.concatenate([fraction, fraction[::-1]]))
    surface = grid(np.concatenate([outer, inner]), np.stack([u, v], -1), closed=True)
    return surface, rigid(surface, "頭")


def _swollen(points, by):
    outward = points - CENTER
    return points + by * outward / np.linalg.norm(outward, axis=-1, keepdims=True)


def _lock(angles, widths, thickness=0.17, lift=0.22, sideways=None):
    """A flat lock on the head: angles (azimuth, height) in degrees from the root to the tip."""
    azimuth, height = np.radians(np.transpose(angles))
    points = _swollen(skull(azimuth, height), lift)
    knots = np.column_stack([points, widths, np.full(len(points), thickness)])
    knots[-1, 4] = 0.03
    return tube(knots, 14, 12, (0.1, 0.12), sideways or (1, 0, 0))


def bangs():
    """Locks over the forehead, the middle one over the others."""
    locks = []
    for azimuth, tip, low, wide in (
        (0, 4, 8, 0.62), (-19, -25, 4, 0.6), (20, 28, 5, 0.62), (-38, -46, 0, 0.62), (39, 49, 2, 0.62),
    ):  # fmt: skip
        angles = [
            (azimuth * 0.7, 72),
            (azimuth, 52),
            (azimuth + (tip - azimuth) * 0.4, 30),
            (tip, low),
        ]
        lift = 0.27 - 0.001 * abs(azimuth)
        locks.append(_lock(angles, [0.35, wide, wide * 0.8, 0.05], 0.2, lift))
    surface = joined(*locks)
    return surface, rigid(surface, "頭")


def side_locks():
    """Beside the left cheek."""
    knots = [(2.1, 19.6, -1.55, 0.35, 0.2), (2.62, 18.3, -1.3, 0.55, 0.26), (2.72, 17.0, -1.2, 0.5, 0.26),
             (2.55, 15.7, -1.2, 0.32, 0.2), (2.3, 14.8, -1.3, 0.04, 0.04)]  # fmt: skip
    lock = tube(knots, 18, 14, (0.15, 0.1), (0.35, 0, -1))
    return lock, rigid(lock, "頭")


def tail():
    """The left tail of hair: a fat curl that thins to its tip."""
    knots = [(*s.TAIL[0], 0.3, 0.3), (3.2, 19.15, 0.8, 0.62, 0.6), (4.3, 17.9, 1.0, 0.95, 0.85),
             (4.85, 15.9, 1.2, 1.0, 0.88), (4.75, 13.6, 1.3, 0.82, 0.72), (4.35, 11.8, 1.2, 0.45, 0.4),
             (4.55, 10.6, 1.05, 0.05, 0.05)]  # fmt: skip
    surface = tube(knots, 40, 22, (0.25, 0.1), (0.8, 0.6, 0))
    return surface, _along(surface, s.TAIL, "左髪")


def _along(surface, places, name):
    """A chain of bones along the curve through their positions."""
    dense = curve(places)
    nearest = np.argmin(((surface.centers[:, None] - dense) ** 2).sum(-1), axis=1)
    place = nearest / (len(dense) - 1) * (len(places) - 1)
    bones = [f"{name}{i}" for i in range(1, len(places))]
    return chain(
        surface,
        place,
        ["頭", *bones],
        [Joint(i + 0.35 * (i == 0), 0.3 if i == 0 else 0.45) for i in range(len(bones))],
    )


def tie():
    """The band that holds the left tail."""
    knots = [
        (2.55, 19.25, 0.72, 0.42, 0.42),
        (2.75, 19.22, 0.75, 0.58, 0.56),
        (2.95, 19.18, 0.78, 0.42, 0.42),
    ]
    surface = tube(knots, 7, 18, (0.12, 0.12), (0, 1, 0))
    return surface, rigid(surface, "頭")


def cowlick():
    knots = [(0.0, 20.7, -0.2, 0.16, 0.1), (0.05, 21.5, -0.35, 0.2, 0.12), (0.35, 22.1, -0.5, 0.19, 0.11),
             (0.85, 22.25, -0.55, 0.12, 0.08), (1.2, 21.95, -0.55, 0.02, 0.02)]  # fmt: skip
    surface = tube(knots, 16, 12, (0.1, 0.05), (0, 0, 1))
    joints = [Joint(21.2, 0.4)]
    return surface, chain(surface, surface.centers[:, 1], ["頭", "アホ毛1"], joints)


def both_sides(part):
    return joined(part, mirrored(part))
