# SPDX-License-Identifier: MIT
"""Motion.camera_at(), light_at(), shadow_at() and unmatched(), pickling, and which motions are equal."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin import _mmdskin  # type: ignore[attr-defined]
from mmdskin.argument import check_model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

_CAMERA, _LIGHT, _SHADOW = range(3)  # tracks of motion_samples.c
_MEMBERS = ("name", "bones", "morphs", "camera", "light", "shadow", "properties")
_arguments_of = operator.attrgetter(*_MEMBERS[1:], "name")  # those of from_tracks()


def camera_at(motion: mmdskin.Motion, frames: ArrayLike, /) -> mmdskin.Camera:
    rows: NDArray[np.float32] = _mmdskin._samples(motion, _CAMERA, frames)
    position, target, up = rows[..., :3], rows[..., 3:6], rows[..., 6:9]
    return mmdskin.Camera(position.copy(), target.copy(), up.copy(), rows[..., 9].copy())


def light_at(motion: mmdskin.Motion, frames: ArrayLike, /) -> mmdskin.Light:
    rows: NDArray[np.float32] = _mmdskin._samples(motion, _LIGHT, frames)
    return mmdskin.Light(rows[..., :3].copy(), rows[..., 3:].copy())


def shadow_at(motion: mmdskin.Motion, frames: ArrayLike, /) -> mmdskin.Shadow:
    rows: NDArray[np.float32] = _mmdskin._samples(motion, _SHADOW, frames)
    return mmdskin.Shadow(rows[..., 0].astype(np.uint8), rows[..., 1].copy())


def unmatched(motion: mmdskin.Motion, model: mmdskin.Model, /) -> mmdskin.Unmatched:
    check_model(model)
    bones, morphs = set(model.bones.names), set(model.morphs.names)
    switched = {bone.name for bone in model.bones if bone.ik}
    return mmdskin.Unmatched(
        _others(motion.bones.names, bones),
        _others(motion.morphs.names, morphs),
        _others(motion.properties.ik_names, switched),
    )


def _others(names: Iterable[str], known: set[str]) -> tuple[str, ...]:
    return tuple([name for name in names if name not in known])


def reduced(
    motion: mmdskin.Motion, data: bytes | None, encoding: str | None
) -> tuple[Any, tuple[Any, ...]]:
    """For pickling: the file that was loaded, with the encoding if it was given, or the tracks."""
    if data is not None:
        return mmdskin.load_motion, (data,) if encoding is None else (data, encoding)
    return type(motion).from_tracks, _arguments_of(motion)


def are_equal(one: mmdskin.Motion, other: mmdskin.Motion) -> bool:
    """Whether names and tracks are the same; the encoding of a file is not compared."""
    return one is other or all(_same(getattr(one, name), getattr(other, name)) for name in _MEMBERS)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
