# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels as keyframes, or as the pose that stands.

Constraints that would move the bones once more are muted; simulated bones stay with the physics.
"""

import bpy
import numpy as np

from .. import mmd_tools

_LINEAR = 1  # of Keyframe.interpolation


def write_animation(model, channels, keys, frames):
    """Replace the keyframes of the channels' bones and of the keys."""
    armature = model.armature
    if channels:
        _release(armature, channels)
        holder = _holder(armature)
        _drop(holder, {path for one in channels for path in _bone_paths(one.name).values()})
        for one in channels:
            paths = _bone_paths(one.name)
            for name, values in (("location", one.locations), ("rotation", one.rotations)):
                for index, column in enumerate(values.T):
                    _add_curve(holder, paths[name], index, one.name, frames, column)
    for obj, values in keys.items():
        block = obj.data.shape_keys
        _unlock(block, values)
        holder = _holder(block)
        _drop(holder, {_key_path(name) for name in values})
        for name, column in values.items():
            _add_curve(holder, _key_path(name), 0, "", frames, column)


def write_pose(model, channels, keys):
    """Set bones and keys to the first frame of the channels, without keyframes."""
    if channels:
        _release(model.armature, channels)
    for one in channels:
        bone = model.armature.pose.bones[one.name]
        bone.location, bone.rotation_quaternion = one.locations[0], one.rotations[0]
    for obj, values in keys.items():
        _unlock(obj.data.shape_keys, values)
        for name, column in values.items():
            obj.data.shape_keys.key_blocks[name].value = column[0]


def _release(armature, channels):
    """Let nothing but the bones' own channels move them."""
    paths = set()
    for one in channels:
        bone = armature.pose.bones[one.name]
        bone.rotation_mode, bone.scale = "QUATERNION", (1, 1, 1)
        for constraint in bone.constraints:
            if constraint.name != mmd_tools.PHYSICS_CONSTRAINT:
                constraint.mute = True
        paths.update(_bone_paths(one.name).values())
    _mute_drivers(armature, paths)


def _unlock(block, values):
    """Let the keys take the values."""
    _mute_drivers(block, {_key_path(name) for name in values})
    for name, column in values.items():
        key = block.key_blocks[name]
        key.slider_min = min(key.slider_min, float(column.min()))
        key.slider_max = max(key.slider_max, float(column.max()))


def _mute_drivers(block, paths):
    for curve in block.animation_data.drivers if block.animation_data else ():
        if curve.data_path in paths:
            curve.mute = True


def _bone_paths(name):
    path = f'pose.bones["{bpy.utils.escape_identifier(name)}"]'
    return {
        "location": f"{path}.location",
        "rotation": f"{path}.rotation_quaternion",
        "euler": f"{path}.rotation_euler",
        "axis": f"{path}.rotation_axis_angle",
        "scale": f"{path}.scale",
    }


def _key_path(name):
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def _holder(block):
    """What has the `fcurves` and `groups` of the datablock, in an action that is its alone.

    Until 4.3 that is the action itself, from 4.4 on the channelbag of a slot.
    """
    data = block.animation_data or block.animation_data_create()
    if data.action is None or data.action.library:
        data.action = bpy.data.actions.new(block.name)
    elif data.action.users > 1 + data.action.use_fake_user:
        data.action = data.action.copy()
    action = data.action
    if bpy.app.version < (4, 4):
        return action
    if data.action_slot is None:
        data.action_slot = action.slots.new(id_type=block.id_type, name=block.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(data.action_slot, ensure=True)


def _drop(holder, paths):
    for curve in [curve for curve in holder.fcurves if curve.data_path in paths]:
        holder.fcurves.remove(curve)


def _add_curve(holder, path, index, group, frames, values):
    """Linear keyframes; a single one where the value never changes."""
    curve = holder.fcurves.new(path, index=index)
    if group:
        curve.group = holder.groups.get(group) or holder.groups.new(group)
    count = len(frames) if np.ptp(values) else 1
    points = np.stack([frames[:count], values[:count]], axis=1).astype(np.float32)
    curve.keyframe_points.add(count)
    curve.keyframe_points.foreach_set("co", points.ravel())
    curve.keyframe_points.foreach_set("interpolation", np.full(count, _LINEAR, np.int32))
    curve.update()
