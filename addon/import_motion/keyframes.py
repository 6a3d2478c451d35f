# SPDX-License-Identifier: GPL-3.0-or-later
"""Write solved keys, or those of a file, as keyframes or as the current pose.

Constraints and drivers that would move solved bones again are muted; those of Blender's physics
only if the keys include physics. `Record` stores the previous state, and counts what it mutes.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from bpy.types import FCurve, Key, Object, PoseBone
from mathutils import Matrix

from ..blender import actions, fcurves, playhead
from ..blender.translations import tr
from ..pose import quaternions
from ..scene import mmd_tools, sliders
from ..scene.names import PHYSICS
from . import bezier
from .import_state import SOLVED, Record, key_paths

STILL = 1e-5  # changes of a channel below this are ignored; locations relative to the model's size
Values = dict[str, tuple[np.ndarray, np.ndarray]]  # name: ((K,) frames of the scene, (K,) values)

_SAME = 1e-6  # differences of values below this are ignored
_Members = Sequence[float] | np.ndarray  # of a channel
_USED = ("location", "rotation_quaternion")


class Track(NamedTuple):
    """The keys of one bone, in its own space: of the file, or solved on each frame."""

    name: str
    frames: np.ndarray  # (K,) float64 of the scene
    locations: np.ndarray  # (K, 3) float64
    rotations: np.ndarray  # (K, 4) float64 w x y z, without sign flips
    # (K, 4, 4) uint8, the curve to each key for the file's axes and rotation; none of solved ones
    curves: np.ndarray = np.empty(0)
    axes: np.ndarray = np.eye(3)  # from the file's translations to locations

    @property
    def moves(self) -> bool:
        """Whether it leaves its rest pose at some key."""
        return bool(self.locations.any() or (np.abs(self.rotations[:, 1:]) > STILL).any())


class ArmatureKeys(NamedTuple):
    bones: list[Track]
    ik: Values  # of IK bones: whether they are on
    physics: Values  # of bones: whether rigid bodies move them
    sliders: Values  # custom properties of the armature


class At(NamedTuple):
    """The frame at which to key a single pose on animated channels, which would not show it otherwise."""

    frame: float  # of the animation
    alone: bool  # whether adjacent frames keep their values, since each is solved separately


def thinned(frames: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of a channel; only both ends if it is constant: a later motion continues from the last."""
    ends = slice(None, None, max(len(frames) - 1, 1))
    return (frames[ends], values[ends]) if (values == values[0]).all() else (frames, values)


def at_changes(frames: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of a channel that holds its value until the next one: the first, and each change."""
    changes = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return frames[changes], values[changes].astype(np.float64)


def write_bones(record: Record, bones: list[Track], replace: bool, simulated: bool) -> None:
    """Key the solved bones of an armature, each from its first key on.

    `replace` also removes their earlier keyframes. `simulated`: the keys include physics.
    """
    take(record, bones, simulated)
    _turn_by_quaternions(record, bones)
    # Also of bones that do not move: Blender's solver might move them.
    for owner, constraint in mmd_tools.solving(record.armature):
        record.mute_constraint(owner, constraint)
    curves, paths = record.curves(), {bone.name: actions.bone_paths(bone.name) for bone in bones}
    curves.drop(
        path
        for of_bone in paths.values()
        for channel, path in of_bone.items()
        if replace or channel not in _USED
    )
    for bone in bones:
        for channel, values in zip(_USED, (bone.locations, bone.rotations), strict=True):
            found = curves.ensure(paths[bone.name][channel], values.shape[1], bone.name)
            earlier = [fcurves.before(curve, bone.frames[0]) for curve in found]
            for curve, column in zip(found, _continued(values, earlier).T, strict=True):
                fcurves.write(curve, *thinned(bone.frames, column))


def write_weights(record: Record, values: Values, replace: bool = False) -> None:
    """Key shape keys, or custom properties of the armature. `replace` as of `write_bones`."""
    _widen(record, values)
    if values:
        curves = record.curves()
        if replace:
            curves.drop(_weight_path(record.block, name) for name in values)
        put_weights(curves, record.block, values)


def put_weights(curves: actions.Curves, block: actions.Block, values: Values) -> None:
    """The keyframes of `write_weights`, and nothing else."""
    for name, keys in values.items():
        curves.write(_weight_path(block, name), *keys)


def _weight_path(block: actions.Block, name: str) -> str:
    return actions.value_path(name) if isinstance(block, Key) else sliders.path(name)


def write_armature(record: Record, keys: ArmatureKeys) -> None:
    """Key bones, switches and sliders as in the file, bones from the first key of each on."""
    free(record, keys.bones)
    _turn_by_quaternions(record, keys.bones)
    curves = record.curves()
    paths = [actions.bone_paths(track.name) for track in keys.bones]
    curves.drop(of_bone["rotation_euler"] for of_bone in paths)
    record.note(*(path for _, path, _ in _by_ik(record.armature, keys.ik)))
    _widen(record, keys.sliders)
    for name in put_armature(curves, record.armature, keys):
        record.note(actions.property_path(name, PHYSICS))
        add_physics_switch(record.armature.pose.bones[name])


def put_armature(curves: actions.Curves, armature: Object, keys: ArmatureKeys) -> list[str]:
    """The keyframes of `write_armature`, and nothing else; returns the bones whose physics it keys."""
    _put_bones(curves, keys.bones)
    for bone, path, switch in _by_ik(armature, keys.ik):
        _put_switch(curves, path, bone, *switch)
    put_weights(curves, armature, keys.sliders)
    keyed = []
    for name, (frames, enabled) in keys.physics.items():
        path = actions.property_path(name, PHYSICS)
        is_on = armature.pose.bones[name].get(PHYSICS, True)
        if not enabled.all() or curves.has(path) or not is_on:
            _put_switch(curves, path, name, frames, enabled)
            keyed.append(name)
    return keyed


def add_physics_switch(bone: PoseBone) -> None:
    """Add the switch of a bone, if missing."""
    if PHYSICS not in bone:
        bone[PHYSICS] = True
        text = tr("Rigid bodies move this bone in simulations; if off, they follow it")
        bone.id_properties_ui(PHYSICS).update(description=text, default=True)
        bone.property_overridable_library_set(sliders.path(PHYSICS), True)


def drop_bones(record: Record, names: Collection[str]) -> None:
    """Remove all keyframes of bones."""
    for name in names:
        record.note_bone(name)
    paths = {path for name in names for path in actions.bone_paths(name).values()}
    record.curves().drop(paths | {actions.property_path(name, PHYSICS) for name in names})


def _by_ik(armature: Object, ik: Values) -> Iterator[tuple[str, str, tuple]]:
    """The bone of each constraint that an IK bone switches, the data path of its Influence, and its keys."""
    constraints = mmd_tools.by_ik_bone(armature)
    for name, keys in ik.items():
        for bone, constraint in constraints.get(name, ()):
            yield bone.name, actions.constraint_path(bone.name, constraint.name), keys


def _put_switch(
    curves: actions.Curves, path: str, bone: str, frames: np.ndarray, values: np.ndarray
) -> None:
    curves.write(path, frames, values, bezier.steps(frames, values), group=bone)


def reset_to_rest(record: Record, names: Iterable[str], simulated: bool) -> None:
    """Set bones to the rest pose."""
    _release(record, names, simulated)
    for name in names:
        bone = record.armature.pose.bones[name]
        if bone.matrix_basis != Matrix():
            record.note_bone(name)
            bone.matrix_basis = Matrix()


def set_weights(record: Record, values: Values, at: At | None = None) -> None:
    """Set shape keys, or custom properties of the armature, to their first values."""
    _widen(record, values)
    block = record.block
    for name, (_, weights) in values.items():
        path, value = _weight_path(block, name), float(weights[0])
        if at:
            _key(record, path, [value], [playhead.read(block, path)], at)
        playhead.write(block, path, value)


def is_keyed(block: actions.Block) -> bool:
    """Whether keyframes animate bones, shape keys or sliders of a datablock."""
    starts = ("pose.bones[", "key_blocks[", '["')
    return any(curve.data_path.startswith(starts) for curve in actions.playing_curves(block))


def keyed_bones(armature: Object) -> set[str]:
    """Names of the bones whose own channels are animated by keyframes."""
    paths = {curve.data_path for curve in actions.playing_curves(armature)}
    names = armature.data.bones.keys()
    return {name for name in names if not paths.isdisjoint(actions.bone_paths(name).values())}


def take(record: Record, bones: list[Track], simulated: bool) -> None:
    """Let solved keys alone move the bones."""
    for one in bones:
        record.note_bone(one.name)
        record.armature.pose.bones[one.name].scale = 1, 1, 1
    _release(record, [one.name for one in bones], simulated)


def _release(record: Record, names: Iterable[str], simulated: bool) -> None:
    """Mute everything that moves the bones except their own channels, and Blender's physics unless `simulated`."""
    paths = set[str]()
    for name in names:
        bone = record.armature.pose.bones[name]
        for constraint in bone.constraints:
            if simulated or constraint.name != mmd_tools.PHYSICS_CONSTRAINT:
                record.mute_constraint(bone, constraint)
        paths.update(actions.bone_paths(name).values())
    record.mute_drivers(paths)


def free(record: Record, bones: list[Track]) -> None:
    """Mute the bones' drivers, and let constraints act on their keys.

    Not if there are solved keyframes, which constraints would solve again.
    """
    if record.state.form != SOLVED or not record.state.files:
        record.unmute_constraints()
    for track in bones:
        record.note_bone(track.name)
    record.mute_drivers({actions.bone_paths(one.name)[name] for one in bones for name in _USED})


def _turn_by_quaternions(record: Record, bones: list[Track]) -> None:
    for one in bones:
        record.block.pose.bones[one.name].rotation_mode = "QUATERNION"


def pose(record: Record, bones: list[Track], at: At | None) -> None:
    """Set bones to their first keys; keyed rotations keep their rotation mode."""
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
    record: Record, path: str, values: _Members, shown: _Members, at: At, group: str = ""
) -> None:
    """Key the members of a channel. A channel without keys that does not change needs none."""
    curves = record.curves()
    changes = any(abs(a - b) > _SAME for a, b in zip(values, shown, strict=True))
    if changes or any(curves.has(path, index) for index in range(len(values))):
        found = curves.ensure(path, len(values), group)
        for curve, value, before in zip(found, values, shown, strict=True):
            fcurves.insert(curve, at.frame, value, before, at.alone)


def _widen(record: Record, values: Values) -> None:
    """Let motions alone move shape keys, or custom properties of the armature, as far as these values."""
    for name, (_, weights) in values.items():
        if isinstance(record.block, Key):
            key = record.block.key_blocks[name]
            record.note(*key_paths(name))
            key.slider_min = min(key.slider_min, float(weights.min()))
            key.slider_max = max(key.slider_max, float(weights.max()))
        else:
            record.note(sliders.path(name))
            sliders.widen(record.armature, name)
    record.mute_drivers({_weight_path(record.block, name) for name in values})


def _continued(values: np.ndarray, earlier: list[dict]) -> np.ndarray:
    """Values (K, C) of a channel; of quaternions, with the sign that is closer to the earlier keyframes."""
    if values.shape[1] < 4 or not all(earlier):
        return values
    last = np.array([points["co"][-1, 1] for points in earlier])
    return -values if values[0] @ last < 0 else values


def _put_bones(curves: actions.Curves, bones: list[Track]) -> None:
    for track in bones:
        path, bends = actions.bone_paths(track.name), track.curves
        locations = curves.ensure(path["location"], 3, track.name)
        of_axes = functools.partial(bezier.location_handles, axes=track.axes)
        _write_bent(locations, track.frames, track.locations, bends[:, :3], of_axes)
        turns = curves.ensure(path["rotation_quaternion"], 4, track.name)
        _write_bent(turns, track.frames, track.rotations, bends[:, 3], bezier.rotation_handles)


def _write_bent(
    curves: list[FCurve],
    frames: np.ndarray,
    values: np.ndarray,
    bends: np.ndarray,
    handles: Callable[[np.ndarray, np.ndarray, np.ndarray], list[fcurves.Handles]],
) -> None:
    """Write a channel (K, C), from the keyframe on at which the curve to the first new one begins."""
    earlier = [fcurves.before(curve, frames[0]) for curve in curves]
    values = _continued(values, earlier)
    last = np.array([points["co"][-1] for points in earlier if points], np.float64)
    goes_on = all(earlier) and not np.ptp(last[:, 0])  # else the channel was keyed by hand
    if goes_on:
        frames, values = np.append(last[:1, 0], frames), np.vstack([last[:, 1], values])
        bends = np.concatenate([bends[:1], bends])
    if (values == values[0]).all():
        frames, values = thinned(frames, values)
        bent = bezier.outer_handles(frames, values)
    else:
        bent = handles(frames, values, bends)
    for curve, column, of, before in zip(curves, values.T, bent, earlier, strict=True):
        if goes_on:
            of.left[0] = before["handle_left"][-1]
        fcurves.write(curve, frames, column, of)
