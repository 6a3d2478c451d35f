# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that keep display armatures posed: what a model shows may change at any time."""

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..preview.handlers import ONLY_WHERE_LIVE
from . import display, driver, tick


@persistent
def revive(*_: object) -> None:
    """Make the drivers of a loaded file work: they look up their function when compiled."""
    found = display.every()
    if found or not ONLY_WHERE_LIVE:
        tick.install()
    else:
        tick.uninstall()
    for own in found:
        curve = driver.curve_of(own)
        if curve is not None and not own.library:
            curve.driver.expression = curve.driver.expression
            own.update_tag()


@persistent
def _welcome(*_: object) -> None:
    """Before an evaluation: a display armature may come from another file."""
    if not tick.is_installed() and display.every():
        tick.install()


@persistent
def _follow(*_: object) -> None:
    """Another pose may be shown, or bones were renamed."""
    for own in _editable():
        if not driver.is_fit(own):
            display.rename(own)
            _fit(own)


@persistent
def _follow_in_time(*_: object) -> None:
    for own in _editable():
        if not driver.is_fit_in_time(own):
            _fit(own)


def _editable() -> list[bpy.types.Object]:
    """All display armatures that can be changed; those without a model are removed."""
    found = []
    for own in display.every():
        if own.library or own.override_library:
            continue
        if own.parent is None or not any(own.parent.name in s.objects for s in bpy.data.scenes):
            display.remove(own)
        else:
            found.append(own)
    return found


def _fit(own: bpy.types.Object) -> None:
    tick.install()
    driver.fit(own)


@persistent
def _forget(*_: object) -> None:
    tick.forget()
    driver.forget()


_HANDLERS = [
    ("load_pre", _forget),
    ("load_post", revive),
    ("undo_post", _forget),
    ("redo_post", _forget),
    ("depsgraph_update_post", _follow),
    *((name, _welcome) for name in ("depsgraph_update_pre", "frame_change_pre") if ONLY_WHERE_LIVE),
]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS += [("render_init", _follow), ("frame_change_post", _follow_in_time)]
_register, _unregister = registration.handlers(_HANDLERS, once_enabled=revive)


def register() -> None:
    _register()
    if not ONLY_WHERE_LIVE:
        tick.install()  # any file may contain display armatures


def unregister() -> None:
    _unregister()
    if tick.uninstall():
        for own in display.every():
            own.update_tag()
    _forget()
