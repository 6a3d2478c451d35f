# SPDX-License-Identifier: MIT
"""Files that are written whole or not at all, as core/base/file.h does for what fits in memory.

A new file is written beside its place, flushed to the disk and renamed, so the place has its old
contents or the new ones whatever fails. It is locked until then; the next write to the same place
removes those of processes that died. On Windows, which renames no file that is open, it is locked
while it is open, and stays for a minute after that. The Blender add-on uses this module, too.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shutil
import stat
import sys
import time
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows, where nobody can delete an open file
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedWriter

_ENDING = ".mmdskin-new"
_KEPT = 200  # bytes of the name that the new file's name starts with; file systems allow 255
_GAP = 60  # seconds on Windows, longer than from close to rename


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BufferedWriter]:
    """A file open for writing that becomes `path` when the block ends without an exception.

    A symbolic link stays one. A device or a pipe is written to directly. An OSError names `path`, as
    for a file that may not be written.
    """
    target = os.path.realpath(path)
    new = None
    try:
        if os.path.exists(target):
            if not stat.S_ISREG(os.stat(target).st_mode):
                with open(target, "wb") as device:
                    yield device
                return
            if not os.access(target, os.W_OK):  # renaming would replace it all the same
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        new = NewFile(target)
        yield new.file
        new.finish()
        new.replace()
    except OSError as error:
        if error.filename in (None, target) or str(error.filename).endswith(_ENDING):
            error.filename = path
            del error.filename2
        raise
    finally:
        if new:
            new.close()


class NewFile:
    """A file that is to become `path`; `file` is open for writing, and `beside` is its path.

    Another program may write to a path that starts with `beside`; `close` removes that, too. Every
    method raises OSError.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock: int | None = None
        self._placed = False
        _remove_leftovers(self.path)
        self.beside, self.file = _create(self.path)

    def finish(self) -> None:
        """Flush to the disk and close; only placing is left to do."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if fcntl is not None:  # Windows does not rename what has a handle
            self._lock = os.dup(self.file.fileno())
        self.file.close()

    def replace(self, source: str = "", path: str = "") -> None:
        """Put it in place of what is there, or at `path` what another program has written."""
        written, target = source or self.beside, path or self.path
        if source:
            with open(source, "rb+") as file:
                os.fsync(file.fileno())
        if os.path.islink(target):
            target = os.path.realpath(target)
        with contextlib.suppress(OSError):
            shutil.copymode(target, written)
        try:
            os.replace(written, target)
        except OSError as error:
            if error.errno != errno.EXDEV:  # where a link leads to another file system
                raise
            with new_file(target) as copy, open(written, "rb") as file:
                shutil.copyfileobj(file, copy)
        else:
            self._placed = not source
        _flush_folder(target)
        self._unlock()

    def place(self, path: str) -> None:
        """Put it where nothing is, else FileExistsError."""
        try:
            os.link(self.beside, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                exists = FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
                raise exists from None
            os.replace(self.beside, path)
        else:
            os.remove(self.beside)
        self._placed = True
        _flush_folder(path)
        self._unlock()

    def close(self) -> None:
        """Remove what was not put in place."""
        with contextlib.suppress(OSError):  # of a full disk
            self.file.close()
        if not self._placed:  # else the name may be another thread's by now
            _remove(self.beside)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _flush_folder(path: str) -> None:
    """Else the new name of a file may be lost with the power, and the old file be there again."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _start(path: str) -> str:
    folder, name = os.path.split(path)
    encoded = os.fsencode(name)
    if len(encoded) > _KEPT:  # without a part of a character
        name = encoded[:_KEPT].decode(sys.getfilesystemencoding(), "ignore")
    return os.path.join(folder, name)


def _create(path: str) -> tuple[str, BufferedWriter]:
    for number in itertools.count():
        beside = f"{_start(path)}.{os.getpid()}-{number}{_ENDING}"
        with contextlib.suppress(FileExistsError):
            file = open(beside, "xb")  # noqa: SIM115
            if fcntl is not None:
                with contextlib.suppress(OSError):  # without locks, leftovers stay
                    fcntl.flock(file, fcntl.LOCK_EX)
            # Without a name it was taken for a leftover before it was locked: not path.exists(),
            # as another thread may have created a file of that name since.
            if fcntl is None or os.fstat(file.fileno()).st_nlink:
                return beside, file
            file.close()
    raise AssertionError


def _remove_leftovers(path: str) -> None:
    """Remove the files that processes which died were to rename to `path`."""
    folder, start = os.path.split(_start(path))
    name = re.compile(re.escape(start) + r"\.\d+-\d+" + re.escape(_ENDING))
    with contextlib.suppress(OSError):  # a folder that may not be listed
        for found in filter(name.fullmatch, os.listdir(folder or ".")):
            with contextlib.suppress(OSError):
                _remove_leftover(os.path.join(folder, found))


def _remove_leftover(path: str) -> None:
    if fcntl is None:
        if time.time() - os.stat(path).st_mtime > _GAP:  # else it may be about to be renamed
            os.remove(path)  # which is refused while it is open, so before what belongs to it
            _remove(path)
        return
    with open(path, "rb", opener=_open_itself) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been renamed before it was locked, and the name be that of its writer's next.
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            _remove(path)


def _open_itself(path: str, flags: int) -> int:
    """Not what a link leads to, nor a pipe that somebody would have to write to first."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _remove(beside: str) -> None:
    """Remove what starts with the path; the file itself last, which tells of the others."""
    folder, start = os.path.split(beside)
    names = [start]
    with contextlib.suppress(OSError):
        names += [name for name in os.listdir(folder or ".") if name.startswith(f"{start}.")]
    for name in sorted(names, reverse=True):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            (shutil.rmtree if os.path.isdir(path) else os.remove)(path)
