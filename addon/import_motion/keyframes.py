# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels as keyframes, or as the pose that stands; so also the keys of a file.

Constraints and drivers that would move solved bones once more are muted; those of Blender's physics
only where the channels have physics of their own. `Record` keeps what was there.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

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
    muted = _take(record, bones, simulated)
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
    known = actions.Curves(holder)
    for bone in bones:
        for channel, values in zip(_USED, (bone.locations, bone.rotations), strict=True):
            curves = known.of(paths[bone.name][channel], values.shape[1], bone.name)
            if channel == "rotation_quaternion":
                values = _turned(values, curves, frames[0])
            still = (values == values[0]).all(axis=0)
            for curve, column, rests in zip(curves, values.T, still, strict=True):
                _write(curve, frames, column, rests)
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
        _write(curve, frames, column, (column == column[0]).all())
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
    known = actions.Curves(holder)
    locations, rotations = [], []
    for track in bones:
        path, times, bends = paths[track.name], track.frames, track.curves
        places = known.of(path["location"], 3, track.name)
        locations.append(_joined(_Keys(places, times, track.locations, bends[:, :3], track.axes)))
        turns = known.of(path["rotation_quaternion"], 4, track.name)
        values = _turned(track.rotations, turns, times[0])
        rotations.append(_joined(_Keys(turns, times, values, bends[:, 3], track.axes)))
    _write_bent(locations, _location_handles)
    _write_bent(rotations, _rotation_handles)
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
        curve = holder.fcurves.find(path) or actions.new_curve(holder, path)
        _write(curve, frames, weights, (weights == weights[0]).all())


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
    muted = _take(record, bones, simulated)
    _pose(record, bones, at)
    return muted


def lay_to_rest(record: Record, names: Iterable[str], simulated: bool) -> int:
    """Let bones lie as without a pose; how many things were muted."""
    muted = _release(record, names, simulated)
    bones = record.armature.pose.bones
    bases = np.empty(16 * len(bones), np.float32)
    bones.foreach_get("matrix_basis", bases)
    at_rest = (bases.reshape(-1, 16) == np.eye(4).ravel()).all(axis=1)
    posed = {name for name, rests in zip(bones.keys(), at_rest, strict=True) if not rests}
    for name in posed.intersection(names):
        record.note_bone(bones[name])
        bones[name].matrix_basis = Matrix()
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


def _take(record, bones, simulated):
    """Let bones take their channels; how many things were muted."""
    for one in bones:
        bone = record.armature.pose.bones[one.name]
        record.note_bone(bone)
        bone.scale = 1, 1, 1
    return _release(record, [one.name for one in bones], simulated)


def _release(record: Record, names: Iterable[str], simulated: bool) -> int:
    """Let nothing but the bones' own channels move them, and Blender's physics unless `simulated`."""
    muted, paths = 0, set[str]()
    for name in names:
        bone = record.armature.pose.bones[name]
        for constraint in bone.constraints:
            if simulated or constraint.name != mmd_tools.PHYSICS_CONSTRAINT:
                muted += record.mute_constraint(bone, constraint)
        paths.update(actions.bone_paths(name).values())
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


class _Keys(NamedTuple):
    """Of the channel of one bone."""

    curves: list[bpy.types.FCurve]  # of its C members
    frames: np.ndarray  # (K,)
    values: np.ndarray  # (K, C)
    bends: np.ndarray  # (K, …) as in a Track
    axes: np.ndarray  # (3, 3) as in a Track


def _joined(keys):
    """Keys and the keyframe before them, where the curve to the first of them begins."""
    earlier = [actions.before(curve, keys.frames[0]) for curve in keys.curves]
    if not all(earlier):
        return keys
    last = np.array([points["co"][-1] for points in earlier], np.float64)
    if np.ptp(last[:, 0]):  # of channels that were keyed by hand
        return keys
    return keys._replace(
        frames=np.append(last[:1, 0], keys.frames),
        values=np.vstack([last[:, 1], keys.values]),
        bends=np.concatenate([keys.bends[:1], keys.bends]),
    )


def _write_bent(channels, handles):
    """Keyframes with `handles(keys, first)`; both ends where the values never change.

    That of all at once, as one _Keys with the axes of each key; `first` (K,) are those at which a
    bone begins.
    """
    moving, still = [], []
    for keys in channels:
        if (keys.values == keys.values[0]).all():
            still.append(keys._replace(frames=_ends(keys.frames), values=_ends(keys.values)))
        else:
            moving.append(keys)
    for found, of in ((still, _outer_handles), (moving, handles)):
        if found:
            _write_with_handles(found, of)


def _outer_handles(keys, _first):
    return [bezier.outer_handles(keys.frames, column) for column in keys.values.T]


def _location_handles(keys, first):
    return bezier.location_handles(keys.frames, keys.values, keys.bends, keys.axes, first)


def _rotation_handles(keys, first):
    return bezier.rotation_handles(keys.frames, keys.values, keys.bends, first)


def _write_with_handles(channels, handles):
    counts = [len(keys.frames) for keys in channels]
    starts = np.cumsum(counts) - counts
    first = np.zeros(sum(counts), bool)
    first[starts] = True
    joined = _Keys(
        [],
        np.concatenate([keys.frames for keys in channels]),
        np.concatenate([keys.values for keys in channels]),
        np.concatenate([keys.bends for keys in channels]),
        np.repeat([keys.axes for keys in channels], counts, axis=0),
    )
    bent = handles(joined, first)
    for keys, start in zip(channels, starts.tolist(), strict=True):
        part = slice(start, start + len(keys.frames))
        for curve, column, of in zip(keys.curves, keys.values.T, bent, strict=True):
            left, right = of.left[part], of.right[part]
            kept = actions.before(curve, np.nextafter(keys.frames[0], np.inf))
            if kept and kept["co"][-1, 0] == keys.frames[0]:  # where an earlier curve ends
                left[0] = kept["handle_left"][-1]
            actions.write(curve, keys.frames, column, actions.Handles(left, right))


def _write(curve, frames, values, rests):
    """Linear keyframes; both ends where the value `rests`."""
    if rests:
        frames, values = _ends(frames), _ends(values)
    actions.write(curve, frames, values)


def _ends(rows):
    """Of what never changes; a later motion goes on from the last."""
    return rows[:: max(len(rows) - 1, 1)]
