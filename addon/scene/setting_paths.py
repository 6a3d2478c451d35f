# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in the settings of a model, which Blender does not remap between files.

A path that starts with // is relative to the .blend that set it: for linked data its library, and for
an override too, while its value equals the library's. "Save As" into another folder remaps the path,
as Blender does for its own paths. With Blender's preference Relative Paths, files that are chosen
and, when a file is saved for the first time, all paths become relative.

Blender does not remap them when a model is appended, and users move a .blend without its files. So
each saved relative path comes with the absolute one, which is used where the first leads nowhere.
"""

import os
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..blender import cache_files, input_files, registration
from . import stored

_CHOSEN = "model_path", "motion_path"
_NAMES = *_CHOSEN, "physics_cache"  # the last is a file that the add-on writes
# A custom property of the armature object: the file of each relative path, and that path.
_FILES = "mmdskin_files"
# The folder that paths of this file are relative to, while it is saved; "" if it never was.
_folder = ""


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
    file = bpy.path.abspath(path, library=reference.library if reference else None)
    return _existing(armature, name, os.path.normpath(file))


def keep(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it to a path, made relative to this .blend if the setting belongs to it, else absolute."""
    input_files.choose(path)
    setattr(armature.mmdskin, name, shown(armature, name, path))


def shown(armature: bpy.types.Object, name: str, path: str) -> str:
    """A path as `keep` stores it."""
    path_here = cache_files.shown(path)
    return resolved(path) if _reference(armature, name, path_here) else path_here


def chosen(armature: bpy.types.Object, name: str, value: Any) -> Any:
    """The value to store for a setting: a path in the form that the user prefers."""
    if name not in _NAMES or not value:
        return value
    return shown(armature, name, value) if _prefers_relative() else resolved(value)


def noted(armature: bpy.types.Object, name: str) -> tuple[Any, bool]:
    """The value of a setting, which may be remembered: a path as absolute, and if it was relative.

    Not if it is relative to a library, which does not move with this file.
    """
    value = getattr(armature.mmdskin, name)
    is_relative = name in _NAMES and value.startswith("//")
    if not is_relative or _reference(armature, name, value):
        return value, False
    return absolute(armature, name), True


def is_set_to(armature: bpy.types.Object, name: str, value: Any) -> bool:
    """Whether a setting has a value; a path in any form, since saving changes it."""
    held = getattr(armature.mmdskin, name)
    if name not in _NAMES or not held or not value:
        return held == value
    return os.path.normpath(absolute(armature, name)) == resolved(value)


def resolved(path: str) -> str:
    """The absolute path, as a script's working directory is not known later; "" stays ""."""
    return os.path.abspath(bpy.path.abspath(path)) if path else ""


def _prefers_relative() -> bool:
    return bpy.context.preferences.filepaths.use_relative_paths


def _reference(armature: bpy.types.Object, name: str, path: str) -> bpy.types.ID | None:
    """The object in another file that a path comes from, or None."""
    override = armature.override_library
    found = override.reference if override else armature if armature.library else None
    return found if found and getattr(found.mmdskin, name) == path else None


def _existing(armature: bpy.types.Object, name: str, file: str) -> str:
    """The file of a relative path, or the one that it led to when it was saved, if only that exists."""
    files = armature.get(_FILES)
    if files is None or input_files.exists(file):
        return file
    if stored.text(files, _path_of(name)) != getattr(armature.mmdskin, name):
        return file  # the path has changed since
    return stored.text(files, name) or file


def _path_of(name: str) -> str:
    return f"{name}_as_saved"


def _move(folder: str) -> None:
    """Remap paths to another folder; to and from none if the file was never saved."""
    global _folder
    before, _folder = _folder, folder
    for armature in bpy.data.objects:
        if armature.type == "ARMATURE" and not armature.library:
            files = {name: _remap(armature, name, before) for name in _NAMES}
            _keep_files(armature, files)


def _remap(armature: bpy.types.Object, name: str, before: str) -> str:
    """The file of a path that is relative now; "" if it is not."""
    path = getattr(armature.mmdskin, name)
    if not path or path.startswith("//") != bool(before) or _reference(armature, name, path):
        return ""
    if not before and not _prefers_relative():
        return ""
    direct = os.path.normpath(bpy.path.abspath(path, start=before) if before else path)
    file = _existing(armature, name, direct) if before else path
    if before != _folder or file != direct:
        moved = _relative(file, _folder) if _folder else file
        path = file if _reference(armature, name, moved) else moved
        _store(armature, name, path)
    return file if path.startswith("//") else ""


def _keep_files(armature: bpy.types.Object, files: dict[str, str]) -> None:
    kept = {}
    for name in _CHOSEN:
        if files[name] and not armature.override_library:  # which would lose it
            kept[name] = files[name]
            kept[_path_of(name)] = getattr(armature.mmdskin, name)
    if kept:
        armature[_FILES] = kept
    elif _FILES in armature and not armature.override_library:
        del armature[_FILES]


def _relative(path: str, folder: str) -> str:
    try:
        return bpy.path.relpath(path, start=folder)
    except ValueError:  # another drive
        return os.path.normpath(path)


def _store(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it without its update function, since it is the same file."""
    settings = armature.mmdskin
    properties = settings.bl_system_properties_get() if bpy.app.version >= (5, 0) else settings
    properties[name] = path
    armature.update_tag()  # update the evaluated copies


@persistent
def _before_saving(path: str | None, *_: object) -> None:
    """Blender 3.4 does not pass the path: then paths are remapped in memory, for the next save."""
    global _folder
    _folder = os.path.dirname(bpy.data.filepath)
    _move(os.path.dirname(os.path.abspath(path)) if path else _folder)


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
