# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that belong to a .blend: caches of bakes and simulations.

A cache never takes the place of another file. Names that are taken are numbered, so objects whose
names become equal and .blend files without a name do not share a file, and after Undo the modifiers of
the previous bake still have theirs. A bake removes older caches of its object that were made in this
session and that neither the .blend on the disk nor Undo needs.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator

import bpy
from bpy.app.handlers import persistent

from . import details, registration
from .native import mmdskin
from .user_error import UserError

_logger = details.logger(__name__)
_FORBIDDEN = dict.fromkeys(map(ord, '<>:"/\\|?*'), "_") | dict.fromkeys(range(32), "_")

_made: dict[str, str] = {}  # a cache made in this session: the first choice for its path
_number: dict[str, int] = {}  # a first choice: the last number used
_saved: list[set[str]] = []  # the caches that the .blend had at each save


def path(obj: bpy.types.Object, ending: str, folder: str = "") -> str:
    """The first choice for the path of an object's file in a folder, or next to the .blend."""
    blend = bpy.data.filepath
    if not blend and (not folder or folder.startswith("//")):
        raise UserError("The .blend file is not saved: save it, or choose a Folder for the cache")
    folder = os.path.abspath(bpy.path.abspath(folder)) if folder else os.path.dirname(blend)
    if not os.path.isdir(folder):
        raise UserError(
            "The cache folder '{folder}' does not exist: create it first", folder=folder
        )
    stem = os.path.splitext(os.path.basename(blend))[0] or "untitled"
    return os.path.join(folder, f"{stem}_{obj.name}".translate(_FORBIDDEN) + ending)


def place(new: "mmdskin.new_file.NewFile") -> str:
    """Put a finished file at its path, or at the next number that is free; returns that path."""
    first = new.path
    number = _number.get(first, 0)
    while True:
        number += 1
        path = _numbered(first, number)
        with contextlib.suppress(FileExistsError):
            new.place(path)
            break
    _number[first] = number  # never used again: Undo may bring back a modifier that plays it
    _made[path] = first
    _logger.debug("wrote cache '%s'", path)
    return path


def remove_placed(path: str) -> None:
    """Remove a file that `place` has put there."""
    os.remove(path)
    del _made[path]


def remove_unneeded(first: str, before: set[str]) -> None:
    """Remove an object's caches, but those that modifiers play, did `before` or at the last saves."""
    needed = played().union(before, *_saved)
    for path in [one for one in _made if _made[one] == first and one not in needed]:
        del _made[path]
        _logger.debug("removed cache '%s'", path)
        with contextlib.suppress(OSError):
            os.remove(path)


def is_of(first: str, path: str) -> bool:
    """Whether `path` is the first choice or a numbered one."""
    stem, ending = _parts(first)
    return bool(re.fullmatch(re.escape(stem) + r"(\.\d+)?" + re.escape(ending), path))


class FileSnapshot:
    """A copy of a file before an edit, beside it until `discard`."""

    def __init__(self, path: str) -> None:
        with writing(path), contextlib.ExitStack() as failed:
            self._copy = mmdskin.new_file.NewFile(path)
            failed.callback(self.discard)
            with open(path, "rb") as file:
                shutil.copyfileobj(file, self._copy.file)
            failed.pop_all()

    def restore(self) -> None:
        self._copy.finish()  # not before: on Windows it is a leftover then
        self._copy.replace()

    def discard(self) -> None:
        self._copy.close()


def shown(path: str, folder: str = "") -> str:
    """The path as stored in a .blend: relative to its folder, by default this one's, if possible, else absolute."""
    if not path.startswith("//"):
        path = os.path.abspath(path)
    if not (folder or bpy.data.filepath):
        return path
    try:
        return bpy.path.relpath(path, start=folder or None)
    except ValueError:  # another drive
        return path


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """In the block, an OSError becomes a UserError about a cache."""
    try:
        yield
    except OSError as error:
        raise UserError(
            "The cache '{path}' cannot be written: {reason}",
            path=path,
            reason=error.strerror or str(error),
        ) from error


def _numbered(first: str, number: int) -> str:
    stem, ending = _parts(first)
    return first if number == 1 else f"{stem}.{number}{ending}"


def _parts(path: str) -> tuple[str, str]:
    stem, ending = os.path.splitext(path)
    before, kind = os.path.splitext(stem)
    return (before, kind + ending) if kind == ".normals" else (stem, ending)


def played() -> set[str]:
    """The caches that modifiers of this .blend play."""
    modifiers = (modifier for obj in bpy.data.objects for modifier in obj.modifiers)
    return {
        os.path.abspath(bpy.path.abspath(modifier.filepath, library=modifier.id_data.library))
        for modifier in modifiers
        if modifier.type == "MESH_CACHE"
    }


@persistent
def _after_saving(path: str | None = None, *_: object) -> None:
    """Remember the caches of the .blend and of its backup; those of copies are kept for ever."""
    _saved.append(played())
    if path and os.path.abspath(path) == bpy.data.filepath:
        del _saved[:-2]


@persistent
def _after_loading(*_: object) -> None:
    for table in (_made, _number, _saved):
        table.clear()
    _saved.append(played())


_HANDLERS = (("save_post", _after_saving), ("load_post", _after_loading))
register, unregister = registration.handlers(_HANDLERS)
