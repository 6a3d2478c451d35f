# SPDX-License-Identifier: GPL-3.0-or-later
"""Write channels, or the keys of a file, as keyframes or as the current pose.

Constraints and drivers that would move solved bones again are muted; those of Blender's physics
only if the channels include physics. `Record` stores the previous state.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np
from mathutils import Matrix

from ..blender import actions, evaluated_bones, fcurves
from ..blender.translations import tr
from ..pose import quaternions
from ..scene import mmd_tools, sliders
from ..scene.names import PHYSICS
from . import bezier, tracks
from .channels import Channels
from .import_state import SOLVED, Record
from .tracks import Switch, Track

_SAME = 1e-6  # differences of values below this are ignored
Values = dict[str, np.ndarray]  # of shape keys, (F,) each
_USED = ("location", "rotation_quaternion")


class At(NamedTuple):
    """The frame at which to key a single pose on animated channels, which would not show it otherwise."""

    frame: float  # of the animation
    alone: bool  # whether adjacent frames keep their values, since each is solved separately


def write_bones(
    record: Record, bones: list[Channels], frames: np.ndarray, replace: bool, simulated: bool
) -> int:
    """Key the bones of an armature from the first of the frames on; returns the number of muted items.

    `replace` also removes their earlier keyframes. `simulated`: the channels include physics.
    """
    muted = _take(record, bones, simulated)
    _turn_by_quaternions(record, bones)
    # Also of bones that do not move: Blender's solver might move them.
    for owner, constraint in mmd_tools.solving(record.armature):
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
            curves = known.ensure(paths[bone.name][channel], values.shape[1], bone.name)
            if channel == "rotation_quaternion":
                values = _turned(values, curves, frames[0])
            constant = (values == values[0]).all(axis=0)
            for curve, column, is_constant in zip(curves, values.T, constant, strict=True):
                _write(curve, frames, column, is_constant)
    return muted


def write_keys(record: Record, values: Values, frames: np.ndarray, replace: bool) -> int:
    """Key the values of shape keys, as `write_bones` does for bones."""
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
    """Key bones as in the file, from each bone's first key on; returns the number of muted drivers."""
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
    put_tracks(holder, bones)
    return muted


def put_tracks(holder: Any, bones: list[Track]) -> None:
    """`write_tracks` into a holder from `actions.channels`, and nothing else."""
    paths = {track.name: actions.bone_paths(track.name) for track in bones}
    known = actions.Curves(holder)
    locations, rotations = [], []
    for track in bones:
        path, times, bends = paths[track.name], track.frames, track.curves
        places = known.ensure(path["location"], 3, track.name)
        locations.append(_joined(_Keys(places, times, track.locations, bends[:, :3], track.axes)))
        turns = known.ensure(path["rotation_quaternion"], 4, track.name)
        values = _turned(track.rotations, turns, times[0])
        rotations.append(_joined(_Keys(turns, times, values, bends[:, 3], track.axes)))
    _write_bent(locations, _location_handles)
    _write_bent(rotations, _rotation_handles)


def drop_bones(record: Record, names: Iterable[str]) -> None:
    """Remove all keyframes of bones."""
    record.own_action()
    for name in names:
        record.note_bone(record.block.pose.bones[name])
    paths = {path for name in names for path in actions.bone_paths(name).values()}
    paths.update(actions.property_path(name, PHYSICS) for name in names)
    actions.drop(actions.channels(record.block)[0].fcurves, paths)


def write_switches(record: Record, switches: list[Switch]) -> None:
    """Key the Influence of the constraints of IK bones."""
    constraints_by_ik_bone = mmd_tools.by_ik_bone(record.armature)
    for switch in switches:
        for bone, constraint in constraints_by_ik_bone.get(switch.name, ()):
            record.note_influence(bone, constraint)
            record.own_action()
    if record.state.influences:
        put_switches(actions.channels(record.block)[0], record.armature, switches)


def put_switches(holder: Any, armature: bpy.types.Object, switches: list[Switch]) -> None:
    """`write_switches` into a holder from `actions.channels`, and nothing else."""
    constraints_by_ik_bone = mmd_tools.by_ik_bone(armature)
    for switch in switches:
        for bone, constraint in constraints_by_ik_bone.get(switch.name, ()):
            path = actions.influence_path(bone.name, constraint.name)
            _put_switch(holder, path, bone.name, switch)


def write_physics(record: Record, switches: list[Switch]) -> None:
    """Key whether rigid bodies move bones, for bones where this is ever off."""
    record.own_action()
    holder, _ = actions.channels(record.block)
    for switch in put_physics(holder, record.armature, switches):
        bone = record.armature.pose.bones[switch.name]
        record.note_physics(bone)
        add_physics_switch(bone)


def add_physics_switch(bone: bpy.types.PoseBone) -> None:
    """Add the switch of a bone, if missing."""
    if PHYSICS not in bone:
        bone[PHYSICS] = True
        text = tr("Rigid bodies move this bone in simulations; if off, they follow it")
        bone.id_properties_ui(PHYSICS).update(description=text, default=True)
        bone.property_overridable_library_set(sliders.path(PHYSICS), True)


def put_physics(holder: Any, armature: bpy.types.Object, switches: list[Switch]) -> list[Switch]:
    """`write_physics` into a holder from `actions.channels`; returns the switches that it keyed."""
    keyed = []
    for switch in switches:
        path = actions.property_path(switch.name, PHYSICS)
        is_on = armature.pose.bones[switch.name].get(PHYSICS, True)
        if not switch.enabled.all() or holder.fcurves.find(path) or not is_on:
            _put_switch(holder, path, switch.name, switch)
            keyed.append(switch)
    return keyed


def _put_switch(holder: Any, path: str, bone: str, switch: Switch) -> None:
    curve = holder.fcurves.find(path) or actions.new_curve(holder, path, 0, bone)
    values = switch.enabled.astype(np.float64)
    fcurves.write(curve, switch.frames, values, bezier.steps(switch.frames, values))


def write_original_keys(record: Record, keys: tracks.Values) -> int:
    """Key the values of shape keys at their own frames; returns the number of muted drivers."""
    muted = _unlock(record, {name: values for name, (_, values) in keys.items()})
    record.own_action()
    put_values(actions.channels(record.block)[0], keys)
    return muted


def put_values(holder: Any, keys: tracks.Values) -> None:
    """Key the values of shape keys in a holder from `actions.channels`."""
    for name, (frames, values) in keys.items():
        path = actions.value_path(name)
        fcurves.write(holder.fcurves.find(path) or actions.new_curve(holder, path), frames, values)


def write_sliders(record: Record, values: tracks.Values) -> None:
    """Key custom properties of the armature."""
    for name in values:
        record.note_slider(name)
        record.own_action()
        sliders.widen(record.armature, name)
    if values:
        put_sliders(actions.channels(record.block)[0], values)


def put_sliders(holder: Any, values: tracks.Values) -> None:
    """Key custom properties in a holder from `actions.channels`."""
    for name, (frames, weights) in values.items():
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
    """Set bones to their first keys; returns the number of muted drivers."""
    muted = _free(record, bones)
    _pose(record, bones, at)
    return muted


def pose_bones(record: Record, bones: list[Channels], simulated: bool, at: At | None = None) -> int:
    """Set bones to the first frame of their channels; returns the number of muted items."""
    muted = _take(record, bones, simulated)
    _pose(record, bones, at)
    return muted


def reset_to_rest(record: Record, names: Iterable[str], simulated: bool) -> int:
    """Set bones to the rest pose; returns the number of muted items."""
    muted = _release(record, names, simulated)
    bones = record.armature.pose.bones
    at_rest = (evaluated_bones.columns(bones, "matrix_basis") == np.eye(4)).all(axis=(1, 2))
    posed = {name for name, is_at_rest in zip(bones.keys(), at_rest, strict=True) if not is_at_rest}
    for name in posed.intersection(names):
        record.note_bone(bones[name])
        bones[name].matrix_basis = Matrix()
    return muted


def set_keys(record: Record, values: Values, at: At | None = None) -> int:
    """Set shape keys to their first values; returns the number of muted items."""
    muted = _unlock(record, values)
    for name, column in values.items():
        key, value = record.block.key_blocks[name], float(column[0])
        if at:
            _key(record, actions.value_path(name), [value], [key.value], at)
        key.value = value
    return muted


def is_keyed(block: actions.Block) -> bool:
    """Whether keyframes animate bones, shape keys or sliders of a datablock."""
    starts = ("pose.bones[", "key_blocks[", '["')
    return any(curve.data_path.startswith(starts) for curve in actions.playing_curves(block))


def keyed_bones(armature: bpy.types.Object) -> set[str]:
    """Names of the bones whose own channels are animated by keyframes."""
    paths = {curve.data_path for curve in actions.playing_curves(armature)}
    names = armature.data.bones.keys()
    return {name for name in names if not paths.isdisjoint(actions.bone_paths(name).values())}


def _take(record: Record, bones: list[Channels], simulated: bool) -> int:
    """Let the channels alone move the bones; returns the number of muted items."""
    for one in bones:
        bone = record.armature.pose.bones[one.name]
        record.note_bone(bone)
        bone.scale = 1, 1, 1
    return _release(record, [one.name for one in bones], simulated)


def _release(record: Record, names: Iterable[str], simulated: bool) -> int:
    """Mute everything that moves the bones except their own channels, and Blender's physics unless `simulated`."""
    muted, paths = 0, set[str]()
    for name in names:
        bone = record.armature.pose.bones[name]
        for constraint in bone.constraints:
            if simulated or constraint.name != mmd_tools.PHYSICS_CONSTRAINT:
                muted += record.mute_constraint(bone, constraint)
        paths.update(actions.bone_paths(name).values())
    return muted + record.mute_drivers(paths)


def _free(record: Record, bones: Iterable[Track]) -> int:
    """Mute the bones' drivers, and let constraints act on their keys.

    Not if there are solved keyframes, which constraints would solve again.
    """
    if record.state.form != SOLVED or not record.state.files:
        record.unmute_constraints()
    paths = set[str]()
    for track in bones:
        bone = record.block.pose.bones[track.name]
        record.note_bone(bone)
        paths.update(actions.bone_paths(track.name)[name] for name in _USED)
    return record.mute_drivers(paths)


def _turn_by_quaternions(record: Record, bones: Sequence[Channels | Track]) -> None:
    for one in bones:
        record.block.pose.bones[one.name].rotation_mode = "QUATERNION"


def _pose(record: Record, bones: Sequence[Channels | Track], at: At | None) -> None:
    """Set bones to their first frames; keyed rotations keep their rotation mode."""
    if at is None:
        _turn_by_quaternions(record, bones)
    for one in bones:
        bone = record.armature.pose.bones[one.name]
        paths = actions.bone_paths(one.name)
        rotation, (turn,) = quaternions.in_mode(bone, one.rotations[:1])
        for channel, value in (("location", one.locations[0]), (rotation, turn)):
            if at:
                _key(record, paths[channel], value, getattr(bone, channel), at, one.name)
            setattr(bone, channel, value)


def _key(
    record: Record,
    path: str,
    values: Sequence[float] | np.ndarray,
    shown: Sequence[float] | np.ndarray,
    at: At,
    group: str = "",
) -> None:
    """Key the members of a channel. A channel without keys that does not change needs none."""
    record.own_action()
    holder, _ = actions.channels(record.block)
    found = [holder.fcurves.find(path, index=index) for index in range(len(values))]
    if any(found) or any(abs(a - b) > _SAME for a, b in zip(values, shown, strict=True)):
        for index, curve in enumerate(found):
            curve = curve or actions.new_curve(holder, path, index, group)
            fcurves.insert(curve, at.frame, values[index], shown[index], at.alone)


def _unlock(record: Record, values: Values) -> int:
    """Set the keys to the values."""
    for name, column in values.items():
        key = record.block.key_blocks[name]
        record.note_key(key)
        key.slider_min = min(key.slider_min, float(column.min()))
        key.slider_max = max(key.slider_max, float(column.max()))
    return record.mute_drivers({actions.value_path(name) for name in values})


def _turned(rotations: np.ndarray, curves: list[bpy.types.FCurve], frame: float) -> np.ndarray:
    """The quaternions, with the sign that is closer to the earlier keyframes."""
    earlier = [fcurves.before(curve, frame) for curve in curves]
    if not all(earlier):
        return rotations
    last = np.array([points["co"][-1, 1] for points in earlier])
    return -rotations if rotations[0] @ last < 0 else rotations


class _Keys(NamedTuple):
    """Keys of one channel of one bone."""

    curves: list[bpy.types.FCurve]  # of its C members
    frames: np.ndarray  # (K,)
    values: np.ndarray  # (K, C)
    bends: np.ndarray  # (K, …) as in Track
    axes: np.ndarray  # (3, 3) as in Track


def _joined(keys: _Keys) -> _Keys:
    """Keys, preceded by the keyframe at which the curve to the first of them begins."""
    earlier = [fcurves.before(curve, keys.frames[0]) for curve in keys.curves]
    if not all(earlier):
        return keys
    last = np.array([points["co"][-1] for points in earlier], np.float64)
    if np.ptp(last[:, 0]):  # channels that were keyed by hand
        return keys
    return keys._replace(
        frames=np.append(last[:1, 0], keys.frames),
        values=np.vstack([last[:, 1], keys.values]),
        bends=np.concatenate([keys.bends[:1], keys.bends]),
    )


def _write_bent(channels: list[_Keys], handles: Callable) -> None:
    """Write keyframes with `handles(keys, first)`; only both ends if the values never change.

    `handles` gets all bones as one _Keys with the axes of each key; `first` (K,) marks the first
    key of each bone.
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


def _outer_handles(keys: _Keys, _first: np.ndarray) -> list[fcurves.Handles]:
    return [bezier.outer_handles(keys.frames, column) for column in keys.values.T]


def _location_handles(keys: _Keys, first: np.ndarray) -> list[fcurves.Handles]:
    return bezier.location_handles(keys.frames, keys.values, keys.bends, keys.axes, first)


def _rotation_handles(keys: _Keys, first: np.ndarray) -> list[fcurves.Handles]:
    return bezier.rotation_handles(keys.frames, keys.values, keys.bends, first)


def _write_with_handles(channels: list[_Keys], handles: Callable) -> None:
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
            kept = fcurves.before(curve, np.nextafter(keys.frames[0], np.inf))
            if kept and kept["co"][-1, 0] == keys.frames[0]:  # the end of an earlier curve
                left[0] = kept["handle_left"][-1]
            fcurves.write(curve, keys.frames, column, fcurves.Handles(left, right))


def _write(
    curve: bpy.types.FCurve, frames: np.ndarray, values: np.ndarray, is_constant: bool
) -> None:
    """Write linear keyframes; only both ends if they are constant."""
    if is_constant:
        frames, values = _ends(frames), _ends(values)
    fcurves.write(curve, frames, values)


def _ends(rows: np.ndarray) -> np.ndarray:
    """The ends of a constant channel; a later motion continues from the last."""
    return rows[:: max(len(rows) - 1, 1)]
