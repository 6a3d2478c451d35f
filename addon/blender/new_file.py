# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all, as core/base/file.h does in C.

A new file is written beside its place, flushed to the disk and renamed, so the place has its old
contents or the new ones whatever fails. It is locked until it is there (on Windows while it is open);
the next write to the same place removes those of processes that died.
"""

import contextlib
import itertools
import os
import re
import shutil
from io import BufferedWriter

try:
    import fcntl
except ImportError:  # Windows, where nobody can delete an open file
    fcntl = None  # type: ignore[assignment]

_ENDING = ".mmdskin-new"
_KEPT = 200  # bytes of the name that the new file's name starts with; file systems allow 255


class NewFile:
    """A file that is to become `path`; `file` is open for writing, and `beside` is its path.

    Another program may write to a path that starts with `beside`; `close` removes that, too. Every
    method raises OSError.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock: int | None = None
        remove_leftovers(self.path)
        self.beside, self.file = _create(self.path)

    def finish(self) -> None:
        """Flush to the disk and close; only placing is left to do."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if fcntl is not None:  # Windows does not rename what has a handle
            self._lock = os.dup(self.file.fileno())
        self.file.close()

    def replace(self, source: str = "", path: str = "") -> None:
        """Put it in place of what is there, or a finished file that starts with `beside` at `path`."""
        source, target = source or self.beside, path or self.path
        if os.path.islink(target):
            target = os.path.realpath(target)
        with contextlib.suppress(OSError):
            shutil.copymode(target, source)
        os.replace(source, target)
        flush_folder(target)
        self._unlock()

    def place(self, path: str) -> None:
        """Put it where nothing is, else FileExistsError."""
        try:
            os.link(self.beside, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                raise FileExistsError(path) from None
            os.replace(self.beside, path)
        else:
            os.remove(self.beside)
        flush_folder(path)
        self._unlock()

    def close(self) -> None:
        """Remove what was not put in place."""
        with contextlib.suppress(OSError):  # of a full disk
            self.file.close()
        _remove(self.beside)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def flush(path: str) -> None:
    """Flush a file that another program has written."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def flush_folder(path: str) -> None:
    """Else the new name of a file may be lost with the power."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_leftovers(path: str) -> None:
    """Remove the files that processes which died were to rename to `path`."""
    folder, start = os.path.split(_start(path))
    name = re.compile(re.escape(start) + r"\.\d+-\d+" + re.escape(_ENDING))
    with contextlib.suppress(OSError):
        for found in filter(name.fullmatch, os.listdir(folder or ".")):
            _remove_unlocked(os.path.join(folder, found))


def _start(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, os.fsencode(name)[:_KEPT].decode("utf-8", "ignore"))


def _create(path: str) -> tuple[str, BufferedWriter]:
    for number in itertools.count():
        beside = f"{_start(path)}.{os.getpid()}-{number}{_ENDING}"
        with contextlib.suppress(FileExistsError):
            file = open(beside, "xb")  # noqa: SIM115
            _lock(file)
            # Without a name, it was taken for a leftover before it was locked
            if fcntl is None or os.fstat(file.fileno()).st_nlink:
                return beside, file
            file.close()
    raise AssertionError


def _lock(file: BufferedWriter) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):  # without locks, leftovers stay
            fcntl.flock(file, fcntl.LOCK_EX)


def _remove_unlocked(path: str) -> None:
    if fcntl is None:
        _remove(path)
        return
    with contextlib.suppress(OSError), open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been renamed before it was locked, and the name be that of its writer's next.
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            _remove(path)


def _remove(beside: str) -> None:
    """Remove what starts with the path; the file itself last, which tells of the others."""
    folder, start = os.path.split(beside)
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder or "."), reverse=True):
            if name.startswith(start):
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    (shutil.rmtree if os.path.isdir(path) else os.remove)(path)
