# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a model that an export writes as they are: the scene's, and those of imported files.

What has not changed since the import is written from the file, key for key.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions
from ..blender.native import mmdskin
from ..import_motion import import_state, original_keys
from ..pose import motion_source, scene_motion
from ..scene import mmd_tools, sliders
from ..scene.names import PHYSICS
from . import linear_keys, original_tracks
from .original_tracks import OriginalKeys, OwnKeyframes, Place
from .samples import Sampler
from .timing import Timing

_ROTATIONS = {"QUATERNION": ("rotation_quaternion", 4), "AXIS_ANGLE": ("rotation_axis_angle", 4)}


class Bone(NamedTuple):
    """The keys of a bone of the scene."""

    keys: OriginalKeys
    track: "mmdskin.BoneTrack | None"  # of the file
    physics: np.ndarray  # (K,) bool


class Originals:
    """What stays; a subclass finds it. `whole` is the motion of the files, if there is one."""

    def __init__(self, whole: motion_source.Motion | None, timing: Timing) -> None:
        self._whole, self._timing = whole, timing
        self.bones: dict[int, Bone] = {}  # by index in the file
        self.morphs: dict[str, mmdskin.MorphTrack] = {}  # by name
        # Whether the scene has to be read frame by frame for other bones, and for other morphs.
        self.sampled = self.sampled_morphs = False
        self.properties: mmdskin.PropertyTrack | None = None  # of the files, None if they changed
        self.others: list[mmdskin.BoneTrack] = []  # of the files, for bones that the scene lacks
        self.name = ""  # of the model, in the file; "" if that is not one file

    def _is_on_frames(self, track: Any) -> bool:
        """Whether all keys of a track of the files are on frames of the export."""
        return self._timing.whole_frames_at(self._whole.scene_frames(track.frames)) is not None

    def _placed(self, track: Any) -> tuple[np.ndarray, np.ndarray]:
        """(K,) int64 frames of the export, and which are in its range: of several on one frame the last."""
        times = self._whole.scene_frames(track.frames)
        frames = np.rint(self._timing.frames_at(times)).astype(np.int64)
        inside = self._timing.covers(frames)
        inside[:-1] &= frames[1:] > frames[:-1]
        return frames, inside

    def _other_bones(self, known: set[str]) -> "Iterator[mmdskin.BoneTrack]":
        """The keys within the export of the files' bones that are not known."""
        for track in self._whole.motion.bones:
            frames, inside = self._placed(track)
            if track.name not in known and inside.any():
                columns = [None if column is None else column[inside] for column in track[2:]]
                yield type(track)(track.name, frames[inside], *columns)

    def _add_morph(self, track: "mmdskin.MorphTrack") -> None:
        """Keep the keys of the files within the export."""
        frames, _ = self._placed(track)
        within = self._timing.within(frames)
        weights = np.interp(within, frames, track.weights).astype(np.float32)
        self.morphs[track.name] = mmdskin.MorphTrack(track.name, within, weights)

    def _property_keys(self) -> "mmdskin.PropertyTrack":
        """Those of the files within the export; the state before it is a key at its start."""
        track, start = self._whole.motion.properties, self._timing.file_first
        frames, inside = self._placed(track)
        before = np.flatnonzero(frames < start)
        if len(before) and start not in frames:
            inside[before[-1]] = True
            frames[before[-1]] = start
        return type(track)(
            frames[inside], track.visible[inside], track.ik_names, track.ik_enabled[inside]
        )


class OfScene(Originals):
    """No keys of bones if anything besides an action and constraints moves them, like NLA strips."""

    def __init__(self, sampler: Sampler, timing: Timing) -> None:
        self._model, self._rig, armature = sampler.model, sampler.rig, sampler.model.armature
        self._own = OwnKeyframes(armature)
        files = [] if self._own.has_strips else original_keys.kept(armature, self._rig.pmx)
        keys = scene_motion.morphs_of_keys(self._rig.pmx, armature)
        motions = [
            motion_source.Motion(self._rig, file.motion, "", file.start, file.speed, keys)
            for file in files
        ]
        super().__init__(scene_motion.merged(motions) if motions else None, timing)
        self._expected = original_keys.curves_of(self._model, motions) if motions else {}
        self._own.expected = self._expected.get(armature, {})
        self.sampled = self._own.has_strips
        if not self._own.has_strips:
            self._find_bones()
        self._find_morphs()
        if self._whole is not None:
            known = {self._rig.pmx.bones[i].name for i in self._rig.bones.values()}
            self.others = list(self._other_bones(known))
            if self._keeps_switches():
                self.properties = self._property_keys()
        if len(files) == 1:
            self.name = files[0].motion.name

    def _find_bones(self) -> None:
        """The keys of each bone, and whether any bone has other animation or a pose of its own."""
        tracks = {track.name: track for track in self._whole.motion.bones} if self._whole else {}
        own = self._own
        keyed = own.curves.keys() | own.expected.keys()
        for name, number in self._rig.bones.items():
            bone = self._model.armature.pose.bones[name]
            channels = _channels(bone)
            track = tracks.get(self._rig.pmx.bones[number].name)
            if not own.alone_move(channels):
                self.sampled = True
            elif keyed.isdisjoint(channels):
                self.sampled |= not (np.array(bone.matrix_basis) == np.eye(4)).all()
            else:
                times = np.empty(0) if track is None else self._whole.scene_frames(track.frames)
                times = times.astype(np.float32)
                keys = original_tracks.match(own.pairs(channels), times, self._timing)
                if len(keys.frames):
                    self.bones[number] = Bone(keys, track, self._physics(bone, track, keys))

    def _physics(
        self, bone: bpy.types.PoseBone, track: "mmdskin.BoneTrack | None", keys: OriginalKeys
    ) -> np.ndarray:
        """(K,) bool whether rigid bodies move the bone at each key."""
        channel, own = (actions.property_path(bone.name, PHYSICS), 0), self._own
        is_keyed, is_on = own.points(channel) is not None, bool(bone.get(PHYSICS, True))
        switched = np.full(len(keys.times), is_on)
        if is_keyed:
            values = [own.curves[channel].evaluate(time) for time in keys.times.tolist()]
            switched = np.array(values) > 0.5
        kept = own.keeps([channel]) and (is_keyed or is_on)
        if kept and track is not None and track.physics is not None:
            switched = np.where(keys.of_file >= 0, track.physics[keys.of_file], switched)
        return switched

    def _keeps_switches(self) -> bool:
        """Whether the IK switches are still those of the files."""
        by_ik_bone = mmd_tools.by_ik_bone(self._model.armature)
        pairs = [pair for found in by_ik_bone.values() for pair in found]
        channels = [(actions.constraint_path(bone.name, one.name), 0) for bone, one in pairs]
        toggled = any(path.endswith(mmd_tools.TOGGLE) for path, _ in self._own.curves)
        muted = mmd_tools.has_muted_ik(self._model.armature)
        return not (toggled or muted) and self._own.keeps(channels)

    def _find_morphs(self) -> None:
        """The keys of morphs, and whether there are morphs whose keys cannot be MMD's: these are
        linear, as those of shape keys and sliders."""
        of_files = {track.name: track for track in self._whole.motion.morphs} if self._whole else {}
        channels = self._morph_channels()
        for name in of_files | channels:  # in the order of the files
            track, channel = of_files.get(name), channels.get(name)
            if channel is None or (
                track and channel.own.keeps([channel.place]) and self._is_on_frames(track)
            ):
                self._add_morph(track)
                continue
            keys = linear_keys.find([channel], self._timing)
            if keys is None:
                self.sampled_morphs = True
            elif keys.is_animated or channel.value:
                weights = keys.values[:, 0].astype(np.float32)
                self.morphs[name] = mmdskin.MorphTrack(name, keys.frames, weights)

    def _morph_channels(self) -> dict[str, linear_keys.LinearChannel]:
        """The shape key or slider of each morph."""
        armature, morphs = self._model.armature, self._rig.pmx.morphs
        found: dict[str, linear_keys.LinearChannel] = {}
        blocks = [
            OwnKeyframes(block, self._expected.get(block))
            for block in import_state.shape_keys(self._model)
        ]
        for number, key in scene_motion.keys_of_morphs(self._rig.pmx, armature):
            own = next((own for own in blocks if key in own.block.key_blocks), None)
            if own is not None:
                shown = own.block.key_blocks[key]
                value = 0.0 if shown.mute else shown.value
                place = actions.value_path(key), 0
                found.setdefault(morphs[number].name, linear_keys.LinearChannel(own, place, value))
        for morph, _, name in sliders.of_morphs(armature, self._rig.pmx):
            if name in armature:
                channel = linear_keys.LinearChannel(
                    self._own, (sliders.path(name), 0), float(armature[name])
                )
                found.setdefault(morph.name, channel)
        return found


def _channels(bone: bpy.types.PoseBone) -> list[Place]:
    """Of what moves and turns a bone."""
    paths = actions.bone_paths(bone.name)
    rotation, count = _ROTATIONS.get(bone.rotation_mode, ("rotation_euler", 3))
    sizes = {paths["location"]: 3, paths[rotation]: count}
    return [(path, index) for path, size in sizes.items() for index in range(size)]


class OfFile(Originals):
    """The keys of a motion file, as if the scene had all of them."""

    def __init__(self, sampler: Sampler, timing: Timing) -> None:
        file = sampler.motion
        super().__init__(file, timing)
        self.name, self.properties = file.motion.name, self._property_keys()
        indices = {bone.name: i for i, bone in reversed([*enumerate(file.rig.pmx.bones)])}
        self.others = list(self._other_bones({*indices}))
        for track in file.motion.bones:
            if not self._is_on_frames(track):
                self.sampled = True
            elif track.name in indices:
                times = file.scene_frames(track.frames).astype(np.float32)
                keys = original_tracks.match([], times, timing)
                rows = np.maximum(np.searchsorted(times, keys.times, "right") - 1, 0)
                self.bones[indices[track.name]] = Bone(keys, track, track.physics[rows])
        for morph in file.motion.morphs:
            if self._is_on_frames(morph):
                self._add_morph(morph)
            else:
                self.sampled_morphs = True
