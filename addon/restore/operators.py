# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Restore Deform Data."""

import os
from typing import Any

from bpy.props import StringProperty
from bpy.types import Context, Event, Operator
from bpy_extras.io_utils import ImportHelper

from ..blender import input_files, registration
from ..blender.user_error import UserError, cancels
from ..operator_base.model_operator import PosingOperator
from ..scene import model_file, scene_model
from . import deform


class MMDSKIN_OT_restore_deform_data(PosingOperator, ImportHelper, Operator):
    """Restore from the model file what the importer lost (QDEF, SDEF, exact weights)"""

    bl_idname = "mmdskin.restore_deform_data"
    bl_label = "Restore Deform Data"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".pmx"
    filter_glob: StringProperty(default="*.pmx;*.pmd", options={"HIDDEN"})

    def invoke(self, context: Context, event: Event) -> set[Any]:
        try:
            model = scene_model.model_of(context.active_object, context.view_layer)
            self.filepath = model_file.rig(model.armature).path
        except UserError:
            pass  # the user will choose the file
        return super().invoke(context, event)

    @cancels
    def execute(self, context: Context) -> set[Any]:
        model = scene_model.model_of(context.active_object, context.view_layer)
        input_files.choose(self.filepath)
        rig = model_file.rig(model.armature, self.filepath)
        restored, missing = deform.prepare(model, rig)
        problem = deform.write(model, rig, restored)
        name = os.path.basename(rig.path)
        if missing:
            self.caution(
                "1 vertex has no match in '{file}' and was left unchanged",
                "{count} vertices have no match in '{file}' and were left unchanged",
                count=missing,
                file=name,
            )
        if problem:
            self.report({"WARNING"}, problem)
        matched = sum(int(item.matched.sum()) for item in restored)
        self.inform(
            "Restored 1 vertex from '{file}'",
            "Restored {count} vertices from '{file}'",
            count=matched,
            file=name,
        )
        return {"FINISHED"}


register, unregister = registration.functions(MMDSKIN_OT_restore_deform_data)
