# SPDX-License-Identifier: MIT
"""The toon textures that models share, toon01.bmp to toon10.bmp of MMD, drawn from their measured
colors. They do not change along x: a texture is a column of pixels, lit at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 32
_WHITE = (255, 255, 255)

# The lit color, that of the shadow, the last row that is lit and the first one in shadow.
_RAMPS = (
    (_WHITE, (205, 205, 205), 15, 16),
    (_WHITE, (245, 225, 225), 15, 16),
    (_WHITE, (154, 154, 154), 15, 16),
    (_WHITE, (248, 239, 235), 15, 16),
    (_WHITE, (255, 231, 221), 18, 26),
    ((255, 237, 97), (195, 172, 3), 19, 26),
    *[(_WHITE, _WHITE, 15, 16)] * 4,
)

# Toon 06 has a pale band, half-way to white at its middle row.
_BAND_TOON, _BAND_MIDDLE, _BAND_HALF_WIDTH, _BAND_STRENGTH = 5, 11.5, 4, 0.5


def toons() -> NDArray[np.uint8]:
    """The ten ramps that stand for the toon textures toon01.bmp to toon10.bmp, which models share:
    a new array (10,32,4) uint8, sRGB and alpha. Row 0 is lit, row 31 in shadow. Drawn from their
    measured colors; no file of MMD is included. render() uses them unless others are passed.
    """
    row = np.arange(_ROWS)
    pixels = np.full((len(_RAMPS), _ROWS, 4), 255, np.uint8)
    for number, (lit, shadow, first, last) in enumerate(_RAMPS):
        color = lit + np.subtract(shadow, lit) * _smooth_step((row - first) / (last - first))
        if number == _BAND_TOON:
            pale = _smooth_step(1 - np.abs(row[:, None] - _BAND_MIDDLE) / _BAND_HALF_WIDTH)
            color += (255 - color) * _BAND_STRENGTH * pale
        pixels[number, :, :3] = np.floor(color + 0.5)
    return pixels


def _smooth_step(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """0 to 1 with flat ends, of each row."""
    t = np.clip(x, 0, 1).reshape(-1, 1)
    return t * t * (3 - 2 * t)


toons.__module__ = "mmdskin"  # where it is exported: in pickles
