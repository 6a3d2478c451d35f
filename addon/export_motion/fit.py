# SPDX-License-Identifier: GPL-3.0-or-later
"""From the samples of a model to a motion with few keys."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..blender import native
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..operator_base.modal_job import Steps
from . import file_tracks
from .samples import SOLVED_FK, Samples
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin

_Result = TypeVar("_Result")


class Fitted(NamedTuple):
    motion: "mmdskin.Motion"
    worst: float  # largest distance of a vertex, in the file's units
    notes: tuple  # (bone, reason) of what was left out or lost
    offs: tuple[str, ...] = ()  # IK bones that had to be switched off


def run(
    pmx: "mmdskin.Model", samples: Samples, timing: Timing, form: str, options: Any
) -> Steps[Fitted]:
    """Solved poses; UserError if the native module refuses them."""
    assert samples.matrices is not None
    motion, report = yield from made(
        native.load().Motion.from_poses,
        pmx,
        (samples.matrices, _weights(samples.weights, options)),
        ik="off" if form == SOLVED_FK else "both",
        **_common(timing, options),
    )
    on = np.full(samples.ik.shape, form != SOLVED_FK)
    offs: tuple[str, ...] = ()
    if form != SOLVED_FK and report.worst > options.tolerance:
        offs = _bent(pmx, motion, samples, timing, options)
        on[:, [i for i, bone in enumerate(pmx.bones) if bone.name in offs]] = False
    visible = samples.visible if options.visibility else np.ones_like(samples.visible)
    track = file_tracks.switches(pmx, timing.numbers, visible, on)
    return Fitted(with_tracks(motion, properties=track), report.worst, report.notes, offs)


def of_locals(
    pmx: "mmdskin.Model",
    values: tuple[np.ndarray, np.ndarray, np.ndarray],
    like: "mmdskin.Motion",
    timing: Timing,
    options: Any,
) -> Steps[tuple]:
    """The motion of local values of bones and weights of morphs, keyed like another, and a report."""
    return made(
        native.load().Motion.from_locals,
        pmx,
        *values[:2],
        _weights(values[2], options),
        like=like,
        **_common(timing, options),
    )


def made(function: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Steps[_Result]:
    """The result of a fit; UserError if the native module refuses its arguments."""
    try:
        return (yield from modal_job.fitted(native.load().Fit(function, *args, **kwargs)))
    except (ValueError, MemoryError) as error:
        raise UserError("The motion cannot be made: {reason}", reason=error) from error


def _weights(weights: np.ndarray, options: Any) -> np.ndarray:
    return weights if options.morphs else np.zeros_like(weights)


def _common(timing: Timing, options: Any) -> dict[str, Any]:
    return {
        "frames": timing.numbers,
        "tolerance": options.tolerance,
        "physics_tolerance": options.physics_tolerance,
        "physics": options.physics.lower(),
    }


def with_tracks(motion: "mmdskin.Motion", **tracks: Any) -> "mmdskin.Motion":
    """The motion with other tracks, or another name."""
    parts = {
        name: getattr(motion, name)
        for name in ("bones", "morphs", "camera", "light", "shadow", "properties", "name")
    }
    return type(motion).from_tracks(**{**parts, **tracks})


def _bent(
    pmx: "mmdskin.Model",
    motion: "mmdskin.Motion",
    samples: Samples,
    timing: Timing,
    options: Any,
) -> tuple[str, ...]:
    """IK bones whose chain MMD's IK would pull away from where the keys put it."""
    posed = pmx.pose(motion, timing.numbers).bone_matrices
    assert samples.matrices is not None
    found = []
    for bone in pmx.bones:
        if not bone.ik:
            continue
        chain = [bone.ik.target, *(link.bone for link in bone.ik.links)]
        pivots = np.array([[*pmx.bones[i].position, 1] for i in chain], np.float32)
        places = [
            np.einsum("fkij,kj->fki", matrices[:, chain], pivots)
            for matrices in (posed, samples.matrices)
        ]
        if np.linalg.norm(places[0] - places[1], axis=-1).max() > options.tolerance:
            found.append(bone.name)
    return tuple(dict.fromkeys(found))
