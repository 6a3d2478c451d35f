# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators that scripts and the panel call."""

import bpy
from bpy.props import BoolProperty, EnumProperty

from . import bake, model, native

_EDIT_MODES = {"EDIT_MESH", "EDIT_ARMATURE", "SCULPT"}


class _ModelOperator:
    bl_options = {"REGISTER", "UNDO"}

    all_models: BoolProperty(
        name="All Models",
        description="Act on every model of the scene, not only on the active one",
        default=False,
    )

    @classmethod
    def poll(cls, context):
        if context.mode in _EDIT_MODES:
            cls.poll_message_set("Leave edit and sculpt mode first")
            return False
        return True

    def models(self, context):
        if self.all_models:
            return model.all_of(context.view_layer)
        return [model.of_object(context.active_object, context.view_layer)]

    def execute(self, context):
        try:
            return self.act(context, self.models(context))
        except bake.ERRORS as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}


class MMDSKIN_OT_bake(_ModelOperator, bpy.types.Operator):
    """Put MMD's deformation of the current pose into a shape key; the armature modifier goes off"""

    bl_idname = "mmdskin.bake"
    bl_label = "Bake MMD Skin"

    target: EnumProperty(
        name="Target",
        items=[("SHAPE_KEYS", "Shape Keys", "A shape key named after the frame")],
        default="SHAPE_KEYS",
    )
    range: EnumProperty(
        name="Range",
        items=[("CURRENT", "Current Frame", "The pose of the current frame")],
        default="CURRENT",
    )

    def act(self, context, models):
        baked = bake.compute(models, context.evaluated_depsgraph_get())
        native.remember_backends()
        bake.write(baked, context.scene.frame_current)
        limited = sum(item.source.limited for item in baked)
        if limited:
            self.report(
                {"WARNING"},
                f"{limited} vertices have more than four bones: the strongest four were used",
            )
        vertices = sum(len(item.positions) for item in baked)
        frame = context.scene.frame_current
        self.report({"INFO"}, f"Baked frame {frame}: {_meshes(len(baked))}, {vertices} vertices")
        return {"FINISHED"}


class MMDSKIN_OT_clear_bake(_ModelOperator, bpy.types.Operator):
    """Remove the baked shape keys and bring the model back as it was"""

    bl_idname = "mmdskin.clear_bake"
    bl_label = "Clear Bake"

    def act(self, context, models):
        count = bake.clear(models)
        if not count:
            self.report({"WARNING"}, "This model has no bake to clear")
            return {"CANCELLED"}
        self.report({"INFO"}, f"Cleared the bake of {_meshes(count)}")
        return {"FINISHED"}


def _meshes(count):
    return "1 mesh" if count == 1 else f"{count} meshes"


_classes = (MMDSKIN_OT_bake, MMDSKIN_OT_clear_bake)


def register():
    for cls in _classes:
        if not cls.is_registered:
            bpy.utils.register_class(cls)


def unregister():
    for cls in reversed(_classes):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
