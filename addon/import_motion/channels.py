# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion as values of Blender's channels for each bone and shape key, frame by frame.

The channels of each bone give MMD's pose, with IK and append solved.
"""

from collections.abc import Iterator
from typing import NamedTuple

import bpy
import numpy as np

from ..blender import evaluated_bones
from ..pose import merge, quaternions
from ..pose.motion_source import Motion
from ..scene import scene_model, sliders
from . import import_state
from .tracks import Values, thinned

_CHUNK = 256  # frames evaluated together
_BATCH = 4096  # bones times frames that are processed together
_SAME = 1e-5  # differences of two motions below this are ignored
_STILL = 1e-5  # changes of a channel below this are ignored; locations relative to the model's size


class Channels(NamedTuple):
    """The motion of one bone, in its own space."""

    name: str
    locations: np.ndarray  # (F, 3) float64
    rotations: np.ndarray  # (F, 4) float64 w x y z
    moves: bool  # it leaves its rest pose at some frame


def bone_channels(armature: bpy.types.Object, source: Motion, frames: np.ndarray) -> list[Channels]:
    """Channels of each bone of the file for frames of the scene, parents before children.

    Affine matrices of N bones are (3, 4, N, F): elements first, so that each operation works on
    long rows.
    """
    bones = list(armature.data.bones)
    number = {bone.name: i for i, bone in enumerate(bones)}
    parents = [number[bone.parent.name] if bone.parent else -1 for bone in bones]
    size = max((bone.head_local.length for bone in bones), default=1.0)
    moved = _posed(source, frames)
    # All in the file's space: the rest matrices include the change of axes to the scene.
    rests = np.linalg.inv(source.rig.to_armature) @ evaluated_bones.rest_matrices(armature)
    file_bones = [source.rig.bones.get(bone.name, -1) for bone in bones]
    leaders = _leaders(parents, [moved[i] if i >= 0 else None for i in file_bones], rests)
    above = [leaders[parent] if parent >= 0 else -1 for parent in parents]
    from_above = _whole(_inverses(rests[above, :3].transpose(1, 2, 0))) @ rests
    # The matrices that Blender will compute from the leaders' channels: using them for the children
    # prevents rounding errors from accumulating.
    shown: dict[int, np.ndarray] = {}
    found = {i: _at_rest(bone.name, frames) for i, bone in enumerate(bones) if file_bones[i] >= 0}
    for batch in _batches([i for i, leader in enumerate(leaders) if leader == i], above, frames):
        if above[batch[0]] < 0:
            unposed = np.repeat(rests[batch, :3].transpose(1, 2, 0)[..., None], len(frames), axis=3)
        else:
            leading = np.stack([shown[above[i]] for i in batch], axis=2)
            unposed = _moved_rests(leading, from_above[batch])
        posed = moved[[file_bones[i] for i in batch]].transpose(1, 2, 0, 3).astype(np.float64)
        basis = _product(_inverses(unposed), _moved_rests(posed, rests[batch]))
        locations, rotations = basis[:, 3], quaternions.from_matrix_rows(basis[:, :3])
        _settle(locations, _STILL * size)
        _settle(rotations, _STILL)
        basis[:, :3] = quaternions.matrix_rows(rotations)
        unposed = _product(unposed, basis)
        moves = (locations != 0).any(axis=(0, 2))
        moves |= (np.abs(rotations[1:]) > _STILL).any(axis=(0, 2))
        for k, i in enumerate(batch):
            one = locations[:, k].copy().T, rotations[:, k].copy().T, bool(moves[k])
            found[i] = Channels(bones[i].name, *one)
            shown[i] = unposed[:, :, k]
    return list(found.values())


def _at_rest(name: str, frames: np.ndarray) -> Channels:
    rotations = np.zeros((len(frames), 4))
    rotations[:, 0] = 1
    return Channels(name, np.zeros((len(frames), 3)), rotations, False)


def _leaders(parents: list[int], posed: list[np.ndarray], rests: np.ndarray) -> list[int]:
    """The nearest bone that moves each bone: itself, an ancestor, or -1.

    `posed`: (3, 4, F) skinning matrices of each moving bone, None for those that do not move
    relative to their parents.
    """
    size = max(np.abs(rests[:, :3, 3]).max(initial=0), 1e-3)
    tolerance = _STILL / 4 * np.array([1, 1, 1, size])[None, :, None]
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


def _batches(moving: list[int], above: list[int], frames: np.ndarray) -> Iterator[list[int]]:
    """The moving bones in groups; ancestors are in earlier groups."""
    depths: dict[int, int] = {-1: -1}
    groups: dict[int, list[int]] = {}
    for i in moving:
        depths[i] = depths[above[i]] + 1
        groups.setdefault(depths[i], []).append(i)
    size = max(_BATCH // len(frames), 1)
    for _, group in sorted(groups.items()):
        yield from (group[at : at + size] for at in range(0, len(group), size))


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
) -> tuple[list[Channels], set[str], dict[bpy.types.Key, Values]]:
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


def _moves(one: Channels, other: Channels) -> bool:
    turned = _differ(np.abs(one.rotations), np.abs(other.rotations))
    return turned or _differ(one.locations, other.locations)


def _differ(values: np.ndarray, others: np.ndarray | float) -> bool:
    return bool((np.abs(values - others) > _SAME).any())


def _moved_rests(matrices: np.ndarray, rests: np.ndarray) -> np.ndarray:
    """Affine matrices (3, 4, N, F) times one (N, 4, 4) per bone."""
    turned = rests.transpose(0, 2, 1)[:, None] @ matrices.transpose(2, 0, 1, 3)
    return turned.transpose(1, 2, 0, 3)


def _whole(matrices: np.ndarray) -> np.ndarray:
    """(F, 4, 4) of affine matrices (3, 4, F)."""
    result = np.tile(np.eye(4), (matrices.shape[2], 1, 1))
    result[:, :3] = matrices.transpose(2, 0, 1)
    return result


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of affine matrices (3, 4, ...)."""
    result, term = np.empty_like(b), np.empty_like(b[0])
    for row, (x, y, z, offset) in zip(result, a, strict=True):
        np.multiply(x, b[0], out=row)
        row += np.multiply(y, b[1], out=term)
        row += np.multiply(z, b[2], out=term)
        row[3] += offset
    return result


def _inverses(matrices: np.ndarray) -> np.ndarray:
    """Of affine matrices (3, 4, ...)."""
    linear, offset = matrices[:, :3], matrices[:, 3]
    result, term = np.empty(matrices.shape), np.empty(matrices.shape[2:])
    for i in range(3):
        b, c = linear[i - 2], linear[i - 1]
        for k in range(3):  # cofactors
            np.multiply(b[k - 2], c[k - 1], out=result[k, i])
            result[k, i] -= np.multiply(b[k - 1], c[k - 2], out=term)
    result[:, :3] /= np.einsum("i...,i...->...", linear[0], result[:, 0])
    np.einsum("ij...,j...->i...", result[:, :3], -offset, out=result[:, 3])
    return result


def _settle(values: np.ndarray, tolerance: float) -> None:
    """Set constant channels (..., F) to one value, and to zero if they are nearly zero."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    still = high - low <= tolerance
    middle = (low + high) / 2
    values[still] = np.where(np.abs(middle) <= tolerance, 0, middle)[still, None]
