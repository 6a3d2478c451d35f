# SPDX-License-Identifier: MIT
"""The character's textures, painted in code: (rows, columns, 3) uint8 each."""

from functools import partial

import numpy as np
from sample.character.rig import smoothstep

SKIN = np.array((255, 226, 208.0))
# Plain colors are textures, too: programs disagree on the meaning of a material's color.
PLAIN = {
    "skin": SKIN,
    "white": (250, 250, 252),
    "lash": (74, 38, 43),
    "brow": (184, 92, 82),
    "mouth": (199, 69, 74),
    "blue": (87, 122, 204),
    "navy": (51, 59, 102),
    "yellow": (255, 204, 92),
}
BLUSH = np.array((250, 160, 150.0))


def _plane(rows, columns):
    """u and v of the pixel centers."""
    v, u = np.indices((rows, columns))
    return (u + 0.5) / columns, (v + 0.5) / rows


def _mix(a, b, fraction):
    return a + (b - a) * fraction[..., None]


def _bytes(colors):
    return np.clip(np.round(colors), 0, 255).astype(np.uint8)


def face():
    """The skin with blushing cheeks and a shaded nose, projected on the head from the front."""
    u, v = _plane(256, 256)
    x, y = 6.4 * (u - 0.5), 18.0 - 6.4 * (v - 0.5)
    colors = np.broadcast_to(SKIN, (*u.shape, 3))
    for side in (-1, 1):
        away = ((x - side * 1.45) / 0.48) ** 2 + ((y - 16.2) / 0.3) ** 2
        colors = _mix(colors, BLUSH, 0.5 * smoothstep(1.6 - away))
    nose = ((x - 0.03) / 0.1) ** 2 + ((y - 16.62) / 0.06) ** 2
    return _bytes(_mix(colors, np.array((236, 170, 150.0)), 0.8 * smoothstep(1.6 - nose)))


def iris():
    """An iris, dark above and light below, with a pupil and two highlights."""
    u, v = _plane(128, 128)
    x, y = 2 * u - 1, 1 - 2 * v
    r = np.hypot(x, y)
    colors = _mix(
        np.array((118, 226, 214.0)), np.array((24, 84, 116.0)), smoothstep((y + 0.75) / 1.3)
    )
    colors = _mix(colors, np.array((20, 40, 66.0)), smoothstep((r - 0.8) / 0.12))
    pupil = np.hypot(x / 0.4, (y - 0.02) / 0.46)
    colors = _mix(colors, np.array((14, 44, 74.0)), smoothstep((1.06 - pupil) / 0.16))
    glow = np.hypot(x / 0.5, (y + 0.55) / 0.26)
    colors = _mix(colors, np.array((190, 250, 236.0)), 0.75 * smoothstep((1 - glow) / 0.7))
    for cx, cy, size in ((-0.3, 0.42, 0.27), (0.34, -0.36, 0.14)):
        light = np.hypot(x - cx, (y - cy) * 0.8) / size
        colors = _mix(colors, np.array((255, 255, 255.0)), smoothstep((1.08 - light) / 0.16))
    return _bytes(colors)


def hair():
    """v runs down the hair: a ring of highlights below the crown, warmer tips."""
    _, v = _plane(128, 8)
    colors = _mix(
        np.array((238, 132, 118.0)), np.array((248, 172, 138.0)), smoothstep((v - 0.55) / 0.45)
    )
    light = np.exp(-(((v - 0.32) / 0.05) ** 2))
    return _bytes(_mix(colors, np.array((255, 214, 196.0)), 0.75 * light))


def skirt():
    """v runs down: two white lines above the hem."""
    _, v = _plane(128, 8)
    colors = _mix(np.array((92, 128, 206.0)), np.array((66, 98, 186.0)), v)
    white = ((v > 0.84) & (v < 0.9)) | (v > 0.955)
    return _bytes(np.where(white[..., None], 250.0, colors))


def sock():
    """Stripes, and a plain top."""
    _, v = _plane(256, 8)
    stripe = (v * 11) % 1 < 0.42
    colors = np.where(stripe[..., None], (120, 150, 220.0), (250, 250, 252.0))
    return _bytes(np.where((v < 0.06)[..., None], (92, 128, 206.0), colors))


def _disc():
    """The direction x, y (up) of the normal that each pixel of a sphere map stands for, and its length."""
    u, v = _plane(64, 64)
    x, y = 2 * u - 1, 1 - 2 * v
    return x, y, np.hypot(x, y)


def hair_sphere():
    """A sphere map to add: a gleam where hair faces up, and a cool rim."""
    x, y, r = _disc()
    gleam = np.exp(-(((x + 0.1) / 0.5) ** 2) - ((y - 0.52) / 0.13) ** 2)
    rim = smoothstep((r - 0.75) / 0.25) * smoothstep((x + 0.4) / 0.8)
    return _bytes(gleam[..., None] * (70, 58, 46.0) + rim[..., None] * (18, 26, 44.0))


def skin_toon():
    """Her own toon: a soft step to a warm shadow."""
    _, v = _plane(32, 8)
    return _bytes(_mix(np.array((255, 255, 255.0)), np.array((246, 214, 205.0)),
                       smoothstep((v - 0.44) / 0.14)))  # fmt: skip


def _plain(color):
    return _bytes(np.broadcast_to(np.array(color, float), (8, 8, 3)))


PAINTED = {"face": face, "iris": iris, "hair": hair, "skirt": skirt, "sock": sock}
LOOK = {"hair_sphere": hair_sphere, "skin_toon": skin_toon}  # sphere maps and toons
ALL = PAINTED | {name: partial(_plain, color) for name, color in PLAIN.items()} | LOOK
