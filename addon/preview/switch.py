# SPDX-License-Identifier: GPL-3.0-or-later
"""On and off: driver, attribute and modifier of every mesh of a model, and the way back.

Whether a model is live is read from these three. The custom property only notes what was there
before; a mesh without it is switched off all the same.
"""

import sys
from collections.abc import Iterable

import bpy

from .. import (
    deformation,
    mesh_source,
    mmd_tools,
    motion_source,
    native,
    playhead,
    pose_source,
    saved_state,
    scene_model,
    skinner,
)
from ..translations import tr
from ..user_error import UserError
from . import nodes, tick

STATE = saved_state.PREVIEW
_BY_POSE = f"{tick.FUNCTION}(self, depsgraph)"
_BY_MOTION = f"{tick.FUNCTION}(self, depsgraph, frame)"  # `frame` makes it wait for time
_IN_TIME = f"{tick.IN_TIME}(self, depsgraph, frame)"


def is_on(armature: bpy.types.Object) -> bool:
    """Whether any mesh of an armature object is live.

    Asked of the few meshes with a driver: a scene may have thousands of objects.
    """
    for mesh in live_meshes():
        above, obj = (_target(driver_of(mesh), name) for name in ("armature", "object"))
        if above == armature and obj is not None and obj.data == mesh and is_live(obj):
            return True
    return False


def is_live(obj: bpy.types.Object) -> bool:
    """Whether a mesh object shows MMD's deformation: all parts are there and Blender lets them act."""
    if obj.type != "MESH" or _is_linked(obj):
        return False
    curve = driver_of(obj.data)
    return (
        curve is not None
        and not curve.mute
        and nodes.ATTRIBUTE in obj.data.attributes
        and nodes.are_on(obj)
    )


def set_on(armature: bpy.types.Object, on: bool) -> None:
    """What the property does: a script that sets it sees no exception, so failures are printed."""
    try:
        if on:
            bpy.context.view_layer.update()  # lists objects that were linked just now
            enable(scene_model.of_object(armature, bpy.context.view_layer))
        else:
            disable(armature)
    except UserError as error:
        tick.errors[armature.name] = str(error)
        print(f"MMD Skin: {error}", file=sys.stderr)


def refresh(armature: bpy.types.Object) -> str | None:
    """Fit a live model to changed settings; returns the sentence of what is wrong, or None."""
    return switch_on_again(armature) if is_on(armature) else None


def switch_on_again(armature: bpy.types.Object) -> str | None:
    """As `enable`, after something else has been done; returns the sentence of what is wrong."""
    try:
        enable(scene_model.of_object(armature, bpy.context.view_layer))
    except UserError as error:
        tick.errors[armature.name] = str(error)
        return str(error)
    return None


def trouble_of(model: scene_model.SceneModel) -> str | None:
    """A sentence on why the model does not show MMD's deformation though it should, or None."""
    names = [model.armature.name, *(obj.data.name for obj in model.meshes)]
    for name in names:
        if name in tick.errors:
            return tick.errors[name]
    for obj in model.meshes:
        if _is_linked(obj):
            return tr(
                "'{name}' is linked from another file and cannot be live:"
                " make a library override of a live model, or append it",
                name=obj.name,
            )
        if _has_parts(obj) and not is_live(obj) and not _is_override(obj):
            return tr(
                "'{name}' is no longer live: its driver, attribute or modifier is gone or off;"
                " switch MMD Skinning on again",
                name=obj.name,
            )
        if is_live(obj) and _is_override(obj) and not _follows(obj, model.armature):
            return tr(
                "'{name}' is a library override and keeps the pose source of its own file:"
                " choose it there, or append the model",
                name=obj.name,
            )
        lacks_normals = is_live(obj) and nodes.NORMALS not in obj.data.attributes
        if lacks_normals and deformation.gives_normals(model.armature):
            return tr(
                "'{name}' is live without MMD Normals: switch MMD Skinning off and on again,"
                " in its own file where it is a library override",
                name=obj.name,
            )
    return None


def enable(model: scene_model.SceneModel) -> None:
    """Switch the preview of a model on, or fit it to changed settings; nothing is done on failure."""
    if any(_is_override(obj) for obj in model.meshes):
        _enable_override(model)
        return
    for obj in model.meshes:
        skinner.check_editable(obj)
        if saved_state.BAKE in obj:
            raise UserError("'{name}' is baked: clear the bake first", name=model.name)
        skinner.check_modifiers(obj, model.armature)
        _check_attributes(obj)
    for obj in model.meshes:
        mesh_source.check_counts(obj)
    if not any(len(obj.data.vertices) for obj in model.meshes):
        raise UserError("'{name}' has no vertices", name=model.name)
    native.load()
    bones = {obj: mesh_source.deforming_bones(obj, model.armature) for obj in model.meshes}
    if not any(bones.values()):
        raise UserError(
            "No vertex group of '{name}' is named after a deforming bone of '{armature}'",
            name=model.name,
            armature=model.armature.name,
        )
    settings = pose_source.settings_of(model.armature, bpy.context.scene)
    opened = pose_source.open(model.armature, settings) if settings else None
    tick.install()
    playhead.keep_values(bpy.context.scene)
    switched = [obj for obj in model.meshes if bones[obj] and not is_live(obj)]
    try:
        for obj in model.meshes:
            if bones[obj]:
                _enable(obj, model.armature, bones[obj], opened)
    except BaseException:
        for obj in switched:
            _disable(obj)
        raise
    tick.errors.pop(model.armature.name, None)


def _enable_override(model):
    """Nothing can be added to the mesh of an override: what its own file has made live is shown."""
    live = [obj for obj in model.meshes if _has_parts(obj) and nodes.modifier_of(obj)]
    if not live:
        raise UserError(
            "'{name}' is a library override of a model that is not live in its own file:"
            " switch MMD Skinning on there, or append the model",
            name=model.name,
        )
    for obj in live:
        nodes.show(obj, True)
    tick.errors.pop(model.armature.name, None)


def disable(armature: bpy.types.Object) -> None:
    """Switch the preview of a model off, wherever its meshes are: every datablock is as before."""
    disable_meshes(_objects_of(armature))
    tick.errors.pop(armature.name, None)


def disable_meshes(objects: Iterable[bpy.types.Object]) -> None:
    """Switch the preview of mesh objects off.

    Of a library override, whose mesh Blender lets nobody change, the modifier is hidden.
    """
    objects = [obj for obj in objects if _has_parts(obj)]
    overrides = [obj for obj in objects if _is_override(obj)]
    local = [obj for obj in objects if not _is_override(obj)]
    for obj in local:
        skinner.check_writable(obj)
    for obj in overrides:
        nodes.show(obj, False)
    for obj in local:
        _disable(obj)


def wait_for(obj: bpy.types.Object) -> None:
    """Let the driver of a live mesh wait for the bones and keys that have come since."""
    armature = _armature_of(obj)
    _fit_normals(obj, armature)
    settings = pose_source.settings_of(armature, bpy.context.scene)
    opened = pose_source.open(armature, settings) if settings else None
    _drive(obj, armature, mesh_source.deforming_bones(obj, armature), opened)


def driver_of(mesh: bpy.types.ID) -> bpy.types.FCurve | None:
    """The F-curve of the driver that makes a mesh live, or None."""
    animation = mesh.animation_data
    curve = animation.drivers.find(tick.PROPERTY) if animation else None
    return curve if curve is not None and tick.FUNCTION in curve.driver.expression else None


def live_meshes() -> list[bpy.types.Mesh]:
    return [mesh for mesh in bpy.data.meshes if driver_of(mesh) is not None]


def _is_linked(obj):
    # Blender writes nothing to what is linked, and says nothing.
    return obj.library is not None or obj.data.library is not None


def _is_override(obj):
    return obj.override_library is not None or obj.data.override_library is not None


def _follows(obj, armature):
    """Whether the driver of a live mesh shows the armature's pose source."""
    shown = driver_of(obj.data).driver.expression
    wanted = _expression(pose_source.settings_of(armature, bpy.context.scene))
    # What goes with the time for its physics shows poses without, too.
    return wanted == shown or (wanted, shown) == (_BY_POSE, _IN_TIME)


def _expression(settings):
    if isinstance(settings, motion_source.Settings):
        return _BY_MOTION
    return _IN_TIME if settings and settings.physics else _BY_POSE


def _has_parts(obj):
    return STATE in obj or driver_of(obj.data) is not None


def _objects_of(armature):
    """Mesh objects with a part of the preview, also those that no view layer shows."""
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH" and _has_parts(obj) and _armature_of(obj) == armature
    ]


def _armature_of(obj):
    """The armature that a mesh waits for."""
    curve = driver_of(obj.data)
    return (curve and _target(curve, "armature")) or obj.find_armature()


def _target(curve, name):
    """What a variable of the driver looks at, or None."""
    variable = curve.driver.variables.get(name)
    return variable.targets[0].id if variable else None


def _check_attributes(obj):
    for name in (nodes.ATTRIBUTE, nodes.NORMALS):
        if name in obj.data.attributes and not _has_parts(obj):
            raise UserError(
                "'{name}' has an attribute named '{attribute}': rename or remove it first",
                name=obj.name,
                attribute=name,
            )


def _enable(obj, armature, bones, opened):
    if not is_live(obj):
        _prepare(obj, armature)
    _fit_normals(obj, armature)
    _drive(obj, armature, bones, opened)


def _drive(obj, armature, bones, opened):
    """`opened` is what the pose source means, as `pose_source.open` gives it, or None."""
    mesh = obj.data
    mesh.driver_remove(tick.PROPERTY)
    driver = mesh.driver_add(tick.PROPERTY).driver
    driver.type, driver.use_self = "SCRIPTED", True
    _add_transform(driver, "armature", armature)
    _add_transform(driver, "object", obj)
    if not isinstance(opened, motion_source.Motion):
        awaited = opened.waits_for if opened else ()
        for number, name in enumerate(dict.fromkeys((*bones, *awaited))):
            _add_transform(driver, f"b{number}", armature, name)
    if mesh.shape_keys:
        variable = driver.variables.new()
        variable.name, variable.type = "key", "SINGLE_PROP"
        target = variable.targets[0]
        # The one property that waits for the animation and the drivers of every key.
        target.id_type, target.id, target.data_path = "KEY", mesh.shape_keys, "eval_time"
    # Plain names only: such a call passes where scripts of the file may not run.
    driver.expression = _expression(pose_source.settings_of(armature, bpy.context.scene))
    mesh.update_tag()


def _add_transform(driver, name, target, bone=""):
    variable = driver.variables.new()
    variable.name, variable.type = name, "TRANSFORMS"
    place = variable.targets[0]
    place.id, place.bone_target = target, bone
    place.transform_type, place.transform_space = "LOC_X", "WORLD_SPACE"


def _nothing_noted():
    """What is brought back where nothing was noted."""
    return {"animated": False, "active": "", "attribute": None, "sdef": {}}


def _prepare(obj, armature):
    """Add attribute and modifier where they lack, and note what `_disable` has to bring back."""
    mesh = obj.data
    if STATE not in obj:
        state = {
            "animated": mesh.animation_data is not None and driver_of(mesh) is None,
            "active": obj.modifiers.active.name if obj.modifiers.active else "",
            "attribute": mesh.attributes.active_index,
            "sdef": mmd_tools.suspend_sdef(obj),
        }
        saved_state.store(obj, STATE, state)
    if nodes.ATTRIBUTE not in mesh.attributes:
        mesh.attributes.new(nodes.ATTRIBUTE, "FLOAT_VECTOR", "POINT")
    nodes.put_on(obj, armature)


def _fit_normals(obj, armature):
    """Let attribute and nodes for normals be there where they are wanted, and only there."""
    attributes, domain = obj.data.attributes, None
    if deformation.gives_normals(armature):
        domain = mesh_source.normals(obj.data).domain
    room = attributes.get(nodes.NORMALS)
    if room is not None and room.domain != domain:
        attributes.remove(room)
        room = None
    if room is None and domain is not None:
        attributes.new(nodes.NORMALS, "FLOAT_VECTOR", domain)
    modifier = nodes.modifier_of(obj)
    kind = nodes.PLAIN if domain is None else nodes.kind_with_normals(obj, modifier)
    nodes.set_kind(modifier, kind)


def _disable(obj):
    mesh, state = obj.data, saved_state.load(obj, STATE, _nothing_noted)
    mesh.driver_remove(tick.PROPERTY)
    data = mesh.animation_data
    if not state["animated"] and data and not (data.action or data.drivers or data.nla_tracks):
        mesh.animation_data_clear()
    mesh.property_unset(tick.PROPERTY)
    nodes.take_off(obj)
    for name in (nodes.ATTRIBUTE, nodes.NORMALS):
        if name in mesh.attributes:
            mesh.attributes.remove(mesh.attributes[name])
    if state["attribute"] is not None:
        mesh.attributes.active_index = state["attribute"]
    active = obj.modifiers.get(state["active"] or "")
    if active is not None:
        obj.modifiers.active = active
    mmd_tools.resume_sdef(obj, state["sdef"])
    if STATE in obj:
        del obj[STATE]
    tick.forget(mesh)
    mesh.update_tag()
