# SPDX-License-Identifier: GPL-3.0-or-later
"""From the samples of a model to a motion with few keys."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..operator_base.modal_job import Steps
from . import file_tracks
from .samples import SOLVED_FK, Samples
from .timing import Timing

_Result = TypeVar("_Result")


class Fitted(NamedTuple):
    motion: "mmdskin.Motion"
    worst: float  # largest distance of a vertex, in the file's units
    notes: tuple  # (bone, reason) of what was left out or lost
    offs: tuple[str, ...] = ()  # IK bones that had to be switched off


class ModelFit:
    """From frames of a model to a motion; UserError if the native module refuses them."""

    def __init__(self, pmx: "mmdskin.Model", timing: Timing, options: Any) -> None:
        self._pmx, self._timing, self._options = pmx, timing, options

    def solved(self, samples: Samples, form: str) -> Steps[Fitted]:
        pmx, options, with_ik = self._pmx, self._options, form != SOLVED_FK
        poses = (*samples.pose, self._weights(samples.weights))
        make, ik = mmdskin.Motion.from_poses, "both" if with_ik else "off"
        motion, report = yield from made(make, pmx, poses, ik=ik, **self._common())
        on = np.full(samples.ik.shape, with_ik)
        offs: tuple[str, ...] = ()
        if with_ik and report.worst > options.tolerance:
            offs = self._bent(motion, samples)
            on[:, [i for i, bone in enumerate(pmx.bones) if bone.name in offs]] = False
        visible = samples.visible if options.visibility else np.ones_like(samples.visible)
        track = file_tracks.switches(pmx, self._timing.file_frames, visible, on)
        return Fitted(with_tracks(motion, properties=track), report.worst, report.notes, offs)

    def of_locals(
        self, values: tuple[np.ndarray, np.ndarray, np.ndarray], like: "mmdskin.Motion"
    ) -> Steps[tuple]:
        """The motion of local values of bones and weights of morphs, keyed like another, and a report."""
        *bones, weights = values
        columns, make = (*bones, self._weights(weights)), mmdskin.Motion.from_locals
        return made(make, self._pmx, *columns, like=like, **self._common())

    def _weights(self, weights: np.ndarray) -> np.ndarray:
        return weights if self._options.morphs else np.zeros_like(weights)

    def _common(self) -> dict[str, Any]:
        return {
            "frames": self._timing.file_frames,
            "tolerance": self._options.tolerance,
            "physics_tolerance": self._options.physics_tolerance,
            "physics": self._options.physics.lower(),
        }

    def _bent(self, motion: "mmdskin.Motion", samples: Samples) -> tuple[str, ...]:
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
        return tuple(dict.fromkeys(found))


def made(function: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Steps[_Result]:
    """The result of a fit; UserError if the native module refuses its arguments."""
    try:
        return (yield from modal_job.fitted(mmdskin.Fit(function, *args, **kwargs)))
    except (ValueError, MemoryError) as error:
        raise UserError("The motion cannot be made: {reason}", reason=error) from error


def with_tracks(motion: "mmdskin.Motion", **tracks: Any) -> "mmdskin.Motion":
    """The motion with other tracks, or another name."""
    parts = {
        name: getattr(motion, name)
        for name in ("bones", "morphs", "camera", "light", "shadow", "properties", "name")
    }
    return type(motion).from_tracks(**{**parts, **tracks})
