# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a library override of a linked model: only then can it be posed in this file."""

import os
from typing import Any

import bpy
from bpy.types import ID, Collection, Context, Object, Operator, Scene
from mathutils import Matrix

from ..blender import registration
from ..blender.user_error import UserError, cancels
from ..operator_base.model_operator import ObjectOperator
from ..scene import scene_model


class MMDSKIN_OT_make_override(ObjectOperator, Operator):
    """Make the linked model, or the model of a collection instance, editable in this file"""

    bl_idname = "mmdskin.make_override"
    bl_label = "Make Library Override"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        active = make(context, context.active_object)
        for obj in context.selected_objects:
            obj.select_set(False)
        active.select_set(True)
        context.view_layer.objects.active = active
        return {"FINISHED"}


def is_linked(model: scene_model.SceneModel) -> bool:
    """Whether the armature of a model can only be changed in its own file."""
    return model.armature is not None and model.armature.library is not None


def file_of(model: scene_model.SceneModel) -> str:
    """The name of the file that a linked model comes from."""
    return os.path.basename(model.armature.library.filepath.replace("\\", "/"))


def make(context: Context, obj: Object | None) -> Object:
    """Override a linked model, or the collection that an empty shows; returns the model's armature."""
    instanced = scene_model.instanced(obj)
    model = instanced[0] if instanced else scene_model.model_of(obj, context.view_layer)
    if not is_linked(model):
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
    return _override_of(model.armature, before)


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


def _override_of(armature: Object, before: set[ID]) -> Object:
    return next(
        obj
        for obj in bpy.data.objects
        if obj not in before and obj.override_library and obj.override_library.reference == armature
    )


register, unregister = registration.functions(MMDSKIN_OT_make_override)
