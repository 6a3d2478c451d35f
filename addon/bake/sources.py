# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a model for frames of the scene, which its targets receive: from Blender, from MMD's IK or from
a motion file.

Matrices (F, B, 4, 4) are in armature space. Sources with `moves_scene` read the
scene's current frame, so they give one frame at a time.
"""

from typing import Any

import numpy as np
from bpy.types import Depsgraph, Object

from ..blender import actions, evaluated_bones, playhead
from ..blender.user_error import UserError
from ..physics.playback import Baked
from ..pose import ik_source, pose_source
from .target import Block, Target

# Vertices times frames that are skinned together: they stay in the processor's cache until written.
_SKINNED = 1 << 17


class Poses:
    """Those that Blender shows."""

    moves_scene = True

    def __init__(
        self, armature: Object, targets: list[Target], source: Baked | None = None
    ) -> None:
        self.armature, self.targets, self.source = armature, targets, source
        names = {name for target in targets for name in target.bones}
        self._bones = [bone.name for bone in armature.data.bones if bone.name in names]
        self._bone_indices = evaluated_bones.of(armature).indices(self._bones)
        # For each target, the indices of its bones among these.
        self._columns = [[self._bones.index(name) for name in one.bones] for one in targets]

    def give(self, frames: list[float], depsgraph: Depsgraph) -> None:
        """Pass the poses of frames to the targets."""
        pose = self._matrices(frames, depsgraph)
        finite = np.isfinite(pose).all(axis=(2, 3))
        if not finite.all():
            frame, bone = np.argwhere(~finite)[0]
            raise UserError(
                "'{name}' cannot be skinned at frame {frame}:"
                " the pose of bone '{bone}' contains invalid numbers",
                name=self.armature.name,
                frame=frames[frame],
                bone=self._bones[bone],
            )
        armature = self.armature.evaluated_get(depsgraph)
        for target, columns in zip(self.targets, self._columns, strict=True):
            target.check_unchanged()
            chosen, obj = pose[:, columns], target.obj.evaluated_get(depsgraph)
            matrices = pose_source.in_mesh_space(chosen, armature, obj)
            values = self._key_values(target, frames, depsgraph)
            size = max(1, _SKINNED // target.skinner.vertex_count)
            for first in range(0, len(frames), size):
                some = slice(first, first + size)
                target.add(Block(tuple(frames[some]), chosen[some], matrices[some], values[some]))

    @property
    def _opened(self) -> Any:
        """The pose source, which is another one after a simulation."""
        return self.source.opened if self.source else None

    def _matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        armature = self.armature.evaluated_get(depsgraph)
        return pose_source.matrices(armature, armature, self._bone_indices)[None]

    def _key_values(self, target: Target, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        return target.scene_values(depsgraph)[None]


class IkPoses(Poses):
    def _matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        # Shape keys of group morphs may also move bones.
        keys = ik_source.of_all_meshes(
            zip(target.keys, target.scene_values(depsgraph), strict=True) for target in self.targets
        )
        local = self._opened.local(self.armature.evaluated_get(depsgraph), keys)
        posed = self._opened.posed(local, playhead.time(depsgraph.scene))
        return self._opened.rig.matrices(posed[None], self._bones)


class MotionPoses(Poses):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Keys that the motion lacks keep the scene's values, so the scene's frame must change.
        self.moves_scene = any(map(self._lacks_moving, self.targets))

    def _matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        times = self._opened.motion_frames(_times(frames, depsgraph))
        return self._opened.rig.matrices(self._opened.posed(times), self._bones)

    def _key_values(self, target: Target, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        held = target.scene_values(depsgraph)
        if target.pinned is not None or not len(target.keys):
            return np.tile(held, (len(frames), 1))
        return self._opened.key_values(target.keys, _times(frames, depsgraph), held)

    def _lacks_moving(self, target: Target) -> bool:
        """Whether a key moves that the motion lacks."""
        moving = actions.animated_paths(target.obj.data.shape_keys) if target.keys else ()
        lacking = (name for name in target.keys if name not in self._opened.keys)
        return any(actions.value_path(name) in moving for name in lacking)


def _times(frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
    """The animation times of scene frames."""
    return np.asarray(frames, np.float64) * playhead.stretch(depsgraph.scene)
