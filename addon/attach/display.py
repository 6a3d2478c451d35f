# SPDX-License-Identifier: GPL-3.0-or-later
"""The anchors of a model: an armature that shows the poses of bones with attachments."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import bpy

from ..scene import scene_model

MARK = "mmdskin_anchors"  # ID property of the object and of its armature
ROOT = "MMD Skin"  # the bone above all others
SWITCH = "ik_stretch"  # a property of it without another effect: whether the driver poses the bones
CONSTRAINT = "MMD Skin"  # of attached objects


def find(armature: bpy.types.Object) -> bpy.types.Object | None:
    """The anchors of an armature object, or None."""
    return next((child for child in armature.children if MARK in child), None)


def every() -> list[bpy.types.Object]:
    """The anchors of all models."""
    marked = {data for data in bpy.data.armatures if MARK in data}
    if not marked:
        return []
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.data in marked]


def followed(anchors: bpy.types.Object) -> dict[str, str]:
    """{bone of the anchors: the model's bone}, which users may have renamed since."""
    return {
        bone.name: bone.constraints[0].subtarget for bone in anchors.pose.bones if bone.constraints
    }


def ensure(
    context: bpy.types.Context, armature: bpy.types.Object, bone: str
) -> tuple[bpy.types.Object, bool]:
    """The anchors of an armature object, with the named bone; and whether they are new."""
    anchors = find(armature)
    is_new = anchors is None
    if anchors is None:
        anchors = _new(context, armature)
    if bone not in followed(anchors).values():
        name = _add_bone(context, anchors, armature.data.bones[bone])
        _copy_transforms(anchors, name, armature, bone)
    return anchors, is_new


def drop_unused(context: bpy.types.Context, anchors: bpy.types.Object) -> None:
    """Remove bones without attachments, and the anchors without bones."""
    used = {constraint.subtarget for _, constraint in attachments(anchors)}
    unused = [name for name in followed(anchors) if name not in used]
    if not used:
        remove(anchors)
    elif unused:
        for name in unused:
            for constraint in anchors.pose.bones[name].constraints:
                constraint.driver_remove("influence")
        with _edited(context, anchors) as bones:
            for name in unused:
                bones.remove(bones[name])


def remove(anchors: bpy.types.Object) -> None:
    data: Any = anchors.data
    bpy.data.objects.remove(anchors)
    if not data.users:
        bpy.data.armatures.remove(data)


def attachments(
    anchors: bpy.types.Object,
) -> Iterator[tuple[bpy.types.Object, bpy.types.ChildOfConstraint]]:
    """The objects that follow these anchors, and their constraints."""
    for obj in bpy.data.objects:
        for constraint in obj.constraints:
            if constraint.type == "CHILD_OF" and constraint.target == anchors:
                yield obj, constraint


def constraints_of(obj: bpy.types.Object) -> list[bpy.types.ChildOfConstraint]:
    """The constraints that attach an object."""
    return [
        one
        for one in obj.constraints
        if one.type == "CHILD_OF" and one.target is not None and MARK in one.target
    ]


def attach(
    context: bpy.types.Context, obj: bpy.types.Object, anchors: bpy.types.Object, bone: str
) -> bpy.types.Constraint:
    """Let an object follow a bone of the model from where it is now."""
    constraint: Any = obj.constraints.new("CHILD_OF")
    constraint.name = CONSTRAINT
    constraint.target, constraint.subtarget = anchors, _anchor_of(anchors, bone)
    constraint.inverse_matrix = place_of(context, anchors, bone).inverted_safe()
    return constraint


def place_of(context: bpy.types.Context, anchors: bpy.types.Object, bone: str) -> Any:
    """The matrix in the world of a bone of the model as shown now."""
    shown: Any = anchors.evaluated_get(context.evaluated_depsgraph_get())
    return shown.matrix_world @ shown.pose.bones[_anchor_of(anchors, bone)].matrix


def _anchor_of(anchors: bpy.types.Object, bone: str) -> str:
    """The bone that follows a bone of the model."""
    return next(name for name, one in followed(anchors).items() if one == bone)


def _new(context: bpy.types.Context, armature: bpy.types.Object) -> bpy.types.Object:
    name = f"{armature.name}_anchors"
    anchors = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    anchors.parent = armature
    for collection in armature.users_collection:
        if not collection.library and not collection.override_library:
            collection.objects.link(anchors)
    context.view_layer.update()
    if anchors.name not in context.view_layer.objects:
        context.scene.collection.objects.link(anchors)
    anchors.hide_select = anchors.hide_viewport = anchors.hide_render = True
    with _edited(context, anchors) as bones:
        bones.new(ROOT).tail = (0, 0, 1)
    anchors[MARK] = anchors.data[MARK] = True
    return anchors


def _add_bone(context: bpy.types.Context, anchors: bpy.types.Object, source: bpy.types.Bone) -> str:
    """The name of a new bone at the rest position of another."""
    with _edited(context, anchors) as bones:
        bone = bones.new(source.name)
        name = bone.name
        bone.head, bone.tail = source.head_local, source.tail_local
        matrix: Any = source.matrix_local
        bone.align_roll(matrix.col[2].xyz)
        bone.parent = bones[ROOT]
    return name


def _copy_transforms(
    anchors: bpy.types.Object, name: str, armature: bpy.types.Object, bone: str
) -> None:
    constraint: Any = anchors.pose.bones[name].constraints.new("COPY_TRANSFORMS")
    constraint.target, constraint.subtarget = armature, bone
    constraint.owner_space = constraint.target_space = "POSE"
    driver = constraint.driver_add("influence").driver
    variable = driver.variables.new()
    variable.name = "posed"
    variable.targets[0].id = anchors
    variable.targets[0].data_path = f'pose.bones["{ROOT}"].{SWITCH}'
    driver.expression = "1 - posed"  # simple: Blender evaluates it without Python


@contextlib.contextmanager
def _edited(context: bpy.types.Context, anchors: bpy.types.Object) -> Iterator[Any]:
    """The edit bones of the anchors; selection, modes and the active object are then as before."""
    layer = context.view_layer
    objects = [obj for obj in layer.objects if obj]
    active, selected = layer.objects.active, [obj for obj in objects if obj.select_get()]
    modes = [(obj, obj.mode) for obj in objects if obj.mode != "OBJECT"]
    try:
        _set_modes(layer, modes, "OBJECT")
        _select(objects, [])
        anchors.hide_viewport = False
        layer.objects.active = anchors
        bpy.ops.object.mode_set(mode="EDIT")
        try:
            yield anchors.data.edit_bones
        finally:
            bpy.ops.object.mode_set(mode="OBJECT")
    finally:
        anchors.hide_viewport = True
        _set_modes(layer, modes)
        _select(objects, selected)
        layer.objects.active = active


def _set_modes(
    layer: bpy.types.ViewLayer,
    modes: Iterable[tuple[bpy.types.Object, str]],
    wanted: str | None = None,
) -> None:
    """Set each object's mode to its own, or to the one that is wanted."""
    for obj, own in modes:
        mode: Any = wanted or own
        if obj.mode != mode:
            layer.objects.active = obj
            bpy.ops.object.mode_set(mode=mode)


def _select(objects: Iterable[bpy.types.Object], selected: list[bpy.types.Object]) -> None:
    for obj in objects:
        if obj.select_get() != (obj in selected):
            obj.select_set(obj in selected)


def is_own(obj: bpy.types.Object, model: scene_model.SceneModel) -> bool:
    """Whether an object is a part of the model: its armature, a mesh, its root or the anchors."""
    return (
        obj in (model.armature, *model.meshes)
        or MARK in obj
        or obj in list(scene_model.ancestors(model.armature))
    )
