# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator that scripts, the panel and the search call."""

import bpy
from bpy.props import EnumProperty

from .. import registration
from ..model_operator import ModelOperator
from ..user_error import UserError, cancelled
from . import switch, tick


class MMDSKIN_OT_preview(ModelOperator, bpy.types.Operator):
    """Show the deformation that MMD computes, in the viewport and in renders"""

    bl_idname = "mmdskin.preview"
    bl_label = "MMD Skinning"

    action: EnumProperty(
        name="Action",
        items=[
            ("TOGGLE", "Toggle", "Switch on what is off, and off what is on"),
            ("ENABLE", "Enable", "Switch on"),
            ("DISABLE", "Disable", "Switch off"),
        ],
        default="TOGGLE",
        options={"SKIP_SAVE"},
    )

    def execute(self, context):
        try:
            find = self.models if self.action == "ENABLE" else self.models_to_clean
            for model in find(context):
                self._switch(model)
        except UserError as error:
            return cancelled(self, error)
        return {"FINISHED"}

    def _switch(self, model):
        if model.armature is None:
            switch.disable_meshes(model.meshes)
            return
        on = switch.is_on(model.armature)
        try:
            if self.action == "ENABLE" or (self.action == "TOGGLE" and not on):
                switch.enable(model)
            else:
                switch.disable(model.armature)
        except UserError as error:
            tick.errors[model.armature.name] = str(error)
            raise


register, unregister = registration.of(MMDSKIN_OT_preview)
