# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of one model: what its forms share, and the form whose IK and append are solved."""

from abc import abstractmethod
from typing import Any

import numpy as np
from bpy.types import Depsgraph

from ..blender.native import mmdskin
from ..blender.translations import tr, tr_count
from ..operator_base.modal_job import Steps
from ..scene import scene_model
from .job import Export, Result, check_names, fits, listed, made
from .samples import SOLVED_FK, Sampler, Samples
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
