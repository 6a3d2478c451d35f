# SPDX-License-Identifier: MIT
"""The character's skirt, collar and bows."""

import numpy as np
from sample.character import skeleton as s
from sample.character.body import band, trunk_rig
from sample.character.rig import rigid, sheet, smoothstep
from sample.surfaces import grid, joined, moved, tube

PLEATS = 15
HEM = 7.2


def skirt():
    """A pleated sheet: down outside, up inside."""
    heights = np.linspace(11.7, HEM, 15)
    azimuth = np.linspace(0, 2 * np.pi, 6 * PLEATS + 1)
    fraction = (11.7 - heights)[:, None] / (11.7 - HEM)
    radius = np.array([s.skirt_radius(h) for h in heights])[:, None]
    radius = radius + 0.2 * smoothstep(fraction * 1.3) * np.cos(PLEATS * azimuth)
    inner = (radius - 0.06)[::-1]
    ring = np.stack([np.sin(azimuth), np.zeros_like(azimuth), np.cos(azimuth)], 1)
    down = np.concatenate([heights, heights[::-1]])
    points = np.concatenate([radius, inner])[..., None] * ring + down[:, None, None] * (0, 1, 0)
    points[..., 2] *= 0.92
    u, v = np.meshgrid(azimuth / (2 * np.pi), np.concatenate([fraction, fraction[::-1]]))
    surface = grid(points, np.stack([u, v], -1), closed=True)
    return surface, _skirt_rig(surface, u.ravel())


def _skirt_rig(surface, around):
    place = around * s.SKIRT_CHAINS
    first = np.floor(place).astype(int) % s.SKIRT_CHAINS
    across = first, (first + 1) % s.SKIRT_CHAINS, smoothstep(place - np.floor(place))
    y = surface.positions[:, 1]
    bones = [["下半身", *(f"スカート{c}_{i}" for i in (1, 2, 3))] for c in range(s.SKIRT_CHAINS)]
    numbers = np.array([[s.number(name) for name in row] for row in bones])
    # 0 at the waist, plus one per joint above; fractions in between
    level = sum(smoothstep((height + 0.5 - y) / 1.0) for height in s.SKIRT_HEIGHTS)
    upper = np.minimum(np.floor(level).astype(int), 2)

    def down(chains):
        return numbers[chains, upper], numbers[chains, upper + 1], level - upper

    return sheet(surface, across, down)


def sash():
    knots = [(0, 11.3, 0, 1.2, 1.05), (0, 11.55, 0, 1.37, 1.2), (0, 11.8, 0, 1.13, 0.95)]
    surface = tube(knots, 11, 28)
    return surface, trunk_rig(surface)


def collar():
    """A round white collar; it follows the upper chest."""
    knots = [(0, 14.62, 0.1, 0.5, 0.5), (0, 14.66, 0.1, 0.66, 0.64), (0, 14.4, 0.06, 1.0, 0.86),
             (0, 14.02, 0.0, 1.42, 1.13), (0, 13.95, 0.0, 1.38, 1.1)]  # fmt: skip
    surface = tube(knots, 14, 32)
    return surface, rigid(surface, "上半身2")


def bow(center, size, bone, rotation=None):
    """Two loops and a knot, seen from the front; `size` is half of its width."""
    loops = []
    for sign in (1, -1):
        knots = [(sign * x, y, 0, ru, rv) for x, y, ru, rv in (
            (0.05, 0, 0.16, 0.12), (0.45, 0.06, 0.34, 0.2), (0.8, 0.12, 0.46, 0.24),
            (1.0, 0.14, 0.4, 0.2))]  # fmt: skip
        loops.append(tube(knots, 5, 12, (0.05, 0.2), (0, 1, 0)))
        knots = [(sign * x, y, 0.02, ru, 0.07) for x, y, ru in (
            (0.05, -0.05, 0.1), (0.28, -0.45, 0.2), (0.5, -0.95, 0.26))]  # fmt: skip
        loops.append(tube(knots, 5, 8, (0.05, 0.05), (1, 0, 0)))
    knot = tube([(0, 0.22, -0.04, 0.16, 0.16), (0, 0, -0.06, 0.21, 0.21), (0, -0.22, -0.04, 0.16, 0.16)],
                3, 12, (0.12, 0.12))  # fmt: skip
    surface = joined(*loops, knot)
    surface = moved(surface._replace(positions=surface.positions * size), rotation, center)
    return surface, rigid(surface, bone)


def chest_bow():
    return bow((0, 13.55, -1.12), 0.72, "上半身2")


def back_bow():
    behind = np.diag([-1.0, 1.0, -1.0])
    return bow((0, 11.6, 1.25), 1.5, "上半身", behind)


def hair_bow():
    """On the left tie."""
    a, b = np.radians((-35, -20))
    lean = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    face = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
    return bow((2.75, 19.5, 0.15), 0.8, "頭", face @ lean)


def bracelet():
    return band(5.35, 0.42, 0.16)


def sleeve_band():
    return band(1.34, 0.6, 0.14)
