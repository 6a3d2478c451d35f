# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion as values of Blender's channels for each bone and shape key, frame by frame.

The channels of each bone give MMD's pose, with IK and append solved.
"""

import bpy
import numpy as np

from ..blender import evaluated_bones
from ..pose import merge, quaternions
from ..pose.motion_source import Motion
from ..scene import scene_model, sliders
from . import import_state
from .tracks import STILL, Track, Values, bone_axes, thinned

_CHUNK = 256  # frames evaluated together
_SAME = 1e-5  # differences of two motions below this are ignored


def bone_channels(armature: bpy.types.Object, source: Motion, frames: np.ndarray) -> list[Track]:
    """Channels of each bone of the file for frames of the scene, parents before children.

    Computed in the file's space, where matrices turn and move; (3, 4, F), elements first, so that each
    operation works on long rows.
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
        shown[i] = (
            np.einsum("ij...,jk...->ik...", above, local),
            _applied(above, offset) + place,
        )
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
) -> dict[bpy.types.Key, dict[str, np.ndarray]]:
    """{Key datablock: {shape key: (F,) values}} of the shape keys of morphs."""
    result = {}
    for block in import_state.shape_keys(model):
        names = block.key_blocks.keys()
        names = [n for n, known in zip(names, source.known_keys(names), strict=True) if known]
        if names:
            result[block] = dict(zip(names, source.key_values(names, frames).T, strict=True))
    return result


def slider_values(armature: bpy.types.Object, source: Motion, frames: np.ndarray) -> Values:
    """Values of custom properties of the armature for morphs that are not solved.

    These are material and UV morphs that the motion moves or names: bone morphs are part of the
    bones' channels, and group morphs act through others.
    """
    morphs, named = source.rig.pmx.morphs, {track.name for track in source.motion.morphs}
    found = {
        i: name
        for i, name in enumerate(sliders.names(armature))
        if name in armature and morphs[i].kind not in {"bone", "group"}
    }
    values = source.morph_values(list(found), frames).T if found else ()
    return {
        name: thinned(frames, column)
        for (i, name), column in zip(found.items(), values, strict=True)
        if morphs[i].name in named or column.any()
    }


def changed(
    model: scene_model.SceneModel,
    newest: Motion,
    source: Motion,
    earlier: list[Motion],
    frames: np.ndarray,
) -> tuple[list[Track], set[str], dict[bpy.types.Key, Values]]:
    """What the newest of the motions that are merged in `source` changes: the channels of all bones, the
    names of those that it keys or moves, and the values of the shape keys that it keys or moves."""
    armature, was = model.armature, merge.merged(earlier) if earlier else None
    bones, moved = [], set[str]()
    if newest.moves_bones or newest.is_pose:
        bones = bone_channels(armature, source, frames)
        moved = {bone.name for bone in bones if newest.has_bone_track(bone.name)}
        if was is None:
            moved |= {bone.name for bone in bones if bone.moves}
        else:
            others = bone_channels(armature, was, frames)
            moved |= {
                one.name for one, other in zip(bones, others, strict=True) if _moves(one, other)
            }
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
