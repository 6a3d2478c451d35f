# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in the settings of a model, which Blender does not remap between files.

A path that starts with // is relative to the .blend that set it: for linked data its library, and for
an override too, while its value equals the library's. "Save As" into another folder remaps the path,
as Blender does for its own paths.
"""

import itertools
import os
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..blender import cache_files, input_files, registration

_NAMES = "model_path", "motion_path", "physics_cache"
_folder = ""  # the folder that paths of this file are relative to, while it is saved


def absolute(armature: bpy.types.Object, name: str, overrides: dict[str, Any] | None = None) -> str:
    """The path of a setting of an armature object, which may be an evaluated copy.

    Values in `overrides`, by name, replace it and belong to this file.
    """
    if overrides and name in overrides:
        input_files.choose(overrides[name])
        return bpy.path.abspath(overrides[name])
    path = getattr(armature.mmdskin, name)
    if not path.startswith("//"):
        return path
    reference = _reference(armature.original, name, path)
    return bpy.path.abspath(path, library=reference.library if reference else None)


def keep(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it to a path, made relative to this .blend if the setting belongs to it, else absolute."""
    shown = cache_files.shown(path)
    input_files.choose(path)
    own = not _reference(armature, name, shown)
    setattr(armature.mmdskin, name, shown if own else resolved(path))


def resolved(path: str) -> str:
    """The absolute path, as a script's working directory is not known later; "" stays ""."""
    return os.path.abspath(bpy.path.abspath(path)) if path else ""


def _reference(armature: bpy.types.Object, name: str, path: str) -> bpy.types.ID | None:
    """The object in another file that a path comes from, or None."""
    override = armature.override_library
    found = override.reference if override else armature if armature.library else None
    return found if found and getattr(found.mmdskin, name) == path else None


def _move(folder: str) -> None:
    """Remap relative paths to another folder."""
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


def _relative(path: str, folder: str) -> str:
    try:
        return bpy.path.relpath(path, start=folder)
    except ValueError:  # another drive
        return os.path.normpath(path)


def _store(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it without its update function, since it is the same file."""
    settings = armature.mmdskin
    stored = settings.bl_system_properties_get() if bpy.app.version >= (5, 0) else settings
    stored[name] = path
    armature.update_tag()  # update the evaluated copies


@persistent
def _before_saving(path: str | None, *_: object) -> None:
    """Blender 3.4 does not pass the path: then paths are remapped in memory, for the next save."""
    global _folder
    _folder = os.path.dirname(bpy.data.filepath)
    if path:
        _move(os.path.dirname(os.path.abspath(path)))


@persistent
def _after_saving(*_: object) -> None:
    """After saving a copy or a failed save, the file is still at its previous path."""
    _move(os.path.dirname(bpy.data.filepath))


_HANDLERS = (
    ("save_pre", _before_saving),
    ("save_post", _after_saving),
    ("save_post_fail", _after_saving),  # Blender 4.2
)


def register() -> None:
    registration.add_handlers(_HANDLERS)


def unregister() -> None:
    registration.remove_handlers(_HANDLERS)
