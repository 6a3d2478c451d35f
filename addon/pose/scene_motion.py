# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion evaluated by mmdskin, with MMD's IK, for a model of the scene, in scene time.

Several motions are merged into the one that MMD has after loading them in order onto a model. From its
first key on, a motion replaces the tracks of the bones, morphs and IK switches that it keys; earlier keys
and all other tracks of earlier motions remain. Only the merged motion can be solved: if one motion moves
the hips and another the feet, IK bends the legs.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import bpy
import numpy as np
from bpy.types import Object
from numpy.typing import ArrayLike

from ..blender.evaluated_bones import Evaluation
from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..scene import mmd_tools, model_file, scene_model, sliders
from ..scene.names import unique

_Tracks = dict[str, tuple[np.ndarray, Sequence[np.ndarray]]]  # frames and columns of the keys

_SAME_TIME = 1e-6  # frames of the scene
_LAST = 2**32 - 1  # last frame that a motion can store


@dataclass(eq=False)
class Motion:
    """Without references to Blender data. Any threads may use it: it only remembers its last result."""

    rig: model_file.Rig
    motion: "mmdskin.Motion"
    path: str
    start: float  # scene frame that shows frame 0
    speed: float  # frames per scene frame
    keys: dict[str, int]  # from `morphs_of_keys`
    settings: Any = None  # of `motion_source`, if they name the file
    # Other poses, as by `posed`; a number that differs when they may have changed; and whether a viewport
    # shall not wait for those of a motion frame, but show the file's.
    poses: Callable[[np.ndarray], np.ndarray] | None = None
    changes: Callable[[], int] | None = None
    waits: Callable[[float], bool] | None = None

    # What a Solver has, too: the file alone moves bones.
    waits_for: ClassVar[Sequence[str]] = ()
    waits_for_rig: ClassVar[Sequence[str]] = ()
    acting_keys: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        self._flips, self._groups, self._ratios = _mixing(self.rig.pmx)
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

    def shown(self, now: Evaluation, keys: Mapping[str, float]) -> np.ndarray:
        """(B, 4, 4) float32 as `posed`, read-only; shape keys have no effect.

        Solved once for all objects that show the model in an evaluation.
        """
        state, mode = (now.frame, self.changes() if self.changes else 0), now.depsgraph.mode
        last = self._last.get(mode)
        if last is None or last[0] != state:
            frames = self.motion_frames(now.frame)
            seen = now.is_in_viewport and not bpy.app.background
            waits = seen and self.waits is not None and self.waits(frames[0])
            posed = (self._posed_by_file if waits else self.posed)(frames)[0]
            posed.flags.writeable = False
            last = self._last[mode] = state, posed
        return last[1]

    def posed(self, frames: np.ndarray) -> np.ndarray:
        """(F, B, 4, 4) float32 of all bones, for motion frames, in the file's space."""
        if self.poses is not None:
            return self.poses(frames)
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
            if self._weights is not None and self.poses is None:
                weights.append(self._weights[1])
        if weights:
            self._weights = frames, np.concatenate(weights)

    def without_key(self, names: Iterable[str]) -> list[int]:
        """The indices of vertex morphs that none of the named shape keys has."""
        found = {self.keys.get(name, -1) for name in names}
        morphs = enumerate(self.rig.pmx.morphs)
        return [i for i, morph in morphs if morph.kind == "vertex" and i not in found]

    def key_values(
        self, names: Sequence[str], frames: ArrayLike, held: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """(F, K) float32 values of the named shape keys, with groups and flips applied.

        `held`: those of unknown names. 0 for groups: their children have their effect.
        """
        weights = self.morph_weights(frames)
        numbers = [self.keys.get(name, -1) for name in names]
        values = weights[:, numbers] if weights.shape[1] else np.zeros((len(weights), len(names)))
        values[:, [number < 0 for number in numbers]] = 0
        known = np.array([name in self.keys for name in names], bool)
        return np.where(known, values, held).astype(np.float32)

    def morph_weights(self, frames: ArrayLike) -> np.ndarray:
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
        number = self.keys.get(name, -1)
        return number >= 0 and self.rig.pmx.morphs[number].name in self.motion.morphs

    def moved_morphs(self, numbers: Iterable[int]) -> list[str]:
        """The names of those of these morphs, by index, that the motion moves, also by others."""
        numbers = list(numbers)
        tracks = [track.frames for track in self.motion.morphs]
        if not numbers or not tracks:
            return []
        frames = self.scene_frames(np.unique(np.concatenate(tracks)))
        moved = np.flatnonzero(self.morph_weights(frames)[:, numbers].any(axis=0))
        return [self.rig.pmx.morphs[numbers[place]].name for place in moved]

    @property
    def flips(self) -> set[str]:
        """Names of the morphs that switch others: flips, and groups of flips."""
        return {self.rig.pmx.morphs[slider].name for slider, *_ in self._flips}

    def key_times(self) -> dict[str, np.ndarray]:
        """{shape key: (K,) scene frames at which the motion keys its morphs}.

        Its value is linear in between; only a flip (PMX 2.1) may jump.
        """
        tracks = {track.name: track.frames for track in self.motion.morphs}
        names = [morph.name for morph in self.rig.pmx.morphs]
        movers = [{name} for name in names]
        moved = [
            (i, np.flatnonzero(row)) for i, row in zip(self._groups, self._ratios, strict=True)
        ]
        for slider, children in [*moved, *((i, children) for i, _, children, _ in self._flips)]:
            for child in children:
                movers[child].add(names[slider])
        result = {}
        for key, number in self.keys.items():
            found = [tracks[name] for name in movers[number] if name in tracks]
            if number >= 0 and found:
                result[key] = self.scene_frames(np.unique(np.concatenate(found)))
        return result

    def _mixed(self, weights: np.ndarray) -> np.ndarray:
        """(F, M) sliders to the weights of vertex morphs: docs/mmd-behavior.md#morph-passes."""
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
    noted = sliders.of_morphs(armature, pmx)
    vertex = [i for i, morph in enumerate(morphs) if morph.kind == "vertex"]
    groups = [i for i, morph in enumerate(morphs) if morph.kind == "group"]
    if noted:
        pairs = [(one.key, i) for i, one in enumerate(noted) if one.key]
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


def keys_of_morphs(pmx: "mmdskin.Model", armature: Object) -> list[tuple[int, str]]:
    """The morphs of the file, by index, each with a shape key that shows it."""
    noted = sliders.of_morphs(armature, pmx)
    if noted:
        return [(i, one.key) for i, one in enumerate(noted) if one.key]
    return [(i, key) for key, i in morphs_of_keys(pmx, armature).items() if i >= 0]


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


# Merged motions


def merged(motions: Sequence[Motion]) -> Motion:
    """The motions of one armature, oldest first, merged into one in scene time."""
    if len(motions) == 1:
        return motions[0]
    start = min(math.floor(motion.start) for motion in motions)
    time_maps, speed = _time_maps(motions, start)
    bones, morphs, switches = _Tracks(), _Tracks(), _Tracks()
    for motion, (offset, factor) in zip(motions, time_maps, strict=True):

        def times(frames: np.ndarray, offset: int = offset, factor: int = factor) -> np.ndarray:
            return np.minimum(frames.astype(np.int64) * factor + offset, _LAST)

        for track in motion.motion.bones:
            _merge_keys(bones, track.name, times(track.frames), bone_columns(track))
        for morph in motion.motion.morphs:
            _merge_keys(morphs, morph.name, times(morph.frames), (morph.weights,))
        keys = motion.motion.properties
        for number, name in enumerate(keys.ik_names if len(keys.frames) else ()):
            _merge_keys(switches, name, times(keys.frames), (keys.ik_enabled[:, number],))
    whole = mmdskin.Motion.from_tracks(
        bones=[(name, frames, *columns) for name, (frames, columns) in bones.items()],
        morphs=[(name, frames, *columns) for name, (frames, columns) in morphs.items()],
        properties=_properties(switches),
    )
    return replace(motions[-1], motion=whole, start=start, speed=speed)


def bone_columns(track: "mmdskin.BoneTrack") -> list[np.ndarray]:
    """The columns of a bone's keys after their frames, also those that a track may lack."""
    count = len(track.frames)
    physics = np.ones(count, bool) if track.physics is None else track.physics
    stored = track.stored
    if stored is None:  # curves without bytes of their own, which differ from any that act
        rotations = np.ascontiguousarray(track.rotations, "<f4").view(np.uint8)
        stored = np.pad(rotations.reshape(count, 16), ((0, 0), (0, 64)))
    return [track.translations, track.rotations, track.interpolation, physics, stored]


def check_rate(whole: Motion, newest: Motion) -> None:
    """UserError if a merged motion cannot be simulated, because its frames are not those of a VMD."""
    if whole.speed != newest.speed:
        raise UserError(
            "Cannot merge motions with physics at this frame rate: turn Replace on, or"
            " set the frame rate to 30 fps"
        )


def _time_maps(motions: Sequence[Motion], start: int) -> tuple[list[tuple[int, int]], float]:
    """The first frame of each motion in the merged one, and how many frames one of its frames is
    there; and how many frames of the merged one a frame of the scene is."""
    speed = motions[-1].speed
    offsets = [(motion.start - start) * speed for motion in motions]
    same = all(motion.speed == speed for motion in motions)
    if same and all(abs(offset - round(offset)) < 1e-6 for offset in offsets):
        return [(round(offset), 1) for offset in offsets], speed
    rates = [Fraction(1 / motion.speed).limit_denominator(10_000) for motion in motions]
    ticks = math.lcm(*(rate.denominator for rate in rates))  # per frame of the scene
    pairs = zip(motions, rates, strict=True)
    return [(round((m.start - start) * ticks), int(rate * ticks)) for m, rate in pairs], ticks


def contributing(motions: Sequence[Motion]) -> list[Motion]:
    """The motions that still contribute: a later one may replace all tracks of an earlier one."""
    found: list[Motion] = []
    begun: dict[tuple, float] = {}
    for motion in reversed(motions):
        starts = _starts(motion)
        if any(first < begun.get(track, math.inf) for track, first in starts.items()):
            found.insert(0, motion)
        for track, first in starts.items():
            begun[track] = min(first, begun.get(track, math.inf))
    return found


def changed_from(earlier: Motion, newest: Motion) -> float:
    """The scene frame from which a motion changes the earlier one before its own start, or inf.

    Between a track's last earlier key and its first new one, MMD interpolates with the new key's
    curve. Without an earlier key, the new one also applies before its frame.
    """
    lost = {*newest.unmatched.bones, *newest.unmatched.morphs}
    tracks = [*earlier.motion.bones, *earlier.motion.morphs]
    known = {(type(track), track.name): earlier.scene_frames(track.frames) for track in tracks}
    found = []
    for track in (*newest.motion.bones, *newest.motion.morphs):
        if len(track.frames) and track.name not in lost:
            frames = known.get((type(track), track.name), np.empty(0))
            before = frames[frames < newest.scene_frames(track.frames[0]) - _SAME_TIME]
            if len(before):
                found.append(before[-1])
            elif not _starts_at_rest(track):
                found.append(earlier.scene_range[0])
    switches = newest.motion.properties
    if not len(earlier.motion.properties.frames) and not switches.ik_enabled[:1].all():
        found.append(earlier.scene_range[0])
    return min(found, default=math.inf)


def _starts_at_rest(track: Any) -> bool:
    """Whether the first key of a bone or morph equals its default."""
    if hasattr(track, "weights"):
        return track.weights[0] == 0
    return not track.translations[0].any() and not track.rotations[0, :3].any()


def _starts(motion: Motion) -> dict[tuple, float]:
    """{(kind, name): scene frame of the first key} of all tracks."""
    tracks = motion.motion
    keys = {(type(track), track.name): track.frames for track in (*tracks.bones, *tracks.morphs)}
    keys |= {(bool, name): tracks.properties.frames for name in tracks.properties.ik_names}
    return {key: motion.scene_frames(frames[0]) for key, frames in keys.items() if len(frames)}


def _merge_keys(
    tracks: _Tracks, name: str, frames: np.ndarray, columns: Sequence[np.ndarray]
) -> None:
    """Replace the keys of a track from the first frame of the new keys on."""
    if not len(frames):
        return
    if name in tracks:
        old_frames, old_columns = tracks[name]
        kept = old_frames < frames[0]
        columns = [
            np.concatenate([old[kept], new]) for old, new in zip(old_columns, columns, strict=True)
        ]
        frames = np.concatenate([old_frames[kept], frames])
    tracks[name] = frames, columns


def _properties(switches: _Tracks) -> "mmdskin.PropertyTrack":
    """Keys that each switch all IK bones; a bone without a key yet is on."""
    times = np.unique(np.concatenate([np.empty(0, np.int64), *(f for f, _ in switches.values())]))
    states = np.ones((len(times), len(switches)), bool)
    for state, (frames, (enabled,)) in zip(states.T, switches.values(), strict=True):
        last = np.searchsorted(frames, times, "right") - 1
        state[:] = np.where(last < 0, True, enabled[last])
    visible = np.ones(len(times), bool)
    return mmdskin.PropertyTrack(times, visible, tuple(switches), states)
