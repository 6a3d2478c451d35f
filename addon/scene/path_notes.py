# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes of the files that the relative paths of a model lead to, and of the folder of the .blend.

Blender does not remap a path in the settings of a model when the model is appended to another .blend,
or when "Save As" is undone, and users move a .blend without its files. A note of the model then tells
where the file is. The scenes note the folder of the .blend, which tells whether the .blend was moved
since it was saved, or the model came from another one.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import bpy

from ..blender.user_error import UserError
from . import saved_state, stored

_FOLDER = "mmdskin_folder"  # custom property of scenes


class Note(NamedTuple):
    path: str  # of the setting, relative
    folder: str  # of the .blend that it is relative to
    file: str  # absolute


def of(armature: bpy.types.Object) -> dict[str, Note]:
    """The notes of an armature object, by setting."""
    try:
        saved = saved_state.load(armature, saved_state.FILES)
    except UserError:  # of a newer version
        return {}
    return {name: Note(*value) for name, value in saved.items() if _is_note(value)}


def find(armature: bpy.types.Object, name: str) -> Note | None:
    """The note of a setting, None if there is none, or if its path has changed since."""
    note = of(armature).get(name)
    return note if note and note.path == getattr(armature.mmdskin, name) else None


def write(armature: bpy.types.Object, notes: Mapping[str, Note]) -> None:
    """Replace the notes of an armature object."""
    if notes == of(armature):
        return
    if notes:
        saved_state.store(armature, saved_state.FILES, dict(notes))
    else:
        saved_state.remove(armature, saved_state.FILES)
    armature.update_tag()  # update the evaluated copies


def _is_note(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) == len(Note._fields)
    return is_list and all(isinstance(one, str) for one in value)


def folder_here() -> str:
    """The folder of this .blend; "" if it was never saved."""
    return os.path.dirname(bpy.data.filepath)


def noted_folder() -> str:
    """The folder that this .blend was saved in; "" if that was not noted.

    Scenes that were appended have the note of another .blend: then it was not moved since.
    """
    noted = {stored.text(scene, _FOLDER) for scene in _own_scenes()} - {""}
    return noted.pop() if len(noted) == 1 else folder_here() if noted else ""


def note_folder(folder: str) -> None:
    """Note the folder of this .blend; "" removes the note."""
    for scene in _own_scenes():
        if folder and stored.text(scene, _FOLDER) != folder:
            scene[_FOLDER] = folder
        elif not folder and _FOLDER in scene:
            del scene[_FOLDER]


def _own_scenes() -> list[bpy.types.Scene]:
    return [scene for scene in bpy.data.scenes if not scene.library]
