# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in the settings of a model: the files that they lead to, and the form in which they are stored.

A path that starts with // is relative to the .blend that set it: for linked data its library, and for
an override too, while its value equals the library's. A noted file is used in a .blend of another
folder, and where the path leads nowhere.

Blender does not remap a path in the settings of a model when the model is appended to another .blend,
or when "Save As" is undone, and users move a .blend without its files. A note of the model then tells
where the file is. The scenes note the folder of the .blend, which tells whether the .blend was moved
since it was saved, or the model came from another one.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import bpy
from bpy.app.handlers import persistent

from ..blender import cache_files, file_access, registration
from ..blender.user_error import UserError
from . import saved_state, stored

NAMES = "model_path", "motion_path", "physics_cache"
_FOLDER = "mmdskin_folder"  # custom property of scenes

# The folder that paths of this file are relative to, while it is saved; "" if it never was.
_folder = ""


class Note(NamedTuple):
    path: str  # of the setting, relative
    folder: str  # of the .blend that it is relative to
    file: str  # absolute


def absolute(armature: bpy.types.Object, name: str, overrides: dict[str, Any] | None = None) -> str:
    """The path of a setting of an armature object, which may be an evaluated copy.

    Values in `overrides`, by name, replace it and belong to this file.
    """
    if overrides and name in overrides:
        file_access.choose(overrides[name])
        return bpy.path.abspath(overrides[name])
    path = getattr(armature.mmdskin, name)
    if not path.startswith("//"):
        return path
    owner = owner_of(armature.original, name, path)
    if owner.library:
        library = os.path.dirname(bpy.path.abspath(owner.library.filepath))
        return file_in(owner, name, library, is_own=False)
    return file_in(armature, name, folder_here())


def keep(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it to a path, made relative to this .blend if the setting belongs to it, else absolute."""
    file_access.choose(path)
    setattr(armature.mmdskin, name, shown(armature, name, path))


def shown(armature: bpy.types.Object, name: str, path: str) -> str:
    """A path as `keep` stores it."""
    path_here = cache_files.shown(path)
    return resolved(path) if is_of_library(armature, name, path_here) else path_here


def chosen(armature: bpy.types.Object, name: str, value: Any) -> Any:
    """The value to store for a setting: a path in the form that the user prefers."""
    if name not in NAMES or not value:
        return value
    return shown(armature, name, value) if prefers_relative() else resolved(value)


def noted(armature: bpy.types.Object, name: str) -> tuple[Any, bool]:
    """The value of a setting, which may be remembered: a path as absolute, and if it was relative.

    Not if it is relative to a library, which does not move with this file.
    """
    value = getattr(armature.mmdskin, name)
    is_relative = name in NAMES and value.startswith("//")
    if not is_relative or is_of_library(armature, name, value):
        return value, False
    return absolute(armature, name), True


def is_set_to(armature: bpy.types.Object, name: str, value: Any) -> bool:
    """Whether a setting has a value; a path in any form, since saving changes it."""
    held = getattr(armature.mmdskin, name)
    if name not in NAMES or not held or not value:
        return held == value
    return os.path.normpath(absolute(armature, name)) == resolved(value)


def resolved(path: str) -> str:
    """The absolute path, as a script's working directory is not known later; "" stays ""."""
    return os.path.abspath(bpy.path.abspath(path)) if path else ""


def prefers_relative() -> bool:
    return bpy.context.preferences.filepaths.use_relative_paths


def owner_of(armature: bpy.types.Object, name: str, path: str) -> bpy.types.Object:
    """The object that sets a path: the armature object, or the one whose override it is, if equal."""
    override = armature.override_library
    inherited: Any = override.reference if override else None
    if inherited and getattr(inherited.mmdskin, name) == path:
        return owner_of(inherited, name, path)
    return armature


def is_of_library(armature: bpy.types.Object, name: str, path: str) -> bool:
    return bool(owner_of(armature, name, path).library)


def file_in(armature: bpy.types.Object, name: str, folder: str, is_own: bool = True) -> str:
    """The file of a relative path, or the noted one. Paths of this file may be noted elsewhere."""
    direct, note = direct_in(armature, name, folder), note_of(armature, name)
    if not note:
        return direct
    is_elsewhere = is_own and note.folder != folder
    if (is_elsewhere or not file_access.exists(direct)) and file_access.exists(note.file):
        return note.file
    return direct if folder else note.file


def direct_in(armature: bpy.types.Object, name: str, folder: str) -> str:
    """The file of a relative path, without a look at the notes."""
    path = getattr(armature.mmdskin, name)
    return os.path.normpath(bpy.path.abspath(path, start=folder or None))


def notes_of(armature: bpy.types.Object) -> dict[str, Note]:
    """The notes of an armature object, by setting."""
    try:
        saved = saved_state.load(armature, saved_state.FILES)
    except UserError:  # of a newer version
        return {}
    is_note = saved_state.has_type
    return {n: Note(*v) for n, v in saved.items() if is_note(v, list[str]) and len(v) == 3}


def note_of(armature: bpy.types.Object, name: str) -> Note | None:
    """The note of a setting, None if there is none, or if its path has changed since."""
    note = notes_of(armature).get(name)
    return note if note and note.path == getattr(armature.mmdskin, name) else None


def write_notes(armature: bpy.types.Object, notes: Mapping[str, Note]) -> None:
    """Replace the notes of an armature object."""
    if notes == notes_of(armature):
        return
    if notes:
        saved_state.store(armature, saved_state.FILES, dict(notes))
    else:
        saved_state.remove(armature, saved_state.FILES)
    armature.update_tag()  # update the evaluated copies


def folder_here() -> str:
    """The folder of this .blend; "" if it was never saved."""
    return os.path.dirname(bpy.data.filepath)


def _note_folder(folder: str) -> None:
    """Note the folder of this .blend; "" removes the note."""
    for scene in _own_scenes():
        if folder and stored.text(scene, _FOLDER) != folder:
            scene[_FOLDER] = folder
        elif not folder and _FOLDER in scene:
            del scene[_FOLDER]


def _own_scenes() -> list[bpy.types.Scene]:
    return [scene for scene in bpy.data.scenes if not scene.library]


# The paths are changed where Blender changes its own: "Save As" into another folder remaps them, and with
# Blender's preference Relative Paths, all become relative when a file is saved for the first time. When a
# .blend is opened in another folder than it was saved in, it was moved or copied: the folder is noted
# again, so that files beside it are used.


def remember(armature: bpy.types.Object, name: str) -> None:
    """Note the file of a path that was just chosen, for undo after "Save As" into another folder."""
    if armature.library:
        return
    folder, path = folder_here(), getattr(armature.mmdskin, name)
    notes = notes_of(armature)
    # It may be the same path as before, but that was of a .blend in another folder.
    notes.pop(name, None)
    if folder and path.startswith("//") and not is_of_library(armature, name, path):
        notes[name] = Note(path, folder, direct_in(armature, name, folder))
    write_notes(armature, notes)


def follow_move() -> str:
    """After a .blend was opened: the folder that it was moved from, "" if it was not moved."""
    here, known = folder_here(), {stored.text(scene, _FOLDER) for scene in _own_scenes()} - {""}
    # Scenes that were appended have the note of another .blend: then it was not moved since.
    if not here or here in known or len(known) != 1:
        return ""
    [before] = known
    for armature in _own_armatures():
        noted = notes_of(armature).items()
        # Not those of a model that was appended since.
        followed = {n: note._replace(folder=here) for n, note in noted if note.folder == before}
        write_notes(armature, {**dict(noted), **followed})
    _note_folder(here)
    return before


def moved(path: str, before: str) -> str:
    """An absolute path; of the file beside this .blend if it was moved with it from a folder."""
    if not os.path.isabs(path):
        return path
    try:
        beside = os.path.relpath(path, before)
    except ValueError:  # another drive
        return path
    found = os.path.normpath(os.path.join(folder_here(), beside))
    return found if file_access.exists(found) else path


def _move(before: str, folder: str) -> None:
    """Remap paths from a folder to another, and note their files; "" if the file was never saved."""
    armatures = _own_armatures()
    for armature in armatures:
        notes = {name: _remap(armature, name, before, folder) for name in NAMES}
        write_notes(armature, {name: note for name, note in notes.items() if note})
    is_needed = any(notes_of(armature) for armature in armatures)
    _note_folder(folder if is_needed else "")


def _own_armatures() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and not obj.library]


def _remap(armature: bpy.types.Object, name: str, before: str, folder: str) -> Note | None:
    """Remap a path; returns the note for it, None if it is not relative then."""
    path, note = getattr(armature.mmdskin, name), note_of(armature, name)
    if not path or is_of_library(armature, name, path):
        return None
    if path.startswith("//"):
        if not (before or note):
            return None  # relative to no folder
        file = file_in(armature, name, before)
        is_remapped = before != folder or file != direct_in(armature, name, before)
    else:
        file = os.path.normpath(path)
        is_remapped = not before and prefers_relative()  # at the first save
    if is_remapped:
        new = cache_files.shown(file, folder) if folder else file
        path = file if is_of_library(armature, name, new) else new
        _store(armature, name, path)
    if not path.startswith("//"):
        return None
    # Keep the note of a file that may be missing only now.
    return Note(path, folder, note.file if note and not file_access.exists(file) else file)


def _store(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it without its update function, since it is the same file."""
    if path == getattr(armature.mmdskin, name):
        return
    settings = armature.mmdskin
    properties = settings.bl_system_properties_get() if bpy.app.version >= (5, 0) else settings
    properties[name] = path
    armature.update_tag()  # update the evaluated copies


@persistent
def _before_saving(path: str | None, *_: object) -> None:
    """Blender 3.4 does not pass the path: then paths are remapped in memory, for the next save."""
    global _folder
    _folder = os.path.dirname(os.path.abspath(path)) if path else folder_here()
    _move(folder_here(), _folder)


@persistent
def _after_saving(*_: object) -> None:
    """After saving a copy or a failed save, the file is still at its previous path."""
    _move(_folder, folder_here())


_HANDLERS = (
    ("save_pre", _before_saving),
    ("save_post", _after_saving),
    ("save_post_fail", _after_saving),  # Blender 4.2
)
register, unregister = registration.handlers(_HANDLERS)
