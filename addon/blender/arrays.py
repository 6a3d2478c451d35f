# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of all items of a collection as arrays: by Blender's functions, or as its memory.

For many keyframes, Blender's `foreach_get` and `foreach_set` call a function for each and take five times as
long; in evaluated copies of linked meshes they set nothing. Whoever asks for the memory makes sure that it is
laid out as expected.
"""

import types
from collections.abc import Mapping
from typing import Any

import numpy as np
from bpy.types import Attribute

# Of keyframes in memory, each followed by an unused number.
MEMBERS = ("handle_left", "co", "handle_right")
LEAST = 64  # keyframes: for fewer, the checks take longer than Blender's functions

_FLOAT = np.dtype(np.float32).itemsize
_VECTOR = 3 * _FLOAT


def read(items: Any, name: str, columns: int = 1, dtype: type = np.float32) -> np.ndarray:
    """(N,) values of a member, or (N, columns) if it has several."""
    flat: np.ndarray = np.empty(columns * len(items), dtype)
    items.foreach_get(name, flat)
    return flat.reshape(-1, columns) if columns > 1 else flat


def columns(items: Any, name: str) -> np.ndarray:
    """(N, 4, 4) float32 matrices, column by column as Blender stores them."""
    return read(items, name, 16).reshape(-1, 4, 4)


def write(items: Any, name: str, values: np.ndarray) -> None:
    """Set a member; fast if `values` has the type that Blender stores."""
    items.foreach_set(name, np.ascontiguousarray(values).ravel())


def add(mesh: Any, name: str, domain: str, values: np.ndarray, kind: str = "FLOAT") -> None:
    """Add an attribute of numbers to a mesh."""
    write(mesh.attributes.new(name, kind, domain).data, "value", values)


def drop(mesh: Any, *names: str) -> None:
    """Remove those attributes of a mesh that exist."""
    for name in names:
        if name in mesh.attributes:
            mesh.attributes.remove(mesh.attributes[name])


# As memory


def floats(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> np.ndarray:
    """The float32 values at an address, not copied; without strides, one after the other.

    Valid until Blender frees or moves them.
    """
    described = {"version": 3, "typestr": "=f4", "shape": shape, "strides": strides}
    memory = types.SimpleNamespace(__array_interface__=described | {"data": (address, False)})
    return np.asarray(memory)


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


# Vectors of evaluated meshes


def set_vectors(attribute: Attribute, vectors: np.ndarray) -> None:
    """Set a vector attribute of an evaluated mesh to (N, 3) float32, also if it is linked.

    Blender's `foreach_set` silently ignores data from another file, even in an evaluated copy, which
    belongs to this session. There, the same memory is written directly.
    """
    mesh, data = attribute.id_data, attribute.data
    if mesh.library is None or not mesh.is_evaluated:
        data.foreach_set("vector", vectors.ravel())
    elif len(data):
        block = vectors_of(attribute)
        if block is not None:
            block[:] = vectors
        else:
            for item, vector in zip(data, vectors, strict=True):
                item.vector = vector


def vectors_of(attribute: Any) -> np.ndarray | None:
    """(N, 3) float32 memory of a vector attribute of an evaluated mesh, or None if it is not contiguous.

    Valid until Blender evaluates the mesh again. It is where `foreach_set` would write to.
    """
    data = attribute.data
    first, last = (data[place].as_pointer() for place in (0, len(data) - 1))
    if last - first != _VECTOR * (len(data) - 1):
        return None
    return floats(first, (len(data), 3))
