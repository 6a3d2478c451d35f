# SPDX-License-Identifier: GPL-3.0-or-later
"""Write attributes of evaluated meshes."""

from typing import Any

import bpy
import numpy as np

from . import memory

_SIZE = 3 * np.dtype(np.float32).itemsize  # bytes of a vector


def set_vectors(attribute: bpy.types.Attribute, vectors: np.ndarray) -> None:
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


def _memory(vectors: Any) -> np.ndarray | None:
    """The memory of vectors as an array (3 N,) float32, or None if they are not contiguous.

    Valid until Blender evaluates the mesh again.
    """
    first, last = (vectors[place].as_pointer() for place in (0, len(vectors) - 1))
    if last - first != _SIZE * (len(vectors) - 1):
        return None
    return memory.floats(first, (3 * len(vectors),))
