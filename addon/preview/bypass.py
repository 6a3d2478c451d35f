# SPDX-License-Identifier: GPL-3.0-or-later
"""The armature's modifiers of an evaluated object: they cost most of a frame, and nobody sees what
they make where every vertex is put elsewhere behind them.

Only the copy that Blender evaluates is written, by `foreach_set`, which tags nothing. The object of
the user, and with it the file, keeps them on.
"""

import bpy
import numpy as np

from .. import scene_model
from . import nodes

# Here Blender shows, or works on, what the modifiers make of the mesh without the nodes.
_NEEDS_THEM = {"SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "TEXTURE_PAINT", "PARTICLE_EDIT"}
_SWITCHES = ("show_viewport", "show_render")


def bypass(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Let the modifiers rest, in the evaluation that is going on."""
    skin = nodes.modifier_of(obj)
    if skin is None or obj.mode in _NEEDS_THEM:
        undo(obj)
        return
    deforming = scene_model.armature_modifiers(obj, armature)
    rest = np.array([modifier in deforming for modifier in obj.modifiers])
    for name in _SWITCHES:
        _switch(obj, name, rest & getattr(skin, name))


def undo(obj: bpy.types.Object) -> None:
    """Let them act as the user has set them."""
    for name in _SWITCHES:
        _switch(obj, name, False)


def _switch(obj, name, rest):
    wanted = _read(obj.original, name) & ~np.asarray(rest)
    if not np.array_equal(wanted, _read(obj, name)):
        obj.modifiers.foreach_set(name, wanted)


def _read(obj, name):
    values = np.empty(len(obj.modifiers), bool)
    obj.modifiers.foreach_get(name, values)
    return values
