# SPDX-License-Identifier: MIT
"""The character's head and face. Eyes, brows and mouth are flat shapes on the face; morphs
move them over it.
"""

import numpy as np
from sample.character.rig import rigid, smoothstep
from sample.surfaces import disc, grid

CENTER = np.array((0.0, 18.0, 0.0))
WIDTH, UP, DOWN, DEPTH = 2.8, 2.9, 2.85, 2.65


def skull(azimuth, height):
    """The point (…,3) at an angle around the head (0: the front, a quarter: her left) and at an
    angle above its middle."""
    below = np.clip(-np.sin(height), 0, 1)
    wide = np.cos(height) ** (1 - 0.12 * below)
    x = WIDTH * wide * (1 - 0.22 * smoothstep(below * 1.1)) * np.sin(azimuth)
    y = CENTER[1] + np.where(height > 0, UP, DOWN) * np.sin(height)
    back = np.cos(azimuth) < 0
    narrow = np.where(back, 1 - 0.3 * below**2, 1 - 0.1 * below)
    z = -DEPTH * wide * narrow * np.cos(azimuth) - 0.45 * below**2
    return np.stack(np.broadcast_arrays(x, y, z), -1)


def head():
    height = np.linspace(-np.pi / 2, np.pi / 2, 34)[:, None]
    azimuth = np.linspace(-np.pi, np.pi, 49)[None, :]
    points = skull(azimuth, height)
    # The texture is projected on the head from the front.
    uvs = (points[..., :2] - CENTER[:2]) / (6.4, -6.4) + 0.5
    surface = grid(points, uvs, closed=True)
    return surface, rigid(surface, "頭")


def on_face(flat, lift):
    """Points (…,3) at this distance in front of the face for x and y (…,2)."""
    x, y = np.moveaxis(np.asarray(flat, float), -1, 0)
    side = (y - CENTER[1]) / np.where(y > CENTER[1], UP, DOWN)
    height = np.arcsin(np.clip(side, -1, 1))
    widest = skull(np.pi / 2, height)[..., 0]
    azimuth = np.arcsin(np.clip(x / widest, -0.99, 0.99))
    points = skull(azimuth, height)
    points[..., 2] -= lift
    return points


def decal(flat, lift, bone, uvs=None):
    """A shape on the face: flat points (rows, columns, 2) and its bone."""
    surface = grid(on_face(flat, lift), uvs)
    # Lit like the face there, not like the edge of a sheet.
    normals = np.tile([0.0, 0.0, -1.0], (len(surface.positions), 1))
    return surface._replace(normals=normals), rigid(surface, bone)


def _disc_uvs(rings, around):
    return disc((0.5, 0.5), (1, -1), rings, around)


EYE = np.array((1.14, 17.3))
EYE_SIZE = np.array((1.12, 1.62))
LASH_SEGMENTS = 16
# Distance of each part in front of the face.
LIFTS = {"eyeball": 0.02, "iris": 0.09, "lower_lash": 0.11, "lash": 0.14}


def eyeball():
    flat = disc(EYE - (0, 0.04), EYE_SIZE * (1.24, 0.92), 4, 24)
    return decal(flat, LIFTS["eyeball"], "頭")


def iris():
    flat = disc(EYE, EYE_SIZE, 5, 28)
    return decal(flat, LIFTS["iris"], "左目", _disc_uvs(5, 28))


def _strip(middle, thickness):
    """Points (rows, columns, 2) of a line of varying width; columns run to the left side."""
    middle, thickness = np.asarray(middle), np.asarray(thickness)[:, None] * (0, 0.5)
    return np.stack([middle - thickness, middle + thickness])


def _arc(center, width, rise, n=LASH_SEGMENTS, tilt=0.0):
    t = np.linspace(-1, 1, n + 1)
    return np.stack([center[0] + width / 2 * t, center[1] + rise * (1 - t**2) + tilt * t], 1)


def lash():
    t = np.linspace(-1, 1, LASH_SEGMENTS + 1)
    thickness = 0.3 * np.sqrt(1 - 0.985 * abs(t) ** 4) * (0.8 + 0.3 * t)
    flat = _strip(_arc(EYE + (0.06, 0.25), 1.66, 0.5, tilt=-0.04), thickness)
    return decal(flat, LIFTS["lash"], "頭")


def lower_lash():
    t = np.linspace(-1, 1, LASH_SEGMENTS + 1)
    flat = _strip(_arc(EYE - (-0.02, 0.68), 0.85, -0.14), 0.07 * np.sqrt(1 - 0.98 * t**2))
    return decal(flat, LIFTS["lower_lash"], "頭")


def brow():
    t = np.linspace(-1, 1, LASH_SEGMENTS + 1)
    thickness = 0.15 * np.sqrt(1 - 0.97 * t**4) * (1 - 0.25 * t)
    flat = _strip(_arc(EYE + (0.06, 1.3), 1.15, 0.2), thickness)
    return decal(flat, 0.1, "頭")


MOUTH = np.array((0.0, 15.98))
MOUTH_WIDTH, MOUTH_ROWS = 0.86, 6


def _mouth(width, rise, opening, smile, thin=0.07):
    """The mouth as points: the upper lip's line is row 0, the lower one the last."""
    t = np.linspace(-1, 1, LASH_SEGMENTS + 1)
    x = MOUTH[0] + width / 2 * t
    round_ = np.sqrt(1 - 0.999 * t**2)
    upper = MOUTH[1] + smile * t**2 + rise * round_ + thin / 2 * round_
    lower = MOUTH[1] + smile * t**2 - opening * round_ - thin / 2 * round_
    fraction = np.linspace(0, 1, MOUTH_ROWS)[:, None]
    # rows from below to above, as for the other strips
    y = lower + fraction * (upper - lower)
    return np.stack(np.broadcast_arrays(x, y), -1)


def mouth():
    flat = _mouth(MOUTH_WIDTH, 0.0, 0.0, 0.17)
    return decal(flat, 0.05, "頭")


# Morphs: the target positions of a shape's points.

# English name; width, rise of the upper lip, fall of the lower one, rise of the corners
MOUTHS = {
    "あ": ("a", 0.85, 0.1, 0.62, 0.1),
    "い": ("i", 1.0, 0.04, 0.22, 0.16),
    "う": ("u", 0.42, 0.12, 0.24, 0.0),
    "え": ("e", 0.86, 0.08, 0.36, 0.1),
    "お": ("o", 0.56, 0.18, 0.46, 0.0),
    "にっこり": ("grin", 1.15, 0.0, 0.0, 0.3),
    "ワ": ("laugh", 1.1, 0.0, 0.66, 0.26),
    "へ": ("pout", 0.8, 0.0, 0.0, -0.16),
}


def moved_mouth(name):
    return on_face(_mouth(*MOUTHS[name][1:]), 0.05).reshape(-1, 3)


def closed_eye(part, positions, happy):
    """Positions of the points (n,3) of a part of the left eye when it is closed."""
    x, y = positions[:, 0], positions[:, 1]
    across = (x - EYE[0]) / 0.86
    rise = 0.34 if happy else -0.3
    line = EYE[1] - (0.2 if happy else 0.4) + rise * (1 - across**2)
    if part == "lash":
        t = np.linspace(-1, 1, LASH_SEGMENTS + 1)
        middle = np.stack([x.reshape(2, -1)[0], line.reshape(2, -1)[0]], 1)
        flat = _strip(middle, 0.2 * np.sqrt(1 - 0.985 * t**4))
    else:
        # Behind the lash's line.
        flat = np.stack([EYE[0] + (x - EYE[0]) * 0.9, line + 0.03 * (y - EYE[1])], 1)
    return on_face(flat, LIFTS[part]).reshape(-1, 3)


def moved_brow(_, positions, shift, tilt):
    x, y = positions[:, 0], positions[:, 1]
    flat = np.stack([x, y + shift + tilt * (x - EYE[0])], 1)
    return on_face(flat, 0.1)
