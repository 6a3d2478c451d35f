# SPDX-License-Identifier: GPL-3.0-or-later
"""A moment at which Blender asks for a pose."""

from typing import Any, NamedTuple

import bpy

from ..blender import evaluated_bones


class Evaluation(NamedTuple):
    """What Blender has evaluated when it calls a driver, and the time of the animation."""

    depsgraph: bpy.types.Depsgraph
    armature: bpy.types.Object
    bones: evaluated_bones.Bones  # of the armature
    frame: float = 0.0
    mesh: Any = None  # if the driver is one of a mesh
    obj: Any = None  # its object

    @property
    def scene(self) -> bpy.types.Scene:
        return self.depsgraph.scene

    @property
    def is_in_viewport(self) -> bool:
        return self.depsgraph.mode == "VIEWPORT"
