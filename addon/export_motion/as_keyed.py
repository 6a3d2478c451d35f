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
from ..pose import merge, physics_settings
from . import originals
from .job import Result, check_names, made
from .model_export import ModelExport, property_track
from .original_tracks import OriginalKeys, joined
from .samples import Samples, local_values


class AsKeyed(ModelExport):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        options, found = self._options, self._find()
        self._found, self._has_properties = found, options.switches or options.visibility
        self.off_frames = sum(bone.keys.off_frames for bone in found.bones.values())
        self.needs_frames = (
            found.sampled
            or not all(bone.keys.complete for bone in found.bones.values())
            or (options.morphs and found.sampled_morphs)
            or (self._has_properties and found.properties is None)
        )

    def _find(self) -> originals.Originals:
        """The keys that stay."""
        return originals.OfScene(self._sampler, self._timing)

    def fitted(self, samples: Samples | None) -> Steps[Result]:
        found = self._found
        bones, morphs = self._bone_tracks(samples), dict(found.morphs)
        worst, track = 0.0, found.properties
        notes: tuple = ()
        if samples is not None:
            if track is None:
                frames = self._timing.file_frames
                track = property_track(self._pmx, frames, samples.visible, samples.ik)
            check_names(self._motion(bones, morphs, track), self._options.names)  # before the fit
            like = mmdskin.Motion.from_tracks(bones=bones.values(), properties=track)
            *pose, weights = self._values(like, samples)
            yield from self._check_names(tuple(pose), weights)
            columns, make = (*pose, weights), mmdskin.Motion.from_locals
            fitted, report = yield from made(make, self._pmx, *columns, like=like, **self._common())
            worst, notes = report.worst, report.notes
            if found.sampled_morphs:
                morphs = {one.name: one for one in fitted.morphs} | morphs
            more = {one.name: one for one in fitted.bones}
            for number, bone in found.bones.items():
                name = self._pmx.bones[number].name
                if name in more:
                    bones[name] = _merged(bones[name], bone.keys, more[name])
            bones = more | bones
        return Result(self.path, self._motion(bones, morphs, track), worst, notes)

    def _motion(
        self,
        bones: "dict[str, mmdskin.BoneTrack]",
        morphs: "dict[str, mmdskin.MorphTrack]",
        switches: "mmdskin.PropertyTrack | None",
    ) -> "mmdskin.Motion":
        """With the keys of bones that the scene lacks, and without what is not to be exported."""
        if switches is not None and not self._options.switches:
            switches = switches._replace(ik_enabled=np.ones_like(switches.ik_enabled))
        if switches is not None and not self._options.visibility:
            switches = switches._replace(visible=np.ones_like(switches.visible))
        return mmdskin.Motion.from_tracks(
            bones=[*bones.values(), *self._found.others],
            morphs=morphs.values() if self._options.morphs else (),
            properties=switches if self._has_properties else None,
            name=self._found.name or self._pmx.name,
        )

    def _bone_tracks(self, samples: Samples | None) -> "dict[str, mmdskin.BoneTrack]":
        """By name; keys that are not known from the file have the values of the samples."""
        has_physics = self._options.physics == "KEYS"
        simulated = physics_settings.moved_bones(self._pmx) if has_physics else ()
        found = {}
        for number, (keys, of_file, physics) in self._found.bones.items():
            name, count = self._pmx.bones[number].name, len(keys.frames)
            columns: list[Any] = [np.empty((count, size), np.float32) for size in (3, 4)]
            if samples is not None:
                rows = keys.frames - self._timing.file_first
                columns = [values[rows, number] for values in samples.pose]
            columns.append(np.tile(np.array(STRAIGHT, np.uint8), (count, 4, 1)))
            columns.append(physics & (number not in simulated))
            found[name] = mmdskin.BoneTrack(name, keys.frames, *columns)
            if of_file is None:
                continue
            known: Any = zip(of_file[2:5], (keys.known, keys.known, keys.kept), strict=True)
            for column, (values, chosen) in zip(columns, known, strict=False):
                column[chosen] = values[keys.of_file[chosen]]
            if of_file.stored is not None:
                # The bytes of the file stay in the keys that still say the same.
                *_, stored = merge.bone_columns(found[name])
                stored[keys.of_file >= 0] = of_file.stored[keys.of_file[keys.of_file >= 0]]
                found[name] = found[name]._replace(stored=stored)
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
        return values[0], values[1], self._weights(samples.weights)


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


class MotionFileKeys(AsKeyed):
    """The keys of a motion file that animates the model, and the scene's visibility, if it is animated."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._is_whole = not self.needs_frames
        self.needs_frames = self._found.properties is None

    def _find(self) -> originals.Originals:
        self._file = self._sampler.motion
        found = originals.OfFile(self._file, self._timing)
        self._switches = found.properties
        if self._sampler.animates_visibility and self._options.visibility:
            found.properties = None
        return found

    def fitted(self, samples: Samples | None) -> Steps[Result]:
        if samples is None and not self._is_whole:
            *pose, weights = local_values(self._file, self._timing.times)
            samples = Samples(tuple(pose), weights, np.empty(0), np.empty(0))
        if samples is not None:
            samples = samples._replace(ik=self._ik())
        return super().fitted(samples)

    def _ik(self) -> np.ndarray:
        """(F, B) bool whether the IK of each bone is on."""
        track, frames = self._switches, self._timing.file_frames
        on = np.ones((len(frames), len(self._pmx.bones)), bool)
        at = np.maximum(np.searchsorted(track.frames, frames, side="right") - 1, 0)
        for i, bone in enumerate(self._pmx.bones):
            if len(track.frames) and bone.name in track.ik_names:
                on[:, i] = track.ik_enabled[at, track.ik_names.index(bone.name)]
        return on
