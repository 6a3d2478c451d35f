# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all, by the module, and the errors of writing them."""

import contextlib
import os
from collections.abc import Iterator

import bpy

from .native import mmdskin
from .user_error import UserError


def absolute(path: str) -> str:
    """The absolute path of a file to write; UserError if none is chosen."""
    if not path:
        raise UserError("No file selected: enter the path of the file to write")
    return os.path.abspath(bpy.path.abspath(path))


def check_folder(path: str) -> None:
    """UserError if the folder of a path does not exist."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise UserError("The folder '{folder}' does not exist: create it first", folder=folder)


def check_writable(path: str) -> None:
    """UserError if a file cannot be written, before any work."""
    check_folder(path)
    with writing(path):
        mmdskin.new_file.check_replaceable(path)
        mmdskin.new_file.NewFile(path).close()


def unwritable(path: str, reason: str | Exception) -> UserError:
    reason = getattr(reason, "strerror", None) or str(reason)
    return UserError(
        "'{file}' cannot be written: {reason}", file=os.path.basename(path), reason=reason
    )


@contextlib.contextmanager
def writing(path: str, *others: type[Exception]) -> Iterator[None]:
    """In the block, an OSError, or another of these errors, becomes `unwritable`."""
    try:
        yield
    except (OSError, *others) as error:
        raise unwritable(path, error) from error
