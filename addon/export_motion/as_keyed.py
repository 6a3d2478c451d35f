# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a model's own keys: those of the file where nothing changed, the scene's elsewhere,
and more between them where MMD's curves would differ from Blender's by more than the tolerance.

Or of a motion file that animates the model: the file's own keys, and fitted ones where the export
cuts them or its frames are not the file's.
"""

import abc
from typing import TYPE_CHECKING, Any

import numpy as np

from ..blender import native
from ..import_motion.bezier import STRAIGHT
from ..operator_base.modal_job import Steps
from ..pose import merge, motion_source
from ..scene import scene_model
from . import file_tracks, originals
from .fit import Fitted, ModelFit
from .original_tracks import OriginalKeys
from .samples import Samples, local_values
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin


class Keyed(ModelFit, abc.ABC):
    """The keys of the scene or of a motion file, which are written as they are where possible."""

    needs_frames = False  # whether the scene has to be read frame by frame
    off_frames = 0  # keys between the frames of the file

    def __init__(self, pmx: "mmdskin.Model", timing: Timing, options: Any) -> None:
        super().__init__(pmx, timing, options)
        self._has_properties = options.switches or options.visibility

    @abc.abstractmethod
    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        """`samples` are of the scene, if it has to be read."""

    def _chosen(self, switches: "mmdskin.PropertyTrack") -> "mmdskin.PropertyTrack":
        """The property keys without what is not to be exported."""
        if not self._options.switches:
            switches = switches._replace(ik_enabled=np.ones_like(switches.ik_enabled))
        if not self._options.visibility:
            switches = switches._replace(visible=np.ones_like(switches.visible))
        return switches


class AsKeyed(Keyed):
    def __init__(
        self,
        model: scene_model.SceneModel,
        solver: Any,
        timing: Timing,
        animates_visibility: bool,
        options: Any,
    ) -> None:
        super().__init__(solver.rig.pmx, timing, options)
        opened = originals.opened(solver, model.armature)
        self._scene_bones = {self._pmx.bones[i].name for i in opened.rig.bones.values()}
        found = self._found = originals.find(model, opened, timing)
        self._morphs = originals.find_morphs(model, self._pmx, timing)
        self._file_morphs: list[Any] | None = None
        self._properties: mmdskin.PropertyTrack | None = None
        self.off_frames = found.off_frames
        if found.motion is not None:
            morphs = found.motion.motion.morphs
            on_frames = file_tracks.are_on_frames(found.motion, morphs, timing)
            if on_frames and originals.morphs_kept(model, found.expected):
                self._file_morphs = file_tracks.in_range(found.motion, morphs, timing)
            if not animates_visibility and originals.switches_kept(found, model.armature):
                self._properties = file_tracks.property_keys(found.motion, timing)

        self.needs_frames = (
            found.sampled
            or not all(bone.keys.complete for bone in found.bones.values())
            or (options.morphs and self._file_morphs is None and self._morphs.sampled)
            or (self._has_properties and self._properties is None)
        )

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        bones = self._bone_tracks(samples)
        worst, notes, morphs = 0.0, (), []
        track = self._properties
        if samples is not None:
            if track is None:
                track = file_tracks.switches(
                    self._pmx, self._timing.numbers, samples.visible, samples.ik
                )
            like = native.load().Motion.from_tracks(bones=bones.values(), properties=track)
            fitted, report = yield from self.of_locals(self._values(like, samples), like)
            worst, notes, morphs = report.worst, report.notes, fitted.morphs
            found = {one.name: one for one in fitted.bones}
            for number, bone in self._found.bones.items():
                name = self._pmx.bones[number].name
                if name in found:
                    bones[name] = _merged(bones[name], bone.keys, found[name])
            bones = found | bones
        motion = native.load().Motion.from_tracks(
            bones=[*bones.values(), *self._other_tracks()],
            morphs=self._morph_tracks(morphs) if self._options.morphs else (),
            properties=self._chosen(track) if self._has_properties else None,
            name=self._name(),
        )
        return Fitted(motion, worst, notes)

    def _name(self) -> str:
        names = [file.motion.name for file in self._found.files]
        return names[0] if len(names) == 1 and names[0] else self._pmx.name

    def _bone_tracks(self, samples: Samples | None) -> "dict[str, mmdskin.BoneTrack]":
        """By name; keys that are not known from the file have the values of the samples."""
        found = {}
        for number, bone in self._found.bones.items():
            keys, count = bone.keys, len(bone.keys.numbers)
            translations, rotations = np.zeros((count, 3)), np.tile((0.0, 0, 0, 1), (count, 1))
            curves = np.tile(np.array(STRAIGHT, np.uint8), (count, 4, 1))
            if samples is not None:
                rows = keys.numbers - self._timing.number
                translations, rotations = (
                    values[rows, number].astype(np.float64) for values in samples.pose
                )
            if bone.track is not None:
                known, kept = keys.known, keys.kept
                translations[known] = bone.track.translations[keys.of_file[known]]
                rotations[known] = bone.track.rotations[keys.of_file[known]]
                curves[kept] = bone.track.interpolation[keys.of_file[kept]]
            physics = bone.physics
            if self._options.physics == "KEYS" and file_tracks.is_simulated(self._pmx, number):
                physics = np.zeros(count, bool)
            name = self._pmx.bones[number].name
            track = native.load().BoneTrack(
                name, keys.numbers, translations, rotations, curves, physics
            )
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
            bare = native.load().Motion.from_tracks(bones=like.bones)
            pose = self._pmx.pose(bare, self._timing.numbers, ik=False)
            for column, of_mmd in zip(values, self._pmx.locals_of(pose), strict=True):
                for number, bone in own.items():
                    at = np.searchsorted(bone.keys.numbers, self._timing.numbers)
                    inside = np.append(bone.keys.kept, False)[at]
                    column[inside, number] = of_mmd[inside, number]
        return values[0], values[1], samples.weights

    def _other_tracks(self) -> list[Any]:
        """Tracks of the files for bones that the scene lacks."""
        whole = self._found.motion
        if whole is None:
            return []
        others = [track for track in whole.motion.bones if track.name not in self._scene_bones]
        return file_tracks.in_range(whole, others, self._timing)

    def _morph_tracks(self, fitted: Any) -> list[Any]:
        if self._file_morphs is not None:
            return self._file_morphs
        tracks = {**{track.name: track for track in fitted}, **self._morphs.tracks}
        whole = self._found.motion
        if whole is None:
            return [*tracks.values()]
        known = {morph.name for morph in self._pmx.morphs}
        others = [track for track in whole.motion.morphs if track.name not in known]
        return [*tracks.values(), *file_tracks.in_range(whole, others, self._timing)]


def _merged(
    track: "mmdskin.BoneTrack", keys: OriginalKeys, fitted: "mmdskin.BoneTrack"
) -> "mmdskin.BoneTrack":
    """The own keys of a bone, and the fitted ones within segments that are not the file's."""
    numbers = np.asarray(fitted.frames, np.int64)
    at = np.searchsorted(keys.numbers, numbers)
    inside = (at > 0) & ~np.append(keys.kept, True)[at] & ~np.isin(numbers, keys.numbers)
    curves = track.interpolation.copy()
    rows = np.minimum(np.searchsorted(numbers, keys.numbers), len(numbers) - 1)
    refitted = ~keys.kept & (numbers[rows] == keys.numbers)
    curves[refitted] = fitted.interpolation[rows[refitted]]
    more = [column[inside] for column in (fitted.frames, *merge.bone_columns(fitted))]
    more[4] = track.physics[at[inside] - 1]
    own = track.frames, *merge.bone_columns(track._replace(interpolation=curves))
    return type(track)(track.name, *file_tracks.joined([own, more]))


class MotionFileKeys(Keyed):
    def __init__(
        self, file: motion_source.Motion, timing: Timing, animates_visibility: bool, options: Any
    ) -> None:
        self._file = file
        super().__init__(self._file.rig.pmx, timing, options)
        self.needs_frames = animates_visibility and options.visibility

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        """`samples` are of the scene's visibility, if it is animated."""
        file, timing = self._file, self._timing
        own = [*file.motion.bones, *(file.motion.morphs if self._options.morphs else ())]
        whole = [track for track in own if file_tracks.are_on_frames(file, [track], timing)]
        kept = {_key(track): track for track in file_tracks.in_range(file, whole, timing)}
        switches = self._switches(samples)
        missing = {_key(t) for t in own if not self._is_complete(t, kept.get(_key(t)))}
        worst, notes = 0.0, ()
        if missing:
            like = [track for track in kept.values() if not hasattr(track, "weights")]
            fitted, report = yield from self._fitted(like, switches)
            worst, notes = report.worst, report.notes
            found = {_key(track): track for track in (*fitted.bones, *fitted.morphs)}
            known = {bone.name for bone in file.rig.pmx.bones}
            for key in missing:
                if key in found:
                    kept[key] = found[key]
                elif key[1] in known:
                    kept.pop(key, None)
        tracks = [kept[_key(track)] for track in own if _key(track) in kept]
        motion = native.load().Motion.from_tracks(
            bones=[self._switched(track) for track in tracks if not hasattr(track, "weights")],
            morphs=[track for track in tracks if hasattr(track, "weights")],
            properties=switches,
            name=file.motion.name or self._pmx.name,
        )
        return Fitted(motion, worst, notes)

    def _is_complete(self, track: Any, kept: Any) -> bool:
        """Whether the kept keys of a track are all that the export needs; lines may be cut."""
        if kept is None:
            return not len(track.frames)
        return hasattr(track, "weights") or len(kept.frames) == len(track.frames)

    def _fitted(self, like: list[Any], switches: Any) -> Steps[tuple]:
        values = local_values(self._file, self._timing.times)
        keys = native.load().Motion.from_tracks(bones=like, properties=switches)
        return self.of_locals(values, keys)

    def _switched(self, track: Any) -> Any:
        """A bone's track, with its physics off if simulated bones shall have keys."""
        bones = enumerate(self._pmx.bones)
        number = next((i for i, bone in bones if bone.name == track.name), -1)
        if self._options.physics != "KEYS" or not file_tracks.is_simulated(self._pmx, number):
            return track
        return track._replace(physics=np.zeros(len(track.frames), bool))

    def _switches(self, samples: Samples | None) -> Any:
        """The property keys of the file, with the scene's visibility if it is animated."""
        if not self._has_properties:
            return None
        track = file_tracks.property_keys(self._file, self._timing)
        if samples is not None:
            numbers = self._timing.numbers
            on = np.ones((len(numbers), len(self._pmx.bones)), bool)
            at = np.searchsorted(track.frames, numbers, side="right") - 1
            for i, bone in enumerate(self._pmx.bones):
                if len(track.frames) and bone.name in track.ik_names:
                    states = track.ik_enabled[:, track.ik_names.index(bone.name)]
                    on[:, i] = states[np.maximum(at, 0)]
            track = file_tracks.switches(self._pmx, numbers, samples.visible, on)
        return self._chosen(track)


def _key(track: Any) -> tuple[bool, str]:
    """Of a track: whether it is a morph's, and its name."""
    return hasattr(track, "weights"), track.name
