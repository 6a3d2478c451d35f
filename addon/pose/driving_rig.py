# SPDX-License-Identifier: GPL-3.0-or-later
"""Another armature that drives a model: its evaluated pose as local values of the model's bones.

Legs have the rotations of the rig's, so MMD's IK of legs is off, and its bones are at the feet; append, D
bones, other IK and physics follow as in MMD.
"""

import bpy
import numpy as np

from ..blender import arrays, evaluated_bones
from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..scene import skeletons

SOURCE = "RIG"  # the item of the setting


def key_of(armature: bpy.types.Object) -> tuple[str, ...]:
    """What decides how the rig of an armature object drives it: () for none."""
    rig = armature.mmdskin.driving_rig
    if rig is None:
        return ()
    return rig.name_full, *(f"{item.name}={item.bone}" for item in rig.mmdskin.bone_map)


class DrivingRig:
    """The rig of an armature object, for a model of which it moves the bones that are mapped."""

    def __init__(self, armature: bpy.types.Object, pmx: "mmdskin.Model") -> None:
        rig = armature.mmdskin.driving_rig
        if rig is None:
            raise UserError("No armature selected: choose the armature that drives the model")
        if rig.original == armature.original:
            raise UserError("'{name}' cannot drive itself: choose another armature", name=rig.name)
        self._pmx, self._target = pmx, pmx.skeleton
        self._bones = evaluated_bones.of(rig)
        self._read(rig)
        mapped = *self._target.human.values(), *self._target.spine
        # With what carries them
        moved = {one for bone in mapped for one in self._target.tree.chain(bone)}
        targets = {i: bone.ik.target for i, bone in enumerate(pmx.bones) if bone.ik}
        goals = {i: target for i, target in targets.items() if target in moved}
        moved |= goals.keys()
        moved -= {i for i, bone in enumerate(pmx.bones) if bone.append}
        self.moved = np.array(sorted(moved), np.intp)
        # IK bones whose chains have mapped bones: their legs are those of the rig.
        links = [{link.bone for link in bone.ik.links} if bone.ik else set() for bone in pmx.bones]
        self.solved = np.array([not moved.isdisjoint(one) for one in links])
        self._goals, self._goal_targets = np.array([*goals.items()], np.intp).reshape(-1, 2).T
        self._from_rest = np.linalg.inv(self._target.rest)

    @property
    def waits_for(self) -> list[str]:
        """The rig's bones whose pose is read."""
        return [self._source.names[bone] for bone in sorted({*self._source.human.values()})]

    def pose(self, armature: bpy.types.Object) -> np.ndarray:
        """(P, 4, 4) float32: the pose of the rig of an evaluated armature object, by column."""
        rig = armature.mmdskin.driving_rig
        bones, known = evaluated_bones.of(rig), self._bones
        if bones is not known:  # Blender has copied it
            self._bones = bones
            if bones.names != known.names or not np.array_equal(bones.rests, known.rests):
                self._read(rig)
        return arrays.columns(rig.pose.bones, "matrix")

    def apply(self, pose: np.ndarray, translations: np.ndarray, rotations: np.ndarray) -> None:
        """Set the local values (B, 3) and (B, 4) of the bones that are mapped."""
        shown = skeletons.in_world(pose[self._bone_indices], self._world)
        found = mmdskin.retarget(self._source, shown, self._target)
        moved = found.transforms @ self._from_rest
        moved[self._goals] = moved[self._goal_targets]
        both = self._pmx.locals_of(moved)
        for values, local in zip((translations, rotations), both, strict=True):
            values[self.moved] = local[self.moved]

    def _read(self, rig: bpy.types.Object) -> None:
        self._world = skeletons.world(rig)
        source = skeletons.complete(rig, self._world)
        with skeletons.explained(rig.name):
            self._source = source.replace(reference=source.rest)
            mmdskin.retarget(self._source, source.rest, self._target)
        self._bone_indices = self._bones.indices(self._source.names)
