# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose a Rigify rig by its FK controls, which its constraints carry on to its bones.

Controls hang on helper bones with constraints: those of one stage are set together, then Blender
evaluates the rig. The torso is moved last, so that the legs are where they must be.
"""

from collections.abc import Iterator

import bpy
import numpy as np
from mathutils import Matrix

from ..scene.skeletons import ORG
from . import keys

SWITCH = "IK_FK"
_SIDES = (".L", ".R")
_SWITCHES = tuple(f"{limb}_parent{side}" for limb in ("upper_arm", "thigh") for side in _SIDES)
_KEPT_PLACE = {"chest", "hips"}  # which only turn
_FINGERS = ("thumb", "f_index", "f_middle", "f_ring", "f_pinky")


def _both(control: str, bone: str = "") -> list[tuple[str, str]]:
    return [(f"{control}{side}", f"{bone or control}{side}") for side in _SIDES]


# Controls with the bones whose rotation they have. Those of one stage do not depend on each other.
_STAGES: tuple[list[tuple[str, str]], ...] = (
    [("torso", "spine")],
    [("hips", "spine"), ("chest", "spine.003")],
    [("spine_fk.001", "spine.001"), ("spine_fk.002", "spine.002")],
    [("spine_fk", "spine"), ("spine_fk.003", "spine.003")],
    [("neck", "spine.004"), *_both("shoulder"), *_both("thigh_fk", "thigh")],
    [("head", "spine.006"), *_both("upper_arm_fk", "upper_arm"), *_both("shin_fk", "shin")],
    [*_both("forearm_fk", "forearm"), *_both("foot_fk", "foot")],
    [*_both("hand_fk", "hand"), *_both("toe_fk", "toe")],
    *([pair for finger in _FINGERS for pair in _both(f"{finger}.0{i}")] for i in (1, 2, 3)),
)


def switches(armature: bpy.types.Object) -> list[str]:
    """The bones with a property that chooses between IK and FK."""
    bones = armature.pose.bones
    return [name for name in _SWITCHES if name in bones and SWITCH in bones[name]]


class Controls:
    """Poses the controls frame by frame; `poses` (F, B, 4, 4) of the named bones, in armature space."""

    def __init__(self, armature: bpy.types.Object, names: list[str], poses: np.ndarray) -> None:
        self._armature, self._poses = armature, poses
        bones, number = armature.data.bones, {name: i for i, name in enumerate(names)}
        self._legs = {name: number[name] for name in (f"{ORG}thigh{side}" for side in _SIDES)}
        # Each control with its bone, and its rest in the space of the bone.
        self._stages = [
            [
                (
                    control,
                    number[ORG + bone],
                    bones[ORG + bone].matrix_local.inverted() @ bones[control].matrix_local,
                )
                for control, bone in stage
                if control in bones and ORG + bone in number
            ]
            for stage in _STAGES
        ]
        self._found: dict[str, list[np.ndarray]] = {
            control: [] for stage in self._stages for control, *_ in stage
        }

    def pose(self, context: bpy.types.Context) -> Iterator[int]:
        """Yields the number of each frame that is done; all bones are at rest."""
        bones = self._armature.pose.bones
        for name in switches(self._armature):
            bones[name][SWITCH] = type(bones[name][SWITCH])(1)
        self._armature.update_tag()
        context.view_layer.update()
        for frame, poses in enumerate(self._poses, 1):
            for stage in filter(None, self._stages):
                for control, bone, offset in stage:
                    target = Matrix(poses[bone].tolist()) @ offset
                    if control in _KEPT_PLACE:
                        target.translation = bones[control].matrix.translation
                    bones[control].matrix = target
                context.view_layer.update()
            heads = [np.array(bones[name].head) for name in self._legs]
            wanted = poses[list(self._legs.values()), :3, 3]
            moved = Matrix.Translation(np.mean(wanted - heads, axis=0))
            bones["torso"].matrix = moved @ bones["torso"].matrix
            for control, found in self._found.items():
                found.append(np.array(bones[control].matrix_basis))
            yield frame

    def values(self) -> list[keys.BoneValues]:
        size = keys.size_of(self._armature)
        return [keys.values(name, np.array(found), size) for name, found in self._found.items()]
