# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that keep display armatures posed: what a model shows may change at any time."""

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..preview.handlers import ONLY_WHERE_LIVE
from . import display_armature, driver, driver_function


@persistent
def recompile_drivers(*_: object) -> None:
    """Make the drivers of a loaded file work: they look up their function when compiled."""
    found = display_armature.all_displays()
    if found or not ONLY_WHERE_LIVE:
        driver_function.install()
    else:
        driver_function.uninstall()
    for display in found:
        curve = driver.curve_of(display)
        if curve is not None and not display.library:
            curve.driver.expression = curve.driver.expression
            display.update_tag()


@persistent
def _install_if_needed(*_: object) -> None:
    """Before an evaluation: a display armature may come from another file."""
    if not driver_function.is_installed() and display_armature.all_displays():
        driver_function.install()


@persistent
def _update_drivers(*_: object) -> None:
    """Another pose may be shown, or bones were renamed."""
    for display in _editable():
        if not driver.is_current(display):
            display_armature.rename(display)
            _build_driver(display)


@persistent
def _update_drivers_on_frame(*_: object) -> None:
    for display in _editable():
        if not driver.is_current_on_frame(display):
            _build_driver(display)


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


def _build_driver(display: bpy.types.Object) -> None:
    driver_function.install()
    driver.build(display)


@persistent
def _forget(*_: object) -> None:
    driver_function.forget()
    driver.forget()


_HANDLERS = [
    ("load_pre", _forget),
    ("load_post", recompile_drivers),
    ("undo_post", _forget),
    ("redo_post", _forget),
    ("depsgraph_update_post", _update_drivers),
    *(
        (name, _install_if_needed)
        for name in ("depsgraph_update_pre", "frame_change_pre")
        if ONLY_WHERE_LIVE
    ),
]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS += [("render_init", _update_drivers), ("frame_change_post", _update_drivers_on_frame)]
_register, _unregister = registration.handlers(_HANDLERS, once_enabled=recompile_drivers)


def register() -> None:
    _register()
    if not ONLY_WHERE_LIVE:
        driver_function.install()  # any file may contain display armatures


def unregister() -> None:
    _unregister()
    if driver_function.uninstall():
        for display in display_armature.all_displays():
            display.update_tag()
    _forget()
