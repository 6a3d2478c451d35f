# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers: edges follow the active camera, followers go with their mesh."""

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from . import edge_nodes, edges, followers, ground


@persistent
def _follow(scene: bpy.types.Scene, *_: object) -> None:
    edge_nodes.follow_camera(scene)
    for follower in [one for one in followers.all_followers() if _is_orphan(one)]:
        source = followers.source_of(follower)
        followers.remove(follower)
        if source is not None:
            edges.remove(source)
            ground.remove(source)
            if not source.users:
                bpy.data.objects.remove(source)


def _is_orphan(follower: bpy.types.Object) -> bool:
    """Whether the mesh object was deleted: its followers are then all that still refers to it."""
    if follower.library or follower.override_library:
        return False
    source = followers.source_of(follower)
    return source is None or not any(source.name in scene.objects for scene in bpy.data.scenes)


_HANDLERS = [("depsgraph_update_post", _follow)]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS.append(("render_init", _follow))
register, unregister = registration.handlers(_HANDLERS)
