# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver of a live mesh calls in every evaluation, on any thread.

`errors` and `cost` are what the last evaluation of a mesh left for the panel.
"""

import math
import time
from typing import NamedTuple

import bpy
import numpy as np

from .. import (
    deformation,
    ik_source,
    mmd_tools,
    motion_source,
    playhead,
    pose_source,
    rest_bones,
    scene_model,
    skinner,
)
from ..physics import cache, keyed
from . import bypass, nodes

FUNCTION = "mmdskin_tick"
IN_TIME = f"{FUNCTION}_in_time"
PROPERTY = "mmdskin_live"  # of the mesh: has the driver

_COPIES = 4  # of one mesh: viewport, render, and some to spare for view layers and scenes
# Keeps a vertex at the origin from counting as one that is left to the armature.
_NOT_ZERO = np.float32(1e-20)

errors = {}  # name of a mesh, or of an armature that could not be switched: a sentence
cost = {}  # name of a mesh: ms of its last evaluation
outgrown = set()  # names of meshes whose driver or attributes no longer fit what they show
_ready = {}  # address of the evaluated mesh: _Ready
_installed = False  # whether the driver namespace has our function


class _Ready(NamedTuple):
    """A mesh as it was read, and what it was read for."""

    original: int  # address of the mesh that the user sees
    skinner: skinner.Skinner
    names: list  # of all pose bones and shape keys
    numbers: np.ndarray  # of the skinner's bones
    buffers: np.ndarray  # Blender evaluates a copy of a mesh on one thread at a time
    rest: np.ndarray  # of rest_bones.signature
    settings: pose_source.Settings | None  # None where the pose is the armature's
    opened: pose_source.Opened | None  # what the settings mean
    normals: bool  # whether they are shown, too


def install() -> None:
    """Give the function to the drivers."""
    global _installed
    bpy.app.driver_namespace[FUNCTION] = tick
    bpy.app.driver_namespace[IN_TIME] = tick_in_time
    _installed = True


def is_installed() -> bool:
    return _installed


def uninstall() -> bool:
    """Returns whether it was installed."""
    global _installed
    was, _installed = _installed, False
    if was:
        for name in (FUNCTION, IN_TIME):
            bpy.app.driver_namespace.pop(name, None)
    return was


def forget(mesh: bpy.types.Mesh | None = None) -> None:
    """Drop what is known of a mesh that is no longer live, or of all."""
    for known in (errors, cost):
        if mesh is not None:
            known.pop(mesh.name, None)
        else:
            known.clear()
    if mesh is None:
        _ready.clear()
        outgrown.clear()


def cost_of(model: scene_model.SceneModel) -> float | None:
    """Milliseconds that the last evaluation of the model's meshes took, or None."""
    times = [cost[obj.data.name] for obj in model.meshes if obj.data.name in cost]
    return sum(times) if times else None


def tick(mesh: bpy.types.Mesh, depsgraph: bpy.types.Depsgraph, frame: float | None = None) -> float:
    """Write the positions of this evaluated mesh; never raises, as that would end the driver.

    With a frame, by the motion file. Returns whether it has written them: where not, the mesh is
    left to the armature's modifiers.
    """
    return _tick(mesh, depsgraph, frame, by_motion=frame is not None)


def tick_in_time(mesh: bpy.types.Mesh, depsgraph: bpy.types.Depsgraph, frame: float) -> float:
    """As `tick`, of an armature whose pose depends on the time, too: by its physics."""
    return _tick(mesh, depsgraph, frame, by_motion=False)


def _tick(mesh, depsgraph, frame, by_motion):
    attribute = obj = None
    if playhead.is_unseen(depsgraph):
        return getattr(mesh, PROPERTY)
    try:
        if not mesh.is_evaluated:
            return 0.0
        started = time.perf_counter()
        attribute = mesh.attributes.get(nodes.ATTRIBUTE)
        armature, obj = _targets(mesh)
        if _show(mesh, attribute, armature, obj, depsgraph, frame, by_motion):
            bypass.bypass(obj, armature)
            errors.pop(mesh.name, None)
            cost[mesh.name] = 1000 * (time.perf_counter() - started)
            return 1.0
    except Exception as error:
        errors[mesh.name] = str(error)
    if attribute is not None and len(attribute.data) and any(attribute.data[0].vector):
        _leave_to_armature(mesh)
    if obj is not None:
        bypass.undo(obj)
    return 0.0


def _show(mesh, attribute, armature, obj, depsgraph, frame, by_motion):
    """Write the attribute where that is possible and wanted; returns whether it is."""
    if attribute is None or not len(attribute.data):  # in edit mode
        return False
    if mesh.original.library is not None:  # Blender would write nothing, and say nothing
        return False
    if armature is None or obj is None:
        return False
    # These hold SDEF's points; mmd_tools' export reads them off the mesh, one by one.
    if skinner.pinned_key(obj) in mmd_tools.NOT_MORPHS:
        return False
    settings: pose_source.Settings | None
    if by_motion:
        settings = motion_source.settings_of(armature, depsgraph.scene, {"source": "MOTION"})
    else:
        given = {"physics": False} if frame is None else {}
        settings = ik_source.settings_of(armature, depsgraph.scene, given)
    chosen = deformation.of(armature)
    ready = _prepared(mesh, armature, obj, attribute, chosen, settings)
    if ready.skinner.vertex_count != len(attribute.data):
        return False
    positions, normals = _skinned(ready, mesh, armature, obj, chosen, frame)
    positions[:, 0] += _NOT_ZERO
    attribute.data.foreach_set("vector", positions.ravel())
    if normals is not None:
        _show_normals(mesh, obj, ready, normals)
    return True


def _show_normals(mesh, obj, ready, normals):
    attribute = _normals_of(mesh)
    has_room = attribute.domain == ready.skinner.normals.domain
    if has_room:
        attribute.data.foreach_set("vector", normals.ravel())
    if not (has_room and nodes.give_normals_right(obj)):
        outgrown.add(mesh.name)


def _targets(mesh):
    """The evaluated armature and mesh object that the driver waits for."""
    variables = _variables(mesh)
    return [variables[name].targets[0].id for name in ("armature", "object")]


def _variables(mesh):
    return mesh.animation_data.drivers.find(PROPERTY).driver.variables


def _leave_to_armature(mesh):
    """All zeros; the sign of the first position tells that this copy has been read."""
    for attribute in (mesh.attributes[nodes.ATTRIBUTE], _normals_of(mesh)):
        if attribute is not None:
            values = np.zeros(3 * len(attribute.data), np.float32)
            values[0] = -0.0
            attribute.data.foreach_set("vector", values)


def _normals_of(mesh):
    """The attribute for normals, or None."""
    return mesh.attributes.get(nodes.NORMALS)


def _is_fresh(attribute):
    x, y, z = attribute.data[0].vector
    return not (x or y or z) and math.copysign(1, x) > 0


def _skinned(ready, mesh, armature, obj, chosen, frame):
    pinned = skinner.pinned_key(obj)
    values = skinner.key_values(obj, ready.skinner.keys, mesh.shape_keys, pinned=pinned)
    bones, keys, opened = ready.skinner.bones, ready.skinner.keys, ready.opened
    if opened is None:
        matrices = pose_source.matrices(armature, obj, ready.numbers)
    else:
        if isinstance(opened, ik_source.Solver):
            given = dict(zip(keys, values, strict=True))
            in_armature = opened.matrices(armature, bones, given, frame or 0.0)
        else:
            in_armature = opened.matrices(bones, [frame])[0]
            if pinned is None:
                known = opened.known_keys(keys)
                values = np.where(known, opened.key_values(keys, [frame])[0], values)
        matrices = pose_source.in_mesh_space(in_armature, armature, obj)
    return ready.skinner.positions_and_normals(matrices, values, chosen, ready.buffers)


def _prepared(mesh, armature, obj, attribute, chosen, settings):
    """The mesh as read from the scene; read again whenever Blender has copied the original anew.

    Blender does so after any change of it, and a new copy has zeros in the attribute.
    """
    address = mesh.as_pointer()
    ready = _ready.get(address)
    names = armature.pose.bones.keys()
    if mesh.shape_keys:
        names += mesh.shape_keys.key_blocks.keys()
    fresh = _is_fresh(attribute)
    rest = rest_bones.signature(armature, obj) if chosen.uses_rest_bones else None
    normals = deformation.gives_normals(armature)
    same = ready and not fresh
    same = same and (ready.names, ready.settings, ready.normals) == (names, settings, normals)
    if same and isinstance(ready.opened, ik_source.Solver):
        same = ready.opened.fits(armature)
    if same and (rest is None or np.array_equal(rest, ready.rest)):
        return ready
    original = mesh.original.as_pointer()
    with_normals = normals and _normals_of(mesh) is not None
    reader = skinner.Skinner(obj, armature, normals=with_normals)
    numbers = pose_source.numbers(armature, reader.bones)
    opened = _open(armature, settings) if settings else None
    rest = rest_bones.signature(armature, obj)
    ready = _Ready(
        original, reader, names, numbers, reader.buffers(), rest, settings, opened, normals
    )
    waits = isinstance(opened, motion_source.Motion) or _waits_for(
        mesh, (*reader.bones, *(opened.waits_for if opened else ()))
    )
    if not waits:
        outgrown.add(mesh.name)
    same = [key for key, value in list(_ready.items()) if value.original == original]
    for key in same[: max(0, len(same) + 1 - _COPIES)]:
        _ready.pop(key, None)
    _ready.pop(address, None)
    _ready[address] = ready
    _leave_to_armature(mesh)
    return ready


def _open(armature, settings):
    opened = pose_source.open(armature, settings)
    if isinstance(opened, motion_source.Motion):
        return cache.played(opened, armature, settings)
    return keyed.of(opened, armature)


def _waits_for(mesh, bones):
    variables = _variables(mesh)
    listed = {variable.targets[0].bone_target for variable in variables}
    return listed.issuperset(bones) and (mesh.shape_keys is None or "key" in variables)
