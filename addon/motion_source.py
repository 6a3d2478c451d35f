# SPDX-License-Identifier: GPL-3.0-or-later
"""A VMD or VPD evaluated by mmdskin, with MMD's own IK, for a model of the scene."""

import copy
import os
from collections.abc import Callable
from typing import NamedTuple

import bpy
import numpy as np

from . import file_pose, model_file, physics_settings, setting_paths
from .user_error import UserError

# The properties of a model, and of operators, that Settings are read from.
PROPERTIES = ("source", "model_path", "motion_path", "motion_start", "motion_real_time")
_FRAMES_PER_SECOND = 30  # of every VMD


class Settings(NamedTuple):
    """Which motion moves a model, and how it lies on the scene's time."""

    model_path: str  # may be empty: the file that the armature came from is looked for
    motion_path: str
    start: float = 1.0  # frame of the scene that shows frame 0
    real_time: bool = True  # 30 frames of the motion a second, else one per frame of the scene
    fps: float = 30.0  # of the scene
    physics: physics_settings.Settings | None = None  # None where nothing is simulated


def settings_of(
    armature: bpy.types.Object, scene: bpy.types.Scene, given: dict | None = None
) -> Settings | None:
    """The Settings of a model, None where no file moves it.

    `given`: properties, by name, that go before the model's own.
    """
    own, given = armature.mmdskin, given or {}
    values = {name: given.get(name, getattr(own, name)) for name in PROPERTIES}
    if values["source"] != "MOTION":
        return None
    return Settings(
        setting_paths.absolute(armature, "model_path", given),
        setting_paths.absolute(armature, "motion_path", given),
        values["motion_start"],
        values["motion_real_time"],
        scene.render.fps / scene.render.fps_base,
        physics_settings.of(own, given),
    )


def open(armature: bpy.types.Object, settings: Settings) -> "Motion":
    """The Motion that Settings mean for an armature object."""
    if not settings.motion_path:
        raise UserError("No motion is chosen: choose a .vmd or .vpd")
    rate = speed(settings)
    path = bpy.path.abspath(settings.motion_path)
    rig = model_file.rig(armature, settings.model_path)
    motion = model_file.load_motion(path)
    unmatched = motion.unmatched(rig.pmx)
    moved = len(motion.bones) + len(motion.morphs)
    if moved == len(unmatched.bones) + len(unmatched.morphs):
        name = os.path.basename(path)
        if moved:
            raise UserError(
                "'{file}' moves no bone and no morph of '{name}'",
                file=name,
                name=armature.name,
            )
        raise UserError("'{file}' moves no model: it has no key of a bone or morph", file=name)
    return Motion(rig, motion, path, armature, settings.start, rate)


def speed(settings: Settings) -> float:
    """Frames of the motion for one of the scene."""
    if not settings.real_time:
        return 1.0
    if not settings.fps > 0:
        raise UserError("The scene has {fps} frames per second", fps=settings.fps)
    return _FRAMES_PER_SECOND / settings.fps


class Motion:
    """Never changes, knows nothing of Blender: any thread may use it, several at once."""

    def __init__(self, rig, motion, path, armature, start, speed):
        self.rig = rig
        self._set(motion, path, start, speed)
        self._placement = file_pose.Placement(rig, armature)
        self._keys = _keys(rig.pmx, armature)
        self._flips, self._groups, self._ratios = _mixing(rig.pmx)

    def with_poses(self, poses: Callable[[np.ndarray], np.ndarray]) -> "Motion":
        """The same with bones elsewhere: `poses` is as `posed`."""
        other = copy.copy(self)
        other._poses = poses
        return other

    def with_motion(self, motion, path, start, speed):
        """The same model moved by another `mmdskin.Motion`."""
        other = copy.copy(self)
        other._set(motion, path, start, speed)
        return other

    def _set(self, motion, path, start, speed):
        self.motion, self.path = motion, path
        self.start, self.speed = float(start), float(speed)
        self._bone_tracks = {track.name for track in motion.bones}
        self._morph_tracks = {track.name for track in motion.morphs}
        self._poses = None

    @property
    def unmatched(self):
        """Names that the motion has keys for and the model lacks: (bones, morphs, ik)."""
        return self.motion.unmatched(self.rig.pmx)

    @property
    def moves_bones(self):
        return len(self.motion.bones) > len(self.unmatched.bones)

    @property
    def is_pose(self):
        """Whether the file is a single pose, a VPD."""
        return self.path.lower().endswith(".vpd")

    @property
    def scene_range(self):
        """(first, last) scene frame of the motion, floats."""
        return tuple(self.scene_frames(self.motion.frame_range).tolist())

    def motion_frames(self, frames):
        """(F,) float64 of the motion for frames of the scene."""
        return (np.atleast_1d(np.asarray(frames, np.float64)) - self.start) * self.speed

    def scene_frames(self, frames):
        """(F,) float64 of the scene for frames of the motion."""
        return self.start + np.asarray(frames, np.float64) / self.speed

    def matrices(self, bones, frames):
        """(F, B, 4, 4) float32 from rest to pose of the named scene bones, in armature space.

        A bone that the file does not know moves with its parent.
        """
        return self._placement.matrices(self.posed(self.motion_frames(frames)), bones)

    def posed(self, frames):
        """(F, B, 4, 4) float32 of all bones, for frames of the motion, in the file's space."""
        if self._poses is not None:
            return self._poses(frames)
        return self.rig.pmx.pose(self.motion, frames).bone_matrices

    def known_keys(self, names):
        """(K,) bool: whether the model has a morph of this name that shape keys stand for."""
        return np.array([name in self._keys for name in names], bool)

    def key_values(self, names, frames):
        """(F, K) float32 values of the named shape keys; groups and flips have acted.

        0 for names that are not known, and for groups: their children carry them.
        """
        pose = self.rig.pmx.pose(self.motion, self.motion_frames(frames), ik=False)
        weights = self._mixed(pose.morph_weights)
        numbers = [self._keys.get(name, -1) for name in names]
        values = weights[:, numbers] if weights.shape[1] else np.zeros((len(weights), len(names)))
        values[:, [number < 0 for number in numbers]] = 0
        return values.astype(np.float32)

    def morph_values(self, numbers, frames):
        """(F, N) float32 of what morphs, by number, act by; groups and flips have acted."""
        pose = self.rig.pmx.pose(self.motion, self.motion_frames(frames), ik=False)
        return self._mixed(pose.morph_weights)[:, numbers]

    def has_bone_track(self, name):
        """Whether the motion has keys for the named scene bone."""
        return self.rig.pmx.bones[self.rig.bones[name]].name in self._bone_tracks

    def has_key_track(self, name):
        """Whether the motion has keys for the morph of the named shape key."""
        number = self._keys.get(name, -1)
        return number >= 0 and self.rig.pmx.morphs[number].name in self._morph_tracks

    @property
    def flips(self):
        """{name} of the morphs that switch others: flips, and groups of them."""
        return {self.rig.pmx.morphs[slider].name for slider, *_ in self._flips}

    def key_times(self):
        """{shape key: (K,) frames of the scene at which the motion has keys for what moves it}.

        Its value goes straight between them; only a flip (PMX 2.1) may jump there.
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

    def _mixed(self, weights):
        """(F, M) sliders as the weights by which vertex morphs act.

        The passes of docs/mmd-behaviour.md#morph-passes.
        """
        for slider, ratio, children, values in self._flips:
            step = (len(children) + 1) * weights[:, slider] * ratio
            acts = np.flatnonzero(step >= 1)
            child = np.minimum(step[acts], len(children)).astype(np.intp) - 1
            weights[acts, children[child]] = values[child]
        if len(self._groups):
            weights += np.einsum("fg,gm->fm", weights[:, self._groups], self._ratios)
        return weights


def _keys(pmx, armature):
    """Shape key: its vertex morph, or -1 for a group, which acts through others.

    Of all that knows a key's name the surest comes first: what our importer noted, else the file's
    names; then mmd_tools' list, which follows when it renames a key; then the file's English names.
    """
    morphs = pmx.morphs
    noted = model_file.morph_keys(armature)
    vertex = [i for i, morph in enumerate(morphs) if morph.kind == "vertex"]
    groups = [i for i, morph in enumerate(morphs) if morph.kind == "group"]
    if len(noted) == len(morphs):
        pairs = [(key, i) for i, key in enumerate(noted) if key]
    else:
        names = model_file.unique_names(morphs[i].name for i in vertex)
        pairs = [*zip(names, vertex, strict=True), *((morphs[i].name, i) for i in groups)]
    listed = model_file.listed_morphs(armature)
    if len(listed) == len(vertex):
        pairs += [
            (key, i)
            for (key, english), i in zip(listed, vertex, strict=True)
            if english == morphs[i].name_english
        ]
    english = [i for i in (*vertex, *groups) if morphs[i].name_english]
    names = model_file.unique_names(morphs[i].name_english for i in english)
    pairs += zip(names, english, strict=True)
    return {key: i if morphs[i].kind == "vertex" else -1 for key, i in reversed(pairs)}


def _mixing(pmx):
    """What acts through other morphs: flips in order of effect, groups, and their ratios (G, M)."""
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
