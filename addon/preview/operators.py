# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators of MMD Skinning, and of giving a model meshes of its own: a linked duplicate shares them,
and a mesh can only follow one armature.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import bpy

from ..blender import registration
from ..blender.translations import tr
from ..blender.user_error import UserError, cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import ModelOperator, SwitchOperator, switch_action
from ..pose import skinner
from ..scene import saved_state, scene_model
from . import driver_function, override, switch


class MMDSKIN_OT_preview(SwitchOperator, bpy.types.Operator):
    """Show MMD's deformation in the viewport and in renders"""

    bl_idname = "mmdskin.preview"
    bl_label = "MMD Skinning"

    action: switch_action("Turn MMD Skinning on or off")

    @staticmethod
    def is_on(model: scene_model.SceneModel) -> bool:
        return switch.is_on(model.armature)

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        if override.is_linked(model):
            return str(scene_model.needs_override(model.name))
        is_live = any(switch.is_live(obj) for obj in model.meshes)
        if not is_live and any(saved_state.exists(obj, saved_state.BAKE) for obj in model.meshes):
            return tr("'{name}' is baked: clear the bake first", name=model.name)
        return ""

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        find = self.models if self.action == "ENABLE" else self.models_to_clean
        with editing(find(context), self._prepare) as edit:
            for model, prepared in edit.checked:
                _switch(model, prepared, edit.on_failure)
        return {"FINISHED"}

    def _prepare(self, model: scene_model.SceneModel) -> switch.Prepared | None:
        """What switching it on needs; None where it goes off."""
        if model.armature is None:
            switch.check_disabling(model.meshes)
            return None
        if override.is_linked(model):
            raise scene_model.needs_override(model.name)
        try:
            if self.action == "ENABLE":
                return switch.prepare(model)
            switch.check_disabling(switch.objects_of(model.armature))
        except UserError as error:
            driver_function.live_of(model.armature).error = error
            raise
        return None


def _switch(
    model: scene_model.SceneModel, prepared: switch.Prepared | None, on_failure: Callable
) -> None:
    if model.armature is None:
        switch.disable_meshes(model.meshes)
    elif prepared is None:
        was_on = switch.is_on(model.armature)
        switch.disable(model.armature)
        if was_on:
            on_failure(switch.switch_on_again, model.armature)
    else:
        off = [obj for obj in model.meshes if not switch.is_live(obj)]
        switch.enable(model, prepared)
        on_failure(switch.disable_meshes, off)


class MMDSKIN_OT_own_meshes(ModelOperator, bpy.types.Operator):
    """Copy the meshes that the model shares with linked duplicates, so that each is deformed by itself"""

    bl_idname = "mmdskin.own_meshes"
    bl_label = "Make Meshes Single-User"

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        with editing(self.models(context), _check) as edit:
            for model, _ in edit.checked:
                is_live = any(map(switch.is_live, model.meshes))
                for obj in shared_meshes(model):  # still, after models before it got copies
                    mesh = obj.data
                    obj.data = mesh.copy()
                    edit.on_failure(_give_back, obj, mesh)
                    _leave(mesh)
                switch.forget_error(model.armature)
                if is_live:
                    switch.enable(model)
        return {"FINISHED"}


def shared_meshes(model: scene_model.SceneModel) -> list[bpy.types.Object]:
    """The mesh objects of a model whose meshes other objects have, too."""
    several = [obj for obj in model.meshes if obj.data.users - obj.data.use_fake_user > 1]
    return [obj for obj in several if skinner.users_of(obj.data) > 1]


def _check(model: scene_model.SceneModel) -> None:
    for obj in shared_meshes(model):
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


register, unregister = registration.functions(MMDSKIN_OT_preview, MMDSKIN_OT_own_meshes)
