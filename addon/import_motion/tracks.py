# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys for Blender's channels: frames, values and curves, and those of a motion file.

Nothing is solved here: IK and append act on the keyed bones afterwards.
"""

from collections.abc import Iterator
from typing import NamedTuple

import bpy
import numpy as np

from ..blender import evaluated_bones
from ..blender.native import mmdskin
from ..pose import physics_settings, quaternions
from ..pose.motion_source import Motion
from ..scene import scene_model, sliders
from . import import_state

STILL = 1e-5  # changes of a channel below this are ignored; locations relative to the model's size
Values = dict[str, tuple[np.ndarray, np.ndarray]]  # name: ((K,) frames of the scene, (K,) values)


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


class Switch(NamedTuple):
    """When an IK bone is on, or when rigid bodies move a bone."""

    name: str
    frames: np.ndarray  # (K,) float64 of the scene: the first and the changes
    enabled: np.ndarray  # (K,) bool


class ArmatureKeys(NamedTuple):
    bones: list[Track]
    ik: list[Switch]
    physics: list[Switch]
    sliders: Values  # custom properties of the armature


def armature_keys(armature: bpy.types.Object, source: Motion) -> ArmatureKeys:
    bones, sliders = bone_tracks(armature, source), slider_values(armature, source)
    return ArmatureKeys(bones, _ik_switches(source), _physics_switches(source), sliders)


def thinned(frames: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of a channel; only both ends if it is constant: a later motion continues from the last."""
    ends = slice(None, None, max(len(frames) - 1, 1))
    return (frames[ends], values[ends]) if (values == values[0]).all() else (frames, values)


def bone_tracks(armature: bpy.types.Object, source: Motion) -> list[Track]:
    """Tracks of the bones that the motion keys, in its order; the first of bones with the same name."""
    bones = source.rig.pmx.bones
    known = [found for found in _known(source) if len(found[0].frames)]
    if not known:
        return []
    to_bones, turns = bone_axes(armature, source, [name for *_, name in known])
    found = []
    for (track, number, name), to_bone, turn in zip(known, to_bones, turns, strict=True):
        frames, locations = source.scene_frames(track.frames), track.translations @ to_bone.T
        vectors, axis = track.rotations[:, :3].astype(np.float64), bones[number].fixed_axis
        if axis and any(axis):
            vectors = quaternions.about_axes(vectors, np.array([axis]))
        rotations = np.column_stack([track.rotations[:, 3], vectors @ turn.T])
        quaternions.remove_flips(rotations.T)
        found.append(Track(name, frames, locations, rotations, track.interpolation, to_bone))
    return found


def bone_axes(
    armature: bpy.types.Object, source: Motion, names: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """(B, 3, 3) from the file's translations to locations of bones, and from the axes of its rotations to
    theirs: rest matrices are almost rotations."""
    number = {name: i for i, name in enumerate(armature.data.bones.keys())}
    rests = evaluated_bones.rest_matrices(armature)[[number[name] for name in names], :3, :3]
    to_bones = np.linalg.solve(rests, source.rig.to_armature[None, :3, :3])
    return to_bones, quaternions.turns(to_bones)


def _physics_switches(source: Motion) -> list[Switch]:
    """Of the bones that rigid bodies move and the motion keys."""
    moved = physics_settings.moved_bones(source.rig.pmx)
    return [
        _switch(source, name, track.frames, track.physics)
        for track, number, name in _known(source)
        if number in moved and track.physics is not None
    ]


def _ik_switches(source: Motion) -> list[Switch]:
    scene_bones = {source.rig.pmx.bones[i].name: name for name, i in source.rig.bones.items()}
    keys = source.motion.properties
    return [
        _switch(source, scene_bones[name], keys.frames, keys.ik_enabled[:, column])
        for column, name in enumerate(keys.ik_names if len(keys.frames) else ())
        if name in scene_bones
    ]


def _switch(source: Motion, name: str, frames: np.ndarray, enabled: np.ndarray) -> Switch:
    """Of the first key and each change."""
    changes = np.flatnonzero(np.append(True, enabled[1:] != enabled[:-1]))
    return Switch(name, source.scene_frames(frames[changes]), enabled[changes])


def key_values(model: scene_model.SceneModel, source: Motion) -> dict[bpy.types.Key, Values]:
    """Keys of the shape keys of each Key datablock.

    If every morph has a slider, a group morph is keyed itself; else its children are keyed as well.
    """
    tracked = {track.name: track for track in source.motion.morphs}
    keys = _own_keys(model.armature, source)
    times = {} if keys else source.key_times()
    result: dict[bpy.types.Key, Values] = {}
    for block in import_state.shape_keys(model):
        found = [key.name for key in block.key_blocks if key.name in (keys or times)]
        if keys:
            of_keys = {name: tracked[keys[name]] for name in found}
            result[block] = {
                name: (source.scene_frames(track.frames), track.weights)
                for name, track in of_keys.items()
            }
        elif found:
            frames = np.unique(np.concatenate([times[name] for name in found]))
            columns = source.key_values(found, frames).T
            result[block] = {
                name: (times[name], column[np.searchsorted(frames, times[name])])
                for name, column in zip(found, columns, strict=True)
            }
    return {block: values for block, values in result.items() if values}


def slider_values(armature: bpy.types.Object, source: Motion) -> Values:
    """Keys of the armature's custom properties that are morph sliders."""
    names = sliders.names(armature)
    tracked = {track.name: track for track in source.motion.morphs}
    return {
        name: thinned(source.scene_frames(tracked[morph.name].frames), tracked[morph.name].weights)
        for name, morph in zip(names, source.rig.pmx.morphs if names else (), strict=True)
        if name in armature and morph.name in tracked
    }


def _known(source: Motion) -> "Iterator[tuple[mmdskin.BoneTrack, int, str]]":
    """Each track of a bone in the scene, the bone's index, and its name in the scene."""
    scene_bones = {number: name for name, number in source.rig.bones.items()}
    numbers: dict[str, int] = {}
    for number, bone in enumerate(source.rig.pmx.bones):
        numbers.setdefault(bone.name, number)
    for track in source.motion.bones:
        number = numbers.get(track.name)
        if number in scene_bones:
            yield track, number, scene_bones[number]


def _own_keys(armature: bpy.types.Object, source: Motion) -> dict[str, str]:
    """{shape key: its morph} from our importer; {} with flip morphs or another importer."""
    morphs, noted = source.rig.pmx.morphs, sliders.keys(armature)
    tracked = {track.name for track in source.motion.morphs}
    if len(noted) != len(morphs) or source.flips & tracked:
        return {}
    pairs = zip(noted, morphs, strict=True)
    return {key: morph.name for key, morph in pairs if key and morph.name in tracked}
