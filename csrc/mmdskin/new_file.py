# SPDX-License-Identifier: MIT
"""Files that are written whole or not at all: the only code that writes to a path.

A new file is written beside its place, flushed to the disk and renamed, so the place has its old
contents or the new ones whatever fails. It is locked until then; the next write to the same place
removes those of processes that died. On Windows, which renames no file that is open, it is locked
while it is open, and stays for a minute after that. The Blender add-on uses this module, too.

A file that is replaced keeps its owner, group and mode; where it cannot, as little is allowed to
everybody as before, or less, at every moment. (On Windows it gets the permissions of its folder.)
"""

from __future__ import annotations

import contextlib
import errno
import io
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
    from collections.abc import Callable, Iterator
    from io import BufferedWriter
    from typing import BinaryIO

_ENDING = ".mmdskin-new"
_KEPT = 200  # bytes of the name that the new file's name starts with; file systems allow 255
_GAP = 60  # seconds on Windows, longer than from close to rename


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A file open for writing that becomes `path` when the block ends without an exception.

    A symbolic link stays one, and one to a path without a file creates that file. A device or a
    pipe is written to directly. An OSError names `path`, as for a file that may not be written.
    """
    if not path:  # which is not the current folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    target = os.path.realpath(path)
    new = None
    try:
        if _is_device(target):
            with _open_device(target) as device:
                yield device
            return
        check_replaceable(target)
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


def _is_device(path: str) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def _open_device(path: str) -> Iterator[BinaryIO]:
    raw = open(path, "wb", buffering=0)  # noqa: SIM115
    with raw, io.BufferedWriter(raw) as device:
        try:
            yield device
            device.flush()
        except BaseException:
            raw.close()  # else the rest would be written, and an interrupt wait for a full pipe
            raise


def check_replaceable(path: str) -> None:
    """Raise the OSError of writing to a path, which renaming a file would replace all the same."""
    code = 0
    if os.path.islink(os.path.realpath(path)):
        code = errno.ELOOP
    elif os.path.isdir(path):
        code = errno.EACCES if os.name == "nt" else errno.EISDIR
    elif os.path.exists(path) and not os.access(path, os.W_OK):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), path)


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
        _flush(self.file.fileno())
        if fcntl is not None:  # Windows does not rename what has a handle
            self._lock = os.dup(self.file.fileno())
        self.file.close()

    def replace(self, source: str = "", path: str = "") -> None:
        """Put it in place of what is there, or at `path` what another program has written."""
        written, target = source or self.beside, path or self.path
        if os.path.islink(target):
            target = os.path.realpath(target)
        check_replaceable(target)
        if source:
            with open(source, "rb+", opener=_open_itself) as file:
                _flush(file.fileno())
                _keep_permissions(file.fileno(), target)
        else:
            _keep_permissions(self._lock, target)
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
        """Put it where nothing is, else FileExistsError. It is as private as what has its own path."""
        _keep_permissions(self._lock, self.path)
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


def _flush(file: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS, where fsync leaves data in the disk's own memory
        with contextlib.suppress(OSError):  # of a file system without it
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
            return
    os.fsync(file)


def _keep_permissions(new: int | None, target: str) -> None:
    """Give a new file the owner, group and mode of the one that it replaces, or less."""
    try:
        old = os.stat(target)
    except OSError:
        return
    if fcntl is None or new is None:
        return
    user, group, other = (old.st_mode >> shift & 7 for shift in (6, 3, 0))  # not setuid and setgid
    listed, has_list = _keep_access_list(new, target)
    group_kept = _try(os.fchown, new, -1, old.st_gid)
    user_kept = _try(os.fchown, new, old.st_uid, -1)
    if has_list and not (listed and group_kept and user_kept):
        group = other = 0
    if not group_kept:  # its members count as others now, and others as members of the new group
        group = other = group & other
    if not user_kept:  # the same for who owned it
        group, other = group & user, other & user
    _try(os.fchmod, new, user << 6 | group << 3 | other)


def _keep_access_list(new: int, target: str) -> tuple[bool, bool]:
    """Copy the list of further users and groups (Linux); whether that succeeded, and there is one.
    A folder may have given the new file another list."""
    name = "system.posix_acl_access"
    if not hasattr(os, "setxattr"):
        return True, False
    try:
        entries = os.getxattr(target, name)
    except OSError:
        _try(os.removexattr, new, name)
        return True, False
    return _try(os.setxattr, new, name, entries), True


def _try(function: Callable[..., None], *arguments: object) -> bool:
    try:
        function(*arguments)
    except OSError:
        return False
    return True


def _flush_folder(path: str) -> None:
    """Else a power failure may undo the rename."""
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
    mode = 0o600 if os.path.exists(path) else 0o666  # until it gets that of what it replaces

    def opener(beside: str, flags: int) -> int:
        return os.open(beside, flags, mode)

    for number in itertools.count():
        beside = f"{_start(path)}.{os.getpid()}-{number}{_ENDING}"
        with contextlib.suppress(FileExistsError):
            file = open(beside, "xb", opener=opener)  # noqa: SIM115
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
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


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
