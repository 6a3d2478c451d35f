# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that keep meshes live: loading a file clears the driver namespace, undo moves data that is
cached by address, and a disabled add-on must release everything.
"""

import bpy
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Mesh, Scene

from ..blender import playhead, registration
from ..blender.blender_versions import identity
from . import driver_function, motion_sliders, nodes, switch

# As a module (bpy), Blender 4.2 crashes and 4.5 hangs at exit if drivers ever had a function.
ONLY_WHERE_LIVE = getattr(bpy.app, "module", False) and bpy.app.version < (5, 0)


@persistent
def recompile_drivers(*_: object) -> None:
    """Make the drivers of a loaded file work: they look up their function when compiled."""
    nodes.rebuild_damaged()
    meshes, armatures = switch.live_meshes(), motion_sliders.driven()
    if meshes or armatures or not ONLY_WHERE_LIVE:
        driver_function.install()
    else:
        driver_function.uninstall()
    for armature in armatures:
        motion_sliders.recompile(armature)
    for mesh in meshes:
        driver = switch.driver_of(mesh).driver
        driver.expression = driver.expression
        mesh.update_tag()


@persistent
def _install_if_needed(*_: object) -> None:
    """Before an evaluation: a live mesh may come from another file."""
    if not driver_function.is_installed() and (switch.live_meshes() or motion_sliders.driven()):
        driver_function.install()


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


@persistent
def _detach_nodes(*_: object) -> None:
    nodes.detach_all()


@persistent
def _attach_nodes(*_: object) -> None:
    nodes.attach_all()


@persistent
def _forget(*_: object) -> None:
    driver_function.forget()


_HANDLERS = (
    ("load_pre", _forget),
    ("load_post", recompile_drivers),
    *((f"{step}_pre", _detach_nodes) for step in ("undo", "redo")),
    *(
        (f"{step}_post", handler)
        for step in ("undo", "redo")
        for handler in (_attach_nodes, _forget)
    ),
    ("depsgraph_update_post", _evaluate_blank_meshes),
    # With a window, frames also change on the render thread, where editing is not allowed.
    ("frame_change_post" if bpy.app.background else "depsgraph_update_post", _extend_drivers),
    *(
        (name, _install_if_needed)
        for name in ("depsgraph_update_pre", "frame_change_pre")
        if ONLY_WHERE_LIVE
    ),
)
_register, _unregister = registration.handlers(_HANDLERS, once_enabled=recompile_drivers)


def register() -> None:
    _register()
    if not ONLY_WHERE_LIVE:
        driver_function.install()  # any file may contain live meshes


def unregister() -> None:
    _unregister()
    if driver_function.uninstall():
        # Otherwise the last frame would stay on screen.
        for mesh in switch.live_meshes():
            mesh.update_tag()
    driver_function.forget()
