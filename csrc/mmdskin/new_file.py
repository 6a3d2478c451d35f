# SPDX-License-Identifier: MIT
"""Files that are written whole or not at all, as core/base/file.h does for what fits in memory."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shutil
import stat
from typing import TYPE_CHECKING, BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where nobody can delete an open file
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDING = ".mmdskin-new"
# Characters of the name that the new file's name starts with; file systems allow 255 bytes.
_KEPT = 60


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A file open for writing that becomes `path` when the block ends without an exception.

    Until then it has a name of its own in the same folder, and `path` keeps its old contents. It is
    locked until it is renamed (on Windows while it is open); the next write to the same path removes
    those of processes that died. A device or a pipe is written to directly. An OSError names `path`,
    as for a file that may not be written.
    """
    target = os.path.realpath(path)
    beside = None
    try:
        if os.path.exists(target):
            if not stat.S_ISREG(os.stat(target).st_mode):
                with open(target, "wb") as device:
                    yield device
                return
            if not os.access(target, os.W_OK):  # renaming would replace it all the same
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _remove_leftovers(target)
        beside, file = _create(target)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl:  # else it is closed, which Windows requires, and a leftover until renamed
                _publish(beside, target)
        if not fcntl:
            _publish(beside, target)
        beside = None
        _flush_folder(target)
    except OSError as error:
        if error.filename in (None, target) or str(error.filename).endswith(_ENDING):
            error.filename = path
            del error.filename2
        raise
    finally:
        if beside:
            with contextlib.suppress(OSError):
                os.remove(beside)


def _publish(beside: str, target: str) -> None:
    with contextlib.suppress(OSError):
        shutil.copymode(target, beside)
    os.replace(beside, target)


def _kept(target: str) -> str:
    return os.path.basename(target)[:_KEPT]


def _create(target: str) -> tuple[str, BinaryIO]:
    for number in itertools.count():
        name = f"{_kept(target)}.{os.getpid()}-{number}{_ENDING}"
        beside = os.path.join(os.path.dirname(target), name)
        try:
            file = open(beside, "xb")  # noqa: SIM115
        except FileExistsError:
            continue
        if fcntl:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        # Without a name it was taken for a leftover before it was locked: not path.exists(), as
        # another thread may have created a file of that name since.
        if not fcntl or os.fstat(file.fileno()).st_nlink:
            return beside, file
        file.close()
    raise AssertionError


def _remove_leftovers(target: str) -> None:
    folder = os.path.dirname(target)
    leftover = re.compile(re.escape(_kept(target)) + r"\.\d+-\d+" + re.escape(_ENDING))
    names = []
    with contextlib.suppress(OSError):  # a folder that may not be listed
        names = os.listdir(folder)
    for name in filter(leftover.fullmatch, names):
        with contextlib.suppress(OSError):
            _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    if not fcntl:
        os.remove(path)
        return
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been renamed before it was locked, and the name be that of its writer's next.
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            os.remove(path)


def _flush_folder(target: str) -> None:
    """Else the new name may be lost with the power, and the old file be there again."""
    if not fcntl:
        return
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
