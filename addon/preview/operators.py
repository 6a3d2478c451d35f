# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators of MMD Skinning, and those that give a model data of its own.

A linked duplicate shares its meshes, and a mesh can only follow one armature. A linked model can only be
posed in this file as a library override.
"""

import contextlib
from typing import Any

import bpy
from bpy.types import ID, Collection, Context, Object, Scene
from mathutils import Matrix

from ..blender import registration
from ..blender.translations import tr
from ..blender.user_error import UserError, cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import (
    ModelOperator,
    ObjectOperator,
    SwitchOperator,
    switch_action,
)
from ..pose import skinner
from ..scene import saved_state, scene_model
from . import driver_function, switch


class MMDSKIN_OT_preview(SwitchOperator, bpy.types.Operator):
    """Show MMD's deformation in the viewport and in renders"""

    bl_idname = "mmdskin.preview"
    bl_label = "MMD Skinning"

    action: switch_action("Turn MMD Skinning on or off")

    @staticmethod
    def is_on(model: scene_model.SceneModel) -> bool:
        return switch.is_on(model.armature)

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        if model.is_linked:
            return str(scene_model.needs_override(model.name))
        is_live = any(switch.is_live(obj) for obj in model.meshes)
        if not is_live and any(map(saved_state.is_baked, model.meshes)):
            return tr("'{name}' is baked: clear the bake first", name=model.name)
        return ""

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        find = self.models if self.action == "ENABLE" else self.models_to_clean
        with editing(find(context), self._prepare) as edit:
            for model, prepared in edit.checked:
                if prepared is not None:
                    off = [obj for obj in model.meshes if not switch.is_live(obj)]
                    switch.enable(model, prepared)
                    edit.on_failure(switch.disable_meshes, off)
                elif model.armature is None:
                    switch.disable_meshes(model.meshes)
                else:
                    was_on = switch.is_on(model.armature)
                    switch.disable(model.armature)
                    if was_on:
                        edit.on_failure(switch.switch_on_again, model.armature)
        return {"FINISHED"}

    def _prepare(self, model: scene_model.SceneModel) -> switch.Prepared | None:
        """What switching it on needs; None where it goes off."""
        if model.armature is None:
            switch.check_disabling(model.meshes)
            return None
        if model.is_linked:
            raise scene_model.needs_override(model.name)
        try:
            if self.action == "ENABLE":
                return switch.prepare(model)
            switch.check_disabling(switch.objects_of(model.armature))
        except UserError as error:
            driver_function.live_of(model.armature).error = error
            raise
        return None


class MMDSKIN_OT_own_meshes(ModelOperator, bpy.types.Operator):
    """Copy the meshes that the model shares with linked duplicates, so that each is deformed by itself"""

    bl_idname = "mmdskin.own_meshes"
    bl_label = "Make Meshes Single-User"

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        with editing(self.models(context), _check) as edit:
            for model, _ in edit.checked:
                is_live = any(map(switch.is_live, model.meshes))
                for obj in shared_meshes(model):  # still, after models before it got copies
                    mesh = obj.data
                    obj.data = mesh.copy()
                    edit.on_failure(_give_back, obj, mesh)
                    # Its driver follows an object that still has it.
                    other = next(one for one in bpy.data.objects if one.data == mesh)
                    if switch.is_live(other):
                        with contextlib.suppress(UserError):  # which its own panel shows
                            switch.wait_for(other)
                switch.forget_error(model.armature)
                if is_live:
                    switch.enable(model)
        return {"FINISHED"}


def shared_meshes(model: scene_model.SceneModel) -> list[bpy.types.Object]:
    """The mesh objects of a model whose meshes other objects have, too."""
    several = [obj for obj in model.meshes if obj.data.users - obj.data.use_fake_user > 1]
    return [obj for obj in several if skinner.users_of(obj.data) > 1]


def _check(model: scene_model.SceneModel) -> None:
    for obj in shared_meshes(model):
        skinner.check_writable(obj)


def _give_back(obj: bpy.types.Object, mesh: Any) -> None:
    own: Any = obj.data
    obj.data = mesh
    bpy.data.meshes.remove(own)


class MMDSKIN_OT_make_override(ObjectOperator, bpy.types.Operator):
    """Make the linked model, or the model of a collection instance, editable in this file"""

    bl_idname = "mmdskin.make_override"
    bl_label = "Make Library Override"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        active = make_override(context, context.active_object)
        for obj in context.selected_objects:
            obj.select_set(False)
        active.select_set(True)
        context.view_layer.objects.active = active
        return {"FINISHED"}


def make_override(context: Context, obj: Object | None) -> Object:
    """Override a linked model, or the collection that an empty shows; returns the model's armature."""
    instanced = scene_model.instanced(obj)
    model = instanced[0] if instanced else scene_model.model_of(obj, context.view_layer)
    if not model.is_linked:
        raise UserError("'{name}' is not linked from another file", name=model.name)
    if instanced and obj.library:
        raise scene_model.needs_override(obj.name)
    before = {*bpy.data.objects, *bpy.data.collections}
    if instanced:
        _override(context, obj.instance_collection, model, obj)
        _replace_instance(obj, before)
    else:
        root = list(scene_model.ancestors(model.armature))[-1]
        _override(context, _linked_collection(context.scene, model.armature) or root, model)
        _replace_linked(context.scene, before)
    made = (one for one in bpy.data.objects if one not in before and one.override_library)
    return next(obj for obj in made if obj.override_library.reference == model.armature)


def _override(
    context: Context, root: ID, model: scene_model.SceneModel, reference: Object | None = None
) -> None:
    made = root.override_hierarchy_create(
        context.scene, context.view_layer, reference=reference, do_fully_editable=True
    )
    if made is None:
        raise UserError(
            "Blender cannot make a library override of '{name}': append it instead", name=model.name
        )


def _replace_instance(empty: Object, before: set[ID]) -> None:
    """Leave the override where the instance was; it follows what moves the empty."""
    offset = Matrix.Translation(tuple(-x for x in empty.instance_collection.instance_offset))
    empty.instance_type, empty.instance_collection = "NONE", None
    for obj in bpy.data.objects:
        if obj not in before and obj.override_library and obj.parent is None:
            obj.parent = empty
            obj.matrix_parent_inverse = offset


def _linked_collection(scene: Scene, armature: Object) -> Collection | None:
    """The linked collection of a scene with an object, as it is in the scene: not one within another."""
    level = list(scene.collection.children)
    while level:
        linked = [one for one in level if one.library]
        for collection in linked:
            if armature.name in collection.all_objects:
                return collection
        level = [child for one in level if not one.library for child in one.children]
    return None


def _replace_linked(scene: Scene, before: set[ID]) -> None:
    """Remove what has a new override from the scene's local collections: the override is in them."""
    parents = [scene.collection, *scene.collection.children_recursive]
    local = [one for one in parents if not one.library and not one.override_library]
    for kind, place in ((bpy.data.objects, "objects"), (bpy.data.collections, "children")):
        for new in [one for one in kind if one not in before and one.override_library]:
            reference = new.override_library.reference
            for content in (getattr(parent, place) for parent in local):
                if reference in list(content):
                    content.unlink(reference)


register, unregister = registration.functions(__name__)
