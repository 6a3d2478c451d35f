# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths among the settings of a model, which Blender does not make another file's own.

A path that begins with // is relative to the .blend that has set it: of what is linked or overridden
its library, as long as the override holds what the library does. "Save As" into another folder keeps
its meaning, as Blender does for paths of its own.
"""

import itertools
import os
from typing import Any

import bpy
from bpy.app.handlers import persistent

from . import cache_files

_NAMES = "model_path", "motion_path", "physics_cache"
_folder = ""  # that the paths of this file are relative to, while it is saved


def absolute(armature: bpy.types.Object, name: str, given: dict[str, Any] | None = None) -> str:
    """The path of a setting of an armature object, which may be an evaluated copy.

    What is `given`, by name, goes before it, and is of this file.
    """
    if given and name in given:
        return bpy.path.abspath(given[name])
    path = getattr(armature.mmdskin, name)
    reference = _reference(armature.original, name, path)
    return bpy.path.abspath(path, library=reference.library if reference else None)


def keep(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it to an absolute path, relative to this file where that means this file's."""
    shown = cache_files.shown(path)
    setattr(armature.mmdskin, name, path if _reference(armature, name, shown) else shown)


def _reference(armature, name, path):
    """The object of another file from which a path is, or None."""
    override = armature.override_library
    found = override.reference if override else armature if armature.library else None
    return found if found and getattr(found.mmdskin, name) == path else None


def _move(folder):
    """Let relative paths be relative to another folder."""
    global _folder
    before, _folder = _folder, folder
    if not before or not folder or before == folder:
        return
    own = (obj for obj in bpy.data.objects if obj.type == "ARMATURE" and not obj.library)
    for armature, name in itertools.product(own, _NAMES):
        path = getattr(armature.mmdskin, name)
        if path.startswith("//") and not _reference(armature, name, path):
            file = bpy.path.abspath(path, start=before)
            moved = _relative(file, folder)
            _store(armature, name, file if _reference(armature, name, moved) else moved)


def _relative(path, folder):
    try:
        return bpy.path.relpath(path, start=folder)
    except ValueError:  # another drive
        return os.path.normpath(path)


def _store(armature, name, path):
    """Without what a changed setting starts: it is the same file."""
    settings = armature.mmdskin
    stored = settings.bl_system_properties_get() if bpy.app.version >= (5, 0) else settings
    stored[name] = path
    armature.update_tag()  # the evaluated copies


@persistent
def _before_saving(path, *_):
    """Blender 3.4 does not say where: there the paths are right in memory, and in the next save."""
    global _folder
    _folder = os.path.dirname(bpy.data.filepath)
    if path:
        _move(os.path.dirname(os.path.abspath(path)))


@persistent
def _after_saving(*_):
    """A copy that was saved elsewhere, or that could not be, has left this file where it was."""
    _move(os.path.dirname(bpy.data.filepath))


_HANDLERS = (
    ("save_pre", _before_saving),
    ("save_post", _after_saving),
    ("save_post_fail", _after_saving),  # Blender 4.2
)


def register():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name, None)
        if handlers is not None and function not in handlers:
            handlers.append(function)


def unregister():
    for name, function in _HANDLERS:
        handlers = getattr(bpy.app.handlers, name, None)
        if handlers is not None and function in handlers:
            handlers.remove(function)
