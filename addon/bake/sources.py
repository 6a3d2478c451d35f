# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a model for frames of the scene: from Blender, from MMD's IK or from a motion file.

Matrices (F, B, 4, 4) are in armature space. Sources with `moves_scene` read the
scene's current frame, so they give one frame at a time.
"""

import numpy as np
from bpy.types import Depsgraph, Object

from ..blender import actions, evaluated_bones, playhead
from ..physics.group import Member
from ..physics.playback import Baked
from ..pose import ik_source, pose_source
from ..pose.motion_source import Motion
from ..scene import scene_model
from .target import Target


def poses_of(
    model: scene_model.SceneModel,
    bones: list[str],
    settings: pose_source.Settings | None,
    targets: list[Target],
) -> "Poses":
    """The pose source of the named bones of a model's targets; settings of None mean the armature."""
    if settings is None:
        return Poses(model.armature, bones)
    source = Baked(Member(model, settings, pose_source.load(model.armature, settings)))
    kind = IkPoses if isinstance(source.opened, ik_source.Solver) else MotionPoses
    return kind(bones, source, targets)


class Poses:
    """Those that Blender shows."""

    moves_scene = True
    source: Baked | None = None

    def __init__(self, armature: Object, bones: list[str]) -> None:
        self._armature = armature
        self._bone_indices = evaluated_bones.of(armature).indices(bones)

    def matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        armature = self._armature.evaluated_get(depsgraph)
        return pose_source.matrices(armature, armature, self._bone_indices)[None]

    def key_values(self, target: Target, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        return target.scene_values(depsgraph)[None]


class IkPoses(Poses):
    source: Baked

    def __init__(self, bones: list[str], source: Baked, targets: list[Target]) -> None:
        super().__init__(source.member.model.armature, bones)
        self._bones, self.source = bones, source
        self._targets = targets  # shape keys of group morphs may also move bones

    def matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        armature = self._armature.evaluated_get(depsgraph)
        keys = ik_source.of_all_meshes(
            zip(target.keys, target.scene_values(depsgraph), strict=True)
            for target in self._targets
        )
        frame = playhead.time(depsgraph.scene)
        assert isinstance(self.source.opened, ik_source.Solver)
        return self.source.opened.matrices(armature, self._bones, keys, frame)[None]


class MotionPoses(Poses):
    source: Baked

    def __init__(self, bones: list[str], source: Baked, targets: list[Target]) -> None:
        self._bones, self.source = bones, source
        # Keys that the motion lacks keep the scene's values, so the scene's frame must change.
        self.moves_scene = any(map(self._lacks_moving, targets))

    @property
    def _motion(self) -> Motion:
        assert isinstance(self.source.opened, Motion)
        return self.source.opened

    def matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        return self._motion.matrices(self._bones, _times(frames, depsgraph))

    def key_values(self, target: Target, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        held = target.scene_values(depsgraph)
        if target.pinned is not None or not len(target.keys):
            return np.tile(held, (len(frames), 1))
        values = self._motion.key_values(target.keys, _times(frames, depsgraph))
        return np.where(self._known(target), values, held).astype(np.float32)

    def _lacks_moving(self, target: Target) -> bool:
        """Whether a key moves that the motion lacks."""
        moving = actions.animated_paths(target.obj.data.shape_keys) if target.keys else ()
        known = zip(target.keys, self._known(target), strict=True)
        return any(actions.value_path(name) in moving for name, is_known in known if not is_known)

    def _known(self, target: Target) -> np.ndarray:
        return np.asarray(self._motion.known_keys(target.keys), bool)


def _times(frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
    """The animation times of scene frames."""
    return np.asarray(frames, np.float64) * playhead.stretch(depsgraph.scene)
