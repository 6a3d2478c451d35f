# SPDX-License-Identifier: GPL-3.0-or-later
"""The channels of bones for given poses, by algebra: Blender evaluates nothing."""

from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ..pose import quaternions
from ..scene import rest_bones

_STILL = 1e-6  # of a rotation, and of the armature's size: smaller movements are rounding


class BoneValues(NamedTuple):
    """The channels of a bone over F frames; None where it stays at rest."""

    name: str
    locations: np.ndarray | None  # (F, 3)
    rotations: np.ndarray | None  # (F, 4) unit quaternions w x y z


def channels(armature: bpy.types.Object, poses: np.ndarray) -> list[BoneValues]:
    """What shows poses (F, B, 4, 4) of all bones, in the armature's space."""
    bones, rests = armature.data.bones, rest_bones.matrices(armature)
    number = {name: i for i, name in enumerate(bones.keys())}
    size = size_of(armature)
    found = []
    for i, bone in enumerate(bones):
        if bone.parent is None:
            basis = np.linalg.inv(rests[i]) @ poses[:, i]
        elif bone.use_inherit_rotation and bone.use_local_location:
            parent = number[bone.parent.name]
            local = np.linalg.inv(rests[i]) @ rests[parent]
            basis = local @ np.linalg.inv(poses[:, parent]) @ poses[:, i]
        else:
            basis = _by_blender(bone, poses[:, i], poses[:, number[bone.parent.name]])
        found.append(values(bone.name, basis, size))
    return found


def size_of(armature: bpy.types.Object) -> float:
    """The largest extent of the heads of an armature's bones."""
    return max(float(np.ptp(rest_bones.matrices(armature)[:, :3, 3], axis=0).max()), 1e-9)


def in_mode(bone: bpy.types.PoseBone, rotations: np.ndarray) -> tuple[str, np.ndarray]:
    """The channel of a bone's rotation mode, and its values (F, C) for quaternions."""
    if bone.rotation_mode == "QUATERNION":
        return "rotation_quaternion", rotations
    found = [Quaternion(rotation) for rotation in rotations.tolist()]
    if bone.rotation_mode == "AXIS_ANGLE":
        pairs = [one.to_axis_angle() for one in found]
        return "rotation_axis_angle", np.array([(angle, *axis) for axis, angle in pairs])
    eulers = [found[0].to_euler(bone.rotation_mode)]
    for one in found[1:]:
        eulers.append(one.to_euler(bone.rotation_mode, eulers[-1]))
    return "rotation_euler", np.array(eulers)


def values(name: str, basis: np.ndarray, size: float) -> BoneValues:
    """The channels of a bone from its basis (F, 4, 4) in an armature of a size."""
    locations = np.ascontiguousarray(basis[:, :3, 3])
    rotations = quaternions.from_matrices(basis[:, :3, :3])
    turns = np.abs(rotations[:, 1:]).max() > _STILL
    moves = np.abs(locations).max() > _STILL * 10 * size
    return BoneValues(name, locations if moves else None, rotations if turns else None)


def _by_blender(bone: bpy.types.Bone, poses: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """For bones that inherit less than their parent's whole transform."""
    rest, above = bone.matrix_local, bone.parent.matrix_local
    return np.array(
        [
            bone.convert_local_to_pose(
                Matrix(pose.tolist()),
                rest,
                parent_matrix=Matrix(parent.tolist()),
                parent_matrix_local=above,
                invert=True,
            )
            for pose, parent in zip(poses, parents, strict=True)
        ]
    )
