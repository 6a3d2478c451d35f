# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion as solved keys: all moving bones keyed on every frame, with IK and physics solved.

The channels of each bone, frame by frame, give MMD's pose.
"""

import itertools
import math
import os
from typing import Any

import numpy as np
from bpy.types import Key, Object

from ..blender import evaluated_bones
from ..blender.translations import tr_count
from ..blender.user_error import UserError
from ..physics import simulation
from ..pose import quaternions, scene_motion
from ..pose.motion_source import Motion
from ..scene import scene_model, sliders
from . import import_state, keyframes
from .keyframes import STILL, Track, Values, thinned
from .motion_import import MotionImport
from .original_keys import bone_axes

_SAME_TIME = 1e-6  # scene frames
_JUMP = 0.1  # units, radians or weight within one frame of the file
_CHUNK = 256  # frames evaluated together
_SAME = 1e-5  # differences of two motions below this are ignored
_MOST = 100_000  # frames, almost an hour; a single far-out key would use up all memory


def write(job: MotionImport, newest: Motion) -> None:
    """Key the model."""
    model, options = job.model, job.options
    earlier, rekeys_all = job.earlier(newest)
    source = scene_motion.merged([*earlier, newest])
    keyed, kept = (source, []) if rekeys_all else (newest, earlier)
    frames = _frames(options.step, keyed, source, kept)
    simulated = job.simulated(source, newest)
    bones, moved, keys = changed(job, keyed, simulated, kept, frames)
    # To match MMD, also bones that the file does not key, but not those that always rest.
    stays = set() if job.replace else keyframes.keyed_bones(model.armature) - moved
    bones = [bone for bone in bones if bone.name not in stays]
    resting = [bone.name for bone in bones if not (bone.moves or bone.name in moved)]
    bones = [bone for bone in bones if bone.name not in resting]
    if job.replace or rekeys_all:
        job.clear()
    with job.recording(model.armature) as noted:
        noted.note_files(scene_motion.contributing([*earlier, newest]), import_state.SOLVED)
        if job.replace:
            keyframes.drop_bones(noted, resting)
        keyframes.reset_to_rest(noted, resting, options.physics)
        if bones:
            keyframes.write_bones(noted, bones, job.replace, options.physics)
        keyframes.write_weights(noted, slider_values(model.armature, source, frames))
        job.extend(noted, source)
        job.show_armature(noted, newest)
    for block, values in keys.items():
        with job.recording(block) as noted:
            keyframes.write_weights(noted, values, job.replace)
    job.inform(
        "Keyed {bones} and {shape_keys} on {frames}",
        bones=tr_count("1 bone", "{count} bones", len(bones)),
        shape_keys=tr_count("1 shape key", "{count} shape keys", sum(map(len, keys.values()))),
        frames=tr_count("1 frame", "{count} frames", len(frames)),
    )
    job.tell_muted()


def _frames(step: int, newest: Motion, source: Motion, earlier: list[Motion]) -> np.ndarray:
    """The scene frames to key: from the motion's first change to the end of all motions."""
    begins, ends = newest.scene_range[0] + _SAME_TIME, source.scene_range[1] - _SAME_TIME
    first, last = math.ceil(begins - 2 * _SAME_TIME), math.ceil(ends)
    since = scene_motion.changed_from(scene_motion.merged(earlier), newest) if earlier else math.inf
    start = math.floor(min(since, begins))
    parts = [range(start, first, step), range(first, last, step)]
    count = sum(map(len, parts)) + 1
    if count > _MOST:
        raise UserError(
            "'{file}' needs keys on {count} frames, but the maximum is {most}: use a larger Step",
            file=os.path.basename(newest.path),
            count=count,
            most=_MOST,
        )
    whole = np.array([*itertools.chain(*parts), last], np.float64)
    if step > 1:
        return whole
    jumps = _jumps(source, 1 / newest.speed)
    return np.union1d(whole, jumps[(jumps > start) & (jumps < last)])


def _jumps(source: Motion, frame: float) -> np.ndarray:
    """The scene frames before and after jumps, where these are between whole frames.

    A jump is a large change within a frame of the file (`frame`, in scene frames), or an IK switch's.
    """
    found = [np.empty(0)]
    tracks: list[Any] = [*source.motion.bones, *source.motion.morphs]
    for track in tracks:
        times = source.scene_frames(track.frames)
        moves = _changes(track) & (np.diff(times) < frame + _SAME_TIME)
        found += [times[:-1][moves], times[1:][moves]]
    switches = source.motion.properties
    switched = (np.diff(switches.ik_enabled, axis=0) != 0).any(axis=1)
    times = source.scene_frames(switches.frames[1:][switched])
    times = np.concatenate([*found, times - frame, times])
    return times[np.abs(times - np.rint(times)) > _SAME_TIME]


def _changes(track: Any) -> np.ndarray:
    """(K - 1,) bool: whether the track of a bone or a morph changes much from each key to the next."""
    if hasattr(track, "weights"):
        return np.abs(np.diff(track.weights)) > _JUMP
    moved = np.linalg.norm(np.diff(track.translations, axis=0), axis=1)
    turned = 1 - np.abs((track.rotations[1:] * track.rotations[:-1]).sum(axis=1))
    return (moved > _JUMP) | (turned > _JUMP**2 / 8)  # the cosine of half the angle


# The channels, frame by frame


def bone_channels(armature: Object, source: Motion, frames: np.ndarray) -> list[Track]:
    """Channels of each bone of the file for frames of the scene, parents before children.

    Computed in the file's space, by matrices (3, 4, F), elements first, so that each operation works on
    long rows.
    """
    bones = list(armature.data.bones)
    number = {bone.name: i for i, bone in enumerate(bones)}
    parents = [number[bone.parent.name] if bone.parent else -1 for bone in bones]
    size = max((bone.head_local.length for bone in bones), default=1.0)
    to_file = np.linalg.inv(source.rig.to_armature)
    heads = (to_file @ evaluated_bones.rest_matrices(armature))[:, :3, 3:]
    to_bones, turns = bone_axes(armature, source, [bone.name for bone in bones])
    moved = _posed(source, frames)
    file_bones = [source.rig.bones.get(bone.name, -1) for bone in bones]
    leaders = _leaders(parents, [moved[i] if i >= 0 else None for i in file_bones], heads)
    # Rotations and offsets that Blender will compute from the leaders' channels: using them for the
    # children prevents rounding errors from accumulating.
    shown = {-1: (np.eye(3)[..., None], np.zeros((3, 1)))}
    found = []
    zeros, unturned = np.zeros((len(frames), 3)), np.tile((1.0, 0, 0, 0), (len(frames), 1))
    for i, (bone, parent, leader) in enumerate(zip(bones, parents, leaders, strict=True)):
        if leader != i:
            if file_bones[i] >= 0:  # it is at rest
                found.append(Track(bone.name, frames, zeros, unturned))
            continue
        posed, head, to_bone = moved[file_bones[i]].astype(np.float64), heads[i], to_bones[i]
        above, place = shown[leaders[parent] if parent >= 0 else -1]
        local = np.einsum("ji...,jk...->ik...", above, posed[:, :3])
        offset = np.einsum("ji...,j...->i...", above, posed[:, 3] - place)
        locations = to_bone @ (offset + _applied(local, head) - head)
        rotations = quaternions.from_matrix_rows(local)
        rotations[1:] = turns[i] @ rotations[1:]
        _settle(locations, STILL * size)
        _settle(rotations, STILL)
        found.append(Track(bone.name, frames, locations.T.copy(), rotations.T.copy()))
        rotations[1:] = turns[i].T @ rotations[1:]
        local = quaternions.matrix_rows(rotations)
        offset = np.linalg.solve(to_bone, locations) + head - _applied(local, head)
        turned = np.einsum("ij...,jk...->ik...", above, local)
        shown[i] = turned, _applied(above, offset) + place
    return found


def _applied(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Matrices (3, 3, F) times vectors (3, F) or (3, 1)."""
    return np.einsum("ij...,j...->i...", matrices, vectors)


def _leaders(parents: list[int], posed: list[np.ndarray], heads: np.ndarray) -> list[int]:
    """The nearest bone that moves each bone: itself, an ancestor, or -1.

    `posed`: (3, 4, F) skinning matrices of each moving bone, None for those that do not move
    relative to their parents.
    """
    size = max(np.abs(heads).max(initial=0), 1e-3)
    tolerance = STILL / 4 * np.array([1, 1, 1, size])[None, :, None]
    unmoved = np.eye(4)[:3, :, None]
    leaders: list[int] = []
    for i, (parent, one) in enumerate(zip(parents, posed, strict=True)):
        leader = leaders[parent] if parent >= 0 else -1
        if one is not None:
            other = posed[leader] if leader >= 0 else unmoved
            if (np.abs(one - other) > tolerance).any():
                leader = i
        leaders.append(leader)
    return leaders


def _posed(source: Motion, frames: np.ndarray) -> np.ndarray:
    """(B, 3, 4, F) float32 skinning matrices of all bones of the file."""
    result = None
    for part, matrices in source.posed_in_parts(source.motion_frames(frames), _CHUNK):
        if result is None:
            result = np.empty((matrices.shape[1], 3, 4, len(frames)), np.float32)
        result[..., part] = matrices[:, :, :3].transpose(1, 2, 3, 0)
    return result


def key_values(
    model: scene_model.SceneModel, source: Motion, frames: np.ndarray
) -> dict[Key, dict[str, np.ndarray]]:
    """{Key datablock: {shape key: (F,) values}} of the shape keys of morphs."""
    result = {}
    for block in import_state.shape_keys(model):
        names = [key.name for key in block.key_blocks if key.name in source.keys]
        if names:
            result[block] = dict(zip(names, source.key_values(names, frames).T, strict=True))
    return result


def slider_values(armature: Object, source: Motion, frames: np.ndarray) -> Values:
    """Values of custom properties of the armature for morphs that are not solved.

    These are material and UV morphs that the motion moves or names: bone morphs are part of the
    bones' channels, and group morphs act through others.
    """
    morphs, named = source.rig.pmx.morphs, {track.name for track in source.motion.morphs}
    found = {
        i: name
        for i, (morph, _, name) in enumerate(sliders.of_morphs(armature, source.rig.pmx))
        if name in armature and morph.kind not in {"bone", "group"}
    }
    values = source.morph_weights(frames)[:, list(found)].T if found else ()
    return {
        name: thinned(frames, column)
        for (i, name), column in zip(found.items(), values, strict=True)
        if morphs[i].name in named or column.any()
    }


def changed(
    job: MotionImport, newest: Motion, source: Motion, earlier: list[Motion], frames: np.ndarray
) -> tuple[list[Track], set[str], dict[Key, Values]]:
    """What the newest of the motions that are merged in `source` changes: the channels of all bones, the
    names of those that it or physics moves, and the values of the shape keys that it keys or moves."""
    model, was = job.model, scene_motion.merged(earlier) if earlier else None
    bones, moved = [], set[str]()
    if newest.moves_bones or newest.is_pose:
        bones = bone_channels(model.armature, source, frames)
        moved = {bone.name for bone in bones if newest.has_bone_track(bone.name)}
        if was is None:
            moved |= {bone.name for bone in bones if bone.moves}
        else:
            others = bone_channels(model.armature, was, frames)
            moved |= {
                one.name for one, other in zip(bones, others, strict=True) if _moves(one, other)
            }
    if job.options.physics:
        moved |= simulation.bones(source)
    keys = key_values(model, source, frames)
    before = key_values(model, was, frames) if was else {}
    found = {
        block: {
            name: thinned(frames, column)
            for name, column in values.items()
            if newest.has_key_track(name) or _differ(column, before.get(block, {}).get(name, 0))
        }
        for block, values in keys.items()
    }
    return bones, moved, {block: values for block, values in found.items() if values}


def _moves(one: Track, other: Track) -> bool:
    turned = _differ(np.abs(one.rotations), np.abs(other.rotations))
    return turned or _differ(one.locations, other.locations)


def _differ(values: np.ndarray, others: np.ndarray | float) -> bool:
    return bool((np.abs(values - others) > _SAME).any())


def _settle(values: np.ndarray, tolerance: float) -> None:
    """Set constant channels (..., F) to one value, and to zero if they are nearly zero."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    still = high - low <= tolerance
    middle = (low + high) / 2
    values[still] = np.where(np.abs(middle) <= tolerance, 0, middle)[still, None]
