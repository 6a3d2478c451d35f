# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion as original keys: the file's own keyframes and curves, for editing.

The action keeps the files, so that an export writes unchanged keys as they were: the files themselves
may move or change, and the action may be used in another .blend.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.types import Key, Object

from ..blender import actions, details, evaluated_bones, fcurves
from ..blender.native import mmdskin
from ..blender.translations import tr_count
from ..pose import physics_settings, quaternions, scene_motion
from ..pose.motion_source import Motion
from ..scene import scene_model, sliders
from . import import_state, keyframes
from .keyframes import ArmatureKeys, Track, Values
from .motion_import import MotionImport

Curves = dict[tuple[str, int], fcurves.Points]  # by path and index

_logger = details.logger(__name__)
_PROPERTY = "mmdskin_motion_files"  # a list of groups, oldest first
_MOST = 1 << 28  # bytes of a file: more than a VMD of eight hours


def write(job: MotionImport, newest: Motion) -> None:
    """Key the model."""
    model, replace = job.model, job.replace
    earlier, rekeys_all = job.earlier(newest)
    played = [*earlier, newest] if rekeys_all else [newest]
    found = [armature_keys(model.armature, one) for one in played]
    keys = [key_values(model, one) for one in played]
    if replace or rekeys_all:
        job.clear()
    with job.recording(model.armature) as noted:
        noted.note_files(scene_motion.contributing([*earlier, newest]), import_state.ORIGINAL)
        if replace:
            keyframes.drop_bones(noted, newest.rig.bones)
        for one, of_one in zip(played, found, strict=True):
            keyframes.write_armature(noted, of_one)
            job.extend(noted, one)
        keep(model.armature, noted.state.files)
        job.show_armature(noted, newest)
    for block, values in (item for of_one in keys for item in of_one.items()):
        with job.recording(block) as noted:
            keyframes.write_weights(noted, values)
    bones = found[-1].bones
    count = sum(len(track.frames) for track in bones)
    job.inform(
        "Keyed {bones} and {shape_keys} with {keyframes} from the file",
        bones=tr_count("1 bone", "{count} bones", len(bones)),
        shape_keys=tr_count("1 shape key", "{count} shape keys", sum(map(len, keys[-1].values()))),
        keyframes=tr_count("1 keyframe", "{count} keyframes", count),
    )
    job.tell_muted()


def curves_of(
    model: scene_model.SceneModel, motions: Sequence[Motion]
) -> dict[actions.Block, Curves]:
    """The curves that imports of these motions, oldest first, write into an empty action."""
    armature = model.armature
    with scratch() as curves:
        for motion in motions:
            keyframes.put_armature(curves, armature, armature_keys(armature, motion))
        found: dict[actions.Block, Curves] = {armature: read(curves)}
    values = [key_values(model, motion) for motion in motions]
    for block in import_state.shape_keys(model):
        with scratch() as curves:
            for of_motion in values:
                keyframes.put_weights(curves, block, of_motion.get(block, {}))
            found[block] = read(curves)
    return found


@contextlib.contextmanager
def scratch() -> Iterator[actions.Curves]:
    """In the block, the curves of an action that no one sees."""
    action, _, holder = actions.new_action("mmdskin")
    try:
        yield actions.Curves(holder)
    finally:
        bpy.data.actions.remove(action)


def read(curves: actions.Curves) -> Curves:
    found = curves.holder.fcurves
    return {(curve.data_path, curve.array_index): fcurves.points(curve) for curve in found}


class Kept(NamedTuple):
    motion: "mmdskin.Motion"
    start: float  # as of `Motion`
    speed: float


def keep(block: actions.Block, files: Iterable[Sequence[Any]]) -> None:
    """Keep files that still exist, each with its start and speed, with the action of a datablock, if it has
    one; replaces earlier ones."""
    action, _ = actions.assigned(block)
    if action is None:
        return
    found = []
    for path, start, speed in files:
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST)
        except OSError as error:
            _logger.debug("skipped '%s': %s", path, error)
            continue
        times = {"start": float(start), "speed": float(speed)}
        found.append({"name": os.path.basename(path), **times, "data": zlib.compress(data)})
    action[_PROPERTY] = found


def kept(block: actions.Block, pmx: "mmdskin.Model | None" = None) -> list[Kept]:
    """The files kept with the action of a datablock, oldest first, for a model; [] if any is damaged."""
    action, _ = actions.assigned(block)
    found = []
    try:
        for entry in action.get(_PROPERTY, ()) if action is not None else ():
            data = zlib.decompressobj().decompress(bytes(entry["data"]), _MOST)
            motion = mmdskin.load_motion(data, model=pmx)
            found.append(Kept(motion, float(entry["start"]), float(entry["speed"])))
    except (KeyError, TypeError, ValueError, MemoryError, zlib.error) as error:
        _logger.debug("skipped the damaged files of '%s': %r", block.name, error)  # edited by hand
        return []
    return found if all(one.speed > 0 for one in found) else []


# The keys of a file: nothing is solved, IK and append act on the keyed bones afterwards


def armature_keys(armature: Object, source: Motion) -> ArmatureKeys:
    return ArmatureKeys(
        bone_tracks(armature, source),
        _ik_switches(source),
        _physics_switches(source),
        slider_values(armature, source),
    )


def bone_tracks(armature: Object, source: Motion) -> list[Track]:
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


def bone_axes(armature: Object, source: Motion, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """(B, 3, 3) from the file's translations to locations of bones, and from the axes of its rotations to
    theirs: rest matrices are almost rotations."""
    number = {name: i for i, name in enumerate(armature.data.bones.keys())}
    rests = evaluated_bones.rest_matrices(armature)[[number[name] for name in names], :3, :3]
    to_bones = np.linalg.solve(rests, source.rig.to_armature[None, :3, :3])
    return to_bones, quaternions.turns(to_bones)


def _physics_switches(source: Motion) -> Values:
    """Of the bones that rigid bodies move and the motion keys."""
    moved = physics_settings.moved_bones(source.rig.pmx)
    return {
        name: keyframes.at_changes(source.scene_frames(track.frames), track.physics)
        for track, number, name in _known(source)
        if number in moved and track.physics is not None
    }


def _ik_switches(source: Motion) -> Values:
    scene_bones = {source.rig.pmx.bones[i].name: name for name, i in source.rig.bones.items()}
    keys = source.motion.properties
    frames = source.scene_frames(keys.frames)
    return {
        scene_bones[name]: keyframes.at_changes(frames, column)
        for name, column in zip(keys.ik_names, keys.ik_enabled.T, strict=True)
        if name in scene_bones and len(frames)
    }


def key_values(model: scene_model.SceneModel, source: Motion) -> dict[Key, Values]:
    """Keys of the shape keys of each Key datablock: if every morph has a slider, a group morph is keyed
    itself; else its children are keyed as well."""
    tracked = {track.name: track for track in source.motion.morphs}
    keys = {
        key: tracked[morph.name]
        for morph, key, _ in sliders.of_morphs(model.armature, source.rig.pmx)
        if key and morph.name in tracked and not source.flips & tracked.keys()
    }
    times = {} if keys else source.key_times()
    result: dict[Key, Values] = {}
    for block in import_state.shape_keys(model):
        found = [key.name for key in block.key_blocks if key.name in (keys or times)]
        if keys:
            result[block] = {
                name: (source.scene_frames(keys[name].frames), keys[name].weights) for name in found
            }
        elif found:
            frames = np.unique(np.concatenate([times[name] for name in found]))
            columns = source.key_values(found, frames).T
            result[block] = {
                name: (times[name], column[np.searchsorted(frames, times[name])])
                for name, column in zip(found, columns, strict=True)
            }
    return {block: values for block, values in result.items() if values}


def slider_values(armature: Object, source: Motion) -> Values:
    """Keys of the armature's custom properties that are morph sliders."""
    tracked = {track.name: track for track in source.motion.morphs}
    return {
        name: keyframes.thinned(
            source.scene_frames(tracked[morph.name].frames), tracked[morph.name].weights
        )
        for morph, _, name in sliders.of_morphs(armature, source.rig.pmx)
        if name in armature and morph.name in tracked
    }


def _known(source: Motion) -> "Iterator[tuple[mmdskin.BoneTrack, int, str]]":
    """Each track of a bone in the scene, the bone's index, and its name in the scene."""
    scene_bones = {number: name for name, number in source.rig.bones.items()}
    bone_indices = {bone.name: i for i, bone in reversed([*enumerate(source.rig.pmx.bones)])}
    for track in source.motion.bones:
        number = bone_indices.get(track.name)
        if number in scene_bones:
            yield track, number, scene_bones[number]
