# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a model's own keys: those of the file where nothing changed, the scene's elsewhere,
and more between them where MMD's curves would differ from Blender's by more than the tolerance.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..blender import native
from ..import_motion.bezier import STRAIGHT
from ..operator_base.modal_job import Steps
from ..scene import scene_model
from . import file_tracks, original_morphs, originals
from .fit import Fitted, of_locals, with_tracks
from .original_tracks import OriginalKeys
from .samples import Samples
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin


class Keyed:
    """The keys of the scene or of a motion file, which are written as they are where possible."""

    needs_frames = False  # whether the scene has to be read frame by frame
    off_frames = 0  # keys between the frames of the file

    def __init__(self, pmx: "mmdskin.Model", timing: Timing, options: Any) -> None:
        self._pmx, self._timing, self._options = pmx, timing, options
        self._has_properties = options.switches or options.visibility

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        """`samples` are of the scene, if it has to be read."""
        raise NotImplementedError

    def restored(self, saved: bytes) -> bytes:
        """A saved motion with the bytes of the files in unchanged keys."""
        return saved  # which tracks have by themselves

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
        self._morphs = original_morphs.find(model, self._pmx, timing)
        self._file_morphs: list[Any] | None = None
        self._properties: mmdskin.PropertyTrack | None = None
        self.off_frames = found.off_frames
        if found.motion is not None:
            morphs = found.motion.motion.morphs
            on_frames = file_tracks.are_on_frames(found.motion, morphs, timing)
            if on_frames and original_morphs.are_kept(model, found.expected):
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
            fitted, report = yield from self._fit(like, samples)
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

    def restored(self, saved: bytes) -> bytes:
        found = self._found
        if found.motion is None:
            return saved
        exact = {
            self._pmx.bones[i].name: (bone.keys.numbers, bone.keys.known, bone.keys.kept)
            for i, bone in found.bones.items()
        }
        for track in self._other_tracks():
            exact[track.name] = (track.frames, *np.ones((2, len(track.frames)), bool))
        return file_tracks.restore(saved, found.files, self._timing, exact)

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
                assert samples.translations is not None and samples.rotations is not None
                translations = samples.translations[rows, number].astype(np.float64)
                rotations = samples.rotations[rows, number].astype(np.float64)
            if bone.track is not None:
                known, kept = keys.known, keys.kept
                translations[known] = bone.track.translations[keys.of_file[known]]
                rotations[known] = bone.track.rotations[keys.of_file[known]]
                curves[kept] = bone.track.interpolation[keys.of_file[kept]]
            physics = bone.physics
            if self._options.physics == "KEYS" and file_tracks.is_simulated(self._pmx, number):
                physics = np.zeros(count, bool)
            name = self._pmx.bones[number].name
            found[name] = native.load().BoneTrack(
                name, keys.numbers, translations, rotations, curves, physics
            )
        return found

    def _fit(self, like: "mmdskin.Motion", samples: Samples) -> Steps[tuple]:
        values = (*self._values(like, samples), samples.weights)
        return of_locals(self._pmx, values, like, self._timing, self._options)

    def _values(self, like: "mmdskin.Motion", samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """The samples; in segments of the file, MMD's values, which differ a little from Blender's."""
        assert samples.translations is not None and samples.rotations is not None
        values = samples.translations.copy(), samples.rotations.copy()
        own = self._found.bones
        if not any(bone.keys.kept.any() for bone in own.values()):
            return values
        bare = with_tracks(like, properties=None, morphs=())
        pose = self._pmx.pose(bare, self._timing.numbers, ik=False)
        mmds = self._pmx.locals_of(pose)
        for number, bone in own.items():
            keys = bone.keys
            at = np.searchsorted(keys.numbers, self._timing.numbers)
            inside = at < len(keys.numbers)
            inside[inside] = keys.kept[at[inside]]
            for column, of_mmd in zip(values, mmds, strict=True):
                column[inside, number] = of_mmd[inside, number]
        return values

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
    inside = (at > 0) & (at < len(keys.numbers)) & ~np.isin(numbers, keys.numbers)
    inside[inside] = ~keys.kept[at[inside]]
    curves = track.interpolation.copy()
    rows = np.minimum(np.searchsorted(numbers, keys.numbers), len(numbers) - 1)
    refitted = ~keys.kept & (numbers[rows] == keys.numbers)
    curves[refitted] = fitted.interpolation[rows[refitted]]
    columns: list[tuple] = [
        (np.asarray(track.frames, np.int64), numbers[inside]),
        (track.translations, fitted.translations[inside]),
        (track.rotations, fitted.rotations[inside]),
        (curves, fitted.interpolation[inside]),
        (track.physics, track.physics[at[inside] - 1]),
    ]
    joined = [np.concatenate(column) for column in columns]
    order = np.argsort(joined[0], kind="stable")
    return type(track)(track.name, *(column[order] for column in joined))
