# SPDX-License-Identifier: MIT
"""Checks of arguments, with errors as those of the extension module."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING

import numpy as np

import mmdskin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def check_model(model: object, name: str = "model") -> None:
    if not isinstance(model, mmdskin.Model):
        raise wrong_type(model, f"{name}: expected a Model", "load_model")


def check_motion(motion: object) -> None:
    if motion is not None and not isinstance(motion, mmdskin.Motion):
        raise wrong_type(motion, "motion: expected a Motion or None", "load_motion")


def check_mesh(mesh: object) -> None:
    if not isinstance(mesh, (mmdskin.Model, mmdskin.Mesh)):
        raise wrong_type(mesh, "mesh: expected a Model or a Mesh", "load_model")


def wrong_type(value: object, expected: str, loader: str) -> TypeError:
    """The error of an argument; for the path of a file, it says what reads that."""
    is_path = isinstance(value, (str, bytes, os.PathLike))
    hint = f"; {loader}() reads a file" if is_path else ""
    return TypeError(f"{expected}, not {type(value)!r}{hint}")


def check_size(size: object) -> None:
    """Of a picture."""
    try:
        width, height = map(operator.index, size)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise TypeError("size: expected (width, height), two integers") from None
    if min(width, height) < 1:
        raise ValueError(f"size: {width} x {height}, expected at least 1 x 1")


def frame_numbers(frames: ArrayLike) -> NDArray[np.float64]:
    try:
        numbers = np.array(frames, np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"frames: expected numbers (F,), not {type(frames)!r}") from None
    if numbers.ndim != 1:
        raise ValueError(f"frames: shape {numbers.shape}, expected (F,)")
    not_finite = np.flatnonzero(~np.isfinite(numbers))
    if len(not_finite):
        at = not_finite[0]
        raise ValueError(f"frames[{at}] is {'NaN' if np.isnan(numbers[at]) else 'infinite'}")
    return numbers
