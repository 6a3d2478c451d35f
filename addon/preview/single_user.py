# SPDX-License-Identifier: GPL-3.0-or-later
"""Give a model meshes of its own: a linked duplicate shares them, and a mesh can only follow one armature."""

import contextlib
from typing import Any

import bpy

from ..blender import registration
from ..blender.user_error import UserError, cancelled
from ..operator_base.editing import editing
from ..operator_base.model_operator import ModelOperator
from ..pose import skinner
from ..scene import scene_model
from . import switch


class MMDSKIN_OT_own_meshes(ModelOperator, bpy.types.Operator):
    """Copy the meshes that the model shares with linked duplicates, so that each is deformed by itself"""

    bl_idname = "mmdskin.own_meshes"
    bl_label = "Make Meshes Single-User"

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            with editing(self.models(context), _check) as edit:
                for model, _ in edit.checked:
                    is_live = any(map(switch.is_live, model.meshes))
                    for obj in shared(model):  # still, after models before it got copies
                        mesh = obj.data
                        obj.data = mesh.copy()
                        edit.on_failure(_give_back, obj, mesh)
                        _leave(mesh)
                    switch.forget_error(model.armature)
                    if is_live:
                        switch.enable(model)
        except UserError as error:
            return cancelled(self, error)
        return {"FINISHED"}


def shared(model: scene_model.SceneModel) -> list[bpy.types.Object]:
    """The mesh objects of a model whose meshes other objects have, too."""
    several = [obj for obj in model.meshes if obj.data.users - obj.data.use_fake_user > 1]
    return [obj for obj in several if skinner.users_of(obj.data) > 1]


def _check(model: scene_model.SceneModel) -> None:
    for obj in shared(model):
        skinner.check_writable(obj)


def _leave(mesh: Any) -> None:
    """Let its driver follow an object that still has the mesh."""
    other = next(obj for obj in bpy.data.objects if obj.data == mesh)
    if switch.is_live(other):
        with contextlib.suppress(UserError):  # which its own panel shows
            switch.wait_for(other)


def _give_back(obj: bpy.types.Object, mesh: Any) -> None:
    own: Any = obj.data
    obj.data = mesh
    bpy.data.meshes.remove(own)


register, unregister = registration.functions(MMDSKIN_OT_own_meshes)
