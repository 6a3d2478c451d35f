# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operators that act on models have in common."""

from bpy.props import BoolProperty

from . import scene_model
from .translations import tr
from .user_error import UserError

_EDIT_MODES = {"EDIT_MESH", "EDIT_ARMATURE", "SCULPT"}


class ModelOperator:
    bl_options = {"REGISTER", "UNDO"}

    all_models: BoolProperty(
        name="All Models",
        description="Act on every model of the scene, not only on the active one",
        default=False,
    )

    @classmethod
    def poll(cls, context):
        if context.mode in _EDIT_MODES:
            cls.poll_message_set(tr("Leave edit and sculpt mode first"))
            return False
        return True

    def models(self, context):
        if self.all_models:
            return scene_model.all_of(context.view_layer)
        return [scene_model.of_object(context.active_object, context.view_layer)]

    def models_to_clean(self, context):
        """As `models`, and the meshes whose armature is gone."""
        objects = context.view_layer.objects if self.all_models else [context.active_object]
        stranded = scene_model.stranded(objects)
        try:
            return [*self.models(context), *stranded]
        except UserError:
            if not stranded:
                raise
            return stranded
