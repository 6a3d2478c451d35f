# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a model's own keys: those of the file where nothing changed, the scene's elsewhere,
and more between them where MMD's curves would differ from Blender's by more than the tolerance.

Or of a motion file that animates the model: the file's own keys, and fitted ones where the export
cuts them or its frames are not the file's.
"""

from typing import Any

import numpy as np

from ..blender.native import mmdskin
from ..import_motion.bezier import STRAIGHT
from ..operator_base.modal_job import Steps
from ..pose import merge, motion_source, physics_settings
from ..scene import scene_model
from . import originals
from .original_tracks import OriginalKeys, joined
from .samples import Fitted, ModelFit, Samples, local_values, property_track
from .timing import Timing


class AsKeyed(ModelFit):
    """`found` and `morphs` are the keys that stay; `properties` those of the files, None if they changed."""

    def __init__(
        self,
        pmx: "mmdskin.Model",
        timing: Timing,
        options: Any,
        found: originals.Originals,
        morphs: originals.Morphs,
        properties: "mmdskin.PropertyTrack | None",
    ) -> None:
        super().__init__(pmx, timing, options)
        self._found, self._morphs, self._properties = found, morphs, properties
        self._has_properties = options.switches or options.visibility
        self.off_frames = found.off_frames
        self.needs_frames = (
            found.sampled
            or not all(bone.keys.complete for bone in found.bones.values())
            or (options.morphs and morphs.sampled)
            or (self._has_properties and properties is None)
        )

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        bones, morphs = self._bone_tracks(samples), dict(self._morphs.tracks)
        worst, notes, track = 0.0, (), self._properties
        if samples is not None:
            if track is None:
                track = property_track(
                    self._pmx, self._timing.file_frames, samples.visible, samples.ik
                )
            like = mmdskin.Motion.from_tracks(bones=bones.values(), properties=track)
            fitted, report = yield from self.of_locals(self._values(like, samples), like)
            worst, notes = report.worst, report.notes
            if self._morphs.sampled:
                morphs = {one.name: one for one in fitted.morphs} | morphs
            found = {one.name: one for one in fitted.bones}
            for number, bone in self._found.bones.items():
                name = self._pmx.bones[number].name
                if name in found:
                    bones[name] = _merged(bones[name], bone.keys, found[name])
            bones = found | bones
        motion = mmdskin.Motion.from_tracks(
            bones=[*bones.values(), *self._other_tracks()],
            morphs=morphs.values() if self._options.morphs else (),
            properties=self._chosen(track) if self._has_properties else None,
            name=self._name(),
        )
        return Fitted(motion, worst, notes)

    def _name(self) -> str:
        names = [file.motion.name for file in self._found.files]
        return names[0] if len(names) == 1 and names[0] else self._pmx.name

    def _bone_tracks(self, samples: Samples | None) -> "dict[str, mmdskin.BoneTrack]":
        """By name; keys that are not known from the file have the values of the samples."""
        has_physics = self._options.physics == "KEYS"
        simulated = physics_settings.moved_bones(self._pmx) if has_physics else ()
        found = {}
        for number, bone in self._found.bones.items():
            keys, count = bone.keys, len(bone.keys.frames)
            translations = np.zeros((count, 3), np.float32)
            rotations = np.tile(np.array([0, 0, 0, 1], np.float32), (count, 1))
            curves = np.tile(np.array(STRAIGHT, np.uint8), (count, 4, 1))
            if samples is not None:
                rows = keys.frames - self._timing.file_first
                translations, rotations = (values[rows, number] for values in samples.pose)
            if bone.track is not None:
                known, kept = keys.known, keys.kept
                translations[known] = bone.track.translations[keys.of_file[known]]
                rotations[known] = bone.track.rotations[keys.of_file[known]]
                curves[kept] = bone.track.interpolation[keys.of_file[kept]]
            physics = bone.physics
            if number in simulated:
                physics = np.zeros(count, bool)
            name = self._pmx.bones[number].name
            track = mmdskin.BoneTrack(name, keys.frames, translations, rotations, curves, physics)
            if bone.track is not None and bone.track.stored is not None:
                # The bytes of the file stay in the keys that still say the same.
                *_, stored = merge.bone_columns(track)
                stored[keys.of_file >= 0] = bone.track.stored[keys.of_file[keys.of_file >= 0]]
                track = track._replace(stored=stored)
            found[name] = track
        return found

    def _values(
        self, like: "mmdskin.Motion", samples: Samples
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The samples; in segments of the file, MMD's values, which differ a little from Blender's."""
        values, own = [column.copy() for column in samples.pose], self._found.bones
        if any(bone.keys.kept.any() for bone in own.values()):
            bare = mmdskin.Motion.from_tracks(bones=like.bones)
            pose = self._pmx.pose(bare, self._timing.file_frames, ik=False)
            for column, of_mmd in zip(values, self._pmx.locals_of(pose), strict=True):
                for number, bone in own.items():
                    at = np.searchsorted(bone.keys.frames, self._timing.file_frames)
                    inside = np.append(bone.keys.kept, False)[at]
                    column[inside, number] = of_mmd[inside, number]
        return values[0], values[1], samples.weights

    def _other_tracks(self) -> list[Any]:
        """Tracks of the files for bones that the scene lacks."""
        whole = self._found.motion
        if whole is None:
            return []
        others = [track for track in whole.motion.bones if track.name not in self._found.known]
        return originals.in_range(whole, others, self._timing)

    def _chosen(self, switches: "mmdskin.PropertyTrack") -> "mmdskin.PropertyTrack":
        """The property keys without what is not to be exported."""
        if not self._options.switches:
            switches = switches._replace(ik_enabled=np.ones_like(switches.ik_enabled))
        if not self._options.visibility:
            switches = switches._replace(visible=np.ones_like(switches.visible))
        return switches


def _merged(
    track: "mmdskin.BoneTrack", keys: OriginalKeys, fitted: "mmdskin.BoneTrack"
) -> "mmdskin.BoneTrack":
    """The own keys of a bone, and the fitted ones within segments that are not the file's."""
    frames = np.asarray(fitted.frames, np.int64)
    at = np.searchsorted(keys.frames, frames)
    inside = (at > 0) & ~np.append(keys.kept, True)[at] & ~np.isin(frames, keys.frames)
    curves = track.interpolation.copy()
    rows = np.minimum(np.searchsorted(frames, keys.frames), len(frames) - 1)
    refitted = ~keys.kept & (frames[rows] == keys.frames)
    curves[refitted] = fitted.interpolation[rows[refitted]]
    more = [column[inside] for column in (fitted.frames, *merge.bone_columns(fitted))]
    more[4] = track.physics[at[inside] - 1]
    own = track.frames, *merge.bone_columns(track._replace(interpolation=curves))
    return type(track)(track.name, *joined([own, more]))


def of_scene(
    model: scene_model.SceneModel,
    solver: Any,
    timing: Timing,
    animates_visibility: bool,
    options: Any,
) -> AsKeyed:
    pmx = solver.rig.pmx
    found = originals.find(model, originals.opened(solver, model.armature), timing)
    morphs, properties = originals.find_morphs(model, pmx, found, timing), None
    is_kept = not animates_visibility and originals.switches_kept(found, model.armature)
    if found.motion is not None and is_kept:
        properties = originals.property_keys(found.motion, timing)
    return AsKeyed(pmx, timing, options, found, morphs, properties)


class MotionFileKeys(AsKeyed):
    """The keys of a motion file that animates the model, and the scene's visibility, if it is animated."""

    def __init__(
        self, file: motion_source.Motion, timing: Timing, animates_visibility: bool, options: Any
    ) -> None:
        found, morphs = originals.of_file(file, timing)
        self._file, self._switches = file, originals.property_keys(file, timing)
        is_shown = animates_visibility and options.visibility
        properties = None if is_shown else self._switches
        super().__init__(file.rig.pmx, timing, options, found, morphs, properties)
        self._is_whole = not self.needs_frames
        self.needs_frames = is_shown

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        if samples is None and not self._is_whole:
            *pose, weights = local_values(self._file, self._timing.times)
            samples = Samples(tuple(pose), weights, np.empty(0), np.empty(0))
        if samples is not None:
            samples = samples._replace(ik=self._ik())
        return super().fit(samples)

    def _ik(self) -> np.ndarray:
        """(F, B) bool whether the IK of each bone is on."""
        track, frames = self._switches, self._timing.file_frames
        on = np.ones((len(frames), len(self._pmx.bones)), bool)
        at = np.maximum(np.searchsorted(track.frames, frames, side="right") - 1, 0)
        for i, bone in enumerate(self._pmx.bones):
            if len(track.frames) and bone.name in track.ik_names:
                on[:, i] = track.ik_enabled[at, track.ik_names.index(bone.name)]
        return on
