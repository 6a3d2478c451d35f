# SPDX-License-Identifier: GPL-3.0-or-later
"""What every bone and shape key of a model does in a motion, frame by frame, in Blender's terms.

Every bone of the file gets the channels that make it stand where MMD puts it, IK and appended
motion solved.
"""

from typing import NamedTuple

import bpy
import numpy as np

from .. import quaternions, rest_bones, scene_model, sliders
from ..motion_source import Motion
from . import record

_CHUNK = 256  # frames evaluated at once
_BATCH = 4096  # frames of all bones that are worked on at once: those of few frames together
_SAME = 1e-5  # difference of two motions that counts as none
_STILL = 1e-5  # change of a channel that counts as none, locations relative to the model's size


class Channels(NamedTuple):
    """What one bone does, in its own space."""

    name: str
    locations: np.ndarray  # (F, 3) float64
    rotations: np.ndarray  # (F, 4) float64 w x y z
    moves: bool  # it leaves its rest place at some frame


def of_bones(armature: bpy.types.Object, source: Motion, frames: np.ndarray) -> list[Channels]:
    """Channels of each bone of the file for frames of the scene, parents before children.

    Affine matrices are (3, 4, N, F) of N bones: members before matrices, so that each operation is
    on long rows.
    """
    bones = list(armature.data.bones)
    number = {bone.name: i for i, bone in enumerate(bones)}
    parents = [number[bone.parent.name] if bone.parent else -1 for bone in bones]
    size = max((bone.head_local.length for bone in bones), default=1.0)
    moved = _posed(source, frames)
    # All in the file's space: how its axes lie in the scene is part of where a bone rests.
    rests = np.linalg.inv(source.rig.to_armature) @ rest_bones.matrices(armature)
    file_bones = [source.rig.bones.get(bone.name, -1) for bone in bones]
    leaders = _leaders(parents, [moved[i] if i >= 0 else None for i in file_bones], rests)
    above = [leaders[parent] if parent >= 0 else -1 for parent in parents]
    from_above = _whole(_inverses(rests[above, :3].transpose(1, 2, 0))) @ rests
    # What Blender will make of the leaders' channels, so that no rounding is passed on: where each
    # bone's axes stand.
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
        locations, rotations = basis[:, 3], quaternions.of_rows(basis[:, :3])
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


def _at_rest(name, frames):
    rotations = np.zeros((len(frames), 4))
    rotations[:, 0] = 1
    return Channels(name, np.zeros((len(frames), 3)), rotations, False)


def _leaders(parents, posed, rests):
    """Of each bone the nearest that moves it: itself, one above it, or -1.

    `posed`: (3, 4, F) skinning matrices of each bone of the file, None of the others, which lie
    still on their parents as most bones do.
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


def _batches(moving, above, frames):
    """The bones that move, in groups; those above them are in earlier ones."""
    depths: dict[int, int] = {-1: -1}
    groups: dict[int, list[int]] = {}
    for i in moving:
        depths[i] = depths[above[i]] + 1
        groups.setdefault(depths[i], []).append(i)
    size = max(_BATCH // len(frames), 1)
    for _, group in sorted(groups.items()):
        yield from (group[at : at + size] for at in range(0, len(group), size))


def _posed(source, frames):
    """(B, 3, 4, F) float32 skinning matrices of all bones of the file."""
    result = None
    for start in range(0, len(frames), _CHUNK):
        part = source.posed(source.motion_frames(frames[start : start + _CHUNK]))
        if result is None:
            result = np.empty((part.shape[1], 3, 4, len(frames)), np.float32)
        result[..., start : start + _CHUNK] = part[:, :, :3].transpose(1, 2, 3, 0)
    return result


def of_keys(
    model: scene_model.SceneModel, source: Motion, frames: np.ndarray
) -> dict[bpy.types.Key, dict[str, np.ndarray]]:
    """{Key datablock: {shape key: (F,) values}} of the shape keys that stand for morphs."""
    result = {}
    for block in record.shape_keys(model):
        names = block.key_blocks.keys()
        names = [n for n, known in zip(names, source.known_keys(names), strict=True) if known]
        if names:
            result[block] = dict(zip(names, source.key_values(names, frames).T, strict=True))
    return result


def of_sliders(
    armature: bpy.types.Object, source: Motion, frames: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{custom property: (frames, (F,) values)} of the armature for morphs that are not solved.

    Those of materials and UVs, where the motion moves them or names them: bones have their
    channels, and groups act through others.
    """
    morphs, named = source.rig.pmx.morphs, {track.name for track in source.motion.morphs}
    found = {
        i: name
        for i, name in enumerate(sliders.names(armature))
        if name in armature and morphs[i].kind not in {"bone", "group"}
    }
    values = source.morph_values(list(found), frames).T if found else ()
    return {
        name: (frames, column)
        for (i, name), column in zip(found.items(), values, strict=True)
        if morphs[i].name in named or column.any()
    }


def moved_bones(bones: list[Channels], others: list[Channels] | None, motion: Motion) -> set[str]:
    """Names of the bones that the motion has keys for, and of those that it moves with them.

    `others` are the channels without it, of the same bones; None where nothing moves.
    """
    if others is None:
        moved = {bone.name for bone in bones if bone.moves}
    else:
        moved = {
            bone.name
            for bone, other in zip(bones, others, strict=True)
            if _differ(bone.locations, other.locations)
            or _differ(np.abs(bone.rotations), np.abs(other.rotations))
        }
    return moved | {bone.name for bone in bones if motion.has_bone_track(bone.name)}


def moved_keys(keys: dict, others: dict, motion: Motion) -> dict:
    """Of the values `of_keys` those that the motion changes, as with `moved_bones`."""
    result = {}
    for block, values in keys.items():
        was = others.get(block, {})
        result[block] = {
            name: column
            for name, column in values.items()
            if motion.has_key_track(name) or _differ(column, was.get(name, 0))
        }
    return {block: values for block, values in result.items() if values}


def _differ(values, others):
    return bool((np.abs(values - others) > _SAME).any())


def _moved_rests(matrices, rests):
    """Affine matrices (3, 4, N, F), those of each bone times one of (N, 4, 4)."""
    turned = rests.transpose(0, 2, 1)[:, None] @ matrices.transpose(2, 0, 1, 3)
    return turned.transpose(1, 2, 0, 3)


def _whole(matrices):
    """(F, 4, 4) of affine matrices (3, 4, F)."""
    result = np.tile(np.eye(4), (matrices.shape[2], 1, 1))
    result[:, :3] = matrices.transpose(2, 0, 1)
    return result


def _product(a, b):
    """Of affine matrices (3, 4, ...)."""
    result, term = np.empty_like(b), np.empty_like(b[0])
    for row, (x, y, z, offset) in zip(result, a, strict=True):
        np.multiply(x, b[0], out=row)
        row += np.multiply(y, b[1], out=term)
        row += np.multiply(z, b[2], out=term)
        row[3] += offset
    return result


def _inverses(matrices):
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


def _settle(values, tolerance):
    """Give channels (..., F) that do not change one value, and zero where that is meant."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    still = high - low <= tolerance
    middle = (low + high) / 2
    values[still] = np.where(np.abs(middle) <= tolerance, 0, middle)[still, None]
