# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that keep meshes live."""

import bpy
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Mesh, Scene

from ..blender import playhead, registration
from ..blender.blender_versions import identity
from . import driver_function, nodes, switch


@persistent
def _extend_drivers(*_: object) -> None:
    """New bones and keys of a live mesh: its driver must depend on them too."""
    outdated = driver_function.take_outdated()
    for obj in bpy.data.objects if outdated else ():
        if obj.type != "MESH" or obj.data.library or identity(obj.data) not in outdated:
            continue
        if switch.is_live(obj):
            switch.wait_for(obj)


@persistent
def _evaluate_blank_meshes(scene: Scene, depsgraph: Depsgraph) -> None:
    """Some operators, such as Texture Paint Mode, let Blender copy a mesh without its drivers."""
    # Finding the updates takes long in large scenes.
    if not depsgraph.id_type_updated("MESH") or playhead.skips_live_update(depsgraph):
        return
    for update in depsgraph.updates:
        mesh = update.id
        if isinstance(mesh, Mesh) and switch.driver_of(mesh) and driver_function.is_blank(mesh):
            mesh.original.update_tag()


_HANDLERS = (
    ("load_post", nodes.rebuild_damaged),
    *((f"{step}_pre", nodes.detach_all) for step in ("undo", "redo")),
    *((f"{step}_post", nodes.attach_all) for step in ("undo", "redo")),
    ("depsgraph_update_post", _evaluate_blank_meshes),
    # With a window, frames also change on the render thread, where editing is not allowed.
    ("frame_change_post" if bpy.app.background else "depsgraph_update_post", _extend_drivers),
)
_register, _unregister = registration.handlers(_HANDLERS, once_enabled=nodes.rebuild_damaged)


def register() -> None:
    _register()
    switch.functions.register()


def unregister() -> None:
    switch.functions.unregister()
    _unregister()
    driver_function.forget()
