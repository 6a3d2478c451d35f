# SPDX-License-Identifier: GPL-3.0-or-later
"""The model that a motion moves, and whether its animation may be changed."""

import bpy

from .. import scene_model
from ..user_error import UserError
from . import record


def of_active(context: bpy.types.Context) -> scene_model.SceneModel:
    """The model of the active object; an armature need not have a mesh."""
    try:
        return scene_model.of_object(context.active_object, context.view_layer)
    except UserError:
        obj = context.active_object
        if obj is None or obj.type != "ARMATURE":
            raise
        return scene_model.SceneModel(obj.name, obj, ())


def check_editable(armature: bpy.types.Object) -> None:
    override = armature.override_library
    if armature.library or (override and override.is_system_override):
        raise UserError(
            "'{name}' is linked from another file: make a library override first",
            name=armature.name,
        )


def check_not_tweaked(model: scene_model.SceneModel) -> None:
    for block in record.blocks(model):
        if block.animation_data and block.animation_data.use_tweak_mode:
            raise UserError(
                "The animation of '{name}' is in tweak mode: leave it first", name=block.name
            )
