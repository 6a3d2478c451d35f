# SPDX-License-Identifier: GPL-3.0-or-later
"""Models that are simulated together: what they must have in common, and where they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import bpy
import numpy as np

from ..blender.translations import name_of
from ..blender.user_error import UserError
from ..pose import ik_source, motion_source, physics_settings, pose_source, quaternions
from ..pose.ik_source import Solver
from ..pose.motion_source import Motion
from ..scene import scene_model
from ..scene.scene_model import SceneModel

if TYPE_CHECKING:
    import mmdskin

_SAME_SCALE = 1e-3  # relative
_AXES = np.eye(3)[[0, 2, 1]]  # the file's y is Blender's z


class Member(NamedTuple):
    """A model that is simulated, and its pose source."""

    model: SceneModel
    settings: ik_source.Settings | motion_source.Settings
    opened: Solver | Motion

    @property
    def physics(self) -> physics_settings.Settings:
        assert self.settings.physics is not None
        return self.settings.physics


def objects(members: Sequence[Member]) -> list[bpy.types.Object]:
    """The objects whose poses, transforms and shape key values a simulation reads."""
    return [obj for member in members for obj in (member.model.armature, *member.model.meshes)]


def batches(models: list[SceneModel], context: bpy.types.Context) -> list[list[SceneModel]]:
    """The models, each with those that are simulated together with it."""
    found: dict[tuple[str, ...], list[SceneModel]] = {}
    for model in models:
        settings = pose_source.settings_of(model.armature, context.scene)
        group = settings.physics.group if settings and settings.physics else ()
        names = tuple(member.name for member in group) or (model.armature.name_full,)
        if names not in found:
            armatures = [pose_source.armature_of(member) for member in group]
            found[names] = [
                scene_model.model_of(armature, context.view_layer) for armature in armatures
            ] or [model]
    return list(found.values())


def record(members: Sequence[Member], start: float) -> "mmdskin.Physics":
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
    return first.physics.record()._replace(start=start)


def places(members: Sequence[Member]) -> np.ndarray | None:
    """(N, 7) where the models are seen in the scene; None for one model, which is in its own space.

    Positions and rotations x y z w along the file's axes, in its units.
    """
    if len(members) == 1:
        return None
    found, scales = [], []
    for member in members:
        armature = member.model.armature
        world = np.array(armature.matrix_world, np.float64) @ member.opened.rig.to_armature
        scales.append(_scale(world[:3, :3], member))
        to_file = _AXES / scales[0]
        turn = _AXES @ world[:3, :3] / scales[-1]
        left, _, right = np.linalg.svd(turn)
        w, *xyz = quaternions.from_matrices((left @ right)[None])[0]
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
            raise UserError(
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
