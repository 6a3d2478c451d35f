# SPDX-License-Identifier: GPL-3.0-or-later
"""Write attributes of evaluated meshes."""

from typing import Any

import numpy as np
from bpy.types import Attribute

from . import arrays

_SIZE = 3 * np.dtype(np.float32).itemsize  # bytes of a vector


def set_vectors(attribute: Attribute, vectors: np.ndarray) -> None:
    """Set a vector attribute of an evaluated mesh to float32 values (3 N,), also if it is linked.

    Blender's `foreach_set` silently ignores data from another file, even in an evaluated copy, which
    belongs to this session. There, the same memory is written directly.
    """
    mesh, data = attribute.id_data, attribute.data
    if mesh.library is None or not mesh.is_evaluated:
        data.foreach_set("vector", vectors)
    elif len(data):
        block = _memory(data)
        if block is not None:
            block[:] = vectors
        else:
            for item, vector in zip(data, vectors.reshape(-1, 3), strict=True):
                item.vector = vector


class Memory:
    """The memory of one vector attribute of an evaluated mesh, described once for many frames."""

    def __init__(self) -> None:
        self._first = 0  # address
        self._vectors: np.ndarray | None = None

    def of(self, attribute: Any) -> np.ndarray | None:
        """(N, 3) float32 to write to in this evaluation, or None if it is not contiguous.

        The attribute has N vectors each time.
        """
        data = attribute.data
        first = data[0].as_pointer()
        if first != self._first:  # the memory that `foreach_set` would write to
            flat = _memory(data)
            self._first = first
            self._vectors = None if flat is None else flat.reshape(-1, 3)
        return self._vectors


def _memory(vectors: Any) -> np.ndarray | None:
    """The memory of vectors as an array (3 N,) float32, or None if they are not contiguous.

    Valid until Blender evaluates the mesh again.
    """
    first, last = (vectors[place].as_pointer() for place in (0, len(vectors) - 1))
    if last - first != _SIZE * (len(vectors) - 1):
        return None
    return arrays.floats(first, (3 * len(vectors),))
