# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels as keyframes, or as the pose that stands.

Constraints and drivers that would move the bones once more are muted; simulated bones stay with the
physics. `Record` keeps what was there.
"""

from collections.abc import Iterable

import bpy
import numpy as np

from .. import actions, mmd_tools
from .channels import Channels
from .record import Record

Values = dict[str, np.ndarray]  # of shape keys, (F,) each


def write_bones(record: Record, bones: list[Channels], frames: np.ndarray, replace: bool) -> int:
    """Key the bones of an armature from the first of the frames on; how many things were muted.

    With `replace` their earlier keyframes go too.
    """
    muted = _release(record, bones)
    record.own_action()
    holder, _ = actions.channels(record.block)
    paths = {bone.name: actions.bone_paths(bone.name) for bone in bones}
    used = ("location", "rotation_quaternion")
    gone = {
        path
        for of_bone in paths.values()
        for channel, path in of_bone.items()
        if replace or channel not in used
    }
    actions.drop(holder.fcurves, gone)
    known = {(curve.data_path, curve.array_index): curve for curve in holder.fcurves}
    for bone in bones:
        for channel, values in zip(used, (bone.locations, bone.rotations), strict=True):
            path = paths[bone.name][channel]
            curves = [
                known.get((path, index)) or actions.new_curve(holder, path, index, bone.name)
                for index in range(values.shape[1])
            ]
            if channel == "rotation_quaternion":
                values = _turned(values, curves, frames[0])
            for curve, column in zip(curves, values.T, strict=True):
                _write(curve, frames, column)
    return muted


def write_keys(record: Record, values: Values, frames: np.ndarray, replace: bool) -> int:
    """Key the values of shape keys, as `write_bones` does bones."""
    muted = _unlock(record, values)
    record.own_action()
    holder, _ = actions.channels(record.block)
    paths = {name: actions.value_path(name) for name in values}
    if replace:
        actions.drop(holder.fcurves, set(paths.values()))
    for name, column in values.items():
        curve = holder.fcurves.find(paths[name]) or actions.new_curve(holder, paths[name])
        _write(curve, frames, column)
    return muted


def pose_bones(record: Record, bones: list[Channels]) -> int:
    """Set bones to the first frame of their channels; how many things were muted."""
    muted = _release(record, bones)
    for channels in bones:
        bone = record.block.pose.bones[channels.name]
        bone.location, bone.rotation_quaternion = channels.locations[0], channels.rotations[0]
    return muted


def set_keys(record: Record, values: Values) -> int:
    """Set shape keys to their first values; how many things were muted."""
    muted = _unlock(record, values)
    for name, column in values.items():
        record.block.key_blocks[name].value = column[0]
    return muted


def keyed_bones(armature: bpy.types.Object) -> set[str]:
    """Names of the bones whose own channels have keyframes that play."""
    data = armature.animation_data
    curves = [curve for found in actions.playing(data) for curve in found] if data else []
    paths = {curve.data_path for curve in curves}
    names = armature.data.bones.keys()
    return {name for name in names if not paths.isdisjoint(actions.bone_paths(name).values())}


def _release(record: Record, bones: Iterable[Channels]) -> int:
    """Let nothing but the bones' own channels move them."""
    muted, paths = 0, set[str]()
    for channels in bones:
        bone = record.block.pose.bones[channels.name]
        record.note_bone(bone)
        bone.rotation_mode, bone.scale = "QUATERNION", (1, 1, 1)
        for constraint in bone.constraints:
            if constraint.name != mmd_tools.PHYSICS_CONSTRAINT:
                muted += record.mute_constraint(bone, constraint)
        paths.update(actions.bone_paths(bone.name).values())
    return muted + record.mute_drivers(paths)


def _unlock(record: Record, values: Values) -> int:
    """Let the keys take the values."""
    for name, column in values.items():
        key = record.block.key_blocks[name]
        record.note_key(key)
        key.slider_min = min(key.slider_min, float(column.min()))
        key.slider_max = max(key.slider_max, float(column.max()))
    return record.mute_drivers({actions.value_path(name) for name in values})


def _turned(rotations, curves, frame):
    """Of the two quaternions of each rotation those that are close to the keyframes before."""
    earlier = [actions.before(curve, frame) for curve in curves]
    if not all(earlier):
        return rotations
    last = np.array([points["co"][-1, 1] for points in earlier])
    return -rotations if rotations[0] @ last < 0 else rotations


def _write(curve, frames, values):
    """Keyframes; a single one where the value never changes."""
    count = len(frames) if np.ptp(values) else 1
    actions.write(curve, frames[:count], values[:count])
