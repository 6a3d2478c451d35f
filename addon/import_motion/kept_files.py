# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion files of original keys, kept in the action: an export writes unchanged keys as they were.

The files themselves may move or change, and the action may be used in another .blend.
"""

import os
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy

from ..blender import details, native

if TYPE_CHECKING:
    import mmdskin

_logger = details.logger(__name__)
_PROPERTY = "mmdskin_motion_files"  # a list of groups, oldest first
_MOST = 1 << 28  # bytes of a file: more than a VMD of eight hours


class Kept(NamedTuple):
    data: bytes  # the file
    motion: "mmdskin.Motion"
    start: float  # as of `motion_source.Motion`
    speed: float


def keep(action: bpy.types.Action, files: Iterable[Sequence[Any]]) -> None:
    """Keep files that still exist, each with its start and speed; replaces earlier ones of the action."""
    found = []
    for path, start, speed in files:
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST)
        except OSError as error:
            _logger.debug("skipped '%s': %s", path, error)
            continue
        found.append(
            {
                "name": os.path.basename(path),
                "start": float(start),
                "speed": float(speed),
                "data": zlib.compress(data),
            }
        )
    action[_PROPERTY] = found


def read(action: bpy.types.Action, pmx: "mmdskin.Model | None" = None) -> list[Kept]:
    """The kept files, oldest first, for a model; [] if any of them is damaged."""
    found = []
    try:
        for entry in action.get(_PROPERTY, ()):
            data = zlib.decompressobj().decompress(bytes(entry["data"]), _MOST)
            motion = native.load().load_motion(data, model=pmx)
            found.append(Kept(data, motion, float(entry["start"]), float(entry["speed"])))
    except (KeyError, TypeError, ValueError, MemoryError, zlib.error) as error:
        _logger.debug("skipped the damaged files of '%s': %r", action.name, error)  # edited by hand
        return []
    return found if all(kept.speed > 0 for kept in found) else []
