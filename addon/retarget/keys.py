# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses as channels of bones, by algebra, and these as keys of a new action; the old one is kept."""

from typing import Any

import numpy as np
from bpy.types import Action, AnimData, Bone, NlaTrack, Object
from mathutils import Matrix

from ..blender import actions, evaluated_bones
from ..export_motion import linear_keys
from ..pose import quaternions

_STILL = 1e-6  # of a rotation, and a tenth of it of the armature's size: less is rounding
_TURN = np.radians(0.5)  # between reduced keys
_MOVE = 5e-4  # of the armature's size
_QUATERNION = _TURN / 4  # of each component: an angle is twice the length of their difference


# {bone: {"location": (F, 3), "rotation_quaternion": (F, 4)}}, without what stays at rest
BoneValues = dict[str, dict[str, np.ndarray]]


def channels(armature: Object, poses: np.ndarray) -> BoneValues:
    """What shows poses (F, B, 4, 4) of all bones, in the armature's space."""
    bones, rests = armature.data.bones, evaluated_bones.rest_matrices(armature)
    number = {name: i for i, name in enumerate(bones.keys())}
    size = size_of(armature)
    found = {}
    for i, bone in enumerate(bones):
        if bone.parent is None:
            basis = np.linalg.inv(rests[i]) @ poses[:, i]
        elif bone.use_inherit_rotation and bone.use_local_location:
            parent = number[bone.parent.name]
            local = np.linalg.inv(rests[i]) @ rests[parent]
            basis = local @ np.linalg.inv(poses[:, parent]) @ poses[:, i]
        else:
            basis = _by_blender(bone, poses[:, i], poses[:, number[bone.parent.name]])
        found[bone.name] = values(basis, size)
    return found


def values(basis: np.ndarray, size: float) -> dict[str, np.ndarray]:
    """The channels of a bone from its basis (F, 4, 4) in an armature of a size."""
    locations = np.ascontiguousarray(basis[:, :3, 3])
    rotations, found = quaternions.from_matrices(basis[:, :3, :3]), {}
    if np.abs(rotations[:, 1:]).max() > _STILL:
        found["rotation_quaternion"] = rotations
    if np.abs(locations).max() > _STILL * 10 * size:
        found["location"] = locations
    return found


def size_of(armature: Object) -> float:
    """The largest extent of the heads of an armature's bones."""
    return max(float(np.ptp(evaluated_bones.rest_matrices(armature)[:, :3, 3], axis=0).max()), 1e-9)


class NewAction:
    """An action that is not assigned to anything yet."""

    def __init__(self, armature: Object, name: str, frames: np.ndarray, reduced: bool):
        self._armature, self._frames, self._reduced = armature, frames, reduced
        self._action, slot, holder = actions.new_action(name)
        self._slot = slot.identifier if slot else ""
        self._curves = actions.Curves(holder)
        self._move = _MOVE * size_of(armature)
        self.name = self._action.name

    def key_bones(self, bones: BoneValues) -> int:
        """Returns the number of bones that have keys."""
        for name, channels in bones.items():
            for channel, values in channels.items():
                tolerance = self._move
                if channel != "location":
                    channel, values = quaternions.in_mode(self._armature.pose.bones[name], values)
                    tolerance = _QUATERNION if values.shape[1] == 4 else _TURN
                self._key(actions.bone_paths(name)[channel], values, name, tolerance)
        return sum(map(bool, bones.values()))

    def hold(self, path: str, value: float, group: str) -> None:
        """Key a property with one value."""
        self._curves.write(path, self._frames[:1], np.array([value]), group=group)

    def assign(self, as_strip: bool) -> str:
        """Show the action, alone or as a strip over the one that was there, which is pushed down;
        returns the name of the latter. It is muted: it may key bones that this one leaves at rest."""
        data = self._armature.animation_data or self._armature.animation_data_create()
        old, slot = data.action, actions.slot_of(data)
        if old is not None:
            old.use_fake_user = True
        if as_strip:
            data.action = None
            if old is not None:
                _strip(data, old, slot, old.frame_range[0]).mute = True
            _strip(data, self._action, self._slot, float(self._frames[0]))
        else:
            actions.put(data, self._action, self._slot)
        return old.name if old is not None else ""

    def _key(self, path: str, values: np.ndarray, group: str, tolerance: float) -> None:
        rows: Any = slice(None)
        if self._reduced:
            rows = linear_keys.rows_of_keys(values, np.full(values.shape[1], tolerance))
        for index, column in enumerate(values.T):
            used = slice(0, 1) if (column == column[0]).all() else rows
            self._curves.write(path, self._frames[used], column[used], index=index, group=group)


def _by_blender(bone: Bone, poses: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """The basis of a bone that inherits less than its parent's whole transform."""
    convert, rest, above = bone.convert_local_to_pose, bone.matrix_local, bone.parent.matrix_local
    matrices = ([Matrix(one) for one in each.tolist()] for each in (poses, parents))
    return np.array(
        [
            convert(pose, rest, parent_matrix=parent, parent_matrix_local=above, invert=True)
            for pose, parent in zip(*matrices, strict=True)
        ]
    )


def _strip(data: AnimData, action: Action, slot: str, start: float) -> NlaTrack:
    """On a track of its own, above the others."""
    track = data.nla_tracks.new()
    track.name = action.name
    actions.put(track.strips.new(action.name, round(start), action), action, slot)
    return track
