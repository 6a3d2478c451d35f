# SPDX-License-Identifier: GPL-3.0-or-later
"""The display armature of a model: its bones have the pose that the model shows."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import bpy
from bpy.types import ChildOfConstraint, Constraint, Context, Object
from mathutils import Matrix

from ..blender import blender_versions, caches, selection
from ..scene import scene_model

MARK = scene_model.DISPLAY  # ID property of the object and of its armature
SHOWN = "mmdskin_shown"  # ID property of the object: whether Show Pose on Bones is on
ROOT = "MMD Skin"  # the bone above all others
DRIVEN = "ik_stretch"  # a property of it without another effect
CONSTRAINT = "MMD Skin"  # of attached objects, and of bones that follow the model's


def find(armature: Object) -> Object | None:
    """The display armature of an armature object in this file, or None.

    One that comes with a linked model follows its armature, as its pose cannot be written here.
    """
    found = (one for one in all_displays() if one.parent == armature)
    return next((one for one in found if not (one.library or one.override_library)), None)


def all_displays() -> list[Object]:
    """The display armatures of all models."""
    return caches.objects_of(data for data in bpy.data.armatures if MARK in data)


def is_shown(display: Object | None) -> bool:
    return display is not None and SHOWN in display


def followed(display: Object) -> dict[str, str]:
    """{bone: the model's bone}, which users may have renamed since."""
    bones: Any = display.pose.bones
    found = ((bone.name, bone.constraints.get(CONSTRAINT)) for bone in bones)
    return {name: constraint.subtarget for name, constraint in found if constraint is not None}


def ensure(context: Context, armature: Object, bones: Iterable[str]) -> Object:
    """The display armature of an armature object, with the named bones."""
    display = find(armature) or _new(context, armature)
    known = set(followed(display).values())
    missing = [name for name in bones if name not in known]
    if missing:
        _add_bones(context, display, armature, missing)
    return display


def show(display: Object, on: bool) -> None:
    """Let users see and select it, or hide it."""
    display.hide_viewport = display.hide_select = not on
    if on:
        display[SHOWN] = True
    else:
        display.pop(SHOWN, None)


def drop_unused(context: Context, display: Object) -> bool:
    """Remove bones without attachments, unless it is shown. Returns whether any are left: else it is removed."""
    if is_shown(display):
        return True
    used = {constraint.subtarget for _, constraint in attachments(display)}
    if not used:
        remove(display)
        return False
    followed_bones = followed(display)
    unused = followed_bones.keys() - used
    if unused:
        left = {name: bone for name, bone in followed_bones.items() if name in used}
        with _edited(context, display) as bones:
            for name in unused:
                bones.remove(bones[name])
            _set_parents(bones, left, display)
    return True


def remove(display: Object) -> None:
    data: Any = display.data
    bpy.data.objects.remove(display)
    if not data.users:
        bpy.data.armatures.remove(data)


def attachments(display: Object) -> Iterator[tuple[Object, ChildOfConstraint]]:
    """The objects that follow bones of a display armature, and their constraints."""
    for obj in bpy.data.objects:
        yield from ((obj, one) for one in constraints_of(obj) if one.target == display)


def constraints_of(obj: Object) -> list[ChildOfConstraint]:
    """The constraints that attach an object."""
    return [
        one
        for one in obj.constraints
        if one.type == "CHILD_OF" and one.target is not None and MARK in one.target
    ]


def attach(
    context: Context, obj: Object, display: Object, bone: str, snap: bool = False
) -> Constraint:
    """Let an object follow a bone of the model, from where it is now or, with `snap`, from the bone.

    Its own transform stays, and is where it returns to without the constraint.
    """
    now = obj.matrix_world.copy()  # an evaluation here would leave a new bone at rest in 3.4
    constraint: Any = obj.constraints.new("CHILD_OF")
    constraint.name = CONSTRAINT
    constraint.target, constraint.subtarget = display, follower_of(display, bone)
    place = place_of(context, display, bone)
    constraint.inverse_matrix = place.inverted_safe()
    if snap:
        location, rotation, _ = place.decompose()
        size: Any = now.to_scale()
        there = Matrix.LocRotScale(location, rotation, size)
        constraint.inverse_matrix @= there @ now.inverted_safe()
    return constraint


def place_of(context: Context, display: Object, bone: str) -> Any:
    """The matrix in the world of a bone of the model as shown now."""
    shown: Any = display.evaluated_get(context.evaluated_depsgraph_get())
    return shown.matrix_world @ shown.pose.bones[follower_of(display, bone)].matrix


def follower_of(display: Object, bone: str) -> str:
    """The bone that follows a bone of the model."""
    return next(name for name, one in followed(display).items() if one == bone)


def rename(display: Object) -> None:
    """Give bones the names of the model's bones, which were renamed."""
    for name, bone in followed(display).items():
        if name != bone and bone not in display.data.bones:
            display.data.bones[name].name = bone


def _new(context: Context, armature: Object) -> Object:
    name = f"{armature.name}_pose"
    display = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    display.parent = armature
    for collection in armature.users_collection:
        if not collection.library and not collection.override_library:
            collection.objects.link(display)
    context.view_layer.update()
    if display.name not in context.view_layer.objects:
        context.scene.collection.objects.link(display)
    display.hide_render = display.show_in_front = True
    show(display, False)
    display.display_type = armature.display_type
    display.data.display_type = armature.data.display_type
    with _edited(context, display) as bones:
        bones.new(ROOT).tail = (0, 0, 1)
    blender_versions.hideable(display.pose.bones[ROOT]).hide = True
    display[MARK] = display.data[MARK] = True
    return display


def _add_bones(context: Context, display: Object, armature: Object, sources: list[str]) -> None:
    """Add bones at the rest positions of the model's."""
    followed_bones = followed(display)
    with _edited(context, display) as bones:
        for source in sources:
            of_model = armature.data.bones[source]
            bone = bones.new(source)
            followed_bones[bone.name] = source
            bone.head, bone.tail = of_model.head_local, of_model.tail_local
            matrix: Any = of_model.matrix_local
            bone.align_roll(matrix.col[2].xyz)
        _set_parents(bones, followed_bones, display)
    wanted = set(sources)
    for name, source in followed_bones.items():
        if source in wanted:
            bone = display.pose.bones[name]
            hidden = blender_versions.hideable(armature.pose.bones[source]).hide
            blender_versions.hideable(bone).hide = hidden
            # What shows where the driver does not pose the bones.
            constraint: Any = bone.constraints.new("COPY_TRANSFORMS")
            constraint.name = CONSTRAINT
            constraint.target, constraint.subtarget = armature, source
            constraint.owner_space = constraint.target_space = "POSE"


def _set_parents(bones: Any, followed_bones: dict[str, str], display: Object) -> None:
    """Give edit bones the hierarchy of the model's bones that they follow."""
    follower = {source: name for name, source in followed_bones.items()}
    for name, source in followed_bones.items():
        of_model = display.parent.data.bones.get(source)
        above = of_model.parent_recursive if of_model is not None else ()
        followers = (follower[bone.name] for bone in above if bone.name in follower)
        bones[name].parent = bones[next(followers, ROOT)]


@contextlib.contextmanager
def _edited(context: Context, display: Object) -> Iterator[Any]:
    """The edit bones; selection, modes and the active object are then as before."""
    with contextlib.ExitStack() as undo:
        undo.callback(setattr, display, "hide_viewport", display.hide_viewport)
        undo.enter_context(selection.cleared(context.view_layer))
        display.hide_viewport = False
        context.view_layer.objects.active = display
        bpy.ops.object.mode_set(mode="EDIT")
        undo.callback(bpy.ops.object.mode_set, mode="OBJECT")
        yield display.data.edit_bones


def is_own(obj: Object, model: scene_model.SceneModel) -> bool:
    """Whether an object is part of the model: armature, mesh, root or display armature."""
    return (
        obj in (model.armature, *model.meshes)
        or MARK in obj
        or obj in list(scene_model.ancestors(model.armature))
    )
