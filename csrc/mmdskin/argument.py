# SPDX-License-Identifier: MIT
"""Checks of arguments, with errors as those of the extension module."""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin.array_arguments import check_shape, converted, reduced
from mmdskin.errors import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MOST_TEXTURES = 2**31 - 1  # of a Mesh, which has no list of them


def check_model(model: object, name: str = "model") -> None:
    if not isinstance(model, mmdskin.Model):
        raise wrong_type(model, f"{name}: expected a Model", "load_model")


def check_motion(motion: object, name: str = "motion") -> None:
    if motion is not None and not isinstance(motion, mmdskin.Motion):
        raise wrong_type(motion, f"{name}: expected a Motion or None", "load_motion")


def check_mesh(mesh: object) -> None:
    if not isinstance(mesh, (mmdskin.Model, mmdskin.Mesh)):
        raise wrong_type(mesh, "mesh: expected a Model or a Mesh", "load_model")


def wrong_type(value: object, expected: str, loader: str) -> TypeError:
    """The error of an argument; for the path of a file, it says what reads that."""
    is_path = isinstance(value, (str, bytes, os.PathLike))
    hint = f"; {loader}() reads a file" if is_path else ""
    return TypeError(f"{expected}, not {type(value)!r}{hint}")


def check_word(value: object, name: str, words: tuple[str, ...], fault: str = "is unknown") -> None:
    """Of a few words, the one that is meant."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, not {type(value)!r}")
    if value not in words:
        expected = '", "'.join(words[:-1]) + f'" or "{words[-1]}'
        raise ValueError(f'{name}: "{value}" {fault}, expected "{expected}"')


def number(value: Any, name: str) -> float:
    """A number as a float; not a text of one, which float() takes."""
    try:
        return math.ldexp(value, 0)
    except TypeError:
        raise TypeError(f"{name}: expected a number, not {type(value)!r}") from None
    except OverflowError:
        raise ValueError(f"{name}: {value} is too large") from None


def integer(value: Any, name: str, least: int, most: int) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, not {type(value)!r}") from None
    if not least <= found <= most:
        raise ValueError(f"{name}: {value}, expected {least} to {most}")
    return found


def parse_size(size: object) -> tuple[int, int]:
    """Of a picture."""
    text = "size: expected (width, height), two integers"
    try:
        numbers = tuple(map(operator.index, size))  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(text) from None
    if len(numbers) != 2:
        raise ValueError(text)
    width, height = (min(number, sys.maxsize) for number in numbers)
    if min(width, height) < 1:
        raise ValueError(f"size: {width} x {height}, expected at least 1 x 1")
    return width, height


def parse_want(want: object) -> tuple[bool, ...]:
    """Which members of a Rendered are requested."""
    known = mmdskin.Rendered._fields
    if isinstance(want, str) or not isinstance(want, Iterable):
        raise TypeError("want: expected a sequence of names")
    names = tuple(want)
    for name in names:
        if not isinstance(name, str) or name not in known:
            expected = '", "'.join(known[:-1]) + f'" or "{known[-1]}'
            raise ValueError(f'want: {name!r} is unknown, expected "{expected}"')
    return tuple(map(names.__contains__, known))


def camera_rows(camera: Any) -> NDArray[np.float64]:
    """(10,) or (F,10): position, target, up and field of view."""
    if not isinstance(camera, mmdskin.Camera) or len(camera) != 4:
        raise TypeError(f"camera: expected a Camera, not {type(camera)!r}")
    rows, frames, batched = [], 1, False
    for field, member, width in zip(camera._fields, camera, (3, 3, 3, 1), strict=True):
        name, shape = f"camera.{field}", (3,) if width > 1 else ()
        array = converted(member, name, "float64", 5)[1]
        has_frames = array.ndim == len(shape) + 1
        check_shape(array.shape, name, ("F", *shape) if has_frames else shape)
        row = array.reshape(-1, width)
        frames = len(row) if frames == 1 else frames
        if len(row) not in (1, frames):
            raise ValueError(f"{name}: {len(row)} frames, other members have {frames}")
        rows.append(row)
        batched |= has_frames
    table = np.empty((frames, 10))
    table[:, :3], table[:, 3:6], table[:, 6:9], table[:, 9:] = rows
    return table if batched else table[0]


def texture_items(textures: Any, model: mmdskin.Model | None) -> list[tuple[int, str, Any]]:
    """Of render(textures=): the keys, what errors call them, and their pixels."""
    if textures is None:
        return []
    if not isinstance(textures, dict):
        raise TypeError(f"textures: expected a dict, not {type(textures)!r}")
    limit = _MOST_TEXTURES if model is None else len(model.textures)
    images = []
    for key in list(textures):
        if not isinstance(key, int):
            raise TypeError(f"textures: key {key!r}, expected the index of a texture")
        if not 0 <= key < limit:
            known = f"the model has {counted(limit, 'texture')}"
            if model is None:
                known = f"expected 0 to {limit - 1}"
            raise ValueError(f"textures: key {key}, {known}")
        images.append((key, f"textures[{key:d}]", textures[key]))
    return images


def frame_numbers(frames: ArrayLike) -> NDArray[np.float64]:
    numbers = converted(frames, "frames", "float64", 5)[1].copy()
    check_shape(numbers.shape, "frames", ("F",))
    not_finite = np.flatnonzero(~np.isfinite(numbers))
    if len(not_finite):
        at = not_finite[0]
        raise ValueError(f"frames[{at}] is {'NaN' if np.isnan(numbers[at]) else 'infinite'}")
    return numbers


def first_frame(frames: Any, count: int) -> int:
    """Of frame numbers that follow each other; None: 0, 1, 2 and so on."""
    if frames is None:
        return 0
    numbers = _numbers(frames, "frames")
    first = float(numbers[0]) if numbers.size else -1.0
    fits = len(numbers) == count and first >= 0 and first.is_integer()
    if not fits or first + count > 2**32 or (numbers != first + np.arange(count)).any():
        series = ", each one more than the one before" if count > 1 else ""
        raise ValueError(
            f"frames: expected {counted(count, 'whole number')} up to {2**32 - 1}{series}"
        )
    return int(first)


def frame_flags(frames: Any, name: str, first: int, count: int) -> NDArray[np.bool_]:
    """Of frames that follow each other, which ones these numbers are."""
    numbers = _numbers(frames, name) - first
    known = (numbers >= 0) & (numbers < count) & (numbers == np.floor(numbers))
    if not reduced(known.all):
        raise ValueError(f"{name}: number {np.argmin(known)} is not one of the frames")
    flags = np.zeros(count, np.bool_)
    flags[numbers.astype(np.intp)] = True
    return flags


def _numbers(frames: Any, name: str) -> NDArray[np.float64]:
    """(F,), from one, too."""
    numbers = converted(frames, name, "float64", 5)[1]
    if numbers.ndim > 1:
        raise ValueError(f"{name}: {numbers.ndim} dimensions, expected a number or (F,)")
    return numbers.reshape(-1)
