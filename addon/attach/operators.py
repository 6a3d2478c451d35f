# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Attach to Bone, Detach from Bone and Show Pose on Bones."""

from typing import Any

import bpy
from bpy.props import BoolProperty, StringProperty
from mathutils import Matrix

from ..blender import registration
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError, cancelled, cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import PosingOperator, SwitchOperator, switch_action
from ..scene import scene_model
from . import display_armature, driver


class MMDSKIN_OT_attach(PosingOperator, bpy.types.Operator):
    """Make the selected objects, or a new empty, follow a bone in the pose that the model shows"""

    bl_idname = "mmdskin.attach"
    bl_label = "Attach to Bone"
    bl_options = {"REGISTER", "UNDO"}

    bone: StringProperty(
        name="Bone", description="Bone to follow; if empty, the active bone", options={"SKIP_SAVE"}
    )

    snap: BoolProperty(
        name="Snap",
        description="Move the objects to the head of the bone as shown, with its rotation",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        try:
            armature = scene_model.model_of(context.active_object, context.view_layer).armature
        except UserError as error:
            return cancelled(self, error)
        self.bone = self.bone or _active_bone(armature)
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, context: bpy.types.Context) -> None:
        model = scene_model.model_of(context.active_object, context.view_layer)
        # The field comes last: elsewhere it would be under the mouse, and Return would open its list.
        objects = _chosen(context, model)
        self.layout.label(text=_followers(objects), translate=False)
        if objects:
            self.layout.prop(self, "snap")
        self.layout.prop_search(self, "bone", model.armature.data, "bones")

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        model = scene_model.model_of(context.active_object, context.view_layer)
        bone = self._bone(model.armature)
        objects = _chosen(context, model)
        with editing(objects, lambda obj: _check(obj, model.armature)) as edit:
            display = display_armature.ensure(context, model.armature, [bone])
            edit.on_failure(display_armature.drop_unused, context, display)
            driver.build(display, model.meshes)
            for obj in objects:
                constraint = display_armature.attach(context, obj, display, bone, self.snap)
                edit.on_failure(obj.constraints.remove, constraint)
            if not objects:
                _attach_empty(context, display, bone)
        self.inform(
            "Attached 1 object to '{bone}'",
            "Attached {count} objects to '{bone}'",
            count=max(len(objects), 1),
            bone=bone,
        )
        return {"FINISHED"}

    def _bone(self, armature: bpy.types.Object) -> str:
        name = self.bone or _active_bone(armature)
        if not name:
            raise UserError("No bone is chosen: choose a bone of '{name}'", name=armature.name)
        if name not in armature.data.bones:
            raise UserError(
                "'{name}' has no bone '{bone}': choose another", name=armature.name, bone=name
            )
        return name


def _chosen(context: bpy.types.Context, model: scene_model.SceneModel) -> list[bpy.types.Object]:
    """The selected objects that are not the model's own."""
    return [obj for obj in context.selected_objects if not display_armature.is_own(obj, model)]


def _followers(objects: list[bpy.types.Object]) -> str:
    """What will follow the bone."""
    if not objects:
        return tr("A new empty will follow the bone")
    return tr_count(
        "'{name}' will follow the bone",
        "{count} objects will follow the bone",
        len(objects),
        name=objects[0].name,
    )


class MMDSKIN_OT_detach(PosingOperator, bpy.types.Operator):
    """Stop objects from following bones and put them back where they were"""

    bl_idname = "mmdskin.detach"
    bl_label = "Detach from Bone"
    bl_options = {"REGISTER", "UNDO"}

    object: StringProperty(
        name="Object",
        description="Object to detach; if empty, the selected ones",
        options={"SKIP_SAVE"},
    )

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        named: Any = bpy.data.objects.get(self.object)
        objects = [named] if named is not None else context.selected_objects
        with editing(
            [o for o in objects if display_armature.constraints_of(o)], _check_local
        ) as edit:
            followed: dict[bpy.types.Object, None] = {}
            for obj, _ in edit.checked:
                for constraint in display_armature.constraints_of(obj):
                    followed[constraint.target] = None
                    obj.constraints.remove(constraint)
            for display in followed:
                if not display.library and not display.override_library:
                    display_armature.drop_unused(context, display)
        if not edit.checked:
            raise UserError("No selected object is attached to a bone")
        self.inform("Detached 1 object", "Detached {count} objects", count=len(edit.checked))
        return {"FINISHED"}


class MMDSKIN_OT_show_pose(SwitchOperator, bpy.types.Operator):
    """Show an armature in the pose of the mesh, as a target for other objects' constraints"""

    bl_idname = "mmdskin.show_pose"
    bl_label = "Show Pose on Bones"

    action: switch_action("Show or hide the pose on bones")

    @staticmethod
    def is_on(model: scene_model.SceneModel) -> bool:
        return display_armature.is_shown(display_armature.find(model.armature))

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        with editing(self.models(context), lambda model: None) as edit:
            for model, _ in edit.checked:
                on = self.action == "ENABLE"
                if on != self.is_on(model):
                    edit.on_failure(_show, context, model, not on)
                    _show(context, model, on)
        return {"FINISHED"}


def _show(context: bpy.types.Context, model: scene_model.SceneModel, on: bool) -> None:
    display = display_armature.find(model.armature)
    if on:
        bones = [bone.name for bone in model.armature.data.bones]
        display = display_armature.ensure(context, model.armature, bones)
    if display is not None:
        display_armature.show(display, on)
        if display_armature.drop_unused(context, display):
            driver.build(display, model.meshes)


def _active_bone(armature: bpy.types.Object) -> str:
    bone = armature.data.bones.active
    return bone.name if bone is not None else ""


def _check(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    _check_local(obj)
    if armature in scene_model.ancestors(obj):
        raise UserError(
            "'{name}' is a child of '{armature}' and would move twice: clear its parent first",
            name=obj.name,
            armature=armature.name,
        )


def _check_local(obj: bpy.types.Object) -> None:
    if obj.library:
        raise scene_model.needs_local(obj.name)


def _attach_empty(context: bpy.types.Context, display: bpy.types.Object, bone: str) -> None:
    """Attach a new empty at the bone as it is shown, in the collections of the display."""
    empty = bpy.data.objects.new(bone, None)
    for collection in display.users_collection:
        collection.objects.link(empty)
    empty.empty_display_size = max(display.parent.data.bones[bone].length, 1e-3)
    # Before it is placed: what nothing depends on is not evaluated.
    display_armature.attach(context, empty, display, bone)
    location, rotation, _ = display_armature.place_of(context, display, bone).decompose()
    empty.matrix_basis = Matrix.LocRotScale(location, rotation, None)


register, unregister = registration.functions(__name__)
