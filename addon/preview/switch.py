# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn the preview on and off: driver, attribute and modifier of every mesh of a model.

Whether a model is live is read from these three. The custom property only stores the previous
state; a mesh without it can be turned off as well.
"""

import contextlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import bpy
from bpy.app.handlers import persistent

from ..blender import actions, arrays, caches, drivers, native, playhead
from ..blender.translations import tr
from ..blender.user_error import UserError
from ..pose import deformation, motion_source, pose_source, skinner
from ..scene import mesh_source, mmd_tools, saved_state, scene_model
from . import driver_function, motion_sliders, nodes

_BY_POSE = f"{driver_function.FUNCTION}(self, depsgraph)"
# `frame` makes it depend on time.
_BY_MOTION = f"{driver_function.FUNCTION}(self, depsgraph, frame)"
_IN_TIME = f"{driver_function.IN_TIME}(self, depsgraph, frame)"


@dataclass
class LiveState(saved_state.SavedState):
    """What `_disable` restores on a mesh object; the defaults if nothing was stored."""

    PROPERTY: ClassVar[str] = saved_state.PREVIEW

    animated: bool = False  # whether the mesh had animation data
    active: str | None = None  # name of the active modifier
    attribute: int | None = None  # index of the active attribute
    sdef: mmd_tools.SuspendedSdef | None = None


def is_on(armature: bpy.types.Object) -> bool:
    """Whether any mesh of an armature object is live.

    Checks only the few meshes with a driver: a scene may have thousands of objects.
    """
    for mesh in live_meshes():
        above, obj = followed(mesh)
        if above == armature and obj is not None and obj.data == mesh and is_live(obj):
            return True
    return False


def is_live(obj: bpy.types.Object) -> bool:
    """Whether a mesh object shows MMD's deformation: it has all parts, and they are enabled."""
    if obj.type != "MESH" or saved_state.is_baked(obj):
        return False
    curve = driver_of(obj.data)
    return (
        curve is not None
        and not curve.mute
        and nodes.ATTRIBUTE in obj.data.attributes
        and nodes.are_on(obj)
    )


def set_on(armature: bpy.types.Object, on: bool) -> None:
    """The setter of the property: prints errors, since setters cannot raise exceptions."""
    try:
        if on:
            bpy.context.view_layer.update()  # lists objects that have just been linked
            enable(scene_model.model_of(armature, bpy.context.view_layer))
        else:
            disable(armature)
    except UserError as error:
        driver_function.live_of(armature).error = error
        print(f"MMD Skin: {error}", file=sys.stderr)


def refresh(armature: bpy.types.Object) -> str | None:
    """Apply changed settings to a live model; returns an error message or None."""
    return switch_on_again(armature) if is_on(armature) else None


def switch_on_again(armature: bpy.types.Object) -> str | None:
    """As `enable`, but returns an error message or None.

    Meshes that are baked stay baked, and those that are live in excluded collections follow, too.
    """
    shown = scene_model.meshes_of(armature, bpy.context.view_layer)
    meshes = dict.fromkeys((*shown, *filter(is_live, objects_of(armature))))
    unbaked = tuple(obj for obj in meshes if not saved_state.is_baked(obj))
    name = (scene_model.root_of(armature) or armature).name
    try:
        enable(scene_model.SceneModel(name, armature, unbaked))
    except UserError as error:
        driver_function.live_of(armature).error = error
        return str(error)
    return None


def forget_error(armature: bpy.types.Object) -> None:
    """What was refused may be possible now."""
    driver_function.live_of(armature).error = ""


def problem_of(model: scene_model.SceneModel) -> str | None:
    """Why the model does not show MMD's deformation although it should, or None."""
    for block in (model.armature, *(obj.data for obj in model.meshes)):
        if error := driver_function.live_of(block).error:
            return str(error)
    for obj in model.meshes:
        is_linked = obj.library is not None or obj.data.library is not None
        if is_linked and not is_live(obj) and not saved_state.is_baked(obj):
            return tr(
                "'{name}' is linked from another file, where MMD Skinning is off: turn it on there,"
                " or append the model",
                name=obj.name,
            )
        if _has_parts(obj) and not is_live(obj) and not _is_override(obj):
            return tr(
                "MMD Skinning of '{name}' has stopped, because its driver, attribute or"
                " modifier was removed or disabled: turn it on again",
                name=obj.name,
            )
        if is_live(obj) and _is_override(obj) and not _follows(obj, model.armature):
            return tr(
                "'{name}' is a library override and uses the Pose Source of its own file:"
                " change it there, or append the model",
                name=obj.name,
            )
        lacks_normals = is_live(obj) and nodes.NORMALS not in obj.data.attributes
        if lacks_normals and deformation.gives_normals(model.armature):
            return tr(
                "MMD Skinning of '{name}' shows no MMD Normals: turn it off and on again"
                " (for a library override, in its own file)",
                name=obj.name,
            )
    return None


class Prepared(NamedTuple):
    """What `enable` needs of a model that can be live."""

    bones: dict[bpy.types.Object, tuple[str, ...]]  # of each mesh that gets a driver
    source: pose_source.Opened | None
    overrides: list[bpy.types.Object]  # meshes that are only shown


def prepare(model: scene_model.SceneModel) -> Prepared:
    """Check that the preview of a model can be switched on; changes nothing."""
    if any(map(saved_state.is_baked, model.meshes)):
        raise UserError("'{name}' is baked: clear the bake first", name=model.name)
    if any(map(_is_override, model.meshes)):  # only shown, if they are live in their own file
        live = [obj for obj in model.meshes if _has_parts(obj) and nodes.modifier_of(obj)]
        if live:
            return Prepared({}, None, live)
        raise UserError(
            "'{name}' is a library override, and MMD Skinning is off in its own file: turn"
            " it on there, or append the model",
            name=model.name,
        )
    for obj in model.meshes:
        skinner.check_editable(obj)
        last = scene_model.armature_modifiers(obj, model.armature)[-1]
        skinner.check_modifiers(obj, model.armature, last)
        for name in (nodes.ATTRIBUTE, nodes.NORMALS):
            if name in obj.data.attributes and not _has_parts(obj):
                raise UserError(
                    "'{name}' has an attribute named '{attribute}': rename or remove it first",
                    name=obj.name,
                    attribute=name,
                )
        mesh_source.check_counts(obj)
    native.load()
    bones = {obj: mesh_source.deforming_bones(obj, model.armature)[0] for obj in model.meshes}
    if not any(names and len(obj.data.vertices) for obj, names in bones.items()):
        raise skinner.nothing_to_skin(model)
    driven = {obj: names for obj, names in bones.items() if names}
    return Prepared(driven, pose_source.shown(model.armature, bpy.context.scene), [])


def enable(model: scene_model.SceneModel, prepared: Prepared | None = None) -> None:
    """Turn the preview of a model on, or apply changed settings; on an error, nothing is changed."""
    bones, source, overrides = prepared or prepare(model)
    for obj in overrides:
        nodes.show(obj, True)
    if bones:
        functions.install()
        playhead.keep_values(bpy.context.scene)
    with contextlib.ExitStack() as undo:
        for obj, names in bones.items():
            if not is_live(obj):
                undo.callback(_disable, obj)
                _prepare(obj, model.armature)
            _drive(obj, model.armature, names, source)
        undo.pop_all()
    forget_error(model.armature)


def disable(armature: bpy.types.Object) -> None:
    """Turn the preview of a model off, in all scenes, and restore every datablock."""
    disable_meshes(objects_of(armature))
    forget_error(armature)


def disable_meshes(objects: Iterable[bpy.types.Object]) -> None:
    """Turn the preview of mesh objects off.

    For a library override, whose mesh cannot be changed, hide the modifier.
    """
    objects = [obj for obj in objects if _has_parts(obj)]
    check_disabling(objects)
    for obj in objects:
        if _is_override(obj):
            nodes.show(obj, False)
        else:
            _disable(obj)


def check_disabling(objects: Iterable[bpy.types.Object]) -> None:
    """UserError where the preview of mesh objects cannot be switched off; changes nothing."""
    for obj in objects:
        if _has_parts(obj) and not _is_override(obj):
            skinner.check_writable(obj)
            LiveState.read(obj)


def wait_for(obj: bpy.types.Object) -> None:
    """Make the driver of a live mesh depend on the object, bones and keys that it has now."""
    armature = _armature_of(obj)
    if armature is not None:
        driver_function.clear(obj.data)
        bones, _ = mesh_source.deforming_bones(obj, armature)
        _drive(obj, armature, bones, pose_source.shown(armature, bpy.context.scene))


def driver_of(mesh: bpy.types.ID) -> bpy.types.FCurve | None:
    """The F-curve of the driver that makes a mesh live, or None."""
    curve = drivers.find(mesh, driver_function.PROPERTY)
    is_ours = curve is not None and driver_function.FUNCTION in curve.driver.expression
    return curve if is_ours else None


def live_meshes() -> list[bpy.types.Mesh]:
    return [mesh for mesh in bpy.data.meshes if driver_of(mesh) is not None]


def _driven() -> list[tuple[bpy.types.ID, bpy.types.FCurve]]:
    return [*((mesh, driver_of(mesh)) for mesh in live_meshes()), *motion_sliders.driven()]


functions = drivers.Functions(
    {
        driver_function.FUNCTION: driver_function.evaluate,
        driver_function.IN_TIME: driver_function.evaluate_in_time,
        motion_sliders.FUNCTION: motion_sliders.weight,
    },
    _driven,
)


def followed(mesh: bpy.types.ID) -> list[Any]:
    """The armature and mesh objects of the driver of a live mesh; None for those that were removed, and
    for both if it has no driver."""
    curve = driver_of(mesh)
    variables: Any = curve.driver.variables if curve is not None else {}
    found = (variables.get(name) for name in ("armature", "object"))
    return [variable.targets[0].id if variable else None for variable in found]


def _is_override(obj: bpy.types.Object) -> bool:
    return obj.override_library is not None or obj.data.override_library is not None


def _follows(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether the driver of a live mesh shows the armature's pose source."""
    shown = driver_of(obj.data).driver.expression
    wanted = _expression(pose_source.settings_of(armature, bpy.context.scene, live=True))
    # A driver that depends on time, for physics, also works without physics.
    return wanted == shown or (wanted, shown) == (_BY_POSE, _IN_TIME)


def _expression(settings: pose_source.Settings | None) -> str:
    if isinstance(settings, motion_source.Settings):
        return _BY_MOTION
    return _IN_TIME if settings and settings.physics else _BY_POSE


def _has_parts(obj: bpy.types.Object) -> bool:
    """Whether a mesh object has a part of the preview in use: a baked override keeps them, hidden."""
    return not saved_state.is_baked(obj) and (
        LiveState.PROPERTY in obj or driver_of(obj.data) is not None
    )


def objects_of(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Mesh objects with a part of the preview, even if they are in no view layer."""
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH" and _has_parts(obj) and _armature_of(obj) == armature
    ]


def _armature_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature on which a mesh's driver depends, or its own if the mesh is another object's."""
    armature, driven = followed(obj.data)
    return (driven == obj and armature) or obj.find_armature()


def _drive(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    bones: tuple[str, ...],
    opened: pose_source.Opened | None,
) -> None:
    _fit_normals(obj, armature)
    view_layer = bpy.context.view_layer
    awaited = driver_function.awaited(obj, armature, bones, opened, view_layer)
    # Plain names only: Blender allows such a call even if scripts of the file may not run.
    expression = _expression(opened.settings if opened else None)
    drivers.scripted(obj.data, driver_function.PROPERTY, expression, awaited)
    obj.data.update_tag()


def _prepare(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Add missing attribute and modifier, and store what `_disable` restores."""
    mesh = obj.data
    if LiveState.PROPERTY not in obj:
        LiveState(
            animated=mesh.animation_data is not None and driver_of(mesh) is None,
            active=obj.modifiers.active.name if obj.modifiers.active else "",
            attribute=mesh.attributes.active_index,
            sdef=mmd_tools.suspend_sdef(obj),
        ).write(obj)
    if nodes.ATTRIBUTE not in mesh.attributes:
        mesh.attributes.new(nodes.ATTRIBUTE, "FLOAT_VECTOR", "POINT")
    nodes.put_on(obj, armature)


def _fit_normals(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Add or remove the attribute and nodes for normals, as the settings require."""
    attributes, gives = obj.data.attributes, deformation.gives_normals(armature)
    domain: Any = mesh_source.normals(obj.data).domain if gives else None
    room = attributes.get(nodes.NORMALS)
    if room is not None and room.domain != domain:
        attributes.remove(room)
        room = None
    if room is None and domain is not None:
        attributes.new(nodes.NORMALS, "FLOAT_VECTOR", domain)
    modifier = nodes.modifier_of(obj)
    kind = nodes.PLAIN if domain is None else nodes.kind_with_normals(obj, modifier)
    nodes.set_kind(modifier, kind)


def _disable(obj: bpy.types.Object) -> None:
    mesh, state = obj.data, LiveState.read(obj)
    mesh.driver_remove(driver_function.PROPERTY)
    if not state.animated:
        actions.clear_if_empty(mesh)
    mesh.property_unset(driver_function.PROPERTY)
    nodes.take_off(obj)
    driver_function.clear(mesh)
    arrays.drop(mesh, nodes.ATTRIBUTE, nodes.NORMALS)
    if state.attribute is not None:
        mesh.attributes.active_index = state.attribute
    active: bpy.types.Modifier | None = obj.modifiers.get(state.active or "")
    if active is not None:
        obj.modifiers.active = active
    mmd_tools.resume_sdef(obj, state.sdef)
    if LiveState.PROPERTY in obj:
        del obj[LiveState.PROPERTY]
    driver_function.forget(mesh)
    mesh.update_tag()


# Handlers that keep meshes live


@persistent
def _extend_drivers(*_: object) -> None:
    """New bones and keys of a live mesh: its driver must depend on them too."""
    for obj in caches.objects_of(driver_function.take_outdated()):
        if not obj.data.library and is_live(obj):
            wait_for(obj)


@persistent
def _evaluate_blank_meshes(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Some operators, such as Texture Paint Mode, let Blender copy a mesh without its drivers."""
    # Finding the updates takes long in large scenes.
    if not depsgraph.id_type_updated("MESH") or playhead.skips_live_update(depsgraph):
        return
    for update in depsgraph.updates:
        mesh = update.id
        if isinstance(mesh, bpy.types.Mesh) and driver_of(mesh) and driver_function.is_blank(mesh):
            mesh.original.update_tag()


_HANDLERS = (
    *((f"{step}_pre", nodes.detach_all) for step in ("undo", "redo")),
    *((f"{step}_post", nodes.attach_all) for step in ("undo", "redo")),
    ("depsgraph_update_post", _evaluate_blank_meshes),
    # With a window, frames also change on the render thread, where editing is not allowed.
    ("frame_change_post" if bpy.app.background else "depsgraph_update_post", _extend_drivers),
)
register, unregister = functions.with_handlers(_HANDLERS, nodes.rebuild_damaged)
