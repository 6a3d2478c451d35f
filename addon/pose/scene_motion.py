# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion evaluated by mmdskin, with MMD's IK, for a model of the scene, in scene time."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import bpy
import numpy as np
from bpy.types import Object
from numpy.typing import ArrayLike

from ..blender.evaluated_bones import Evaluation
from ..blender.native import mmdskin
from ..scene import mmd_tools, model_file, scene_model, sliders
from ..scene.names import unique


class Motion:
    """Without references to Blender data. Any threads may use it: it only remembers its last result."""

    # What a Solver has, too: the file alone moves bones.
    waits_for: Sequence[str] = ()
    waits_for_rig: Sequence[str] = ()
    acting_keys: frozenset[str] = frozenset()

    def __init__(
        self,
        rig: model_file.Rig,
        motion: "mmdskin.Motion",
        path: str,
        armature: Object,
        start: float,
        speed: float,
    ) -> None:
        self.rig = rig
        self._set(motion, path, start, speed)
        self._keys = morphs_of_keys(rig.pmx, armature)
        self._flips, self._groups, self._ratios = _mixing(rig.pmx)

    def with_poses(
        self,
        poses: Callable[[np.ndarray], np.ndarray],
        changes: Callable[[], int] | None = None,
        waits: Callable[[float], bool] | None = None,
    ) -> "Motion":
        """A copy with other poses: `poses` is like `posed`.

        `changes` returns another number when they may have changed, if they can; `waits` whether
        a viewport shall not wait for those of a motion frame, but show this motion's.
        """
        other = copy.copy(self)
        other._poses, other._changes, other._waits = poses, changes, waits
        other._last = {}
        return other

    def with_motion(
        self, motion: "mmdskin.Motion", path: str, start: float, speed: float
    ) -> "Motion":
        """The same model with another `mmdskin.Motion`."""
        other = copy.copy(self)
        other._set(motion, path, start, speed)
        return other

    def _set(self, motion: "mmdskin.Motion", path: str, start: float, speed: float) -> None:
        self.motion, self.path = motion, path
        self.start, self.speed = float(start), float(speed)
        self._poses: Callable[[np.ndarray], np.ndarray] | None = None
        self._changes: Callable[[], int] | None = None
        self._waits: Callable[[float], bool] | None = None
        self._last: dict[str, tuple[tuple, np.ndarray]] = {}  # by mode: input and result of `shown`
        # Motion frames that were posed last, and their weights of morphs, with groups and flips applied.
        self._weights: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def unmatched(self) -> "mmdskin.Unmatched":
        """Names that the motion keys but the model lacks: (bones, morphs, ik)."""
        return self.motion.unmatched(self.rig.pmx)

    @property
    def moves_bones(self) -> bool:
        return len(self.motion.bones) > len(self.unmatched.bones)

    @property
    def is_pose(self) -> bool:
        """Whether the file is a single pose, a VPD."""
        return self.path.lower().endswith(".vpd")

    @property
    def scene_range(self) -> tuple[float, float]:
        """(first, last) scene frame of the motion, floats."""
        return tuple(self.scene_frames(self.motion.frame_range).tolist())

    def motion_frames(self, frames: ArrayLike) -> np.ndarray:
        """(F,) float64 motion frames for scene frames."""
        return (np.atleast_1d(np.asarray(frames, np.float64)) - self.start) * self.speed

    def scene_frames(self, frames: ArrayLike) -> np.ndarray:
        """(F,) float64 scene frames for motion frames."""
        return self.start + np.asarray(frames, np.float64) / self.speed

    def matrices(self, bones: Sequence[str], frames: ArrayLike) -> np.ndarray:
        """(F, B, 4, 4) float32 from rest to pose of the named scene bones, in armature space.

        A bone that the file lacks moves with its parent.
        """
        return self.rig.matrices(self.posed(self.motion_frames(frames)), bones)

    def shown(self, now: Evaluation, keys: Mapping[str, float]) -> np.ndarray:
        """(B, 4, 4) float32 as `posed`, read-only; shape keys have no effect.

        Solved once for all objects that show the model in an evaluation.
        """
        state, mode = (now.frame, self._changes() if self._changes else 0), now.depsgraph.mode
        last = self._last.get(mode)
        if last is None or last[0] != state:
            frames = self.motion_frames(now.frame)
            seen = now.is_in_viewport and not bpy.app.background
            waits = seen and self._waits is not None and self._waits(frames[0])
            posed = (self._posed_by_file if waits else self.posed)(frames)[0]
            posed.flags.writeable = False
            last = self._last[mode] = state, posed
        return last[1]

    def posed(self, frames: np.ndarray) -> np.ndarray:
        """(F, B, 4, 4) float32 of all bones, for motion frames, in the file's space."""
        if self._poses is not None:
            return self._poses(frames)
        return self._posed_by_file(frames)

    def _posed_by_file(self, frames: np.ndarray) -> np.ndarray:
        pose = self.rig.pmx.pose(self.motion, frames)
        self._weights = frames, self._mixed(pose.morph_weights)
        return pose.bone_matrices

    def posed_in_parts(self, frames: np.ndarray, size: int) -> Iterator[tuple[slice, np.ndarray]]:
        """`posed`, so many frames at a time: each part of the frames with its matrices."""
        weights = []
        for start in range(0, len(frames), size):
            part = slice(start, start + size)
            yield part, self.posed(frames[part])
            if self._weights is not None and self._poses is None:
                weights.append(self._weights[1])
        if weights:
            self._weights = frames, np.concatenate(weights)

    def without_key(self, names: Iterable[str]) -> list[int]:
        """The indices of vertex morphs that none of the named shape keys has."""
        found = {self._keys.get(name, -1) for name in names}
        morphs = enumerate(self.rig.pmx.morphs)
        return [i for i, morph in morphs if morph.kind == "vertex" and i not in found]

    def known_keys(self, names: Sequence[str]) -> np.ndarray:
        """(K,) bool: whether the model has a morph for each of these shape keys."""
        return np.array([name in self._keys for name in names], bool)

    def key_values(self, names: Sequence[str], frames: ArrayLike) -> np.ndarray:
        """(F, K) float32 values of the named shape keys, with groups and flips applied.

        0 for unknown names, and for groups: their children have their effect.
        """
        weights = self._morph_weights(frames)
        numbers = [self._keys.get(name, -1) for name in names]
        values = weights[:, numbers] if weights.shape[1] else np.zeros((len(weights), len(names)))
        values[:, [number < 0 for number in numbers]] = 0
        return values.astype(np.float32)

    def morph_values(self, numbers: list[int], frames: np.ndarray) -> np.ndarray:
        """(F, N) float32 weights of morphs, by index, with groups and flips applied."""
        return self._morph_weights(frames)[:, numbers]

    def _morph_weights(self, frames: ArrayLike) -> np.ndarray:
        """(F, M) float32 weights of all morphs for scene frames, with groups and flips applied; read-only.

        Whoever asks has usually posed the same frames before.
        """
        times = self.motion_frames(frames)
        known = self._weights
        if known is None or not np.array_equal(known[0], times):
            pose = self.rig.pmx.pose(self.motion, times, ik=False)
            known = self._weights = times, self._mixed(pose.morph_weights)
        return known[1]

    def has_bone_track(self, name: str) -> bool:
        """Whether the motion keys the named scene bone."""
        return self.rig.pmx.bones[self.rig.bones[name]].name in self.motion.bones

    def has_key_track(self, name: str) -> bool:
        """Whether the motion keys the morph of the named shape key."""
        number = self._keys.get(name, -1)
        return number >= 0 and self.rig.pmx.morphs[number].name in self.motion.morphs

    def moved_morphs(self, numbers: Iterable[int]) -> list[str]:
        """The names of those of these morphs, by index, that the motion moves, also by others."""
        numbers = list(numbers)
        tracks = [track.frames for track in self.motion.morphs]
        if not numbers or not tracks:
            return []
        frames = self.scene_frames(np.unique(np.concatenate(tracks)))
        moved = np.flatnonzero(self.morph_values(numbers, frames).any(axis=0))
        return [self.rig.pmx.morphs[numbers[place]].name for place in moved]

    @property
    def flips(self) -> set[str]:
        """Names of the morphs that switch others: flips, and groups of flips."""
        return {self.rig.pmx.morphs[slider].name for slider, *_ in self._flips}

    def key_times(self) -> dict[str, np.ndarray]:
        """{shape key: (K,) scene frames at which the motion keys its morphs}.

        Its value is linear in between; only a flip (PMX 2.1) may jump.
        """
        morphs = self.rig.pmx.morphs
        tracks = {track.name: track.frames for track in self.motion.morphs}
        movers = [{morph.name} for morph in morphs]
        for group, ratios in zip(self._groups, self._ratios, strict=True):
            for child in np.flatnonzero(ratios):
                movers[child].add(morphs[group].name)
        for slider, _, children, _ in self._flips:
            for child in children:
                movers[child].add(morphs[slider].name)
        result = {}
        for key, number in self._keys.items():
            found = [tracks[name] for name in movers[number] if name in tracks]
            if number >= 0 and found:
                result[key] = self.scene_frames(np.unique(np.concatenate(found)))
        return result

    def _mixed(self, weights: np.ndarray) -> np.ndarray:
        """(F, M) sliders to the weights of vertex morphs.

        The passes of docs/mmd-behavior.md#morph-passes.
        """
        for slider, ratio, children, values in self._flips:
            step = (len(children) + 1) * weights[:, slider] * ratio
            acts = np.flatnonzero(step >= 1)
            child = np.minimum(step[acts], len(children)).astype(np.intp) - 1
            weights[acts, children[child]] = values[child]
        if len(self._groups):
            weights += np.einsum("fg,gm->fm", weights[:, self._groups], self._ratios)
        return weights


def morphs_of_keys(pmx: "mmdskin.Model", armature: Object) -> dict[str, int]:
    """{shape key: its vertex morph}, or -1 for a group, which acts through others.

    In order of reliability: our importer's data, else the file's names; then mmd_tools' list, which
    is updated when a key is renamed; then the file's English names.
    """
    morphs = pmx.morphs
    noted = sliders.keys(armature)
    vertex = [i for i, morph in enumerate(morphs) if morph.kind == "vertex"]
    groups = [i for i, morph in enumerate(morphs) if morph.kind == "group"]
    if len(noted) == len(morphs):
        pairs = [(key, i) for i, key in enumerate(noted) if key]
    else:
        names = unique(morphs[i].name for i in vertex)
        pairs = [*zip(names, vertex, strict=True), *((morphs[i].name, i) for i in groups)]
    listed = mmd_tools.vertex_morphs(scene_model.root_of(armature))
    if len(listed) == len(vertex):
        pairs += [
            (key, i)
            for (key, english), i in zip(listed, vertex, strict=True)
            if english == morphs[i].name_english
        ]
    english = [i for i in (*vertex, *groups) if morphs[i].name_english]
    names = unique(morphs[i].name_english for i in english)
    pairs += zip(names, english, strict=True)
    return {key: i if morphs[i].kind == "vertex" else -1 for key, i in reversed(pairs)}


def _mixing(pmx: "mmdskin.Model") -> tuple:
    """Morphs that act through others: flips in order of effect, groups, and their ratios (G, M)."""
    morphs, flips, groups = pmx.morphs, [], []
    for i, morph in enumerate(morphs):
        if morph.kind == "flip" and len(morph.indices):
            flips.append((i, np.float32(1), morph.indices, morph.values[:, 0]))
        if morph.kind != "group":
            continue
        groups.append(i)
        for child, ratio in zip(morph.indices, morph.values[:, 0], strict=True):
            if morphs[child].kind == "flip" and len(morphs[child].indices):
                flips.append((i, ratio, morphs[child].indices, morphs[child].values[:, 0]))
    ratios = np.zeros((len(groups), len(morphs)), np.float32)
    for row, i in zip(ratios, groups, strict=True):
        np.add.at(row, morphs[i].indices, morphs[i].values[:, 0])
    ratios[:, [morph.kind in {"group", "flip"} for morph in morphs]] = 0
    return flips, groups, ratios
