# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of datablocks, by address or identity: Blender does not say when it frees them."""

import contextlib
from collections.abc import Iterable
from typing import Any, TypeVar

import bpy

from .blender_versions import identity

_Value = TypeVar("_Value")
_MOST = 256  # objects to remember

_known: dict[int, bpy.types.Object] = {}  # by `identity` of their data


def put(known: dict[int, _Value], address: int, value: _Value, most: int) -> None:
    """Add an entry as the newest one, and remove the oldest so that there are at most `most`."""
    known.pop(address, None)
    # Blender evaluates copies on several threads, so another one may remove it first.
    for old in list(known)[: max(0, len(known) + 1 - most)]:
        known.pop(old, None)
    known[address] = value


def objects_of(blocks: Iterable[Any]) -> list[bpy.types.Object]:
    """The objects of meshes, armatures or volumes, without a look at each object of a large scene.

    Those that the add-on makes have the names of their data, and one object each. If users have changed
    that, all objects are looked at.
    """
    used = [block for block in blocks if block.users > block.use_fake_user]
    found = [_object_of(block) for block in used]
    if None not in found:
        return found
    wanted = set(used)
    return [obj for obj in bpy.data.objects if obj.data in wanted]


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
    put(_known, number, found, _MOST)
    return found
