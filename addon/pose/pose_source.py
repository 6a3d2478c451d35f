# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose source of a model, and skinning matrices of the evaluated armature."""

from collections.abc import Iterable
from typing import cast

import bpy
import numpy as np
from bpy.types import Depsgraph, Object, Scene

from ..blender import arrays
from ..blender.drivers import Awaited
from ..blender.evaluated_bones import Evaluation
from ..blender.user_error import UserError
from . import ik_source, motion_source, physics_settings

Settings = ik_source.Settings | motion_source.Settings
Opened = ik_source.Solver | motion_source.Motion
REST = "rest"  # the driver variable for the armature's Rest Position


def settings_of(
    armature: Object,
    scene: Scene,
    overrides: dict | None = None,
    depsgraph: Depsgraph | None = None,
    live: bool = False,
) -> Settings | None:
    """The Settings of a model, None if the pose source is the armature.

    `overrides`: properties by name that replace the model's own. `live`: also those by which hair moves
    live in Blender's pose.
    """
    settings = _settings_of(armature, scene, overrides)
    if settings is None and live:
        return ik_source.settings_of(armature, scene, overrides, live=True)
    return settings and _with_group(armature, scene, settings, depsgraph)


def settings_at(now: Evaluation, overrides: dict | None = None) -> Settings | None:
    """Those that are shown in an evaluation: hair moves live in viewports only."""
    # No animation changes them, so they are read once for each copy.
    cache, render = now.bones.cache, now.scene.render
    key = ("settings", render.fps, render.fps_base, *(overrides or {}).items())
    if key in cache:
        return cache[key]
    settings = settings_of(now.armature, now.scene, overrides, now.depsgraph, now.is_in_viewport)
    # Physics also depends on keyframes and on other models.
    if settings is None or settings.physics is None:
        cache[key] = settings
    return settings


def _with_group(
    armature: Object, scene: Scene, settings: Settings, depsgraph: Depsgraph | None
) -> Settings:
    """Settings with the group of models that a model is simulated with, if there is one."""
    physics, name = settings.physics, armature.mmdskin.physics_group
    if physics is None or not name:
        return settings
    own = armature.original
    known = {
        obj.name_full: (
            _world(obj, depsgraph),
            settings if obj == own else _settings_of(obj, scene),
        )
        for obj in members_of(name, own, scene)
    }
    if len(known) < 2:
        return settings
    group = tuple(physics_settings.Member(name, *known[name]) for name in sorted(known))
    return cast(Settings, settings._replace(physics=physics._replace(group=group)))


def _world(obj: Object, depsgraph: Depsgraph | None) -> tuple[float, ...]:
    """The world matrix of an object, row by row.

    Blender sets an original's only after an evaluation: in a file that was just loaded, it is wrong.
    """
    if depsgraph is not None:
        obj = obj.evaluated_get(depsgraph)
    return tuple(round(number, 5) + 0.0 for row in obj.matrix_world for number in row)


def members_of(name: str, armature: Object, scene: Scene) -> list[Object]:
    """The armature objects of a scene that are simulated together under a name, with this one."""
    return [
        obj
        for obj in scene.objects
        if obj.type == "ARMATURE"
        and obj.mmdskin.physics_group == name
        and (obj == armature or physics_settings.is_simulated(obj.mmdskin))
    ]


def others_of(settings: Settings | None, armature: Object) -> list[Object]:
    """The armature objects that an armature object is simulated together with."""
    physics = settings.physics if settings else None
    own = armature.original.name_full
    return [armature_of(one) for one in (physics.group if physics else ()) if one.name != own]


def armature_of(member: physics_settings.Member) -> Object:
    """The armature object of a member, which may be linked."""
    for obj in bpy.data.objects:
        if obj.name_full == member.name:
            return obj
    raise UserError("The model was removed in the meantime")


def _settings_of(armature: Object, scene: Scene, overrides: dict | None = None) -> Settings | None:
    return ik_source.settings_of(armature, scene, overrides) or motion_source.settings_of(
        armature, scene, overrides
    )


def load(armature: Object, settings: Settings) -> Opened:
    """The pose source of Settings for an armature object."""
    if isinstance(settings, ik_source.Settings):
        return ik_source.Solver(armature, settings)
    return motion_source.load(armature, settings)


def shown(armature: Object, scene: Scene) -> Opened | None:
    """The pose source that a live model shows; None for the armature."""
    settings = settings_of(armature, scene, live=True)
    return load(armature, settings) if settings else None


def awaited(
    armature: Object, opened: Opened | None, bones: Iterable[str] = ()
) -> dict[str, Awaited]:
    """Bones of an armature object, and what its pose source reads, for drivers."""
    names = (*bones, *opened.waits_for) if opened else bones
    found = [Awaited(armature, name) for name in dict.fromkeys(names)]
    if opened:
        found += [Awaited(armature.mmdskin.driving_rig, name) for name in opened.waits_for_rig]
        found += map(Awaited, others_of(opened.settings, armature))  # whose places count
    return {f"b{number}": one for number, one in enumerate(found)}


def awaited_rest(armature: Object) -> dict[str, Awaited]:
    """What shows the rest of an armature object, as Rest Position or where its bones are edited."""
    edited = Awaited(armature, armature.pose.bones[0].name)
    return {REST: Awaited(armature.data, path="pose_position"), "edited": edited}


def matrices(armature: Object, obj: Object, bone_indices: np.ndarray) -> np.ndarray:
    """(B, 4, 4) float32 from rest to pose of pose bones, in the space of the mesh object.

    Both objects are evaluated (`evaluated_get`); bones are given by index.
    """
    # matrix_channel is pose_bone.matrix @ bone.matrix_local.inverted().
    columns = arrays.columns(armature.pose.bones, "matrix_channel").take(bone_indices, axis=0)
    return in_mesh_space(columns.transpose(0, 2, 1), armature, obj)


def in_mesh_space(matrices: np.ndarray, armature: Object, obj: Object) -> np.ndarray:
    """Matrices (…, 4, 4) from armature space in mesh object space; float32."""
    if armature.matrix_world == obj.matrix_world:
        return np.asarray(matrices, np.float32)
    to_mesh = mesh_from_armature(armature, obj)
    return (to_mesh @ matrices.astype(np.float64) @ np.linalg.inv(to_mesh)).astype(np.float32)


def mesh_from_armature(armature: Object, obj: Object) -> np.ndarray:
    """(4, 4) float64: from armature space to mesh object space."""
    armature_world = np.array(armature.matrix_world, np.float64)
    mesh_world = np.array(obj.matrix_world, np.float64)
    for thing, world in ((armature, armature_world), (obj, mesh_world)):
        if not np.isfinite(world).all() or abs(np.linalg.det(world[:3, :3])) < 1e-30:
            raise UserError("'{name}' has a scale of zero: set another scale", name=thing.name)
    return np.linalg.solve(mesh_world, armature_world)
