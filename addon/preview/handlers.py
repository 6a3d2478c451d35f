# SPDX-License-Identifier: GPL-3.0-or-later
"""Staying live: file load empties the driver namespace, undo moves what is kept by address, and an
add-on that is disabled must let go.
"""

import bpy
from bpy.app.handlers import persistent

from . import nodes, switch, tick

# As a module, Blender 4.2 crashes at its exit and 4.5 hangs once drivers have had a function.
_ONLY_WHERE_LIVE = getattr(bpy.app, "module", False) and bpy.app.version < (5, 0)


@persistent
def revive(*_):
    """Make the drivers of a loaded file work: their function is looked up when compiled."""
    nodes.mend()
    meshes = switch.live_meshes()
    if meshes or not _ONLY_WHERE_LIVE:
        tick.install()
    else:
        tick.uninstall()
    for mesh in meshes:
        if not mesh.library:
            driver = switch.driver_of(mesh).driver
            driver.expression = driver.expression
            mesh.update_tag()


@persistent
def _welcome(*_):
    """Before an evaluation: a live mesh may have come from another file."""
    if not tick.is_installed() and switch.live_meshes():
        tick.install()


@persistent
def _catch_up(*_):
    """Bones and keys that came to a live mesh: its driver must wait for them too."""
    while tick.outgrown:
        name = tick.outgrown.pop()
        for obj in bpy.data.objects:
            if obj.type == "MESH" and obj.data.name == name and switch.is_live(obj):
                switch.wait_for(obj)


@persistent
def _forget(*_):
    tick.forget()


_HANDLERS = (
    ("load_pre", _forget),
    ("load_post", revive),
    ("undo_post", _forget),
    ("redo_post", _forget),
    # With a window frames change on the render thread too, where nothing may be edited.
    ("frame_change_post" if bpy.app.background else "depsgraph_update_post", _catch_up),
    *(
        (name, _welcome)
        for name in ("depsgraph_update_pre", "frame_change_pre")
        if _ONLY_WHERE_LIVE
    ),
)


def register():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function not in handlers:
            handlers.append(function)
    if not _ONLY_WHERE_LIVE:
        tick.install()  # live meshes may come from any file
    # While an add-on is being enabled the file cannot be read.
    bpy.app.timers.register(revive, first_interval=0)


def unregister():
    if bpy.app.timers.is_registered(revive):
        bpy.app.timers.unregister(revive)
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function in handlers:
            handlers.remove(function)
    if tick.uninstall():
        # Or the last frame would stay on screen.
        for mesh in switch.live_meshes():
            mesh.update_tag()
    tick.forget()
