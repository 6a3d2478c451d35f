# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of Blender as arrays, where its own functions are much slower or do nothing.

Whoever asks for it makes sure that the memory is laid out as expected. For many keyframes, `foreach_get`
and `foreach_set` call a function for each and take five times as long.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

MEMBERS = (
    "handle_left",
    "co",
    "handle_right",
)  # of keyframes in memory, each followed by an unused number
LEAST = 64  # keyframes: for fewer, the checks take longer than Blender's functions

_FLOAT = np.dtype(np.float32).itemsize
_VECTOR = 3 * _FLOAT


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


def read_keyframes(points: Any, name: str) -> np.ndarray | None:
    """(K, 2) float32 of one of the members, or None if Blender's functions must read it."""
    found = _vectors(points)
    return None if found is None else found[:, MEMBERS.index(name)].copy()


def write_keyframes(points: Any, columns: Mapping[str, np.ndarray]) -> bool:
    """Set members to (K, 2) float32 each; False if Blender's functions must set them."""
    if len(points) < LEAST:
        return False
    # Memory that is still zero would look as expected wherever one reads it.
    for place in (0, len(points) - 1):
        for name, column in columns.items():
            setattr(points[place], name, column[place])
    found = _vectors(points)
    if found is None:
        return False
    for name, column in columns.items():
        found[:, MEMBERS.index(name)] = column
    return True


def _vectors(points: Any) -> np.ndarray | None:
    """(K, 3, 2) MEMBERS in Blender's memory; None for few keyframes or an unknown layout."""
    count = len(points)
    if count < LEAST:
        return None
    ends = points[0], points[count - 1]
    address = ends[0].as_pointer()
    size = points[1].as_pointer() - address
    whole = ends[1].as_pointer() - address
    if whole != size * (count - 1) or size < len(MEMBERS) * _VECTOR or size % _FLOAT:
        return None
    shape = count, len(MEMBERS), 2
    found = floats(address, shape, (size, _VECTOR, _FLOAT))
    expected = [[tuple(getattr(point, name)) for name in MEMBERS] for point in ends]
    return found if np.array_equal(found[[0, -1]], np.array(expected, np.float32)) else None
