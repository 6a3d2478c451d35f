# SPDX-License-Identifier: GPL-3.0-or-later
"""Write an export beside its place and rename it, so that a failure keeps the file that was there.

Exporters may end without an error on a full disk. So the file itself must say that it is whole.
"""

import contextlib
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable

from ..blender import file_access
from ..blender.native import mmdskin
from ..blender.translations import tr

_FBX_END = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")


def write(path: str, export: Callable[[str], set[str]], size: int = 0) -> None:
    """Call `export` with the path of a new file, and put the complete file at `path`.

    UserError, too, if the disk has no room for `size` bytes.
    """
    reason = tr("Blender's exporter failed")
    with file_access.writing(path):
        mmdskin.new_file.check_replaceable(path)
        _check_room(path, size)
        with contextlib.closing(mmdskin.new_file.NewFile(path)) as new:
            target = _target(new)
            try:
                done = export(target)
            except RuntimeError as error:
                done, reason = set(), _last_line(error)
            if done != {"FINISHED"} or not is_whole(target):
                raise file_access.unwritable(path, reason)
            for source, place in _files(target, path):
                new.replace(source, place)


def is_whole(path: str) -> bool:
    """Whether an exported file is complete, as far as its format tells."""
    ending = os.path.splitext(path)[1].lower()
    try:
        if ending == ".gltf":
            with open(path, encoding="utf-8") as text:
                return isinstance(json.load(text), dict)
        if ending == ".usdz":
            return zipfile.is_zipfile(path)
        with open(path, "rb") as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(32)
            file.seek(max(0, size - 16))
            end = file.read()
        if ending == ".glb":
            return struct.unpack_from("<4s4xI", head) == (b"glTF", size)
        if ending == ".fbx":
            return head.startswith(b"Kaydara FBX Binary") and end == _FBX_END
        if head.startswith(b"#usda"):
            return end.rstrip().endswith(b"}")
        # Alembic's byte 0xff is set when the file is closed; then follows where the contents start.
        magic, place = (b"Ogawa\xff", 8) if ending == ".abc" else (b"PXR-USDC", 16)
        (contents,) = struct.unpack_from("<q", head, place)
        return head.startswith(magic) and 0 < contents < size
    except (OSError, ValueError, struct.error):
        return False


def _target(new: "mmdskin.new_file.NewFile") -> str:
    """Where to export: in the same folder, as files may hold paths that are relative to it. glTF's
    separate files have their final names, which refer to each other, in a folder of their own.
    Nobody else may read them before they get the permissions of the files that they replace."""
    ending = os.path.splitext(new.path)[1]
    if ending.lower() != ".gltf":
        target = new.beside + ending
        if os.path.exists(new.path):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return target
    folder = f"{new.beside}.files"
    os.mkdir(folder, 0o700)
    return os.path.join(folder, os.path.basename(new.path))


def _files(target: str, path: str) -> list[tuple[str, str]]:
    """(written file, its place), the one that refers to the others last."""
    folder, place = os.path.dirname(target), os.path.dirname(path)
    if folder == place:
        return [(target, path)]
    names = sorted(os.listdir(folder), key=lambda name: (name == os.path.basename(path), name))
    return [(os.path.join(folder, name), os.path.join(place, name)) for name in names]


def _check_room(path: str, size: int) -> None:
    free = shutil.disk_usage(os.path.dirname(path)).free if size else 0
    if free < size:
        sizes = {"size": size / 1e9, "free": free / 1e9}
        reason = tr("it may need {size:.2f} GB, and the disk has {free:.2f} GB left", **sizes)
        raise file_access.unwritable(path, reason)


def _last_line(error: Exception) -> str:
    """The last line of an exporter's error: exporters in Python report a traceback and a location."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Location:")]
    return told[-1].removeprefix("Error: ").strip()
