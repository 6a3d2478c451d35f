# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects whose geometry nodes follow the evaluated mesh of another: edges and ground shadows.

A follower is a volume object: its only modifier makes a mesh of the other object's, so it follows
whatever deforms that. As it is not a mesh object, exporters write none of it and tools for meshes
leave it alone; it cannot be selected, and goes where its mesh object goes (`switch`). It is not
transformed, so its space is the world's.
"""

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.types import Object

from ..blender import blender_versions, caches

EDGES, GROUND = "edges", "ground_shadow"  # kinds, and how names of followers end
SOURCE = "Source"  # the input of the nodes: the object
_MARK = "mmdskin_follower"  # ID property of the object: its kind


def new(obj: Object, kind: str, group: Any) -> Object:
    """A follower of a mesh object, by a group of nodes, in the same collections."""
    name = f"{obj.name}_{kind}"
    follower = bpy.data.objects.new(name, bpy.data.volumes.new(name))
    follower[_MARK] = kind
    stay_beside(follower, obj)
    follower.hide_select = True
    locks: Any = (True, True, True)
    follower.lock_location = follower.lock_rotation = follower.lock_scale = locks
    for ray in ("diffuse", "shadow", "volume_scatter"):
        setattr(follower, f"visible_{ray}", False)
    follower.modifiers.new(group.name, "NODES")
    give_nodes(follower, obj, group)
    return follower


def give_nodes(follower: Object, obj: Object, group: Any) -> None:
    modifier: Any = modifier_of(follower) or follower.modifiers[0]  # which has no nodes yet
    modifier.node_group = group
    blender_versions.set_modifier_input(modifier, SOURCE, obj)


def stay_beside(follower: Object, obj: Object) -> None:
    """Put a follower into the collections of its mesh object, those of the file, and into no others."""
    wanted, present = (
        {one for one in block.users_collection if not (one.library or one.override_library)}
        for block in (obj, follower)
    )
    for collection in wanted - present:
        collection.objects.link(follower)
    for collection in present - wanted if wanted else ():
        collection.objects.unlink(follower)


def remove(follower: Object) -> None:
    volume: Any = follower.data
    bpy.data.objects.remove(follower)
    if not volume.users:
        bpy.data.volumes.remove(volume)


def find(obj: Object, kind: str) -> Object | None:
    """The follower of a kind of a mesh object, or None."""
    return next((one for one in all_followers(kind) if source_of(one) == obj), None)


def all_followers(kind: str = "") -> Iterator[Object]:
    """All followers, or those of a kind."""
    for obj in caches.objects_of(bpy.data.volumes):
        if obj.get(_MARK) in ((kind,) if kind else (EDGES, GROUND)):
            yield obj


def source_of(follower: Object) -> Object | None:
    modifier = modifier_of(follower)
    return None if modifier is None else blender_versions.modifier_input(modifier, SOURCE)


def modifier_of(follower: Object) -> Any:
    """The modifier of a follower, None if it or its nodes were removed."""
    found = (m for m in follower.modifiers if m.type == "NODES" and m.node_group)
    return next(found, None)
