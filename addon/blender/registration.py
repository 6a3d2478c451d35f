# SPDX-License-Identifier: GPL-3.0-or-later
"""The `register` and `unregister` functions of a module: of its classes or its handlers."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import bpy
from bpy.app.handlers import persistent

from . import ADDON
from .blender_versions import HAS_CONTEXTS
from .translations import CONTEXT


def functions(
    module: str, menus: Mapping[str, Callable] | None = None
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Both functions, for the `classes` of a module and for draw functions to append to Blender's menus,
    by menu name.

    Each may be called twice, as Blender's "Reload Scripts" does.
    """
    all_of_it, entries = classes(module), menus or {}

    def register() -> None:
        new = [cls for cls in all_of_it if not cls.is_registered]
        for cls in new:
            if HAS_CONTEXTS:
                _name_in_context(cls)
            bpy.utils.register_class(cls)
        for menu, draw in entries.items() if new else ():
            getattr(bpy.types, menu).append(draw)

    def unregister() -> None:
        old = [cls for cls in reversed(all_of_it) if cls.is_registered]
        for menu, draw in entries.items() if old else ():
            getattr(bpy.types, menu).remove(draw)
        for cls in old:
            bpy.utils.unregister_class(cls)

    return register, unregister


def classes(module: str) -> list[Any]:
    """The classes that a module defines for Blender, in its order."""
    named = vars(importlib.import_module(module)).items()
    return [one for name, one in named if name.startswith("MMDSKIN_") and one.__module__ == module]


def operator(cls: Any, menu: str, text: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Both functions, for a module with an operator that has an entry in one of Blender's menus."""

    def draw(self: bpy.types.Menu, context: bpy.types.Context) -> None:
        self.layout.operator(cls.bl_idname, text=text)

    return functions(cls.__module__, {menu: draw})


def handlers(
    named: Iterable[tuple[str, Callable]],
    *,
    of_file: Sequence[Callable] = (),
    afterwards: Callable[[], None] | None = None,
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Both functions, for handlers, each with the name of its list in `bpy.app.handlers`.

    Lists that this Blender lacks are left out. Those `of_file` are called when a file was opened, and once
    the current one can be read, which it cannot while an add-on is being enabled. `afterwards` is called
    when the handlers are removed.
    """

    def once_enabled() -> None:
        for function in of_file:
            function()

    named = (*named, *(("load_post", function) for function in of_file))
    if of_file and bpy.app.background:
        named += _before_frames(once_enabled)
    lists = ((getattr(bpy.app.handlers, event, None), function) for event, function in named)
    known = [(listed, function) for listed, function in lists if listed is not None]

    def register() -> None:
        for listed, function in known:
            if function not in listed:
                listed.append(function)
        if of_file:
            bpy.app.timers.register(once_enabled, first_interval=0)

    def unregister() -> None:
        if bpy.app.timers.is_registered(once_enabled):
            bpy.app.timers.unregister(once_enabled)
        for listed, function in known:
            if function in listed:
                listed.remove(function)
        if afterwards is not None:
            afterwards()

    return register, unregister


def _before_frames(once_enabled: Callable[[], None]) -> tuple[tuple[str, Callable], ...]:
    """Handlers that call it before the first frame, if its timer has not: in background mode, timers
    do not run."""

    @persistent
    def run_waiting(*_: object) -> None:
        if bpy.app.timers.is_registered(once_enabled):
            bpy.app.timers.unregister(once_enabled)
            once_enabled()

    events = "render_init", "depsgraph_update_pre", "frame_change_pre"
    return tuple((event, run_waiting) for event in events)


def _name_in_context(cls: type) -> None:
    """Let Blender look up the names of the properties in our translation context."""
    for base in cls.__mro__:
        # Properties of Blender's own classes are shared with other add-ons.
        if base.__module__.startswith(f"{ADDON}."):
            # From Python 3.14 on, annotations are created lazily.
            for declared in inspect.get_annotations(base).values():
                if hasattr(declared, "keywords"):
                    declared.keywords["translation_context"] = CONTEXT
