# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that keep display armatures posed: what a model shows may change at any time."""

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from . import display_armature, driver


@persistent
def _update_drivers(*_: object) -> None:
    """Another pose may be shown, or bones were renamed."""
    for display in _editable():
        if not driver.is_current(display):
            display_armature.rename(display)
            driver.build(display)


@persistent
def _update_drivers_on_frame(*_: object) -> None:
    for display in _editable():
        if not driver.is_current_on_frame(display):
            driver.build(display)


def _editable() -> list[bpy.types.Object]:
    """All display armatures that can be changed; those without a model are removed."""
    found = []
    for display in display_armature.all_displays():
        if display.library or display.override_library:
            continue
        # A deleted model is in no collection; one in a collection of no scene may come back.
        if display.parent is None or not display.parent.users_collection:
            display_armature.remove(display)
        else:
            found.append(display)
    return found


_HANDLERS = [("depsgraph_update_post", _update_drivers)]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS += [("render_init", _update_drivers), ("frame_change_post", _update_drivers_on_frame)]
_register, _unregister = registration.handlers(_HANDLERS)


def register() -> None:
    _register()
    driver.functions.register()


def unregister() -> None:
    driver.functions.unregister()
    _unregister()
