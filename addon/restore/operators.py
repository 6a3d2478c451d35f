# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator that scripts and the panel call."""

import os

import bpy
from bpy.props import StringProperty
from bpy_extras.io_utils import ImportHelper

from .. import model_file, registration, scene_model
from ..translations import tr
from ..user_error import UserError, cancelled
from . import deform


class MMDSKIN_OT_load_deform_data(bpy.types.Operator, ImportHelper):
    """Read from the model's file what its importer has lost: QDEF, SDEF, exact weights"""

    bl_idname = "mmdskin.load_deform_data"
    bl_label = "Restore Deform Data"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".pmx"
    filter_glob: StringProperty(default="*.pmx;*.pmd", options={"HIDDEN"})

    @classmethod
    def poll(cls, context):
        if context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set(tr("Switch to object mode first"))
            return False
        return True

    def invoke(self, context, event):
        try:
            model = scene_model.of_object(context.active_object, context.view_layer)
            self.filepath = model_file.rig(model.armature).path
        except UserError:
            pass  # the user knows better
        return super().invoke(context, event)

    def execute(self, context):
        try:
            model = scene_model.of_object(context.active_object, context.view_layer)
            rig = model_file.rig(model.armature, self.filepath)
            restored, missing = deform.prepare(model, rig)
            trouble = deform.write(model, rig, restored)
        except UserError as error:
            return cancelled(self, error)
        name = os.path.basename(rig.path)
        if missing:
            self.report(
                {"WARNING"},
                tr(
                    "{count} vertices have no match in '{file}' and keep what they have",
                    count=missing,
                    file=name,
                ),
            )
        if trouble:
            self.report({"WARNING"}, trouble)
        matched = sum(int(item.matched.sum()) for item in restored)
        self.report(
            {"INFO"}, tr("Restored {count} vertices from '{file}'", count=matched, file=name)
        )
        return {"FINISHED"}


register, unregister = registration.of(MMDSKIN_OT_load_deform_data)
