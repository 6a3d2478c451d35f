# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation as a file beside the .blend: where physics has the bones, place after place in time.

Between these places bones are interpolated. The file says what it was made of, so that one which no
longer fits is not played; `troubles` are the sentences that the panel then shows.
"""

import contextlib
import functools
import hashlib
import os
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import bpy
import numpy as np

from .. import cache_files, motion_source, physics_settings, quaternions, setting_paths
from ..motion_source import Motion
from ..translations import tr

if TYPE_CHECKING:
    import mmdskin

RATE = 2  # places of each frame of the motion
ENDING = "_physics.npz"
_VERSION = 3

troubles: dict[str, str] = {}  # name of an armature: why its preview shows no physics


class Given(NamedTuple):
    """What bones and sliders held at each place: what is shown must be what was simulated."""

    still: np.ndarray  # (B, 7) float32: translation, rotation x y z w; of bones that do not move
    moving: np.ndarray  # (M,) numbers among these B: of the others
    locals: np.ndarray  # (F, M, 7) float32
    values: np.ndarray  # (F, V) float32 of sliders and switches


class Cache(NamedTuple):
    """Bones of the file's space, from frame `first` on."""

    made_of: str  # what it depends on, as text
    first: float
    rate: float  # places of each frame
    bones: np.ndarray  # (K,) numbers
    pivots: np.ndarray  # (K, 3) float32: a point of each bone, at rest
    points: np.ndarray  # (F, K, 3) float32: where it is
    turns: np.ndarray  # (F, K, 4) float32 w x y z
    given: Given | None = None  # None of a motion, which stands in `made_of`

    @property
    def last(self) -> float:
        return self.first + (len(self.points) - 1) / self.rate


def played(motion: Motion, armature: bpy.types.Object, settings: motion_source.Settings) -> Motion:
    """The motion with the physics of its cache; as it is where there is none that fits."""
    troubles.pop(armature.name, None)
    if settings.physics is None:
        return motion
    cache, trouble = of(armature)
    if cache is not None:
        if cache.made_of == made_of(motion, settings) and fits(cache, motion.rig.pmx):
            return motion.with_poses(functools.partial(_posed, motion, cache))
        trouble = changed()
    troubles[armature.name] = trouble
    return motion


def of(armature: bpy.types.Object) -> tuple[Cache | None, str]:
    """What was simulated for an armature object; where nothing can be read, the sentence why."""
    path = setting_paths.absolute(armature, "physics_cache")
    if not path:
        return None, tr("Not simulated yet: choose Simulate")
    found = read(path)
    if found is not None:
        return found, ""
    file = os.path.basename(path)
    if not os.path.exists(path):
        return None, tr("'{file}' is not there any more: simulate again", file=file)
    return None, tr("'{file}' cannot be read: simulate again", file=file)


def changed() -> str:
    return tr("The files or settings have changed since: simulate again")


def made_of(motion: Motion, settings: motion_source.Settings) -> str:
    """What a simulation depends on, as text."""
    files = [digest(path) for path in (motion.rig.path, motion.path)]
    assert settings.physics is not None
    return text(*files, *settings.physics)


def text(*parts: object) -> str:
    return " ".join(
        str(int(part) if isinstance(part, bool) else part) for part in (_VERSION, *parts)
    )


def digest(path: str) -> str:
    """Of what a file holds."""
    return _digest(path, *_stat(path))


def moved_bones(pmx: "mmdskin.Model") -> np.ndarray:
    """(K,) numbers of the bones that bodies may move, and of those that follow them."""
    moved = physics_settings.moved_bones(pmx)
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


def places(
    pmx: "mmdskin.Model", bones: np.ndarray, matrices: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pivots, points and turns, as in Cache, of the bones' matrices (F, K, 4, 4)."""
    pivots, chosen = _pivots(pmx, bones), matrices.astype(np.float64)
    points = np.einsum("fkij,kj->fki", chosen[..., :3, :3], pivots) + chosen[..., :3, 3]
    turns = [quaternions.of(chosen[:, k, :3, :3]) for k in range(len(bones))]
    return pivots, points.astype(np.float32), np.stack(turns, axis=1).astype(np.float32)


def _pivots(pmx, bones):
    """(K, 3) float32 of points that go straight from step to step.

    As bodies do: the middle of the one that moves a bone, or the bone from which it hangs. Bones
    that bodies only turn have their heads.
    """
    drivers = {body.bone: body for body in pmx.rigid_bodies if body.mode != "follow_bone"}
    moved, known = set(bones.tolist()), dict[int, tuple]()

    def hangs(number):
        bone = pmx.bones[number]
        return number not in drivers and bone.parent in moved and not bone.append

    def own(number):
        body, bone = drivers.get(number), pmx.bones[number]
        turns = body and body.mode == "physics_and_bone" and bone.parent not in drivers
        return body.position if body and not turns else bone.position

    for number in bones.tolist():
        path = [number]
        while path[-1] not in known and hangs(path[-1]):
            path.append(pmx.bones[path[-1]].parent)
        pivot = known[path[-1]] if path[-1] in known else own(path[-1])
        known.update(dict.fromkeys(path, pivot))
    return np.array([known[number] for number in bones.tolist()], np.float32).reshape(-1, 3)


def write(path: str, cache: Cache) -> None:
    """Put the file in place; what was there stays where that fails."""
    new = f"{path}.{os.getpid()}.new"
    fields = cache._asdict()
    given = fields.pop("given")
    fields |= given._asdict() if given else {}
    try:
        with open(new, "xb") as file:
            np.savez(file, **fields)
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
        given = None
        if "still" in found:
            names = ("still", "locals", "values")
            still, local, values = (found[name].astype(np.float32) for name in names)
            given = Given(still, found["moving"].astype(int), local, values)
        cache = Cache(
            str(found["made_of"]),
            float(found["first"]),
            float(found["rate"]),
            found["bones"].astype(int),
            found["pivots"].astype(np.float32),
            found["points"].astype(np.float32),
            found["turns"].astype(np.float32),
            given,
        )
    return cache if _is_sound(cache) else None


def _is_sound(cache):
    count, frames, given = len(cache.bones), len(cache.points), cache.given
    return (
        frames > 0
        and np.isfinite(cache.first)
        and 0 < cache.rate < np.inf
        and cache.pivots.shape == (count, 3)
        and cache.points.shape == (frames, count, 3)
        and cache.turns.shape == (frames, count, 4)
        and bool(np.isfinite(cache.pivots).all())
        and bool(np.isfinite(cache.points).all())
        and bool(np.isfinite(cache.turns).all())
        and (given is None or _is_sound_given(given, frames))
    )


def _is_sound_given(given, frames):
    return (
        given.still.shape == (len(given.still), 7)
        and _are_numbers(given.moving, len(given.still))
        and given.locals.shape == (frames, len(given.moving), 7)
        and given.values.shape == (frames, given.values.size // frames)
    )


def fits(cache: Cache, pmx: "mmdskin.Model") -> bool:
    """Whether the model has the bones."""
    return _are_numbers(cache.bones, len(pmx.bones))


def _are_numbers(numbers, count):
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < count)


def _posed(motion, cache, frames):
    """As `Motion.posed`."""
    matrices = motion.posed(frames)
    chosen = np.flatnonzero(frames >= cache.first)  # before the start nothing is simulated
    if len(chosen) and len(cache.bones):
        simulated = matrices_at(cache, frames[chosen])
        matrices[np.ix_(chosen, cache.bones)] = simulated
    return matrices


def matrices_at(cache: Cache, frames: np.ndarray) -> np.ndarray:
    """(F, K, 4, 4) of the cache's bones, at rest in time before its first frame and past its last."""
    at = np.clip((frames - cache.first) * cache.rate, 0, len(cache.points) - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(cache.points) - 1)
    share = (at - low)[:, None, None]
    points = cache.points[low] * (1 - share) + cache.points[high] * share
    one, other = cache.turns[low].astype(np.float64), cache.turns[high]
    signs = np.where((one * other).sum(axis=-1, keepdims=True) < 0, -1, 1)
    turns = one * (1 - share) + other * signs * share
    rotations = quaternions.matrices(turns.reshape(-1, 4)).reshape(*turns.shape[:2], 3, 3)
    result = np.zeros((*turns.shape[:2], 4, 4), np.float32)
    result[..., :3, :3], result[..., 3, 3] = rotations, 1
    result[..., :3, 3] = points - np.einsum("fkij,kj->fki", rotations, cache.pivots)
    return result


def _stat(path):
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=32)
def _digest(path, mtime, size):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
