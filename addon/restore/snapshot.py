# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot of the deform data of a mesh object, to restore it if writing fails."""

from collections.abc import Sequence

import numpy as np
from bpy.types import Object

from ..blender import blender_versions
from ..scene import deform_data, mesh_source
from ..scene.mmd_tools import SDEF_KEYS


class DeformSnapshot:
    def __init__(self, obj: Object, weights: mesh_source.Weights) -> None:
        self._obj, self._weights = obj, weights
        self._groups = len(obj.vertex_groups)
        self._attributes = deform_data.snapshot(obj.data)
        keys = obj.data.shape_keys
        self._had_keys = keys is not None
        self._active = obj.active_shape_key_index
        self._points = {
            name: (mesh_source.key_positions(keys.key_blocks[name]), keys.key_blocks[name].value)
            for name in SDEF_KEYS
            if keys and name in keys.key_blocks
        }

    def restore(self, changes: Sequence[np.ndarray]) -> None:
        """`changes`: vertices and vertex groups whose weights were written, in this order."""
        self._restore_weights(*changes[:2])
        groups = self._obj.vertex_groups
        for group in list(groups)[self._groups :]:
            groups.remove(group)
        self._restore_keys()
        deform_data.restore(self._obj.data, self._attributes)
        self._obj.data.update_tag()

    def _restore_weights(self, vertices: np.ndarray, numbers: np.ndarray) -> None:
        pairs = zip(self._weights.vertex.tolist(), self._weights.group.tolist(), strict=True)
        had = dict(zip(pairs, self._weights.weight.tolist(), strict=True))
        for vertex, number in zip(vertices.tolist(), numbers.tolist(), strict=True):
            if number < self._groups:
                group, weight = self._obj.vertex_groups[number], had.get((vertex, number))
                if weight is None:
                    group.remove([vertex])
                else:
                    group.add([vertex], weight, "REPLACE")

    def _restore_keys(self) -> None:
        obj = self._obj
        keys = obj.data.shape_keys
        for name in SDEF_KEYS:
            key = keys.key_blocks.get(name) if keys else None
            if key is None:
                continue
            if name not in self._points:
                obj.shape_key_remove(key)
                continue
            positions, key.value = self._points[name]
            place, co = blender_versions.key_positions(key)
            place.foreach_set(co, positions.ravel())
        if keys and not self._had_keys:
            obj.shape_key_clear()
        obj.active_shape_key_index = self._active
