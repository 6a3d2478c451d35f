# SPDX-License-Identifier: MIT
"""What commands of the command line read: models, motions, textures, settings."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np

import mmdskin
from mmdskin.command_console import CommandError, warn
from mmdskin.texture_files import read_textures

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from numpy.typing import NDArray

    _Loaded = TypeVar("_Loaded")

MOST_FRAMES = 10_000_000  # 93 hours: more is the key of a damaged file


def load_model(path: str, file: BinaryIO | None = None) -> mmdskin.Model:
    return _load(path, mmdskin.load_model, file)


def load_motion(
    path: str,
    encoding: str | None = None,
    model: mmdskin.Model | None = None,
    file: BinaryIO | None = None,
) -> mmdskin.Motion:
    loader = functools.partial(mmdskin.load_motion, encoding=encoding, model=model)
    motion = _load(path, loader, file)
    if encoding is None and motion.encoding != "cp932":
        warn(f"{path}: names are read as {motion.encoding}")
    return motion


def is_capture(path: str) -> bool:
    """Whether its name is that of a skeleton with its motion."""
    return path.lower().endswith((".bvh", ".gltf", ".glb", ".vrm", ".vrma"))


def load_capture(
    path: str, up: Literal["y", "z"] | None
) -> tuple[mmdskin.Skeleton, NDArray[np.float64], float]:
    if path.lower().endswith(".bvh"):
        return _load(path, functools.partial(mmdskin.load_bvh, up=up))
    return _load(path, mmdskin.load_gltf)


def _load(path: str, loader: Callable[[Any], _Loaded], file: BinaryIO | None = None) -> _Loaded:
    """What the loader reads from a path, or from the file that is open there."""
    try:
        return loader(file or path)
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error


def check_output(path: str, *inputs: str | None) -> None:
    """Raises CommandError, before any work, for a path without a folder and for one of the inputs."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise CommandError(f"{path}: there is no folder {folder}")
    for one in inputs:
        if one and os.path.exists(one) and os.path.exists(path) and os.path.samefile(one, path):
            raise CommandError(f"{path}: this is the input; name another file", status=2)


def frame_numbers(
    path: str, motion: mmdskin.Motion | None, chosen: slice = slice(None)
) -> NDArray[np.int64]:
    """The chosen frames of a motion, of which there are one to MOST_FRAMES."""
    last = motion.frame_range[1] if motion else 0
    numbers = range(last + 1)[chosen]
    if not numbers:
        raise CommandError(f"{path}: no frame is chosen: it ends at frame {last}")
    if len(numbers) > MOST_FRAMES:
        raise CommandError(f"{path}: {len(numbers):,} frames, expected at most {MOST_FRAMES:,}")
    return np.arange(numbers.start, numbers.stop, numbers.step)


def physics_setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE as a field of Physics. Raises ValueError, also for a value out of range."""
    name, _, value = text.partition("=")
    if name not in mmdskin.Physics._fields:
        raise ValueError(
            f"{text}: expected one of {', '.join(mmdskin.Physics._fields)}, and =VALUE"
        )
    default = mmdskin.Physics._field_defaults[name]
    words = {"true": True, "false": False}
    if isinstance(default, bool) and value.lower() in words:
        return name, words[value.lower()]
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        numbers = []
    if isinstance(default, tuple):
        fits, expected = len(numbers) == 3, "x,y,z"
    elif name == "ground":
        fits, expected = len(numbers) == 1, "true, false or a height"
    elif isinstance(default, bool):
        fits, expected = False, "true or false"
    elif isinstance(default, int):
        fits, expected = len(numbers) == 1 and numbers[0].is_integer(), "a whole number"
    else:
        fits, expected = len(numbers) == 1, "a number"
    if not fits:
        raise ValueError(f"{text}: expected {name}={expected}")
    setting: Any = numbers[0]
    if isinstance(default, tuple):
        setting = tuple(numbers)
    elif expected == "a whole number":
        setting = int(setting)
    mmdskin.Simulation(mmdskin.Model.from_arrays(), None, mmdskin.Physics(**{name: setting}))
    return name, setting


def physics_settings(options: Any) -> mmdskin.Physics:
    return mmdskin.Physics(**dict(options.settings))


def physics(options: Any) -> mmdskin.Physics | None:
    """The settings if --physics is chosen."""
    if options.settings and not options.physics:
        raise CommandError("--set is for --physics", status=2)
    return physics_settings(options) if options.physics else None


def textures(model: mmdskin.Model, path: str) -> dict[int, NDArray[np.uint8]]:
    """The images of the textures, for render(). Warns of those that it lacks."""
    try:
        return read_textures(model, os.path.dirname(path), lambda text: warn(f"{path}: {text}"))
    except ImportError as error:
        warn(f"{path}: textures are left out. {error}")
        return {}
