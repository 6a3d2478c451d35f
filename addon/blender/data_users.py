# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that use some data, without a look at each object: large scenes have tens of thousands."""

import contextlib
from collections.abc import Iterable
from typing import Any

import bpy

from . import address_cache
from .blender_versions import identity

_MOST = 256  # objects to remember

_known: dict[int, bpy.types.Object] = {}  # by `identity` of their data


def objects_of(blocks: Iterable[Any]) -> list[bpy.types.Object]:
    """The objects of meshes, armatures or volumes.

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
    address_cache.put(_known, number, found, _MOST)
    return found
