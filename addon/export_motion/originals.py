# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a model that an export writes as they are: the scene's, and those of imported files.

What has not changed since the import is written from the file, key for key.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions
from ..blender.native import mmdskin
from ..import_motion import import_state, original_keys
from ..pose import merge, motion_source, scene_motion
from ..scene import mmd_tools, model_file, scene_model, sliders
from ..scene.names import PHYSICS
from . import linear_keys, original_tracks
from .original_tracks import Channel, OriginalKeys, OwnKeyframes
from .samples import Sampler
from .timing import Timing

_ROTATIONS = {"QUATERNION": ("rotation_quaternion", 4), "AXIS_ANGLE": ("rotation_axis_angle", 4)}


class Bone(NamedTuple):
    """The keys of a bone of the scene."""

    keys: OriginalKeys
    track: "mmdskin.BoneTrack | None"  # of the file
    physics: np.ndarray  # (K,) bool


class Originals(NamedTuple):
    bones: dict[int, Bone]  # by index in the file
    sampled: bool  # whether the scene has to be read frame by frame for other bones
    morphs: "dict[str, mmdskin.MorphTrack]"  # by name
    sampled_morphs: bool  # as `sampled`, for other morphs
    properties: "mmdskin.PropertyTrack | None"  # of the imported files, None if they changed
    others: "list[mmdskin.BoneTrack]"  # of the files, for bones that the scene lacks
    name: str  # of the model, in the file; "" if that is not one file


def find(sampler: Sampler, timing: Timing) -> Originals:
    """No keys of bones if anything besides an action and constraints moves them, like NLA strips."""
    model, rig = sampler.model, sampler.rig
    armature, pmx = model.armature, rig.pmx
    own, files = OwnKeyframes(armature), list[original_keys.Kept]()
    whole, expected = None, dict[actions.Block, original_keys.Curves]()
    bones, sampled = dict[int, Bone](), True
    if not own.has_strips:
        files = original_keys.kept(armature, pmx)
        motions = [
            motion_source.Motion(rig, file.motion, "", armature, file.start, file.speed)
            for file in files
        ]
        if motions:
            whole, expected = merge.merged(motions), original_keys.curves_of(model, motions)
        bones, sampled = _bones(armature, rig, whole, own, expected.get(armature, {}), timing)
    morphs, sampled_morphs = _morphs(model, pmx, whole, expected, timing)
    properties, others = None, list[Any]()
    if whole is not None:
        known = {pmx.bones[i].name for i in rig.bones.values()}
        others = _others(whole, known, timing)
        if not sampler.animates_visibility and _switches_kept(armature, expected[armature]):
            properties = property_keys(whole, timing)
    name = files[0].motion.name if len(files) == 1 else ""
    return Originals(bones, sampled, morphs, sampled_morphs, properties, others, name)


def _bones(
    armature: bpy.types.Object,
    rig: model_file.Rig,
    whole: motion_source.Motion | None,
    own: OwnKeyframes,
    expected: original_keys.Curves,
    timing: Timing,
) -> tuple[dict[int, Bone], bool]:
    """The keys of each bone, and whether there are bones with other animation or a pose of their own."""
    tracks = {track.name: track for track in whole.motion.bones} if whole else {}
    found: dict[int, Bone] = {}
    sampled = False
    for name, number in rig.bones.items():
        pose_bone = armature.pose.bones[name]
        channels = _channels(pose_bone)
        if not own.alone_move(channels):
            sampled = True
            continue
        track = tracks.get(rig.pmx.bones[number].name)
        known = own.curves.keys() | (expected.keys() if track is not None else set())
        if known.isdisjoint(channels):
            sampled |= not _is_at_rest(pose_bone)
            continue
        times = np.empty(0, np.float32)
        if whole is not None and track is not None:
            times = whole.scene_frames(track.frames).astype(np.float32)
        keys = original_tracks.match(
            [own.points(channel) for channel in channels],
            [expected.get(channel) for channel in channels],
            times,
            timing,
        )
        if len(keys.frames):
            found[number] = Bone(keys, track, _physics(pose_bone, track, keys, own, expected))
    return found, sampled


def _channels(bone: bpy.types.PoseBone) -> list[Channel]:
    paths = actions.bone_paths(bone.name)
    rotation, count = _ROTATIONS.get(bone.rotation_mode, ("rotation_euler", 3))
    return [
        *((paths["location"], index) for index in range(3)),
        *((paths[rotation], index) for index in range(count)),
    ]


def _is_at_rest(bone: bpy.types.PoseBone) -> bool:
    return bool((np.array(bone.matrix_basis) == np.eye(4)).all())


def _physics(
    bone: bpy.types.PoseBone,
    track: "mmdskin.BoneTrack | None",
    keys: OriginalKeys,
    own: OwnKeyframes,
    expected: original_keys.Curves,
) -> np.ndarray:
    """(K,) bool whether rigid bodies move the bone at each key."""
    channel = actions.property_path(bone.name, PHYSICS), 0
    is_keyed, is_on = own.points(channel) is not None, bool(bone.get(PHYSICS, True))
    switched = np.full(len(keys.times), is_on)
    if is_keyed:
        values = [own.curves[channel].evaluate(time) for time in keys.times.tolist()]
        switched = np.array(values) > 0.5
    kept = own.are({channel: expected.get(channel)}) and (is_keyed or is_on)
    if kept and track is not None and track.physics is not None:
        switched = np.where(keys.of_file >= 0, track.physics[keys.of_file], switched)
    return switched


def _switches_kept(armature: bpy.types.Object, expected: original_keys.Curves) -> bool:
    """Whether the IK switches are still those of the files."""
    pairs = [pair for found in mmd_tools.by_ik_bone(armature).values() for pair in found]
    channels = [(actions.influence_path(bone.name, one.name), 0) for bone, one in pairs]
    own = OwnKeyframes(armature)
    toggled = any(path.endswith(mmd_tools.TOGGLE) for path, _ in own.curves)
    muted = any(one.mute for _, one in pairs if one.type == "IK")
    return not (toggled or muted) and own.are(
        {channel: expected.get(channel) for channel in channels}
    )


def _morphs(
    model: scene_model.SceneModel,
    pmx: "mmdskin.Model",
    whole: motion_source.Motion | None,
    expected: Mapping[actions.Block, original_keys.Curves],
    timing: Timing,
) -> "tuple[dict[str, mmdskin.MorphTrack], bool]":
    """The keys of morphs, and whether there are morphs whose keys cannot be MMD's: these are linear, as
    those of shape keys and sliders. With keys of morphs that the model lacks."""
    found, sampled = dict[str, mmdskin.MorphTrack](), False
    of_files = whole.motion.morphs if whole is not None else ()
    on_frames = whole is not None and _are_on_frames(whole, of_files, timing)
    if on_frames and _morphs_kept(model, expected):
        return _named(in_range(whole, of_files, timing)), False
    for name, channel in _morph_channels(model, pmx).items():
        keys = linear_keys.find([channel], timing)
        if keys is None:
            sampled = True
        elif keys.is_animated or channel.value:
            weights = keys.values[:, 0].astype(np.float32)
            found[name] = mmdskin.MorphTrack(name, keys.frames, weights)
    known = {morph.name for morph in pmx.morphs}
    others = [track for track in of_files if track.name not in known]
    return found | _named(in_range(whole, others, timing)), sampled


def of_file(file: motion_source.Motion, timing: Timing) -> Originals:
    """The keys of a motion file, as if the scene had all of them."""
    bone_indices = {bone.name: i for i, bone in reversed([*enumerate(file.rig.pmx.bones)])}
    bones: dict[int, Bone] = {}
    on_frames = _on_frames(file, file.motion.bones, timing)
    for track in on_frames:
        if track.name in bone_indices and len(track.frames):
            times = file.scene_frames(track.frames).astype(np.float32)
            keys = original_tracks.match([], [], times, timing)
            rows = np.maximum(np.searchsorted(times, keys.times, "right") - 1, 0)
            bones[bone_indices[track.name]] = Bone(keys, track, track.physics[rows])
    sampled = len(on_frames) < len(file.motion.bones)
    kept = _on_frames(file, file.motion.morphs, timing)
    sampled_morphs = len(kept) < len(file.motion.morphs)
    morphs = _named(in_range(file, kept, timing))
    others, name = _others(file, {*bone_indices}, timing), file.motion.name
    return Originals(bones, sampled, morphs, sampled_morphs, None, others, name)


def _others(whole: motion_source.Motion, known: set[str], timing: Timing) -> list[Any]:
    """The tracks of bones that are not known."""
    others = [track for track in whole.motion.bones if track.name not in known]
    return in_range(whole, others, timing)


def in_range(whole: Any, tracks: Any, timing: Timing) -> list[Any]:
    """Tracks of a file with the frames of the export, and only the keys within its range."""
    found = []
    for track in tracks:
        if not len(track.frames):
            continue
        frames, inside = _placed(whole, track, timing)
        if hasattr(track, "weights"):
            within = timing.within(frames)
            weights = np.interp(within, frames, track.weights).astype(np.float32)
            found.append(mmdskin.MorphTrack(track.name, within, weights))
            continue
        columns = [None if column is None else column[inside] for column in track[2:]]
        if inside.any():
            found.append(type(track)(track.name, frames[inside], *columns))
    return found


def property_keys(whole: Any, timing: Timing) -> Any:
    """The property keys of a file within the export; the state before it is a key at its start."""
    track = whole.motion.properties
    frames, inside = _placed(whole, track, timing)
    before = np.flatnonzero(frames < timing.file_first)
    if len(before) and timing.file_first not in frames:
        inside[before[-1]] = True
        frames[before[-1]] = timing.file_first
    return type(track)(
        frames[inside], track.visible[inside], track.ik_names, track.ik_enabled[inside]
    )


def _placed(whole: Any, track: Any, timing: Timing) -> tuple[np.ndarray, np.ndarray]:
    """(K,) int64 frames of the export, and which are in its range: the last of several on one frame."""
    frames = np.rint(timing.frames_at(whole.scene_frames(track.frames))).astype(np.int64)
    inside = timing.covers(frames)
    inside[:-1] &= frames[1:] > frames[:-1]
    return frames, inside


def _are_on_frames(whole: Any, tracks: Any, timing: Timing) -> bool:
    """Whether all keys are on frames of the export."""
    times = [whole.scene_frames(track.frames) for track in tracks]
    return not times or timing.whole_frames_at(np.concatenate(times)) is not None


def _on_frames(file: motion_source.Motion, tracks: Any, timing: Timing) -> list[Any]:
    return [track for track in tracks if _are_on_frames(file, [track], timing)]


def _named(tracks: "list[mmdskin.MorphTrack]") -> "dict[str, mmdskin.MorphTrack]":
    return {track.name: track for track in tracks}


def _morphs_kept(
    model: scene_model.SceneModel, expected: Mapping[actions.Block, original_keys.Curves]
) -> bool:
    """Whether the keys of all shape keys and sliders are still those that an import has written."""
    for block in import_state.blocks(model):
        own, before = OwnKeyframes(block), expected.get(block, {})
        channels = {channel for channel in (*own.curves, *before) if _is_weight(channel[0])}
        is_driven = any(map(_is_weight, own.driven))
        if is_driven or not own.are({channel: before.get(channel) for channel in channels}):
            return False
    return True


def _is_weight(path: str) -> bool:
    return path.startswith(("key_blocks[", '["'))


def _morph_channels(
    model: scene_model.SceneModel, pmx: "mmdskin.Model"
) -> dict[str, linear_keys.Channel]:
    """The shape key or slider of each morph."""
    blocks = {block: OwnKeyframes(block) for block in import_state.shape_keys(model)}
    keys, properties = model_file.morph_keys(model.armature), sliders.names(model.armature)
    found: dict[str, linear_keys.Channel] = {}
    pairs = [(morph.name, key) for morph, key in zip(pmx.morphs, keys, strict=False) if key]
    if len(keys) != len(pmx.morphs):
        of_keys = scene_motion.morphs_of_keys(pmx, model.armature)
        pairs = [(pmx.morphs[i].name, key) for key, i in of_keys.items() if i >= 0]
    for name, key in pairs:
        block = next((block for block in blocks if key in block.key_blocks), None)
        if block is not None:
            value = 0.0 if block.key_blocks[key].mute else block.key_blocks[key].value
            found.setdefault(
                name, linear_keys.Channel(blocks[block], actions.value_path(key), 0, value)
            )
    if len(keys) == len(properties) == len(pmx.morphs):
        own = OwnKeyframes(model.armature)
        for morph, name in zip(pmx.morphs, properties, strict=True):
            if name and name in model.armature:
                value = float(model.armature[name])
                found.setdefault(morph.name, linear_keys.Channel(own, sliders.path(name), 0, value))
    return found
