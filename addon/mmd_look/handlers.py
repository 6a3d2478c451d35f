# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers: edges follow the active camera, followers go with their mesh."""

import bpy
from bpy.app.handlers import persistent

from ..blender import blender_versions, registration
from . import edge_nodes, edges, followers, ground


@persistent
def _follow(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    if depsgraph is None or blender_versions.regrouped(depsgraph):
        edge_nodes.follow_camera(scene)
        _stay_together()


def _stay_together() -> None:
    """Followers are in the collections of their mesh; those of a deleted mesh are deleted."""
    for follower in [one for one in followers.all_followers() if _is_own(one)]:
        source = followers.source_of(follower)
        # An object that was deleted is in no collection; its followers still refer to it.
        if source is not None and source.users_collection:
            followers.stay_beside(follower, source)
            continue
        followers.remove(follower)
        if source is not None:
            edges.remove(source)
            ground.remove(source)
            if not source.users:
                bpy.data.objects.remove(source)


def _is_own(follower: bpy.types.Object) -> bool:
    return not (follower.library or follower.override_library)


_HANDLERS = [("depsgraph_update_post", _follow)]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS.append(("render_init", _follow))
register, unregister = registration.handlers(_HANDLERS)
