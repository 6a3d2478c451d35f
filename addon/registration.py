# SPDX-License-Identifier: GPL-3.0-or-later
"""The `register` and `unregister` of a module: what Blender knows of it, once."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import bpy

from .blender_versions import HAS_CONTEXTS
from .translations import CONTEXT


def of(
    *classes: type, menus: Mapping[str, Callable] | None = None
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Both for the classes and for what is drawn at the end of Blender's menus, by their names.

    Each may be called again: Blender's "Reload Scripts" and the end of a script do.
    """
    entries = menus or {}

    def register():
        new = [cls for cls in classes if not _is_registered(cls)]
        for cls in new:
            if HAS_CONTEXTS:
                _name_in_context(cls)
            bpy.utils.register_class(cls)
        for menu, draw in entries.items() if new else ():
            _menu(menu).append(draw)

    def unregister():
        old = [cls for cls in reversed(classes) if _is_registered(cls)]
        for menu, draw in entries.items() if old else ():
            _menu(menu).remove(draw)
        for cls in old:
            bpy.utils.unregister_class(cls)

    return register, unregister


def _name_in_context(cls):
    """Let Blender look for the names of the properties in our own tables."""
    for base in cls.__mro__:
        # Those that Blender's own classes declare are others' as well.
        if base.__module__.startswith(__package__):
            # From Python 3.14 on they are made when they are asked for.
            for declared in inspect.get_annotations(base).values():
                if hasattr(declared, "keywords"):
                    declared.keywords["translation_context"] = CONTEXT


def _is_registered(cls: Any) -> bool:
    return cls.is_registered


def _menu(name: str) -> Any:
    return getattr(bpy.types, name)
