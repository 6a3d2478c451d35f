# SPDX-License-Identifier: GPL-3.0-or-later
"""The model that a motion animates, and whether its animation may be changed."""

import bpy

from ..blender.user_error import UserError
from ..scene import scene_model
from . import import_state


def active_model(context: bpy.types.Context) -> scene_model.SceneModel:
    """The model of the active object; an armature need not have a mesh."""
    try:
        return scene_model.model_of(context.active_object, context.view_layer)
    except UserError:
        obj = context.active_object
        if obj is None or obj.type != "ARMATURE":
            raise
        return scene_model.SceneModel(obj.name, obj, ())


def check_not_tweaked(model: scene_model.SceneModel) -> None:
    for block in import_state.blocks(model):
        if block.animation_data and block.animation_data.use_tweak_mode:
            raise UserError(
                "The animation of '{name}' is in NLA Tweak Mode: leave it first", name=block.name
            )


def check_clearing(model: scene_model.SceneModel) -> None:
    """UserError if the motion of a model cannot be cleared."""
    scene_model.check_editable(model.armature)
    check_not_tweaked(model)
    for block in import_state.blocks(model):
        import_state.Record(block)
