# SPDX-License-Identifier: GPL-3.0-or-later
"""Clear Motion: the way back from what imported motions have moved."""

import bpy

from .. import registration
from ..model_operator import ModelOperator
from ..translations import tr
from ..user_error import UserError, cancelled
from . import moved_model, record


class MMDSKIN_OT_clear_motion(ModelOperator, bpy.types.Operator):
    """Remove the keyframes and settings of imported motions and bring back what they replaced"""

    bl_idname = "mmdskin.clear_motion"
    bl_label = "Clear Motion"

    def models(self, context):
        return super().models(context) if self.all_models else [moved_model.of_active(context)]

    def execute(self, context):
        try:
            models = self.models(context)
            for model in models:
                moved_model.check_editable(model.armature)
                moved_model.check_not_tweaked(model)
            count, kept = record.clear(models)
        except UserError as error:
            return cancelled(self, error)
        if not count:
            self.report({"WARNING"}, tr("This model has no imported motion to clear"))
            return {"CANCELLED"}
        for name in kept:
            self.report({"WARNING"}, tr("Other keyframes are kept in action '{name}'", name=name))
        self.report({"INFO"}, tr("Cleared the motion of {count} models", count=count))
        return {"FINISHED"}


register, unregister = registration.of(MMDSKIN_OT_clear_motion)
