# SPDX-License-Identifier: MIT
"""What load_model(), load_motion() and save() read from and write to: paths, open files, bytes."""

from __future__ import annotations

import io
import operator
import os
import re
import stat
from typing import Any

from mmdskin.errors import counted
from mmdskin.new_file import new_file

_LIMIT = 1 << 30  # bytes of what is no regular file and might never end
_CHUNK = 1 << 20
_FORMATS = (
    *(".pmx", ".pmd", ".vmd", ".vpd", ".bvh", ".obj"),
    *(".fbx", ".gltf", ".glb", ".abc", ".usd", ".npz"),
    *(".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tga", ".tif", ".tiff", ".exr"),
)


def read(source: Any) -> bytes:
    """The contents of a path, of an open file from where it is, or of a bytes-like object."""
    if isinstance(source, bytes):
        return bytes(source)
    if hasattr(source, "read"):
        return _read_file(source)
    try:
        view = memoryview(source)
    except TypeError:
        with open(_path(source, "source", ", bytes-like nor a file to read from"), "rb") as file:
            return _read_file(file)
    return view.tobytes()


def path_of(source: Any) -> str | None:
    """The absolute path of what read() has read; None of contents and open files."""
    if isinstance(source, str) or (hasattr(source, "__fspath__") and not hasattr(source, "read")):
        return os.path.abspath(os.fsdecode(source))
    return None


def _read_file(file: Any) -> bytes:
    if not _may_be_endless(file):
        return _bytes(file.read())
    parts, size = [], 0
    while part := _bytes(file.read(_CHUNK)):
        parts.append(part)
        size += len(part)
        if size > _LIMIT:
            raise ValueError(
                f"source: over {_LIMIT >> 30} GiB from what is no regular file; save it as a file first"
            )
    return b"".join(parts)


def _may_be_endless(file: Any) -> bool:
    """Whether an open file is a device, a pipe or a socket."""
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (AttributeError, OSError, OverflowError, TypeError, ValueError):
        return False


def _bytes(contents: Any) -> bytes:
    if isinstance(contents, str):
        raise TypeError('source: a file opened as text, expected mode "rb"')
    return contents if type(contents) is bytes else memoryview(contents).tobytes()


def _path(argument: Any, name: str, others: str) -> str:
    try:
        return os.fsdecode(argument)
    except TypeError:
        raise TypeError(f"{name}: {type(argument)!r} is neither a path{others}") from None


def _target_path(target: Any) -> str:
    return _path(target, "path", " nor a file to write to")


def check_name(target: Any, item: str, *own: str) -> str:
    """The ending of the name of what is to be written, in lower case. Raises ValueError for the
    ending of another format than the item's own."""
    if hasattr(target, "write"):
        name = getattr(target, "name", None)
        name = os.fsdecode(name) if isinstance(name, (str, bytes)) else ""
    else:
        name = _target_path(target)
    ending = "." + name.lower().rpartition(".")[2]
    if ending in _FORMATS and ending not in own:
        raise ValueError(f"path: {name}: a {item} is written as {' or '.join(own)}")
    return ending


def numbered(path: str, number: int) -> str:
    """A path with a number in place of the #s in its name, or as four digits at the end."""
    folder, name = os.path.split(path)
    if "#" not in name:
        name = "####".join(os.path.splitext(name))
    digits = re.sub("#+", lambda found: f"{number:0{len(found[0])}}", name, count=1)
    return os.path.join(folder, digits)


def write(target: Any, data: bytes) -> None:
    """Write to a path, whole or not at all, or to an object with a write method."""
    if hasattr(target, "write"):
        _write_to_file(target, data)
        return
    with new_file(_target_path(target)) as file:
        file.write(data)


def _write_to_file(file: Any, data: bytes) -> None:
    """A file without a buffer may take only a part of what it is given."""
    offered, done = data, 0
    while True:
        taken = _count_taken(file, file.write(offered), len(offered))
        if not taken and offered:
            raise OSError(f"path: the file has taken {done:,} of {counted(len(data), 'byte')}")
        done += taken
        if done >= len(data):
            return
        offered = data[done : done + _CHUNK]


def _count_taken(file: Any, answer: Any, offered: int) -> int:
    """How many bytes write() has taken: all of them unless it returns a smaller number, or None
    where that means that it would have to wait."""
    if answer is None and isinstance(file, io.RawIOBase):
        return 0
    if isinstance(answer, bool) or not hasattr(answer, "__index__"):
        return offered
    return max(0, min(operator.index(answer), offered))
