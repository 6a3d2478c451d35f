# SPDX-License-Identifier: GPL-3.0-or-later
"""Bypass the Armature modifiers of an evaluated object: they take most of a frame's time, and their
result is not visible if all vertices are set after them.

Only the evaluated copy is written, by `foreach_set`, which tags nothing for an update. They stay on
in the user's object and in the file.
"""

import bpy
import numpy as np

from ..blender import arrays, caches
from ..scene import scene_model
from . import nodes

# Modes in which Blender shows or edits the result of the modifiers without the nodes.
_NEEDS_THEM = {"SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "TEXTURE_PAINT", "PARTICLE_EDIT"}
_SWITCHES = ("show_viewport", "show_render")

# By address of the evaluated object: its switches as they were left. To find out again what they
# should be takes as long as to skin the mesh. If Blender copies the object again, the Armature
# modifiers are on, or the user's settings need no change.
_left: caches.Cache[bytes] = caches.of_file()


def bypass(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Turn the modifiers off, in the current evaluation."""
    address, switches = obj.as_pointer(), _switches(obj)
    if _left.get(address) == switches and obj.mode not in _NEEDS_THEM:
        return
    _left.pop(address, None)
    skin = nodes.modifier_of(obj)
    if skin is None or obj.mode in _NEEDS_THEM:
        undo(obj)
        return
    deforming = scene_model.armature_modifiers(obj, armature)
    rest = np.array([modifier in deforming for modifier in obj.modifiers])
    for name in _SWITCHES:
        _switch(obj, name, rest & getattr(skin, name))
    _left.put(address, _switches(obj))


def undo(obj: bpy.types.Object) -> None:
    """Restore the user's settings."""
    for name in _SWITCHES:
        _switch(obj, name, False)


def _switches(obj: bpy.types.Object) -> bytes:
    return b"".join(arrays.read(obj.modifiers, name, dtype=bool).tobytes() for name in _SWITCHES)


def _switch(obj: bpy.types.Object, name: str, rest: np.ndarray | bool) -> None:
    wanted = arrays.read(obj.original.modifiers, name, dtype=bool) & ~np.asarray(rest)
    if not np.array_equal(wanted, arrays.read(obj.modifiers, name, dtype=bool)):
        obj.modifiers.foreach_set(name, wanted)
