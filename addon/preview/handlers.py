# SPDX-License-Identifier: GPL-3.0-or-later
"""Staying live: file load empties the driver namespace, undo moves what is kept by address, and an
add-on that is disabled must let go.
"""

import bpy
from bpy.app.handlers import persistent

from . import switch, tick


@persistent
def revive(*_):
    """Make the drivers of a loaded file work: their function is looked up when compiled."""
    meshes = switch.live_meshes()
    if meshes:
        tick.install()
    for mesh in meshes:
        if not mesh.library:
            driver = switch.driver_of(mesh).driver
            driver.expression = driver.expression
            mesh.update_tag()


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
)


def register():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if function not in handlers:
            handlers.append(function)
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
