# SPDX-License-Identifier: MIT
"""Motion.save(): which file it writes, and what of the motion that gets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mmdskin import _mmdskin  # type: ignore[attr-defined]
from mmdskin.argument import check_model, check_word, number
from mmdskin.errors import text_of
from mmdskin.file_io import check_name, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    import mmdskin

_PARTS = ("all", "model", "camera")  # by mmd_motion_part


def save(
    motion: mmdskin.Motion,
    path: Any,
    *,
    part: str | None = None,
    names: str = "error",
    frame: float | None = None,
    model: mmdskin.Model | None = None,
) -> None:
    check_word(names, "names", ("error", "cut", "omit"))
    ending = check_name(path, "motion", ".vmd", ".vpd")
    has_pose = frame is not None or model is not None
    is_vpd = ending == ".vpd" or (has_pose and hasattr(path, "write"))
    if has_pose and not is_vpd:
        raise ValueError(
            "frame, model: only a VPD, whose name ends in .vpd, holds the pose of one frame"
        )
    if part is not None:
        check_word(part, "part", _PARTS)
    elif not is_vpd and _has_model(motion) and _has_camera(motion):
        raise ValueError(
            "part: the motion has keys of a model and of a camera or light, which MMD loads from two files; "
            'expected "model" or "camera", or "all" for a file that other programs read'
        )
    if is_vpd and part == "camera":
        raise ValueError("part: a VPD holds the pose of a model")
    cut, omit = names == "cut", names == "omit"
    selected, place = _PARTS.index(part or "all"), _place_of(frame)
    if model is not None:
        check_model(model)
    write(path, _mmdskin._motion_bytes(motion, selected, is_vpd, cut, omit, place, model))


def _place_of(frame: float | None) -> float:
    """The number of a frame; -1 for the first one of the motion."""
    place = -1 if frame is None else number(frame, "frame")
    if frame is not None and not 0 <= place < math.inf:
        raise ValueError(f"frame: {frame}, expected a number from 0 on")
    return place


def refuse_names(faults: Iterable[tuple[str, str, str]]) -> None:
    """Of tracks: what they are, their names that the file does not hold, and why."""
    texts = [
        f'{track}: "{text_of(name.encode("utf-8", "surrogatepass"))}" {why}'
        for track, name, why in faults
    ]
    if texts:
        raise ValueError(f'{"; ".join(texts)}; names="omit" leaves them out')


def _has_model(motion: mmdskin.Motion) -> bool:
    return bool(motion.bones or motion.morphs or len(motion.properties.frames))


def _has_camera(motion: mmdskin.Motion) -> bool:
    return any(len(track.frames) for track in (motion.camera, motion.light, motion.shadow))
