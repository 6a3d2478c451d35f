# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes the relative paths in the settings of models, where Blender changes its own paths.

"Save As" into another folder remaps them. With Blender's preference Relative Paths, all paths become
relative when a file is saved for the first time. When a .blend is opened in another folder than it was
saved in, it was moved or copied: the folder is noted again, so that files beside it are used.
"""

import os

import bpy
from bpy.app.handlers import persistent

from ..blender import input_files, registration
from . import setting_paths
from .setting_paths import NAMES, Note, direct_in, file_in, is_of_library, prefers_relative

# The folder that paths of this file are relative to, while it is saved; "" if it never was.
_folder = ""


def remember(armature: bpy.types.Object, name: str) -> None:
    """Note the file of a path that was just chosen, for undo after "Save As" into another folder."""
    if armature.library:
        return
    folder, path = setting_paths.folder_here(), getattr(armature.mmdskin, name)
    notes = setting_paths.notes_of(armature)
    # It may be the same path as before, but that was of a .blend in another folder.
    notes.pop(name, None)
    if folder and path.startswith("//") and not is_of_library(armature, name, path):
        notes[name] = Note(path, folder, direct_in(armature, name, folder))
    setting_paths.write_notes(armature, notes)


def follow_move() -> str:
    """After a .blend was opened: the folder that it was moved from, "" if it was not moved."""
    here, before = setting_paths.folder_here(), setting_paths.noted_folder()
    if not here or before in ("", here):
        return ""
    for armature in _own_armatures():
        noted = setting_paths.notes_of(armature).items()
        # Not those of a model that was appended since.
        followed = {n: note._replace(folder=here) for n, note in noted if note.folder == before}
        setting_paths.write_notes(armature, {**dict(noted), **followed})
    setting_paths.note_folder(here)
    return before


def moved(path: str, before: str) -> str:
    """An absolute path; of the file beside this .blend if it was moved with it from a folder."""
    if not os.path.isabs(path):
        return path
    try:
        beside = os.path.relpath(path, before)
    except ValueError:  # another drive
        return path
    found = os.path.normpath(os.path.join(setting_paths.folder_here(), beside))
    return found if input_files.exists(found) else path


def _move(folder: str) -> None:
    """Remap paths to another folder; to and from none if the file was never saved."""
    global _folder
    before, _folder = _folder, folder
    armatures = _own_armatures()
    for armature in armatures:
        _remap_all(armature, before, folder)
    is_needed = any(setting_paths.notes_of(armature) for armature in armatures)
    setting_paths.note_folder(folder if is_needed else "")


def _own_armatures() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and not obj.library]


def _remap_all(armature: bpy.types.Object, before: str, folder: str) -> None:
    """Remap the paths of an armature from a folder to another, and note their files."""
    files = {name: _remap(armature, name, before, folder) for name in NAMES}
    notes = {
        name: Note(getattr(armature.mmdskin, name), folder, file)
        for name, file in files.items()
        if file
    }
    setting_paths.write_notes(armature, notes)


def _remap(armature: bpy.types.Object, name: str, before: str, folder: str) -> str:
    """Remap a path; returns the file to note for it, "" if it is not relative then."""
    path = getattr(armature.mmdskin, name)
    if not path or is_of_library(armature, name, path):
        return ""
    if path.startswith("//"):
        note = setting_paths.note_of(armature, name)
        if not (before or note):
            return ""  # relative to no folder
        file = file_in(armature, name, before)
        is_remapped = before != folder or file != direct_in(armature, name, before)
    else:
        note, file = None, os.path.normpath(path)
        is_remapped = not before and prefers_relative()  # at the first save
    if is_remapped:
        new = _relative(file, folder) if folder else file
        path = file if is_of_library(armature, name, new) else new
        if path != getattr(armature.mmdskin, name):
            _store(armature, name, path)
    if not path.startswith("//"):
        return ""
    # Keep the note of a file that may be missing only now.
    return note.file if note and not input_files.exists(file) else file


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
    _folder = setting_paths.folder_here()
    _move(os.path.dirname(os.path.abspath(path)) if path else _folder)


@persistent
def _after_saving(*_: object) -> None:
    """After saving a copy or a failed save, the file is still at its previous path."""
    _move(setting_paths.folder_here())


_HANDLERS = (
    ("save_pre", _before_saving),
    ("save_post", _after_saving),
    ("save_post_fail", _after_saving),  # Blender 4.2
)
register, unregister = registration.handlers(_HANDLERS)
