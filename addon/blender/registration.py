# SPDX-License-Identifier: GPL-3.0-or-later
"""The `register` and `unregister` functions of a module, its handlers, and what runs once it is enabled."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import bpy

from . import ADDON
from .blender_versions import HAS_CONTEXTS
from .translations import CONTEXT


def functions(
    *classes: type, menus: Mapping[str, Callable] | None = None
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Both functions, for classes and for draw functions to append to Blender's menus, by menu name.

    Each may be called twice, as Blender's "Reload Scripts" does.
    """
    entries = menus or {}

    def register() -> None:
        new = [cls for cls in classes if not _is_registered(cls)]
        for cls in new:
            if HAS_CONTEXTS:
                _name_in_context(cls)
            bpy.utils.register_class(cls)
        for menu, draw in entries.items() if new else ():
            _menu(menu).append(draw)

    def unregister() -> None:
        old = [cls for cls in reversed(classes) if _is_registered(cls)]
        for menu, draw in entries.items() if old else ():
            _menu(menu).remove(draw)
        for cls in old:
            bpy.utils.unregister_class(cls)

    return register, unregister


def add_handlers(handlers: Iterable[tuple[str, Callable]]) -> None:
    """Add functions to the lists of `bpy.app.handlers` that are named with them.

    Lists that this Blender lacks are left out, and functions that are there already.
    """
    for event, function in handlers:
        listed = getattr(bpy.app.handlers, event, None)
        if listed is not None and function not in listed:
            listed.append(function)


def remove_handlers(handlers: Iterable[tuple[str, Callable]]) -> None:
    for event, function in handlers:
        listed = getattr(bpy.app.handlers, event, None)
        if listed is not None and function in listed:
            listed.remove(function)


def run_once_enabled(function: Callable[[], None]) -> None:
    """Call it when the file can be read, which it cannot while an add-on is being enabled."""
    bpy.app.timers.register(function, first_interval=0)


def cancel(function: Callable[[], None]) -> None:
    """Do not call what waits for `run_once_enabled`."""
    if bpy.app.timers.is_registered(function):
        bpy.app.timers.unregister(function)


def _name_in_context(cls: type) -> None:
    """Let Blender look up the names of the properties in our translation context."""
    for base in cls.__mro__:
        # Properties of Blender's own classes are shared with other add-ons.
        if base.__module__.startswith(f"{ADDON}."):
            # From Python 3.14 on, annotations are created lazily.
            for declared in inspect.get_annotations(base).values():
                if hasattr(declared, "keywords"):
                    declared.keywords["translation_context"] = CONTEXT


def _is_registered(cls: Any) -> bool:
    return cls.is_registered


def _menu(name: str) -> Any:
    return getattr(bpy.types, name)
