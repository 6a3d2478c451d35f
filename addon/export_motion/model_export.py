# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of one model: what its forms share, and each of them."""

from abc import abstractmethod
from typing import Any

import numpy as np
from bpy.types import Depsgraph

from ..blender.native import mmdskin
from ..blender.translations import tr, tr_count
from ..import_motion.bezier import STRAIGHT
from ..operator_base.modal_job import Steps
from ..pose import physics_settings, scene_motion
from ..scene import scene_model
from . import originals
from .job import Export, Result, check_names, fits, listed, made, making
from .original_tracks import OriginalKeys, joined
from .samples import SOLVED_FK, Sampler, Samples, local_values
from .timing import Timing


class ModelExport(Export):
    """A subclass has the `fitted` of its form."""

    needs_frames = True
    off_frames = 0  # keys of the scene between the frames of the file

    def __init__(self, sampler: Sampler, path: str, timing: Timing, options: Any) -> None:
        self._sampler, self.path, self._timing, self._options = sampler, path, timing, options
        self._pmx, model = sampler.rig.pmx, sampler.model
        root = scene_model.root_of(model.armature)
        self.objects = [model.armature, *model.meshes, *([root] if root is not None else [])]
        self.simulated = [sampler.simulated] if sampler.simulated is not None else []

    def read(self, depsgraph: Depsgraph) -> tuple:
        return self._sampler.read(depsgraph)

    def fit(self, rows: list[Any]) -> Steps[Result]:
        samples = self._sampler.samples(rows) if rows else None
        rows.clear()
        found = yield from self.fitted(samples)
        unknown = listed(check_names(found.motion, self._options.names))
        lines = [*found.lines]
        if unknown and self._options.names == "OMIT":
            lines.append(tr("Left out because MMD cannot find their names: {names}", names=unknown))
        elif unknown:
            lines.append(tr("Names cut to 15 bytes: {names}", names=unknown))
        if self.off_frames:
            text = tr_count(
                "1 keyframe is between MMD's frames: its bone has other keys there",
                "{count} keyframes are between MMD's frames: their bones have other keys there",
                count=self.off_frames,
            )
            lines.append(text)
        return found._replace(lines=tuple(lines))

    @abstractmethod
    def fitted(self, samples: Samples | None) -> Steps[Result]:
        """`samples` are of the scene, if it has to be read."""

    def _check_names(
        self, pose: tuple[np.ndarray, ...], weights: np.ndarray, **options: Any
    ) -> Steps[None]:
        """UserError, before a fit that may take minutes, for names at which the export is to stop.

        Only the frames at which bones and morphs with such names are farthest from their rest are fitted;
        the arguments are those of the whole fit.
        """
        bones = [i for i, bone in enumerate(self._pmx.bones) if not fits(bone.name)]
        morphs = [i for i, morph in enumerate(self._pmx.morphs) if not fits(morph.name)]
        if self._options.names != "STOP" or not (bones or morphs):
            return
        pose = pose if len(pose) == 2 else self._pmx.locals_of(*pose)
        amounts = [np.abs(weights[:, morphs])]
        amounts += [np.linalg.norm(values[:, bones, :3], axis=2) for values in pose]
        rows = np.unique(np.concatenate([one.argmax(axis=0) for one in amounts]))
        few = [column[rows] for column in (*pose, weights)]
        options |= self._common() | {"frames": np.arange(len(rows))}
        motion, _ = yield from made(mmdskin.Motion.from_locals, self._pmx, *few, **options)
        check_names(motion, self._options.names)

    def _weights(self, weights: np.ndarray) -> np.ndarray:
        return weights if self._options.morphs else np.zeros_like(weights)

    def _common(self) -> dict[str, Any]:
        return {
            "frames": self._timing.file_frames,
            "tolerance": self._options.tolerance,
            "physics_tolerance": self._options.physics_tolerance,
            "physics": self._options.physics.lower(),
        }


class Solved(ModelExport):
    """The pose as shown, with IK and append solved."""

    def __init__(self, *arguments: Any, form: str) -> None:
        super().__init__(*arguments)
        self._with_ik = form != SOLVED_FK

    def fitted(self, samples: Samples | None) -> Steps[Result]:
        assert samples is not None
        pmx, options, with_ik = self._pmx, self._options, self._with_ik
        weights, ik = self._weights(samples.weights), "both" if with_ik else "off"
        yield from self._check_names(samples.pose, weights, ik=ik)
        make, poses = mmdskin.Motion.from_poses, (*samples.pose, weights)
        motion, report = yield from made(make, pmx, poses, ik=ik, **self._common())
        on, lines = np.full(samples.ik.shape, with_ik), list[str]()
        offs = self._bent(motion, samples) if with_ik and report.worst > options.tolerance else ()
        if offs:
            on[:, [i for i, bone in enumerate(pmx.bones) if bone.name in offs]] = False
            names = listed(offs)
            lines = [
                tr("IK is off for chains that MMD would bend differently: {names}", names=names)
            ]
        visible = samples.visible if options.visibility else np.ones_like(samples.visible)
        track = property_track(pmx, self._timing.file_frames, visible, on)
        motion = mmdskin.Motion.from_tracks(
            bones=motion.bones, morphs=motion.morphs, properties=track, name=motion.name
        )
        return Result(self.path, motion, report.worst, report.notes, tuple(lines))

    def _bent(self, motion: "mmdskin.Motion", samples: Samples) -> list[str]:
        """IK bones whose chain MMD's IK would pull away from where the keys put it."""
        bones, found = self._pmx.bones, []
        poses = self._pmx.pose(motion, self._timing.file_frames).bone_matrices, *samples.pose
        for bone in bones:
            if not bone.ik:
                continue
            chain = [bone.ik.target, *(link.bone for link in bone.ik.links)]
            pivots = np.array([[*bones[i].position, 1] for i in chain], np.float32)
            at = [np.einsum("fkij,kj->fki", pose[:, chain], pivots) for pose in poses]
            if np.linalg.norm(at[0] - at[1], axis=-1).max() > self._options.tolerance:
                found.append(bone.name)
        return list(dict.fromkeys(found))


class AsKeyed(ModelExport):
    """The own keys of a model: those of the file where nothing changed, the scene's elsewhere, and more
    between them where MMD's curves would differ from Blender's by more than the tolerance.

    Or those of a motion file that animates the model, and fitted ones where the export cuts them or
    its frames are not the file's.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        options, sampler = self._options, self._sampler
        find = originals.OfScene if sampler.motion is None else originals.OfFile
        found = find(sampler, self._timing)
        if sampler.animates_visibility and options.visibility:
            found.properties = None
        self._found, self._has_properties = found, options.switches or options.visibility
        self.off_frames = sum(bone.keys.off_frames for bone in found.bones.values())
        lacks_properties = self._has_properties and found.properties is None
        self._is_complete = not (
            found.sampled
            or not all(bone.keys.complete for bone in found.bones.values())
            or (options.morphs and found.sampled_morphs)
            or lacks_properties
        )
        # Of a motion file, only the visibility is read from the scene.
        self.needs_frames = lacks_properties if sampler.motion else not self._is_complete

    def fitted(self, samples: Samples | None) -> Steps[Result]:
        if samples is None and not self._is_complete:
            *pose, weights, ik = local_values(self._sampler.motion, self._timing.times)
            samples = Samples(tuple(pose), weights, ik, np.ones(len(ik), bool))
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
        with making():
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
                *_, stored = scene_motion.bone_columns(found[name])
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
    more = [column[inside] for column in (fitted.frames, *scene_motion.bone_columns(fitted))]
    more[4] = track.physics[at[inside] - 1]
    own = track.frames, *scene_motion.bone_columns(track._replace(interpolation=curves))
    return type(track)(track.name, *joined([own, more]))


def property_track(
    pmx: "mmdskin.Model", frames: np.ndarray, visible: np.ndarray, ik: np.ndarray
) -> "mmdskin.PropertyTrack":
    """A key at the first of the frames and at each change; like MMD, each names all IK bones.

    `visible` (F,) and `ik` (F, B) are values at frames `frames` (F,) of the file.
    """
    goals = {bone.name: i for i, bone in reversed([*enumerate(pmx.bones)]) if bone.ik}
    names = tuple(dict.fromkeys(bone.name for bone in pmx.bones if bone.ik))
    states = ik[:, [goals[name] for name in names]]
    values = np.column_stack([visible, states])
    changes = np.flatnonzero(np.append(True, (values[1:] != values[:-1]).any(axis=1)))
    return mmdskin.PropertyTrack(frames[changes], visible[changes], names, states[changes])
