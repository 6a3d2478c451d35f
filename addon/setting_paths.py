# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths among the settings of a model, which Blender does not make another file's own.

A path that begins with // is relative to the .blend that has set it: of what is linked or overridden
its library, as long as the override holds what the library does.
"""

from typing import Any

import bpy

from . import cache_files


def absolute(armature: bpy.types.Object, name: str, given: dict[str, Any] | None = None) -> str:
    """The path of a setting of an armature object, which may be an evaluated copy.

    What is `given`, by name, goes before it, and is of this file.
    """
    if given and name in given:
        return bpy.path.abspath(given[name])
    path = getattr(armature.mmdskin, name)
    reference = _reference(armature.original)
    is_its = reference is not None and getattr(reference.mmdskin, name) == path
    return bpy.path.abspath(path, library=reference.library if is_its else None)


def keep(armature: bpy.types.Object, name: str, path: str) -> None:
    """Set it to an absolute path, relative to this file where that means this file's."""
    reference, shown = _reference(armature), cache_files.shown(path)
    is_its = reference is not None and getattr(reference.mmdskin, name) == shown
    setattr(armature.mmdskin, name, path if is_its else shown)


def _reference(armature):
    """The object of another file from which the settings are, or None."""
    override = armature.override_library
    return override.reference if override else armature if armature.library else None
