# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators of the MMD Look."""

import os
from typing import Any

from bpy.types import Context, Operator

from ..blender import registration
from ..blender.translations import tr
from ..blender.user_error import cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import SwitchOperator, switch_action
from ..scene import setting_paths, textures
from . import switch


class MMDSKIN_OT_look(SwitchOperator, Operator):
    """Show toon shading, sphere maps, edges and MMD's light in Material Preview and renders"""

    bl_idname = "mmdskin.look"
    bl_label = "MMD Look"

    action: switch_action("Turn the MMD Look on or off")
    is_on = staticmethod(switch.is_on)

    @cancels
    def execute(self, context: Context) -> set[Any]:
        missing: dict[str, None] = {}
        with editing(self.models(context), switch.prepare) as edit:
            for model, _ in edit.checked:
                path = setting_paths.absolute(model.armature, "model_path")
                folder = textures.TextureFolder(os.path.dirname(path))
                if self.action == "ENABLE":
                    if not switch.is_on(model):
                        edit.on_failure(switch.disable, model)
                    switch.enable(context.scene, model, folder)
                    missing |= dict.fromkeys(folder.missing)
                elif switch.is_on(model):
                    edit.on_failure(switch.enable, context.scene, model, folder)
                    switch.disable(model)
        textures.report_missing(self, missing)
        return {"FINISHED"}


class MMDSKIN_OT_standard_colors(Operator):
    """Set the scene's view transform to Standard, so that renders have MMD's colors"""

    bl_idname = "mmdskin.standard_colors"
    bl_label = "Use Standard Colors"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not switch.changes_colors(context.scene):
            cls.poll_message_set(tr("The scene already shows colors as they are"))
            return False
        return True

    def execute(self, context: Context) -> set[Any]:
        switch.use_standard_colors(context.scene)
        return {"FINISHED"}


register, unregister = registration.functions(__name__)
