# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation in a file next to the .blend: the poses of simulated bones at sample times.

Poses are interpolated between samples. The file stores a digest of its inputs, so that an outdated
file is not played; the panel then shows the reason.
"""

import contextlib
import dataclasses
import functools
import os
import zipfile
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Object

from ..blender import actions, blender_versions, cache_files, caches, file_access
from ..blender.native import mmdskin
from ..blender.translations import Sentence
from ..pose import physics_settings, quaternions
from ..scene import setting_paths
from . import dependencies

ENDING = "_physics.npz"


@dataclasses.dataclass
class PlaybackState:
    """Whether MMD Skinning plays the simulation of an armature object."""

    problem: object = ""  # the sentence why it is not played
    mixing: str | None = None  # how its actions are blended, if it depends on keyframes
    changes: int = 0  # incremented when keys may have changed
    moves: bool = True  # whether the model has rigid bodies that move bones

    @property
    def problem_text(self) -> str:
        return str(self.problem)


# By `identity` of the armature object.
states: caches.Cache[PlaybackState] = caches.of_file(survives_undo=True)


class PoseInputs(NamedTuple):
    """Input values of bones and sliders at each sample: the current pose must match them."""

    still: np.ndarray  # (B, 7) float32: translation, rotation x y z w of bones that do not move
    moving: np.ndarray  # (M,) indices, among these B, of moving bones
    locals: np.ndarray  # (F, M, 7) float32
    values: np.ndarray  # (F, V) float32 values of sliders and switches


class Cache(NamedTuple):
    """Simulated bones in the file's space, from frame `first` on."""

    fingerprint: str  # of its inputs
    first: float
    rate: float  # samples per frame
    bones: np.ndarray  # (K,) bone indices
    pivots: np.ndarray  # (K, 3) float32: the pivot of each bone, at rest
    points: np.ndarray  # (F, K, 3) float32: the position of the pivot
    turns: np.ndarray  # (F, K, 4) float32 w x y z
    inputs: PoseInputs | None = None  # None for a motion, which is part of the fingerprint

    @property
    def last(self) -> float:
        return self.first + (len(self.points) - 1) / self.rate


def state_of(armature: Object) -> PlaybackState:
    return states.setdefault(blender_versions.identity(armature), PlaybackState())


def has_physics(armature: Object, settings: Any, pmx: "mmdskin.Model") -> bool:
    """Whether physics is enabled in the settings of a pose source, and rigid bodies move bones."""
    state = state_of(armature)
    state.moves = settings.physics is None or bool(physics_settings.moved_bones(pmx))
    state.problem = (
        "" if state.moves else Sentence("This model has no rigid bodies that move bones")
    )
    return settings.physics is not None and state.moves


def read_for(armature: Object) -> tuple[Cache | None, object]:
    """The simulation of an armature object, or the reason why there is none."""
    path = setting_paths.absolute(armature, "physics_cache")
    if not path:
        return None, Sentence("Not simulated yet: use Simulate")
    with contextlib.suppress(
        OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile
    ):
        found = _loaded(path, *_stat(path))
        if found is not None:
            return found, ""
    file = os.path.basename(path)
    if not file_access.exists(path):
        return None, Sentence("'{file}' no longer exists: simulate again", file=file)
    return None, Sentence("'{file}' cannot be read: simulate again", file=file)


def version_of(armature: Object) -> tuple | None:
    """What changes with the file of an armature object's simulation; None if there is none."""
    path = setting_paths.absolute(armature, "physics_cache")
    try:
        return (path, *_stat(path)) if path else None
    except (OSError, ValueError):
        return None


def mixing(armature: Object) -> str:
    """How the actions of an armature object are blended."""
    return actions.mixing(armature.animation_data) if armature.animation_data else ""


def of_samples(
    fingerprint: str, pmx: "mmdskin.Model", samples: list[tuple], first: float, rate: float
) -> Cache:
    """The Cache of an `Inputs.sample` for each place of a simulation; of the matrices alone for a motion."""
    matrices, *pose = (np.array(column) for column in zip(*samples, strict=True))
    bones, matrices = dependencies.moved_bones(pmx), matrices.astype(np.float64)
    pivots = _pivots(pmx, bones)
    points = np.einsum("fkij,kj->fki", matrices[..., :3, :3], pivots) + matrices[..., :3, 3]
    found = [quaternions.from_matrices(matrices[:, k, :3, :3]) for k in range(len(bones))]
    turns = np.stack(found, axis=1).astype(np.float32)
    inputs = _pose_inputs(*pose) if pose else None
    return Cache(fingerprint, first, rate, bones, pivots, points.astype(np.float32), turns, inputs)


def _pose_inputs(locals_: np.ndarray, values: np.ndarray) -> PoseInputs:
    """The PoseInputs of all samples: (F, B, 7) and (F, V)."""
    turns = locals_[..., 3:]
    turns[1:] *= np.cumprod(signs(turns[:-1], turns[1:]), axis=0)
    moving = np.flatnonzero((locals_ != locals_[:1]).any(axis=(0, 2)))
    return PoseInputs(locals_[0], moving, locals_[:, moving], values)


def signs(ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(…, 1) signs by which quaternions are neighbors."""
    return np.where((ones * others).sum(axis=-1, keepdims=True) < 0, -1, 1).astype(np.float32)


def _pivots(pmx: "mmdskin.Model", bones: np.ndarray) -> np.ndarray:
    """(K, 3) float32 of pivots that move linearly from step to step.

    The center of the rigid body that moves a bone, or of its parent body. Bones that bodies only
    rotate use their heads.
    """
    drivers = {body.bone: body for body in pmx.rigid_bodies if body.mode != "follow_bone"}
    moved, pivots = set(bones.tolist()), []
    for number in bones.tolist():
        bone = pmx.bones[number]
        while number not in drivers and bone.parent in moved and not bone.append:
            number, bone = bone.parent, pmx.bones[bone.parent]
        body = drivers.get(number)
        turns = body and body.mode == "physics_and_bone" and bone.parent not in drivers
        pivots.append(body.position if body and not turns else bone.position)
    return np.array(pivots, np.float32).reshape(-1, 3)


def write(first: str, own: str, cache: Cache) -> str:
    """Write a file and return its path: `own`, the armature's previous file, if `first` is its name;
    else `first`, or the next number that is free. On failure nothing has changed."""
    replaces = bool(own) and cache_files.is_of(first, own)
    path = own if replaces else first
    fields = cache._asdict()
    inputs = fields.pop("inputs")
    fields["made_of"] = fields.pop("fingerprint")  # as in files of 0.1
    fields |= inputs._asdict() if inputs else {}
    with cache_files.writing(path), contextlib.closing(mmdskin.new_file.NewFile(path)) as new:
        np.savez(new.file, **fields)
        new.finish()
        if replaces:
            new.replace()
            return path
        return cache_files.place(new)


@functools.lru_cache(maxsize=8)
def _loaded(path: str, mtime: int, size: int) -> Cache | None:
    """The Cache in a file, None if it is not valid."""
    with np.load(path, allow_pickle=False) as found:
        inputs = None
        if "still" in found:
            names = ("still", "locals", "values")
            still, local, values = (found[name].astype(np.float32) for name in names)
            inputs = PoseInputs(still, found["moving"].astype(int), local, values)
        names = ("pivots", "points", "turns")
        pivots, points, turns = (found[name].astype(np.float32) for name in names)
        first, rate = float(found["first"]), float(found["rate"])
        bones = found["bones"].astype(int)
        cache = Cache(str(found["made_of"]), first, rate, bones, pivots, points, turns, inputs)
    return cache if _is_valid(cache) else None


def _is_valid(cache: Cache) -> bool:
    count, frames, inputs = len(cache.bones), len(cache.points), cache.inputs
    shapes = {"pivots": (count, 3), "points": (frames, count, 3), "turns": (frames, count, 4)}
    is_valid = (
        frames > 0
        and 0 < cache.rate < np.inf
        and all(getattr(cache, name).shape == shape for name, shape in shapes.items())
        and all(np.isfinite(getattr(cache, name)).all() for name in ("first", *shapes))
    )
    if inputs is None or not is_valid:
        return is_valid
    return (
        inputs.still.shape == (len(inputs.still), 7)
        and are_numbers(inputs.moving, len(inputs.still))
        and inputs.locals.shape == (frames, len(inputs.moving), 7)
        and inputs.values.shape == (frames, inputs.values.size // frames)
    )


def are_numbers(numbers: np.ndarray, count: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < count)


def matrices_at(cache: Cache, frames: np.ndarray) -> np.ndarray:
    """(F, K, 4, 4) of the cache's bones, constant before the first frame and after the last."""
    at = np.clip((frames - cache.first) * cache.rate, 0, len(cache.points) - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(cache.points) - 1)
    share = (at - low)[:, None, None]
    points = cache.points[low] * (1 - share) + cache.points[high] * share
    one, other = cache.turns[low].astype(np.float64), cache.turns[high]
    turns = one * (1 - share) + other * signs(one, other) * share
    rotations = quaternions.matrix_rows(turns.transpose(2, 0, 1)).transpose(2, 3, 0, 1)
    result = np.zeros((*turns.shape[:2], 4, 4), np.float32)
    result[..., :3, :3], result[..., 3, 3] = rotations, 1
    result[..., :3, 3] = points - np.einsum("fkij,kj->fki", rotations, cache.pivots)
    return result


def _stat(path: str) -> tuple[int, int]:
    found = file_access.check(path)
    return found.st_mtime_ns, found.st_size
