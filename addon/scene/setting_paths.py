# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in the settings of a model, which Blender does not remap between files.

A path that starts with // is relative to the .blend that set it: for linked data its library, and for
an override too, while its value equals the library's. "Save As" into another folder remaps the path,
as Blender does for its own paths. With Blender's preference Relative Paths, files that are chosen
and, when a file is saved for the first time, all paths become relative.

Blender does not remap them when a model is appended or "Save As" is undone, and users move a .blend
without its files. So each relative path comes with a note of its file and of the folder of the
.blend. The noted file is used in a .blend of another folder, and where the path leads nowhere. When a
.blend is opened in another folder, it was moved or copied, so the folder is noted again.
"""

import os
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..blender import cache_files, input_files, registration
from . import stored

_CHOSEN = "model_path", "motion_path"
_NAMES = *_CHOSEN, "physics_cache"  # the last is a file that the add-on writes
# A custom property of the armature object: the file of each relative path, that path, and the folder
# of the .blend.
_FILES = "mmdskin_files"
_FOLDER = "folder"
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
    if reference:  # of a library, in whose folder the path was set
        library = os.path.dirname(bpy.path.abspath(reference.library.filepath))
        return _file(armature, name, library, is_own=False)
    return _file(armature, name, _folder_here())


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


def _folder_here() -> str:
    """The folder of this .blend; "" if it was never saved."""
    return os.path.dirname(bpy.data.filepath)


def _file(armature: bpy.types.Object, name: str, folder: str, is_own: bool = True) -> str:
    """The file of a relative path, or the noted one. Paths of this file may be noted elsewhere."""
    direct, noted = _direct(armature, name, folder), _noted(armature, name)
    if not noted:
        return direct
    is_elsewhere = is_own and stored.text(armature[_FILES], _FOLDER) not in ("", folder)
    if (is_elsewhere or not input_files.exists(direct)) and input_files.exists(noted):
        return noted
    return direct if folder else noted


def _direct(armature: bpy.types.Object, name: str, folder: str) -> str:
    path = getattr(armature.mmdskin, name)
    return os.path.normpath(bpy.path.abspath(path, start=folder or None))


def _noted(armature: bpy.types.Object, name: str) -> str:
    """The noted file of a path; "" if there is none, or if the path has changed since."""
    files = armature.get(_FILES)
    is_same = stored.text(files, _path_of(name)) == getattr(armature.mmdskin, name)
    return stored.text(files, name) if is_same else ""


def _path_of(name: str) -> str:
    return f"{name}_as_saved"


def _move(folder: str) -> None:
    """Remap paths to another folder; to and from none if the file was never saved."""
    global _folder
    before, _folder = _folder, folder
    for armature in _own_armatures():
        _remap_all(armature, before, folder)


def _own_armatures() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and not obj.library]


def _remap_all(armature: bpy.types.Object, before: str, folder: str) -> None:
    """Remap the paths of an armature from a folder to another, and note their files."""
    files = {name: _remap(armature, name, before, folder) for name in _NAMES}
    if armature.override_library:  # which would lose the note
        return
    kept = {name: file for name, file in files.items() if file and name in _CHOSEN}
    paths = {_path_of(name): getattr(armature.mmdskin, name) for name in kept}
    if kept:
        _note(armature, {**kept, **paths, _FOLDER: folder})
    elif _FILES in armature:
        del armature[_FILES]


def _remap(armature: bpy.types.Object, name: str, before: str, folder: str) -> str:
    """Remap a path; returns the file to note for it, "" if it is not relative then."""
    path = getattr(armature.mmdskin, name)
    if not path or _reference(armature, name, path):
        return ""
    if path.startswith("//"):
        noted = _noted(armature, name)
        if not (before or noted):
            return ""  # relative to no folder
        file = _file(armature, name, before)
        is_remapped = before != folder or file != _direct(armature, name, before)
    else:
        noted, file = "", os.path.normpath(path)
        is_remapped = not before and _prefers_relative()  # at the first save
    if is_remapped:
        new = _relative(file, folder) if folder else file
        path = file if _reference(armature, name, new) else new
        if path != getattr(armature.mmdskin, name):
            _store(armature, name, path)
    if not path.startswith("//"):
        return ""
    # Keep the note of a file that may be missing only now.
    return noted if noted and not input_files.exists(file) else file


def _note(armature: bpy.types.Object, files: dict[str, str]) -> None:
    known = armature.get(_FILES)
    if not hasattr(known, "to_dict") or known.to_dict() != files:
        armature[_FILES] = files
        armature.update_tag()  # update the evaluated copies


def remember(armature: bpy.types.Object, name: str) -> None:
    """Note the file of a path that was just chosen, for undo after "Save As" into another folder."""
    folder = _folder_here()
    if armature.library or armature.override_library:
        return
    if _noted(armature, name):  # the same path, but in a .blend of another folder
        del armature[_FILES][name]
    if folder:
        _remap_all(armature, folder, folder)


def note_folder() -> str:
    """After a .blend was opened: note its folder. Returns the one it was moved from, "" if none."""
    here, before = _folder_here(), ""
    for armature in _own_armatures() if here else []:
        files = armature.get(_FILES)
        was = stored.text(files, _FOLDER)
        if was not in ("", here) and not armature.override_library:
            _note(armature, {**files.to_dict(), _FOLDER: here})
            before = was
    return before


def moved(path: str, before: str) -> str:
    """An absolute path; of the file beside this .blend if it was moved with it from a folder."""
    if not os.path.isabs(path):
        return path
    try:
        found = os.path.normpath(os.path.join(_folder_here(), os.path.relpath(path, before)))
    except ValueError:  # another drive
        return path
    return found if input_files.exists(found) else path


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
    _folder = _folder_here()
    _move(os.path.dirname(os.path.abspath(path)) if path else _folder)


@persistent
def _after_saving(*_: object) -> None:
    """After saving a copy or a failed save, the file is still at its previous path."""
    _move(_folder_here())


_HANDLERS = (
    ("save_pre", _before_saving),
    ("save_post", _after_saving),
    ("save_post_fail", _after_saving),  # Blender 4.2
)
register, unregister = registration.handlers(_HANDLERS)
