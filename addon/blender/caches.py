# SPDX-License-Identifier: GPL-3.0-or-later
"""What was found out about datablocks and evaluated copies, by their address, `identity` or name.

Blender does not say when it frees what was there, so only the newest entries are kept, and none when a
file is opened or, of most, a step is undone.
"""

import contextlib
from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

import bpy
from bpy.app.handlers import persistent

from . import registration
from .blender_versions import identity

_Value = TypeVar("_Value")


class Cache(dict[Any, _Value]):
    def __init__(self, size: int = 256) -> None:
        super().__init__()
        self._size = size

    def put(self, key: Hashable, value: _Value) -> _Value:
        """Add an entry as the newest one; at most `size` are left."""
        self.pop(key, None)
        # Blender evaluates copies on several threads, so another one may remove it first.
        for old in list(self)[: max(0, len(self) + 1 - self._size)]:
            self.pop(old, None)
        self[key] = value
        return value


_of_file: list[Cache] = []
_of_step: list[Cache] = []  # those of `_of_file` that are also emptied by undo


def of_file(size: int = 256, survives_undo: bool = False) -> Cache:
    """A new Cache that forgets all when a file is opened or, by default, a step is undone."""
    found: Cache = Cache(size)
    for known in (_of_file,) if survives_undo else (_of_file, _of_step):
        known.append(found)
    return found


_known: Cache[bpy.types.Object] = of_file()  # by `identity` of their data


def objects_of(blocks: Iterable[Any]) -> list[bpy.types.Object]:
    """The objects of meshes, armatures or volumes, without a look at each object of a large scene.

    Those that the add-on makes have the names of their data, and one object each. If users have changed
    that, all objects are looked at once.
    """
    used = [block for block in blocks if block.users > block.use_fake_user]
    found = [_object_of(block) for block in used]
    if None not in found:
        return found
    wanted = set(used)
    found = [obj for obj in bpy.data.objects if obj.data in wanted]
    for obj in found:
        _known.put(identity(obj.data), obj)
    return found


def _object_of(block: bpy.types.ID) -> Any:
    """The only object of data, remembered or found by its name, else None."""
    if block.users - block.use_fake_user > 1:
        return None
    number = identity(block)
    with contextlib.suppress(ReferenceError):  # removed
        known = _known.get(number)
        if known is not None and known.data == block:
            return known
    path = block.library.filepath if block.library else None
    found: bpy.types.Object | None = bpy.data.objects.get((block.name, path))
    if found is None or found.data != block:
        return None
    return _known.put(number, found)


@persistent
def _forget_file(*_: object) -> None:
    for cache in _of_file:
        cache.clear()


@persistent
def _forget_step(*_: object) -> None:
    for cache in _of_step:
        cache.clear()


_HANDLERS = (("load_pre", _forget_file), ("undo_post", _forget_step), ("redo_post", _forget_step))
register, unregister = registration.handlers(_HANDLERS, afterwards=_forget_file)
