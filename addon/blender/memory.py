# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of Blender as arrays, where its own functions are much slower or do nothing.

Whoever asks for it makes sure that the memory is laid out as expected.
"""

import numpy as np


class _Block:
    """Memory as NumPy's array interface describes it."""

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None
    ) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": "=f4",
            "shape": shape,
            "strides": strides,
            "data": (address, False),
        }


def floats(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> np.ndarray:
    """The float32 values at an address, not copied; without strides, one after the other.

    Valid until Blender frees or moves them.
    """
    return np.asarray(_Block(address, shape, strides))
