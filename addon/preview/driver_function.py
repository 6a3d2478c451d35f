# SPDX-License-Identifier: GPL-3.0-or-later
"""The function that the driver of a live mesh calls in every evaluation, on any thread."""

import contextlib
import math
import time
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from bpy.types import ID, Depsgraph, FloatVectorAttribute, Mesh, Object, ViewLayer

from ..blender import arrays, blender_versions, caches, details, drivers, evaluated_bones, playhead
from ..blender.evaluated_bones import Evaluation
from ..blender.user_error import UserError
from ..physics import dependencies, playback
from ..pose import deformation, ik_source, motion_source, pose_source, skinner
from ..scene import mesh_source, mmd_tools, names, saved_state, scene_model
from . import nodes

FUNCTION = "mmdskin_tick"
IN_TIME = f"{FUNCTION}_in_time"
PROPERTY = "mmdskin_live"  # of the mesh: the driven property
_OTHERS = "keys"  # how driver variables for the shape keys of other meshes begin

_COPIES = 4  # of one mesh: viewport, render, and some for view layers and scenes
# Replaces zero, which would leave a vertex at the origin to the Armature modifier.
_NOT_ZERO = np.float32(1e-20)


class _Ready(NamedTuple):
    """A mesh that was read for skinning, and the state for which it was read."""

    skinner: skinner.Skinner
    bones: evaluated_bones.Bones
    key_names: tuple[str, ...]  # of all shape keys
    bone_indices: np.ndarray  # of the skinner's bones
    key_indices: np.ndarray  # of its keys
    buffers: list[np.ndarray]  # Blender evaluates a copy of a mesh on one thread at a time
    shown: deformation.Shown
    rest: np.ndarray  # of `_rest_of`
    settings: pose_source.Settings | None  # None if the pose source is the armature
    opened: pose_source.Opened | None  # the pose source of the settings
    hull_normals: bool  # whether edges get them
    acting: Set[str]  # the shape keys of other meshes that move bones
    by_blender: np.ndarray  # indices, among these of the skinner, of bones that Blender poses


@dataclass
class Live:
    """Results of evaluations of a mesh, or of turning on the preview of an armature."""

    error: object = ""  # its sentence
    cost: float | None = None  # ms of the last evaluation
    outdated: bool = False  # driver or attributes no longer match the mesh
    was_blank: bool = False  # whether `is_blank` was true since the driver was last evaluated
    mesh: ID | None = None  # the user's, if it is one
    # By address of the evaluated mesh.
    copies: caches.Cache[_Ready] = field(default_factory=lambda: caches.Cache(_COPIES))


_live: caches.Cache[Live] = caches.of_file()  # by `identity` of the mesh or armature object


def forget(mesh: ID) -> None:
    """Discard the data of a mesh that is no longer live."""
    _live.pop(blender_versions.identity(mesh), None)


def live_of(block: ID) -> Live:
    """The data of a mesh or an armature object, or of their evaluated copies."""
    number = blender_versions.identity(block)
    return _live.get(number) or _live.setdefault(number, Live())


def evaluated_meshes() -> list[Any]:
    """The user's meshes that were evaluated: a scene may have thousands of others."""
    found = []
    for live in list(_live.values()):
        with contextlib.suppress(ReferenceError):  # deleted
            if live.mesh is not None and live.mesh.name:
                found.append(live.mesh)
    return found


def cost_of(model: scene_model.SceneModel) -> float | None:
    """Duration in ms of the last evaluation of the model's meshes, or None."""
    costs = [cost for obj in model.meshes if (cost := live_of(obj.data).cost) is not None]
    return sum(costs) if costs else None


def take_outdated() -> list[Any]:
    """The user's meshes that became outdated since the last call."""
    found = [mesh for mesh in evaluated_meshes() if live_of(mesh).outdated]
    for mesh in found:
        live_of(mesh).outdated = False
    return found


def evaluate(mesh: Mesh, depsgraph: Depsgraph, frame: float | None = None) -> float:
    """Write the positions of this evaluated mesh; never raises, since that would disable the driver.

    With a frame, use the motion file. Returns whether it wrote them: if not, the mesh is left to
    the Armature modifiers.
    """
    if frame is None:
        return _evaluate(mesh, depsgraph, 0.0, {"physics": False})
    return _evaluate(mesh, depsgraph, frame, {"source": motion_source.SOURCE})


def evaluate_in_time(mesh: Mesh, depsgraph: Depsgraph, frame: float) -> float:
    """As `evaluate`, for an armature whose pose also depends on time, because of physics."""
    return _evaluate(mesh, depsgraph, frame, {})


def _evaluate(mesh: Mesh, depsgraph: Depsgraph, frame: float, overrides: dict[str, Any]) -> float:
    obj: Object | None = None
    if playhead.skips_live_update(depsgraph):
        return getattr(mesh, PROPERTY)
    try:
        if not mesh.is_evaluated:
            return 0.0
        started = time.perf_counter()
        live = live_of(mesh)
        live.was_blank, live.mesh = False, mesh.original
        variables = _driver(mesh).variables
        armature, obj = (variables[name].targets[0].id for name in ("armature", "object"))
        now = evaluated_bones.at(depsgraph, armature, frame, mesh, obj)
        if _show(now, live, overrides):
            live.error, live.cost = "", 1000 * (time.perf_counter() - started)
            return 1.0
    except Exception as error:
        live_of(mesh).error = error
        details.log(error, f"MMD Skinning of '{mesh.name}'")
    if any(any(attribute.data[0].vector) for attribute in _vectors_of(mesh)):
        _leave_to_armature(mesh)
    if obj is not None:
        nodes.undo_bypass(obj)
    return 0.0


def _show(now: Evaluation, live: Live, overrides: dict[str, Any]) -> bool:
    """Write the attribute if possible and required; returns whether it was written."""
    attribute = _positions_of(now.mesh)
    if attribute is None:
        return False
    if now.obj is not None and saved_state.is_baked(now.obj):
        live.error = ""  # of an evaluation while it was baked
        return False  # a baked library override keeps its driver
    # It was removed, or the mesh copied.
    if now.obj is None or now.obj.original.data != now.mesh.original:
        live.outdated = True
        return False
    if now.armature is None:
        return False
    _check_users(now)
    nodes.bypass(now)
    # These store SDEF points; mmd_tools' export shows them one by one and reads the mesh.
    pinned = skinner.pinned_key(now.obj)
    if pinned in mmd_tools.NOT_MORPHS:
        return False
    settings = pose_source.settings_at(now, overrides)
    if isinstance(settings, motion_source.Settings) and "source" not in overrides:
        settings = None  # the driver is one of another pose source
    ready = _prepared(now, live, attribute, settings)
    if ready.skinner.vertex_count != len(attribute.data):
        return False
    memory = arrays.vectors_of(attribute) if ready.skinner.fills_buffers else None
    buffers = ready.buffers if memory is None else [memory]
    matrices, values = _input(now, ready, pinned)
    try:
        positions, normals = ready.skinner.skinned(
            matrices, values, ready.shown.deformation, buffers
        )
    except ValueError:
        finite = np.isfinite(matrices).all(axis=(1, 2))
        if finite.all():
            raise
        bone = ready.skinner.bones[finite.argmin()]
        raise UserError("The pose of bone '{bone}' contains invalid numbers", bone=bone) from None
    positions += _NOT_ZERO  # all of them: that is one loop without gaps
    if memory is None:
        arrays.set_vectors(attribute, positions)
    if normals is not None:
        _show_normals(now, live, ready, normals)
    return True


def _check_users(now: Evaluation) -> None:
    """UserError if an object with another armature shows the mesh, which can only follow one.

    An override may have its own armature, for which the driver in the other file does not wait.
    """
    original = now.mesh.original
    if original.users - original.use_fake_user < 2:
        return
    blocks = (block.original for block in now.depsgraph.ids)
    users = [one for one in blocks if isinstance(one, Object) and one.data == original]
    for obj in filter(nodes.are_on, users):
        if not scene_model.armature_modifiers(obj, now.armature.original):
            if original.library is None:
                raise skinner.shared_mesh(obj, len(users))
            raise UserError(
                "'{name}' uses a linked mesh with another armature: make a library override of"
                " the whole model",
                name=obj.name,
            )


def _show_normals(now: Evaluation, live: Live, ready: _Ready, normals: np.ndarray) -> None:
    known = ready.skinner.normals
    attribute: Any = now.mesh.attributes.get(nodes.NORMALS)
    if ready.shown.normals and attribute is not None:
        has_room = attribute.domain == known.domain
        if has_room:
            arrays.set_vectors(attribute, known.in_domain(normals))
        if not (has_room and nodes.give_normals_right(now.obj)):
            live.outdated = True
    if ready.hull_normals:
        skin = nodes.modifier_of(now.obj)
        are_last = skin is not None and nodes.kind_with_normals(now.obj, skin) == nodes.FREE
        shown = known.of_vertices(normals) * np.float32(are_last)
        arrays.set_vectors(now.mesh.attributes[names.HULL_NORMALS], shown)


def _driver(mesh: Mesh) -> Any:
    return mesh.animation_data.drivers.find(PROPERTY).driver


def _leave_to_armature(mesh: Mesh) -> None:
    """Write zeros, the first one negative: this marks a copy that has been read (`_is_fresh`)."""
    for attribute in _vectors_of(mesh):
        values = np.zeros((len(attribute.data), 3), np.float32)
        values[0, 0] = -0.0
        arrays.set_vectors(attribute, values)


def _vectors_of(mesh: ID) -> list[Any]:
    """The attributes that are written, those which the mesh has; none in edit mode."""
    found = map(mesh.attributes.get, (nodes.ATTRIBUTE, nodes.NORMALS, names.HULL_NORMALS))
    return [attribute for attribute in found if attribute is not None and len(attribute.data)]


def _positions_of(mesh: ID) -> Any:
    """The attribute for positions; None if the mesh lacks it or is in edit mode."""
    attribute = mesh.attributes.get(nodes.ATTRIBUTE)
    return attribute if attribute is not None and len(attribute.data) else None


def is_blank(mesh: Mesh) -> bool:
    """Whether Blender has copied a live mesh without evaluating its driver.

    True once until the driver is evaluated, so that a mesh whose driver fails is not tagged for ever.
    """
    attribute = _positions_of(mesh)
    if attribute is None or not _is_fresh(attribute):
        return False
    live = live_of(mesh)
    was, live.was_blank = live.was_blank, True
    return not was


def _is_fresh(attribute: Any) -> bool:
    """Whether it is as Blender has copied it: the first position is zero, and its x not negative."""
    x, y, z = attribute.data[0].vector
    return not (x or y or z) and math.copysign(1, x) > 0


def is_filled(mesh: ID) -> bool:
    """Whether the user's mesh has positions: Blender writes them to it when a modifier is applied."""
    attribute = _positions_of(mesh)
    return attribute is not None and not _is_fresh(attribute)


def clear(mesh: ID) -> None:
    """Remove what Blender has written to the user's mesh."""
    for attribute in _vectors_of(mesh):
        attribute.data.foreach_set("vector", np.zeros(3 * len(attribute.data), np.float32))


def _input(now: Evaluation, ready: _Ready, pinned: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Matrices in mesh space and values of the shape keys."""
    keys, opened, mesh_keys = ready.skinner.keys, ready.opened, now.mesh.shape_keys
    values = skinner.key_values(keys, mesh_keys, pinned=pinned, indices=ready.key_indices)
    if now.is_at_rest:  # drivers of motion files do not wait for its bones
        return np.tile(np.eye(4, dtype=np.float32), (len(ready.bone_indices), 1, 1)), values
    if opened is None:
        return pose_source.matrices(now.armature, now.obj, ready.bone_indices), values
    sliders = dict(zip(keys, values, strict=True))
    if ready.acting:
        others = skinner.awaited_values(_driver(now.mesh).variables, _OTHERS, ready.acting)
        sliders = ik_source.of_all_meshes([sliders.items(), *others])
    shown = opened.shown(now, sliders)
    in_armature = opened.rig.matrices(shown[None], ready.skinner.bones)[0]
    if isinstance(opened, motion_source.Motion) and pinned is None:
        values = opened.key_values(keys, [now.frame], values)[0]
    matrices = pose_source.in_mesh_space(in_armature, now.armature, now.obj)
    if len(ready.by_blender):  # physics moves the others
        own = pose_source.matrices(now.armature, now.obj, ready.bone_indices[ready.by_blender])
        matrices[ready.by_blender] = own
    return matrices, values


def _prepared(
    now: Evaluation,
    live: Live,
    attribute: FloatVectorAttribute,
    settings: pose_source.Settings | None,
) -> _Ready:
    """The mesh as read from the scene; read again whenever Blender has made a new copy.

    Blender copies it after any change, and a new copy has zeros in the attribute.
    """
    mesh, address = now.mesh, now.mesh.as_pointer()
    key_names = tuple(mesh.shape_keys.key_blocks.keys()) if mesh.shape_keys else ()
    fresh = _is_fresh(attribute)
    if not fresh and is_filled(mesh.original):
        fresh = live.outdated = True
    ready = None if fresh else live.copies.get(address)
    if ready is not None and ready.bones is not now.bones:  # Blender has copied the armature
        shown = deformation.shown(now.armature)
        same = ready.bones.deform_as(now.bones) and ready.shown.normals == shown.normals
        ready = ready._replace(bones=now.bones, shown=shown) if same else None
    if (
        ready is not None
        and (ready.key_names, ready.settings) == (key_names, settings)
        and (not ready.shown.uses_rest_bones or np.array_equal(ready.rest, _rest_of(now)))
    ):
        # Another copy of the mesh may have read it again since.
        opened = playback.shared(now, settings, check_file=False) if settings else None
        if opened is not ready.opened:
            ready = ready._replace(opened=opened)
        live.copies[address] = ready
        return ready
    ready = live.copies.put(address, _read(now, live, settings, key_names))
    _leave_to_armature(mesh)
    return ready


def _rest_of(now: Evaluation) -> np.ndarray:
    """Numbers that change with the rest pose or the objects' relative transform."""
    bones: Any = now.armature.data.bones
    ends = [arrays.read(bones, name, 3) for name in ("head_local", "tail_local")]
    worlds = [np.array(one.matrix_world, np.float32) for one in (now.armature, now.obj)]
    return np.concatenate([numbers.ravel() for numbers in (*ends, *worlds)])


def _read(
    now: Evaluation, live: Live, settings: pose_source.Settings | None, key_names: tuple[str, ...]
) -> _Ready:
    """The mesh as it is now."""
    shown, attributes = deformation.shown(now.armature), now.mesh.attributes
    has_hull = blender_versions.HAS_FREE_NORMALS and names.HULL_NORMALS in attributes
    has_normals = has_hull or (shown.normals and nodes.NORMALS in attributes)
    at_rest = mesh_source.normals(now.obj.data) if has_normals else None
    reader = skinner.Skinner(now.obj, now.armature, normals=at_rest)
    opened = playback.load(now, settings) if settings else None
    armature, view_layer = now.armature.original, now.depsgraph.view_layer
    reads = awaited(now.obj.original, armature, reader.bones, opened, view_layer)
    if not drivers.waits_for(_driver(now.mesh), reads):  # of new bones or keys, and in files of 0.1
        live.outdated = True
    by_blender = np.zeros(0, np.intp)
    # Physics moves the others.
    if isinstance(opened, ik_source.Solver) and opened.settings.evaluated:
        moved = dependencies.moved_bones(opened.rig.pmx)
        by_blender = np.flatnonzero(~np.isin(opened.rig.bone_indices(reader.bones), moved))
    return _Ready(
        skinner=reader,
        bones=now.bones,
        key_names=key_names,
        bone_indices=now.bones.indices(reader.bones),
        key_indices=skinner.key_indices(reader.keys, key_names),
        buffers=reader.buffers(),
        shown=shown,
        rest=_rest_of(now),
        settings=settings,
        opened=opened,
        hull_normals=has_hull,
        acting=opened.acting_keys if f"{_OTHERS}0" in reads else set(),
        by_blender=by_blender,
    )


def awaited(
    obj: Object,
    armature: Object,
    bones: Sequence[str],
    opened: pose_source.Opened | None,
    view_layer: ViewLayer,
) -> dict[str, drivers.Awaited]:
    """What the driver of a mesh object waits for, by name of its variable."""
    found = {"armature": drivers.Awaited(armature), "object": drivers.Awaited(obj)}
    if isinstance(opened, motion_source.Motion):
        found |= pose_source.awaited_rest(armature)
        bones = ()
    found |= pose_source.awaited(armature, opened, bones)
    keys: Any = obj.data.shape_keys
    if keys:
        # The only property that depends on the animation and the drivers of every key.
        found["key"] = drivers.Awaited(keys, path="eval_time")
    # The model's other meshes that have shape keys that move bones.
    acting = opened.acting_keys if opened else ()
    others = [one.data for one in scene_model.meshes_of(armature, view_layer)] if acting else []
    sliding = [
        mesh
        for mesh in dict.fromkeys(others)
        if mesh != obj.data and mesh.shape_keys and acting & {*mesh.shape_keys.key_blocks.keys()}
    ]
    return found | {f"{_OTHERS}{i}": drivers.keys_of(mesh) for i, mesh in enumerate(sliding)}
