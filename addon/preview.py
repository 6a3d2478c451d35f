# SPDX-License-Identifier: GPL-3.0-or-later
"""Live deformation: a driver on the mesh writes an attribute of the evaluated copy, before Blender
evaluates the geometry, and a small node modifier after the armature's puts it in place.

The original mesh holds the attribute with zeros only, and zero means "leave this vertex to the
armature modifier": a file opened without the add-on, a changed mesh or an error show that. Every
evaluation (viewport, render, second scene or view layer, sub-frame) is a copy of its own and gets
its own call, so there is no state to go stale and no frame of delay. The driver's variables are
there for their order only: they make Blender finish bones and keys before the call.
"""

import json
import math
import time
from typing import NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent

from . import (
    mesh_source,
    mmd_tools,
    motion_source,
    native,
    pose_source,
    preview_nodes,
    scene_model,
    skinner,
)
from .user_error import UserError

STATE = "mmdskin_preview"  # ID property of a live mesh object: what `disable` has to bring back
PROPERTY = "mmdskin_live"
FUNCTION = "mmdskin_tick"

_BAKED = "mmdskin_bake"
_COPIES = 4  # of one mesh: viewport, render, and some to spare for view layers and scenes
# Keeps a vertex at the origin from counting as one that is left to the armature.
_NOT_ZERO = np.float32(1e-20)

_ready = {}  # address of the evaluated mesh: _Ready
_errors = {}  # name of a mesh: what its last evaluation failed with
_cost = {}  # name of a mesh: ms of its last evaluation
_installed = False  # whether the driver namespace has our function
_outgrown = set()  # names of meshes whose driver no longer waits for all that it reads
_correcting = False  # the switch is being set to what is the case


class _Ready(NamedTuple):
    """A mesh as it was read, and what it was read for."""

    original: int  # address of the mesh that the user sees
    skinner: skinner.Skinner
    bones: list  # names of all pose bones
    chosen: np.ndarray  # those of the skinner, as numbers
    buffers: np.ndarray  # Blender evaluates a copy of a mesh on one thread at a time
    settings: tuple  # of the motion, None without
    motion: object


# What the user does


def toggle(armature, on, context):
    """Bring the preview of the model of `armature` into line with its settings."""
    if _correcting:
        return
    _errors.clear()
    try:
        if on:
            context.view_layer.update()  # lists objects that were linked just now
            enable(scene_model.of_object(armature, context.view_layer))
        else:
            disable(armature)
    except UserError as error:
        _errors[armature.name] = str(error)
    live = bool(_live_objects(armature))
    if not live:
        armature.mmdskin.property_unset("preview")
    elif not on:
        _set_switch(armature.mmdskin, live)


def _set_switch(settings, on):
    global _correcting
    _correcting = True
    try:
        settings.preview = on
    finally:
        _correcting = False


def enable(model):
    """Switch the preview of a model on, or fit it to changed settings; nothing is done on failure."""
    for obj in model.meshes:
        skinner.check_editable(obj)
        if _BAKED in obj:
            raise UserError("'{name}' is baked: clear the bake first", name=model.name)
        skinner.check_modifiers(obj, model.armature)
        _check_attribute(obj)
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
    settings = model.armature.mmdskin
    if settings.source == "MOTION":
        motion_source.open(model.armature, *_motion_settings(model.armature, bpy.context.scene))
    install()
    switched = [obj for obj in model.meshes if bones[obj] and not is_live(obj)]
    try:
        for obj in model.meshes:
            if bones[obj]:
                _enable(obj, model.armature, bones[obj], settings.source)
    except BaseException:
        for obj in switched:
            if is_live(obj):
                _disable(obj)
        raise


def disable(armature):
    """Switch the preview of a model off, wherever its meshes are: every datablock is as before."""
    live = _live_objects(armature)
    for obj in live:
        skinner.check_writable(obj)
    for obj in live:
        _disable(obj)


def is_live(obj):
    return STATE in obj


def error_of(model):
    """The sentence of the last failure of a model, or None."""
    names = [model.armature.name, *(obj.data.name for obj in model.meshes)]
    return next((_errors[name] for name in names if name in _errors), None)


def cost_of(model):
    """Milliseconds that the last evaluation of the model's meshes took, or None."""
    times = [_cost[obj.data.name] for obj in model.meshes if obj.data.name in _cost]
    return sum(times) if times else None


def _check_attribute(obj):
    attribute = obj.data.attributes.get(preview_nodes.ATTRIBUTE)
    if attribute is not None and not is_live(obj):
        raise UserError(
            "'{name}' has an attribute named '{attribute}': rename or remove it first",
            name=obj.name,
            attribute=preview_nodes.ATTRIBUTE,
        )


def _enable(obj, armature, bones, source):
    mesh = obj.data
    if is_live(obj):
        mesh.driver_remove(PROPERTY)
    else:
        _prepare(obj, armature)
    driver = mesh.driver_add(PROPERTY).driver
    driver.type, driver.use_self = "SCRIPTED", True
    _add_transform(driver, "armature", armature)
    _add_transform(driver, "object", obj)
    if source == "MOTION":
        expression = f"{FUNCTION}(self, depsgraph, frame)"  # `frame` makes it wait for time
    else:
        expression = f"{FUNCTION}(self, depsgraph)"
        for number, name in enumerate(bones):
            _add_transform(driver, f"b{number}", armature, name)
    if mesh.shape_keys:
        variable = driver.variables.new()
        variable.name, variable.type = "key", "SINGLE_PROP"
        target = variable.targets[0]
        # The one property that waits for the animation and the drivers of every key.
        target.id_type, target.id, target.data_path = "KEY", mesh.shape_keys, "eval_time"
    # Plain names only: such a call passes where scripts of the file may not run.
    driver.expression = expression
    mesh.update_tag()


def _prepare(obj, armature):
    """Add the attribute and the modifier, and note what `_disable` has to bring back."""
    mesh = obj.data
    state = {
        "animated": mesh.animation_data is not None,
        "active": obj.modifiers.active.name if obj.modifiers.active else None,
        "attribute": mesh.attributes.active_index,
        "sdef": mmd_tools.suspend_sdef(obj),
    }
    if preview_nodes.ATTRIBUTE not in mesh.attributes:
        mesh.attributes.new(preview_nodes.ATTRIBUTE, "FLOAT_VECTOR", "POINT")
    state["modifier"] = preview_nodes.add_modifier(obj, armature)
    obj[STATE] = json.dumps(state)


def _disable(obj):
    mesh, state = obj.data, json.loads(obj[STATE])
    mesh.driver_remove(PROPERTY)
    if not state["animated"]:
        mesh.animation_data_clear()
    mesh.property_unset(PROPERTY)
    modifier = obj.modifiers.get(state["modifier"])
    if modifier is not None:
        group = modifier.node_group
        obj.modifiers.remove(modifier)
        if group is not None and not group.users:
            bpy.data.node_groups.remove(group)
    if preview_nodes.ATTRIBUTE in mesh.attributes:
        mesh.attributes.remove(mesh.attributes[preview_nodes.ATTRIBUTE])
    mesh.attributes.active_index = state["attribute"]
    if state["active"] in obj.modifiers:
        obj.modifiers.active = obj.modifiers[state["active"]]
    mmd_tools.resume_sdef(obj, state["sdef"])
    del obj[STATE]
    for known in (_errors, _cost):
        known.pop(mesh.name, None)
    mesh.update_tag()


def _add_transform(driver, name, target, bone=""):
    variable = driver.variables.new()
    variable.name, variable.type = name, "TRANSFORMS"
    place = variable.targets[0]
    place.id, place.bone_target = target, bone
    place.transform_type, place.transform_space = "LOC_X", "WORLD_SPACE"


# What Blender calls in every evaluation, on any thread


def tick(mesh, depsgraph, frame=None):
    """Write the positions of this evaluated mesh; never raises, as that would end the driver."""
    try:
        if not mesh.is_evaluated:
            return 0.0
        started = time.perf_counter()
        attribute = mesh.attributes.get(preview_nodes.ATTRIBUTE)
        if attribute is None or not len(attribute.data):  # in edit mode
            return 0.0
        variables = mesh.animation_data.drivers.find(PROPERTY).driver.variables
        armature, obj = (variables[name].targets[0].id for name in ("armature", "object"))
        if armature is None or obj is None:
            return 0.0
        settings = None if frame is None else _motion_settings(armature, depsgraph.scene)
        ready = _prepared(mesh, armature, obj, attribute, settings)
        if ready.skinner.vertex_count != len(attribute.data):
            return 0.0
        positions = _positions(ready, mesh, armature, obj, frame)
        positions[:, 0] += _NOT_ZERO
        attribute.data.foreach_set("vector", positions.ravel())
        _errors.pop(mesh.name, None)
        _cost[mesh.name] = 1000 * (time.perf_counter() - started)
        return 1.0
    except Exception as error:
        _errors[mesh.name] = str(error)
        attribute = mesh.attributes.get(preview_nodes.ATTRIBUTE)
        if attribute is not None and len(attribute.data) and any(attribute.data[0].vector):
            _leave_to_armature(attribute)
        return 0.0


def _leave_to_armature(attribute):
    """All zeros; the sign of the first tells that this copy has been read."""
    values = np.zeros(3 * len(attribute.data), np.float32)
    values[0] = -0.0
    attribute.data.foreach_set("vector", values)


def _is_fresh(attribute):
    x, y, z = attribute.data[0].vector
    return not (x or y or z) and math.copysign(1, x) > 0


def _positions(ready, mesh, armature, obj, frame):
    pinned = skinner.pinned_key(obj)
    values = skinner.key_values(obj, ready.skinner.keys, mesh.shape_keys, pinned=pinned)
    if frame is None:
        matrices = pose_source.matrices(armature, obj, ready.chosen)
    else:
        bones, keys, frames = ready.skinner.bones, ready.skinner.keys, [frame]
        in_armature = ready.motion.matrices(bones, frames)[0]
        matrices = pose_source.in_mesh_space(in_armature, armature, obj)
        if pinned is None:
            known = ready.motion.known_keys(keys)
            values = np.where(known, ready.motion.key_values(keys, frames)[0], values)
    return ready.skinner.positions(matrices, values, ready.buffers)


def _prepared(mesh, armature, obj, attribute, settings):
    """The mesh as read from the scene; read again whenever Blender has copied the original anew.

    Blender does so after any change of it, and a new copy has zeros in the attribute.
    """
    address = mesh.as_pointer()
    ready = _ready.get(address)
    names = armature.pose.bones.keys()
    fresh = _is_fresh(attribute)
    if ready and not fresh and (ready.bones, ready.settings) == (names, settings):
        return ready
    original = mesh.original.as_pointer()
    reader = skinner.Skinner(obj, armature)
    chosen = pose_source.numbers(armature, reader.bones)
    motion = motion_source.open(armature, *settings) if settings else None
    ready = _Ready(original, reader, names, chosen, reader.buffers(), settings, motion)
    if settings is None and not _waits_for(mesh, reader.bones):
        _outgrown.add(mesh.name)
    same = [key for key, value in list(_ready.items()) if value.original == original]
    for key in same[: max(0, len(same) + 1 - _COPIES)]:
        _ready.pop(key, None)
    _ready.pop(address, None)
    _ready[address] = ready
    _leave_to_armature(attribute)
    return ready


def _waits_for(mesh, bones):
    variables = mesh.animation_data.drivers.find(PROPERTY).driver.variables
    listed = {variable.targets[0].bone_target for variable in variables}
    return listed.issuperset(bones) and (mesh.shape_keys is None or "key" in variables)


def _motion_settings(armature, scene):
    """Arguments of `motion_source.open` behind the armature."""
    settings = armature.mmdskin
    return (
        bpy.path.abspath(settings.model_path),
        bpy.path.abspath(settings.motion_path),
        settings.motion_start,
        settings.motion_real_time,
        scene.render.fps / scene.render.fps_base,
    )


# Staying alive: file load empties the driver namespace, and a disabled add-on must let go


def install():
    """Give the function to the drivers; not before it is needed, as bpy 4.5 then hangs at exit."""
    global _installed
    bpy.app.driver_namespace[FUNCTION] = tick
    _installed = True


def _live_meshes():
    return [obj.data for obj in bpy.data.objects if obj.type == "MESH" and is_live(obj)]


def _live_objects(armature):
    """Live mesh objects of an armature, also those that no view layer shows."""
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH" and is_live(obj) and _armature_of(obj) == armature
    ]


def _armature_of(obj):
    """The armature that a live mesh waits for."""
    animation = obj.data.animation_data
    curve = animation.drivers.find(PROPERTY) if animation else None
    variable = curve.driver.variables.get("armature") if curve else None
    return variable.targets[0].id if variable else obj.find_armature()


@persistent
def _revive(*_):
    """Make the drivers of a loaded file work: their function is looked up when compiled."""
    meshes = _live_meshes()
    if meshes:
        install()
    for mesh in meshes:
        curve = mesh.animation_data.drivers.find(PROPERTY) if mesh.animation_data else None
        if curve is not None and not mesh.library:
            curve.driver.expression = curve.driver.expression
            mesh.update_tag()


@persistent
def _catch_up(*_):
    """Bones and keys that came to a live mesh: its driver must wait for them too."""
    while _outgrown:
        name = _outgrown.pop()
        for obj in bpy.data.objects:
            if obj.type == "MESH" and obj.data.name == name and is_live(obj) and not obj.library:
                variables = obj.data.animation_data.drivers.find(PROPERTY).driver.variables
                armature = variables["armature"].targets[0].id
                bones = mesh_source.deforming_bones(obj, armature)
                _enable(obj, armature, bones, "ARMATURE")


@persistent
def _forget(*_):
    for known in (_ready, _errors, _cost, _outgrown):
        known.clear()


_HANDLERS = (
    ("load_pre", _forget),
    ("load_post", _revive),
    ("undo_post", _forget),
    ("redo_post", _forget),
    # With a window frames change on the render thread too, where nothing may be edited.
    ("frame_change_post" if bpy.app.background else "depsgraph_update_post", _catch_up),
)


def register():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function not in handlers:
            handlers.append(function)
    # While an add-on is being enabled the file cannot be read.
    bpy.app.timers.register(_revive, first_interval=0)


def unregister():
    global _installed
    if bpy.app.timers.is_registered(_revive):
        bpy.app.timers.unregister(_revive)
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function in handlers:
            handlers.remove(function)
    if _installed:
        _installed = False
        bpy.app.driver_namespace.pop(FUNCTION, None)
        for mesh in _live_meshes():
            mesh.update_tag()
    _forget()
