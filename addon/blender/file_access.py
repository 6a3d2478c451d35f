# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files may be read, and files that are written whole or not at all, with the errors of writing.

Those that may be read are regular files of a bounded size, on no computer that only a .blend names: a
.blend names files that are read when it is opened. A pipe or a device would never end, and Windows sends
the user's credentials to a server that a path names. All errors of reading are OSErrors.
"""

import contextlib
import errno
import ntpath
import os
import stat
from collections.abc import Iterator

import bpy

from .native import mmdskin
from .translations import tr
from .user_error import UserError

LIMIT = 2**31  # bytes

_chosen: set[str] = set()  # servers and shares that the user has chosen in this session


def choose(path: str) -> None:
    """Remember that the user has chosen a path, or what sets a property."""
    _chosen.add(_share(path))


def may_look(path: str) -> bool:
    """Whether a path may be looked up at all: not on a share that neither the user has chosen nor the
    .blend is on."""
    return _share(path) in {"", *_chosen, _share(bpy.data.filepath)}


def check(path: str) -> os.stat_result:
    """The status of a file that may be read."""
    if not may_look(path):
        reason = tr("it is on another computer: choose the file again to allow it")
        raise OSError(errno.EACCES, reason, path)
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, tr("it is a device or a pipe, not a file"), path)
    if status.st_size > LIMIT:
        raise OSError(errno.EFBIG, tr("it is larger than {size} GB", size=LIMIT >> 30), path)
    return status


def exists(path: str) -> bool:
    return may_look(path) and os.path.exists(path)


def _share(path: str) -> str:
    """The server or device that a path names: \\\\server\\share, or //server/share on Windows; else ""."""
    is_remote = path.startswith("\\\\") or (os.name == "nt" and path.startswith("//"))
    return ntpath.normcase(ntpath.splitdrive(path)[0] or path) if is_remote else ""


def absolute(path: str) -> str:
    """The absolute path of a file to write; UserError if none is chosen."""
    if not os.path.basename(path):  # the path of a folder, too
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
