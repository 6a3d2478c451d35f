# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Simulate Together and Simulate Alone: which models touch each other."""

from typing import Any

import bpy
from bpy.types import Context, Object, Operator

from ..blender import registration
from ..blender.translations import tr_count
from ..blender.user_error import UserError, cancels
from ..operator_base.editing import Edit, editing
from ..operator_base.model_operator import ObjectOperator
from ..pose import physics_settings
from ..scene import scene_model
from ..scene.scene_model import SceneModel


class MMDSKIN_OT_simulate_together(ObjectOperator, Operator):
    """Let the selected models touch each other, so that hands move each other's hair"""

    bl_idname = "mmdskin.simulate_together"
    bl_label = "Simulate Together"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        models = scene_model.selected_models(context)
        if len(models) < 2:
            raise UserError("Select two or more models to simulate them together")
        with editing(models, _check) as edit:
            name = _group_of(models)
            for model in models:
                _set_group(edit, model.armature, name)
        text = tr_count(
            "1 model is simulated together",
            "{count} models are simulated together",
            len(models),
        )
        self.report({"INFO"}, text)
        return {"FINISHED"}


class MMDSKIN_OT_simulate_alone(ObjectOperator, Operator):
    """Let the model touch no other one"""

    bl_idname = "mmdskin.simulate_alone"
    bl_label = "Simulate Alone"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        model = scene_model.model_of(context.active_object, context.view_layer)
        name = model.armature.mmdskin.physics_group
        with editing([model], lambda one: scene_model.check_editable(one.armature)) as edit:
            _set_group(edit, model.armature, "")
            left = [armature for armature in _armatures() if _is_in(armature, name)]
            if len(left) == 1:
                _set_group(edit, left[0], "")
        return {"FINISHED"}


def _check(model: SceneModel) -> None:
    scene_model.check_editable(model.armature)
    if not physics_settings.is_simulated(model.armature.mmdskin):
        raise physics_settings.nothing_to_simulate(model.name)


def _group_of(models: list[SceneModel]) -> str:
    """The group of one of the models, else a new one."""
    for model in models:
        if name := model.armature.mmdskin.physics_group:
            return name
    taken = {armature.mmdskin.physics_group for armature in _armatures()}
    name, number = models[0].name, 1
    while name in taken:
        name, number = f"{models[0].name} {number}", number + 1
    return name


def _set_group(edit: Edit, armature: Object, name: str) -> None:
    settings = armature.mmdskin
    edit.on_failure(setattr, settings, "physics_group", settings.physics_group)
    settings.physics_group = name


def _is_in(armature: Object, name: str) -> bool:
    return bool(name) and armature.mmdskin.physics_group == name


def _armatures() -> list[Object]:
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]


register, unregister = registration.functions(
    MMDSKIN_OT_simulate_together, MMDSKIN_OT_simulate_alone
)
