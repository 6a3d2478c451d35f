# SPDX-License-Identifier: GPL-3.0-or-later
"""Where files go that belong to a .blend."""

import os

import bpy

from .user_error import UserError

_FORBIDDEN = dict.fromkeys(map(ord, '<>:"/\\|?*'), "_") | dict.fromkeys(range(32), "_")


def path(obj: bpy.types.Object, ending: str, folder: str = "") -> str:
    """The file of an object in a folder, or beside the .blend."""
    blend = bpy.data.filepath
    if not blend and (not folder or folder.startswith("//")):
        raise UserError("This file is not saved yet: save it, or choose a folder for the cache")
    folder = bpy.path.abspath(folder) if folder else os.path.dirname(blend)
    if not os.path.isdir(folder):
        raise UserError(
            "The folder '{folder}' for the cache does not exist: make it first", folder=folder
        )
    stem = os.path.splitext(os.path.basename(blend))[0] or "untitled"
    return os.path.join(folder, f"{stem}_{obj.name}".translate(_FORBIDDEN) + ending)


def shown(path: str) -> str:
    """The path as a .blend keeps it: relative to it where that is possible."""
    if not bpy.data.filepath:
        return path
    try:
        return bpy.path.relpath(path)
    except ValueError:  # another drive
        return path


def unwritable(path: str, error: OSError) -> UserError:
    reason = error.strerror or str(error)
    return UserError("The cache '{path}' cannot be written: {reason}", path=path, reason=reason)
