# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a model is shown, as far as that is animated."""

import bpy

from ..blender import actions
from ..scene import mmd_tools, scene_model

_HIDDEN = "hide_render"


class Visibility:
    """A model is visible if any of its meshes is; if that is not animated, it is always visible."""

    def __init__(self, model: scene_model.SceneModel) -> None:
        self._meshes = model.meshes
        self._root = scene_model.root_of(model.armature)
        self._by_meshes = any(_animates(obj, _HIDDEN) for obj in model.meshes)
        self._by_root = self._root is not None and _animates(self._root, mmd_tools.SHOWS_MESHES)

    @property
    def is_animated(self) -> bool:
        return self._by_meshes or self._by_root

    def value(self, depsgraph: bpy.types.Depsgraph) -> bool:
        """At the scene's current frame."""
        if self._by_root and not mmd_tools.shows_meshes(self._root.evaluated_get(depsgraph)):
            return False
        meshes = [obj.evaluated_get(depsgraph) for obj in self._meshes]
        return not self._by_meshes or not all(obj.hide_render for obj in meshes)


def _animates(block: bpy.types.ID, path: str) -> bool:
    data = block.animation_data
    if data is None:
        return False
    curves = [curve for found in actions.playing(data) for curve in found]
    return any(curve.data_path == path for curve in (*curves, *data.drivers))
