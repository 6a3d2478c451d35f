# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels as keyframes, or as the pose that stands; so also the keys of a file.

Constraints and drivers that would move solved bones once more are muted; those of Blender's physics
only where the channels have physics of their own. `Record` keeps what was there.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Quaternion

from .. import actions, mmd_tools, rig_constraints, sliders
from ..names import PHYSICS
from . import bezier, tracks
from .channels import Channels
from .record import OWN, Record
from .tracks import Switch, Track

_SAME = 1e-6  # difference of values that counts as none
Values = dict[str, np.ndarray]  # of shape keys, (F,) each
_USED = ("location", "rotation_quaternion")


class At(NamedTuple):
    """Where a single pose is keyed, as what is animated would not show it else."""

    frame: float  # of the animation
    alone: bool  # whether the frames beside it stay as they are: each is solved for itself


def write_bones(
    record: Record, bones: list[Channels], frames: np.ndarray, replace: bool, simulated: bool
) -> int:
    """Key the bones of an armature from the first of the frames on; how many things were muted.

    With `replace` their earlier keyframes go too. `simulated`: the channels have physics.
    """
    muted = _release(record, bones, simulated)
    _turn_by_quaternions(record, bones)
    # Also of bones that stay: Blender's solver may not let them.
    for owner, constraint in rig_constraints.of(record.armature):
        muted += record.mute_constraint(owner, constraint)
    record.own_action()
    holder, _ = actions.channels(record.block)
    paths = {bone.name: actions.bone_paths(bone.name) for bone in bones}
    gone = {
        path
        for of_bone in paths.values()
        for channel, path in of_bone.items()
        if replace or channel not in _USED
    }
    actions.drop(holder.fcurves, gone)
    known = {(curve.data_path, curve.array_index): curve for curve in holder.fcurves}
    for bone in bones:
        for channel, values in zip(_USED, (bone.locations, bone.rotations), strict=True):
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


def write_tracks(record: Record, bones: list[Track]) -> int:
    """Key bones as the file does, from each one's first key on; how many drivers were muted."""
    muted = _free(record, bones)
    _turn_by_quaternions(record, bones)
    record.own_action()
    holder, _ = actions.channels(record.block)
    paths = {track.name: actions.bone_paths(track.name) for track in bones}
    unused = {
        path
        for of_bone in paths.values()
        for channel, path in of_bone.items()
        if "euler" in channel
    }
    actions.drop(holder.fcurves, unused)
    known = {(curve.data_path, curve.array_index): curve for curve in holder.fcurves}
    for track in bones:
        location, rotation = (
            [
                known.get((path, index)) or actions.new_curve(holder, path, index, track.name)
                for index in range(size)
            ]
            for path, size in zip((paths[track.name][name] for name in _USED), (3, 4), strict=True)
        )
        _write_locations(location, track)
        _write_rotations(rotation, track)
    return muted


def drop_bones(record: Record, names: Iterable[str]) -> None:
    """Remove all keyframes of bones."""
    record.own_action()
    for name in names:
        record.note_bone(record.block.pose.bones[name])
    paths = {path for name in names for path in actions.bone_paths(name).values()}
    paths.update(actions.property_path(name, PHYSICS) for name in names)
    actions.drop(actions.channels(record.block)[0].fcurves, paths)


def write_switches(record: Record, switches: list[Switch]) -> None:
    """Key how much the constraints act by which Blender solves the chains of IK bones."""
    led = rig_constraints.by_goal(record.armature)
    for switch in switches:
        for bone, constraint in led.get(switch.name, ()):
            record.note_influence(bone, constraint)
            record.own_action()
            path = actions.influence_path(bone.name, constraint.name)
            _write_switch(record, path, bone.name, switch)


def write_physics(record: Record, switches: list[Switch]) -> None:
    """Key when bodies move bones, of those for which they ever do not."""
    record.own_action()
    curves = actions.channels(record.block)[0].fcurves
    for switch in switches:
        path = actions.property_path(switch.name, PHYSICS)
        bone = record.armature.pose.bones[switch.name]
        if not switch.enabled.all() or curves.find(path) or not bone.get(PHYSICS, True):
            record.note_physics(bone)
            _write_switch(record, path, bone.name, switch)


def _write_switch(record, path, bone, switch):
    holder, _ = actions.channels(record.block)
    curve = holder.fcurves.find(path) or actions.new_curve(holder, path, 0, bone)
    values = switch.enabled.astype(np.float64)
    actions.write(curve, switch.frames, values, bezier.steps(switch.frames, values))


def write_own_keys(record: Record, keys: tracks.Values) -> int:
    """Key the values of shape keys at frames of their own; how many drivers were muted."""
    muted = _unlock(record, {name: values for name, (_, values) in keys.items()})
    record.own_action()
    holder, _ = actions.channels(record.block)
    for name, (frames, values) in keys.items():
        path = actions.value_path(name)
        actions.write(holder.fcurves.find(path) or actions.new_curve(holder, path), frames, values)
    return muted


def write_sliders(record: Record, values: tracks.Values) -> None:
    """Key custom properties of the armature."""
    for name, (frames, weights) in values.items():
        record.note_slider(name)
        record.own_action()
        holder, _ = actions.channels(record.block)
        path = sliders.path(name)
        _write(holder.fcurves.find(path) or actions.new_curve(holder, path), frames, weights)


def set_sliders(record: Record, values: tracks.Values, at: At | None = None) -> None:
    """Set custom properties of the armature to their first values."""
    for name, (_, weights) in values.items():
        record.note_slider(name)
        value = float(weights[0])
        if at:
            _key(record, sliders.path(name), [value], [record.block[name]], at)
        record.block[name] = value


def pose_tracks(record: Record, bones: list[Track], at: At | None = None) -> int:
    """Set bones to their first keys; how many drivers were muted."""
    muted = _free(record, bones)
    _pose(record, bones, at)
    return muted


def pose_bones(record: Record, bones: list[Channels], simulated: bool, at: At | None = None) -> int:
    """Set bones to the first frame of their channels; how many things were muted."""
    muted = _release(record, bones, simulated)
    _pose(record, bones, at)
    return muted


def set_keys(record: Record, values: Values, at: At | None = None) -> int:
    """Set shape keys to their first values; how many things were muted."""
    muted = _unlock(record, values)
    for name, column in values.items():
        key, value = record.block.key_blocks[name], float(column[0])
        if at:
            _key(record, actions.value_path(name), [value], [key.value], at)
        key.value = value
    return muted


def is_keyed(block: actions.Block) -> bool:
    """Whether keyframes play that move bones, shape keys or sliders of a datablock."""
    data = block.animation_data
    curves = [curve for found in actions.playing(data) for curve in found] if data else []
    return any(curve.data_path.startswith(("pose.bones[", "key_blocks[", '["')) for curve in curves)


def keyed_bones(armature: bpy.types.Object) -> set[str]:
    """Names of the bones whose own channels have keyframes that play."""
    data = armature.animation_data
    curves = [curve for found in actions.playing(data) for curve in found] if data else []
    paths = {curve.data_path for curve in curves}
    names = armature.data.bones.keys()
    return {name for name in names if not paths.isdisjoint(actions.bone_paths(name).values())}


def _release(record: Record, bones: Iterable[Channels], simulated: bool) -> int:
    """Let nothing but the bones' own channels move them, and Blender's physics unless `simulated`."""
    muted, paths = 0, set[str]()
    for channels in bones:
        bone = record.block.pose.bones[channels.name]
        record.note_bone(bone)
        bone.scale = 1, 1, 1
        for constraint in bone.constraints:
            if simulated or constraint.name != mmd_tools.PHYSICS_CONSTRAINT:
                muted += record.mute_constraint(bone, constraint)
        paths.update(actions.bone_paths(bone.name).values())
    return muted + record.mute_drivers(paths)


def _free(record: Record, bones: Iterable[Track]) -> int:
    """Let bones take their keys, and all constraints act on them afterwards.

    Unless solved keyframes are there, which constraints would solve once more.
    """
    if record.state["form"] == OWN or not record.state["files"]:
        record.unmute_constraints()
    paths = set[str]()
    for track in bones:
        bone = record.block.pose.bones[track.name]
        record.note_bone(bone)
        paths.update(actions.bone_paths(track.name)[name] for name in _USED)
    return record.mute_drivers(paths)


def _turn_by_quaternions(record, bones):
    for one in bones:
        record.block.pose.bones[one.name].rotation_mode = "QUATERNION"


def _pose(record: Record, bones: Sequence[Channels | Track], at: At | None) -> None:
    """Let bones stand as at their first frames. Where that is keyed they turn as they are keyed."""
    if at is None:
        _turn_by_quaternions(record, bones)
    for one in bones:
        bone = record.armature.pose.bones[one.name]
        paths = actions.bone_paths(one.name)
        turn = _rotation(bone, Quaternion(one.rotations[0]))
        for channel, value in (("location", one.locations[0]), turn):
            if at:
                _key(record, paths[channel], value, getattr(bone, channel), at, one.name)
            setattr(bone, channel, value)


def _rotation(bone, quaternion):
    """The channel by which a bone turns, and its value."""
    if bone.rotation_mode == "QUATERNION":
        near = quaternion.dot(bone.rotation_quaternion) >= 0
        return "rotation_quaternion", quaternion if near else -quaternion
    if bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = quaternion.to_axis_angle()
        return "rotation_axis_angle", (angle, *axis)
    return "rotation_euler", quaternion.to_euler(bone.rotation_mode, bone.rotation_euler)


def _key(record, path, values, shown, at, group=""):
    """Key a channel of as many members. One that has no keys, and that nothing changes, needs none."""
    record.own_action()
    holder, _ = actions.channels(record.block)
    found = [holder.fcurves.find(path, index=index) for index in range(len(values))]
    if any(found) or any(abs(a - b) > _SAME for a, b in zip(values, shown, strict=True)):
        for index, curve in enumerate(found):
            curve = curve or actions.new_curve(holder, path, index, group)
            actions.insert(curve, at.frame, values[index], shown[index], at.alone)


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


def _write_locations(curves, track):
    def handles(frames, values, bends):
        return bezier.location_handles(frames, values, bends, track.axes)

    _write_bent(curves, track.frames, track.locations, track.curves[:, :3], handles)


def _write_rotations(curves, track):
    rotations = _turned(track.rotations, curves, track.frames[0])
    _write_bent(curves, track.frames, rotations, track.curves[:, 3], bezier.rotation_handles)


def _joined(curves, frames, values, bends):
    """Keys and the keyframe before them, where the curve to the first of them begins."""
    earlier = [actions.before(curve, frames[0]) for curve in curves]
    if not all(earlier):
        return frames, values, bends
    last = np.array([points["co"][-1] for points in earlier], np.float64)
    if np.ptp(last[:, 0]):  # of channels that were keyed by hand
        return frames, values, bends
    frames = np.append(last[:1, 0], frames)
    return frames, np.vstack([last[:, 1], values]), np.concatenate([bends[:1], bends])


def _write_bent(curves, frames, values, bends, handles):
    """Keyframes with `handles(frames, values, bends)`; both ends where the values never change."""
    frames, values, bends = _joined(curves, frames, values, bends)
    if (values == values[0]).all():
        frames, values = _ends(frames), _ends(values)
        found = [bezier.outer_handles(frames, column) for column in values.T]
    else:
        found = handles(frames, values, bends)
    for curve, column, bent in zip(curves, values.T, found, strict=True):
        kept = actions.before(curve, np.nextafter(frames[0], np.inf))
        if kept and kept["co"][-1, 0] == frames[0]:  # where an earlier curve ends
            bent.left[0] = kept["handle_left"][-1]
        actions.write(curve, frames, column, bent)


def _write(curve, frames, values):
    """Linear keyframes; both ends where the value never changes."""
    if (values == values[0]).all():
        frames, values = _ends(frames), _ends(values)
    actions.write(curve, frames, values)


def _ends(rows):
    """Of what never changes; a later motion goes on from the last."""
    return rows[:: max(len(rows) - 1, 1)]
