# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a motion's file in Blender's terms: whose channels they are, when, and how they bend.

Nothing is solved: what a bone is keyed with is its own, and IK and appends act on it afterwards.
"""

from typing import NamedTuple

import bpy
import numpy as np

from .. import model_file, physics_settings, scene_model, sliders
from ..motion_source import Motion
from . import record

Values = dict[str, tuple[np.ndarray, np.ndarray]]  # name: ((K,) frames of the scene, (K,) values)


class Track(NamedTuple):
    """The keys of one bone, in its own space."""

    name: str
    frames: np.ndarray  # (K,) float64 of the scene
    locations: np.ndarray  # (K, 3) float64
    rotations: np.ndarray  # (K, 4) float64 w x y z, without sudden changes of sign
    curves: np.ndarray  # (K, 4, 4) uint8 that lead to each key, of the file's axes and rotation
    axes: np.ndarray  # (3, 3) float64: from the file's translations to locations


class Switch(NamedTuple):
    """When an IK bone leads its chain, or the bodies of a bone move it."""

    name: str
    frames: np.ndarray  # (K,) float64 of the scene, the first and where it changes
    enabled: np.ndarray  # (K,) bool


def of_bones(armature: bpy.types.Object, source: Motion) -> list[Track]:
    """Of the bones that the motion has keys for, in its order; of bones of one name the first's."""
    linear = source.rig.to_armature[:3, :3]
    found = []
    for track, number, name in _known(source):
        rest = np.array(armature.data.bones[name].matrix_local, np.float64)[:3, :3]
        to_bone = np.linalg.solve(rest, linear)
        rotations = _about_axis(track.rotations, source.rig.pmx.bones[number].fixed_axis)
        found.append(
            Track(
                name,
                source.scene_frames(track.frames),
                track.translations @ to_bone.T,
                _continuous(_turned(rotations, _nearest_rotation(to_bone))),
                track.interpolation,
                to_bone,
            )
        )
    return found


def of_physics(source: Motion) -> list[Switch]:
    """Of the bones that bodies move and the motion has keys for."""
    moved = physics_settings.moved_bones(source.rig.pmx)
    found = []
    for track, number, name in _known(source):
        if number in moved and track.physics is not None:
            changes = _changes(track.physics)
            frames = source.scene_frames(track.frames[changes])
            found.append(Switch(name, frames, track.physics[changes]))
    return found


def of_switches(source: Motion) -> list[Switch]:
    scene_bones = {source.rig.pmx.bones[i].name: name for name, i in source.rig.bones.items()}
    keys = source.motion.properties
    found = []
    for column, name in enumerate(keys.ik_names if len(keys.frames) else ()):
        enabled = keys.ik_enabled[:, column]
        changes = _changes(enabled)
        if name in scene_bones:
            frames = source.scene_frames(keys.frames[changes])
            found.append(Switch(scene_bones[name], frames, enabled[changes]))
    return found


def of_keys(model: scene_model.SceneModel, source: Motion) -> dict[bpy.types.Key, Values]:
    """Of the shape keys of each Key datablock.

    Where every morph has its slider, a group has its own keys; else they are its children's, too.
    """
    tracked = {track.name: track for track in source.motion.morphs}
    keys = _own_keys(model.armature, source)
    times = {} if keys else source.key_times()
    result: dict[bpy.types.Key, Values] = {}
    for block in record.shape_keys(model):
        found = [key.name for key in block.key_blocks if key.name in (keys or times)]
        if keys:
            result[block] = {name: _weights(source, tracked[keys[name]]) for name in found}
        elif found:
            frames = np.unique(np.concatenate([times[name] for name in found]))
            columns = source.key_values(found, frames).T
            result[block] = {
                name: (times[name], column[np.searchsorted(frames, times[name])])
                for name, column in zip(found, columns, strict=True)
            }
    return {block: values for block, values in result.items() if values}


def of_sliders(armature: bpy.types.Object, source: Motion) -> Values:
    """Of the custom properties of the armature that are sliders of morphs."""
    names = sliders.names(armature)
    tracked = {track.name: track for track in source.motion.morphs}
    return {
        name: _weights(source, tracked[morph.name])
        for name, morph in zip(names, source.rig.pmx.morphs if names else (), strict=True)
        if name in armature and morph.name in tracked
    }


def _known(source):
    """Each track of bones that the scene has, the number of its bone, and its name there."""
    scene_bones = {number: name for name, number in source.rig.bones.items()}
    numbers: dict[str, int] = {}
    for number, bone in enumerate(source.rig.pmx.bones):
        numbers.setdefault(bone.name, number)
    for track in source.motion.bones:
        number = numbers.get(track.name)
        if number in scene_bones:
            yield track, number, scene_bones[number]


def _changes(enabled):
    """(K,) of the first key and those that switch."""
    return np.flatnonzero(np.append(True, enabled[1:] != enabled[:-1]))


def _own_keys(armature, source):
    """{shape key: name of its morph} of our own importer, {} where flips act or it was another."""
    morphs, noted = source.rig.pmx.morphs, model_file.morph_keys(armature)
    tracked = {track.name for track in source.motion.morphs}
    if len(noted) != len(morphs):
        return {}
    if source.flips & tracked:
        return {}
    pairs = zip(noted, morphs, strict=True)
    return {key: morph.name for key, morph in pairs if key and morph.name in tracked}


def _weights(source, track):
    return source.scene_frames(track.frames), track.weights


def _nearest_rotation(linear):
    """The orthogonal part of a map (3, 3), which may be a mirror; rests are rotations but nearly."""
    u, _, v = np.linalg.svd(linear)
    return u @ v


def _about_axis(rotations, axis):
    """Keys x y z w as MMD takes them for a bone: docs/mmd-behaviour.md#fixed-axis."""
    length = np.linalg.norm(axis) if axis else 0.0
    if not length:
        return rotations
    axis = np.asarray(axis, np.float64) / length
    sides = np.where(rotations[:, :3] @ axis < 0, -1, 1)
    sines = sides * np.linalg.norm(rotations[:, :3], axis=1)
    return np.column_stack([sines[:, None] * axis, rotations[:, 3]])


def _turned(rotations, turn):
    """Rotations x y z w in other axes, as w x y z; a mirror turns them the other way round."""
    axes = np.linalg.det(turn) * rotations[:, :3] @ turn.T
    return np.column_stack([rotations[:, 3], axes])


def _continuous(rotations):
    turns = (rotations[1:] * rotations[:-1]).sum(axis=1) < 0
    signs = np.cumprod(np.append(1 if rotations[0, 0] >= 0 else -1, np.where(turns, -1, 1)))
    return rotations * signs[:, None]
