# SPDX-License-Identifier: GPL-3.0-or-later
"""Write files of motions, all of them or none, and which names they can store: 15 bytes of cp932."""

import contextlib
import errno
import io
import os
from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

from ..blender import output_files
from ..blender.native import mmdskin
from ..blender.user_error import UserError

_MOST = 15  # bytes of a name
LONG_NAMES = {"STOP": "error", "OMIT": "omit", "CUT": "cut"}  # as `names` of `Motion.save`


def checked(path: str, ending: str) -> str:
    """The absolute path with the ending; UserError if nothing can be written there."""
    path = bpy.path.ensure_ext(output_files.absolute(path), ending)
    output_files.check_folder(path)
    if os.path.isdir(path):
        raise output_files.unwritable(path, os.strerror(errno.EISDIR))
    return path


def saved(path: str, motion: "mmdskin.Motion", **options: Any) -> bytes:
    """The bytes of a motion's file; UserError if it cannot be one."""
    data = io.BytesIO()
    try:
        motion.save(data, **options)
    except (ValueError, MemoryError) as error:
        raise output_files.unwritable(path, error) from error
    return data.getvalue()


def write(contents: Iterable[tuple[str, bytes]]) -> None:
    """Write files: first beside their paths, so that a failure leaves earlier files as they are."""
    with contextlib.ExitStack() as undo:
        written = []
        for path, data in contents:
            try:
                new = output_files.create(path)
                undo.callback(new.close)
                new.file.write(data)
                new.finish()
            except OSError as error:
                raise output_files.unwritable(path, error) from error
            written.append(new)
        for new in written:
            try:
                new.replace()
            except OSError as error:
                raise output_files.unwritable(new.path, error) from error


def check_names(motion: "mmdskin.Motion", long_names: str) -> list[str]:
    """The names of keys that MMD will not find; UserError with all of them if it is to stop there.

    `Motion.save` leaves out keys without an effect: of bones and morphs at rest and IK that stays on.
    """
    switches = motion.properties
    acting = [
        *(track.name for track in motion.bones if _acts(track)),
        *(track.name for track in motion.morphs if np.any(track.weights)),
        *(switches.ik_names[number] for number in np.flatnonzero(~switches.ik_enabled.all(axis=0))),
    ]
    found = [name for name in dict.fromkeys(acting) if not _fits(name)]
    if found and long_names == "STOP":
        raise UserError(
            "MMD cannot find bones and morphs whose names are longer than 15 bytes or not in"
            " cp932: {names}. Rename them in PMX Editor, or set Long Names to Leave Out",
            names=", ".join(f"'{name}'" for name in found),
        )
    return found


def _acts(track: "mmdskin.BoneTrack") -> bool:
    """Whether a bone moves, or its physics is switched off."""
    moves = np.any(track.translations) or np.any(track.rotations[:, :3])
    return bool(moves or not np.all(track.physics))


def _fits(name: str) -> bool:
    try:
        return len(name.encode("cp932", "surrogateescape")) <= _MOST
    except UnicodeEncodeError:
        return False


def listed(names: Iterable[str]) -> str:
    """Names for people; bytes that are not text are shown as such."""
    shown = (name.encode("utf-8", "replace").decode("utf-8") for name in names)
    return ", ".join(shown)
