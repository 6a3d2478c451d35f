# SPDX-License-Identifier: GPL-3.0-or-later
"""Write files of motions: all of them, or none."""

import contextlib
import errno
import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import bpy

from ..blender import new_file
from ..blender.user_error import UserError

if TYPE_CHECKING:
    import mmdskin


def checked(path: str, ending: str) -> str:
    """The absolute path with the ending; UserError if nothing can be written there."""
    if not path:
        raise UserError("No file selected: enter the path of the file to write")
    path = os.path.abspath(bpy.path.ensure_ext(bpy.path.abspath(path), ending))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise UserError("The folder '{folder}' does not exist: create it first", folder=folder)
    if os.path.isdir(path):
        raise _unwritable(path, os.strerror(errno.EISDIR))
    return path


def saved(path: str, motion: "mmdskin.Motion", **options: Any) -> bytes:
    """The bytes of a motion's file; UserError if it cannot be one."""
    data = io.BytesIO()
    try:
        motion.save(data, **options)
    except (ValueError, MemoryError) as error:
        raise _unwritable(path, str(error)) from error
    return data.getvalue()


def write(contents: Iterable[tuple[str, bytes]]) -> None:
    """Write files: first beside their paths, so that a failure leaves earlier files as they are."""
    with contextlib.ExitStack() as undo:
        written = []
        for path, data in contents:
            try:
                new = new_file.create(path)
                undo.callback(new.close)
                new.file.write(data)
                new.finish()
            except OSError as error:
                raise _unwritable(path, error.strerror or str(error)) from error
            written.append(new)
        for new in written:
            try:
                new.replace()
            except OSError as error:
                raise _unwritable(new.path, error.strerror or str(error)) from error


def _unwritable(path: str, reason: str) -> UserError:
    return UserError(
        "'{file}' cannot be written: {reason}", file=os.path.basename(path), reason=reason
    )
