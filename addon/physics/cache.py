# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated motion as a file beside the .blend: where physics has the bones, twice a frame.

Between these places bones are interpolated. The file says what it was made of, so that one which no
longer fits is not played; `troubles` are the sentences that the panel then shows.
"""

import contextlib
import functools
import hashlib
import os
import zipfile
from typing import NamedTuple

import bpy
import numpy as np

from .. import cache_files, motion_source, quaternions
from ..motion_source import Motion
from ..translations import tr

RATE = 2  # places of each frame of the motion
ENDING = "_physics.npz"
_VERSION = 1

troubles: dict[str, str] = {}  # name of an armature: why its preview shows no physics


class Cache(NamedTuple):
    """Bones of the file's space, from frame `first` of the motion on."""

    made_of: str  # what `made_of` gave when it was made
    first: int
    bones: np.ndarray  # (K,) numbers
    heads: np.ndarray  # (F, K, 3) float32
    turns: np.ndarray  # (F, K, 4) float32 w x y z


def played(motion: Motion, armature: bpy.types.Object, settings: motion_source.Settings) -> Motion:
    """The motion with the physics of its cache; as it is where there is none that fits."""
    troubles.pop(armature.name, None)
    if settings.physics is None:
        return motion
    cache = read(bpy.path.abspath(armature.mmdskin.physics_cache))
    if cache is None:
        trouble = tr("Not simulated yet: the preview shows the motion without physics")
    elif cache.made_of != made_of(motion, settings) or not _fits(cache, motion):
        trouble = tr("The files or settings have changed since: simulate again")
    else:
        return motion.with_poses(functools.partial(_posed, motion, cache))
    troubles[armature.name] = trouble
    return motion


def made_of(motion: Motion, settings: motion_source.Settings) -> str:
    """What a simulation depends on, as text."""
    files = [_digest(path, *_stat(path)) for path in (motion.rig.path, motion.path)]
    assert settings.physics is not None
    return " ".join(map(str, [_VERSION, *files, *map(int, settings.physics)]))


def moved_bones(pmx) -> np.ndarray:
    """(K,) numbers of the bones that bodies may move, and of those that follow them."""
    moved = {body.bone for body in pmx.rigid_bodies if body.mode != "follow_bone"} - {-1}
    while True:
        more = {
            number
            for number, bone in enumerate(pmx.bones)
            if number not in moved
            and (bone.parent in moved or (bone.append and bone.append.source in moved))
        }
        for number, bone in enumerate(pmx.bones):
            if bone.ik and moved & {number, bone.ik.target}:
                more |= {link.bone for link in bone.ik.links} - moved
        if not more:
            return np.array(sorted(moved), int)
        moved |= more


def places(pmx, bones: np.ndarray, matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heads and turns, as in Cache, of the bones' matrices (F, K, 4, 4)."""
    chosen = matrices.astype(np.float64)
    turned = np.einsum("fkij,kj->fki", chosen[..., :3, :3], _rest_heads(pmx, bones))
    turns = [quaternions.of(chosen[:, k, :3, :3]) for k in range(len(bones))]
    heads = turned + chosen[..., :3, 3]
    return heads.astype(np.float32), np.stack(turns, axis=1).astype(np.float32)


def write(path: str, cache: Cache) -> None:
    """Put the file in place; what was there stays where that fails."""
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(new, "xb") as file:
            np.savez(file, **cache._asdict())
        os.replace(new, path)
    except OSError as error:
        raise cache_files.unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(new)


def read(path: str) -> Cache | None:
    """The Cache of a file, None where there is none that can be read."""
    try:
        return _loaded(path, *_stat(path))
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


@functools.lru_cache(maxsize=8)
def _loaded(path, mtime, size):
    with np.load(path, allow_pickle=False) as found:
        cache = Cache(
            str(found["made_of"]),
            int(found["first"]),
            found["bones"].astype(int),
            found["heads"].astype(np.float32),
            found["turns"].astype(np.float32),
        )
    return cache if _is_sound(cache) else None


def _is_sound(cache):
    count, frames = len(cache.bones), len(cache.heads)
    return (
        frames > 0
        and cache.heads.shape == (frames, count, 3)
        and cache.turns.shape == (frames, count, 4)
        and bool(np.isfinite(cache.heads).all())
        and bool(np.isfinite(cache.turns).all())
    )


def _fits(cache, motion):
    bones = cache.bones
    return not len(bones) or (bones.min() >= 0 and bones.max() < len(motion.rig.pmx.bones))


def _posed(motion, cache, frames):
    """As `Motion.posed`."""
    matrices = motion.posed(frames)
    at = (frames - cache.first) * RATE
    chosen = np.flatnonzero(at >= 0)  # before the start nothing is simulated
    if len(chosen) and len(cache.bones):
        simulated = _matrices(motion.rig.pmx, cache, at[chosen])
        matrices[np.ix_(chosen, cache.bones)] = simulated
    return matrices


def _matrices(pmx, cache, at):
    """(F, K, 4, 4) at places of the cache, which may lie between two of them or past the last."""
    at = np.minimum(at, len(cache.heads) - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(cache.heads) - 1)
    share = (at - low)[:, None, None]
    heads = cache.heads[low] * (1 - share) + cache.heads[high] * share
    one, other = cache.turns[low].astype(np.float64), cache.turns[high]
    signs = np.where((one * other).sum(axis=-1, keepdims=True) < 0, -1, 1)
    turns = one * (1 - share) + other * signs * share
    rotations = quaternions.matrices(turns.reshape(-1, 4)).reshape(*turns.shape[:2], 3, 3)
    result = np.zeros((*turns.shape[:2], 4, 4), np.float32)
    result[..., :3, :3], result[..., 3, 3] = rotations, 1
    rests = _rest_heads(pmx, cache.bones)
    result[..., :3, 3] = heads - np.einsum("fkij,kj->fki", rotations, rests)
    return result


def _rest_heads(pmx, bones):
    return np.array([pmx.bones[bone].position for bone in bones], np.float64).reshape(-1, 3)


def _stat(path):
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=32)
def _digest(path, mtime, size):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
