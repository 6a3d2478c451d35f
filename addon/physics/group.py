# SPDX-License-Identifier: GPL-3.0-or-later
"""Models that are simulated together: what they must have in common, and where they are."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Object, ViewLayer

from ..blender import actions
from ..blender.native import mmdskin
from ..blender.translations import name_of
from ..blender.user_error import UserError
from ..pose import ik_source, physics_settings, pose_source, quaternions
from ..pose.ik_source import Solver
from ..pose.motion_source import Motion
from ..scene import scene_model
from ..scene.scene_model import SceneModel

_SAME_SCALE = 1e-3  # relative
_AXES = np.eye(3)[[0, 2, 1]]  # the file's y is Blender's z
_TRANSFORMS = "location", "rotation", "scale", "delta"  # how paths of an object's transform begin


class Member(NamedTuple):
    """A model that is simulated, and its pose source."""

    model: SceneModel
    opened: Solver | Motion

    @property
    def physics(self) -> physics_settings.Settings:
        physics: physics_settings.Settings = self.opened.settings.physics
        return physics


def needs_file(settings: pose_source.Settings) -> bool:
    """Whether a simulation has to be stored: those of motion files are computed when they are shown."""
    physics = settings.physics
    found = [settings, *(one.settings for one in (physics.group if physics else ()))]
    return any(isinstance(one, ik_source.Settings) for one in found)


def members(physics: physics_settings.Settings) -> list[Member]:
    """All models of a group, without their meshes."""
    found = []
    for known in physics.group:
        armature = pose_source.armature_of(known)
        name = (scene_model.root_of(armature) or armature).name
        own = known.settings._replace(physics=known.settings.physics._replace(group=physics.group))
        model = SceneModel(name, armature, ())
        found.append(Member(model, pose_source.load(armature, own)))
    return found


def batches(found: Sequence[Member], view_layer: ViewLayer) -> list[list[Member]]:
    """The models, each with those that are simulated together with it."""
    result: dict[tuple[str, ...], list[Member]] = {}
    for member in found:
        own = member.model.armature.name_full
        names = tuple(known.name for known in member.physics.group) or (own,)
        if names not in result:
            result[names] = [
                one._replace(model=scene_model.model_of(one.model.armature, view_layer))
                for one in members(member.physics)
            ] or [member]
    return list(result.values())


def simulation(
    opened: Sequence[Solver | Motion],
    record: "mmdskin.Physics",
    transforms: np.ndarray | None,
    offsets: Sequence[float],
) -> "mmdskin.Simulation[Any, Any, Any, Any]":
    """Of all models. Motions are ahead of the run by so many frames."""
    try:
        return mmdskin.Simulation(
            [one.rig.pmx for one in opened],
            [one.motion if isinstance(one, Motion) else None for one in opened],
            record,
            transforms=transforms,
            offsets=offsets,
        )
    except (ValueError, MemoryError) as error:
        raise UserError(
            "The physics of '{file}' cannot be simulated: {reason}",
            file=os.path.basename(opened[0].rig.path),
            reason=error,
        ) from error


def record(members: Sequence[Member]) -> "mmdskin.Physics":
    """The settings of all members, which must be the same."""
    first = members[0]
    for other in members[1:]:
        for name in first.physics._fields:
            if name in {"start", "live", "group"}:
                continue
            if getattr(first.physics, name) != getattr(other.physics, name):
                settings = first.model.armature.mmdskin
                raise UserError(
                    "'{name}' and '{other}' are simulated together: set {setting} to the same value",
                    name=first.model.name,
                    other=other.model.name,
                    setting=name_of(settings, f"physics_{name}"),
                )
    return first.physics.record()


def transforms(members: Sequence[Member]) -> np.ndarray | None:
    """(N, 7) where the models are seen in the scene; None for one model, which is in its own space.

    Positions and rotations x y z w along the file's axes, in its units.
    """
    if len(members) == 1:
        return None
    found, scales = [], []
    worlds = {known.name: known.world for known in members[0].physics.group}
    for member in members:
        if _is_animated(member.model.armature):
            raise _moves(member)
        world = np.reshape(worlds[member.model.armature.name_full], (4, 4))
        world = world @ member.opened.rig.to_armature
        scales.append(_scale(world[:3, :3], member))
        to_file = _AXES / scales[0]
        turns = quaternions.turns((_AXES @ world[:3, :3])[None])
        w, *xyz = quaternions.from_matrices(turns)[0]
        found.append((*(to_file @ world[:3, 3]), *xyz, w))
    for member, scale in zip(members, scales, strict=True):
        if abs(scale / scales[0] - 1) > _SAME_SCALE:
            raise UserError(
                "'{name}' and '{other}' have different scales: models that are simulated together"
                " need the same one",
                name=members[0].model.name,
                other=member.model.name,
            )
    return np.array(found)


def check_still(members: Sequence[Member]) -> None:
    """Raise a UserError if an armature object is elsewhere than at the start of the simulation."""
    if len(members) == 1:
        return
    armatures = {member.model.armature.name_full: member for member in members}
    for known in members[0].physics.group:
        member = armatures[known.name]
        now = np.array(member.model.armature.matrix_world).ravel()
        if not np.allclose(now, known.world, rtol=0, atol=1e-4 * max(1, np.abs(now).max())):
            raise _moves(member)


def offsets(motions: Sequence[Motion]) -> list[float]:
    """By how many frames each motion is ahead of the first one."""
    return [(motions[0].start - motion.start) * motion.speed for motion in motions]


def check_speed(member: Member, speed: float, expected: float) -> None:
    if abs(speed / expected - 1) > 1e-6:
        raise UserError(
            "'{name}' plays at a different speed from the models that it is simulated with:"
            " set {setting} to the same value",
            name=member.model.name,
            setting=name_of(member.model.armature.mmdskin, "motion_real_time"),
        )


def _is_animated(obj: Object) -> bool:
    """Whether keys move an object, or one that it is parented to."""
    return any(
        curve.data_path.startswith(_TRANSFORMS)
        and len({point.co.y for point in curve.keyframe_points}) > 1
        for one in scene_model.ancestors(obj)
        for curve in actions.playing_curves(one)
    )


def _moves(member: Member) -> UserError:
    return UserError(
        "'{name}' moves as an object, which Simulate Together does not support: move its bones",
        name=member.model.name,
    )


def _scale(matrix: np.ndarray, member: Member) -> float:
    """The uniform scale of a map from a file's space to the scene's."""
    turn = _AXES @ matrix
    scale = float(np.cbrt(np.linalg.det(turn)))
    if not scale > 0 or np.abs(turn.T @ turn / scale**2 - np.eye(3)).max() > _SAME_SCALE:
        raise UserError(
            "'{name}' is mirrored or scaled unevenly: such a model can only be simulated alone",
            name=member.model.name,
        )
    return scale
