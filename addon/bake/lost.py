# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a library override's bake, written again where Blender has dropped it.

It drops the record when a file is opened and saved while the add-on, which declares its property, is
disabled, but not the modifiers.
"""

from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..preview import nodes
from ..scene import scene_model
from . import mesh_cache, record


@persistent
def recover(*_: object) -> None:
    for obj in bpy.data.objects:
        if obj.type == "MESH" and obj.override_library and not record.is_baked(obj):
            cache: Any = obj.modifiers.get(mesh_cache.NAME)
            reference = obj.override_library.reference
            is_ours = cache is not None and not cache.is_override_data
            # Not where the library is missing.
            if is_ours and isinstance(reference, bpy.types.Object) and reference.type == "MESH":
                _state(obj, reference, cache).write(obj)


def _state(
    obj: bpy.types.Object, reference: bpy.types.Object, cache: bpy.types.Modifier
) -> record.BakeState:
    """The state of a bake that plays `cache`, with the library's settings of what it hides."""
    deforming: list = scene_model.armature_modifiers(reference)
    live = nodes.modifier_of(reference)
    state = record.begin(obj, obj.find_armature())
    state.target, state.added = "MESH_CACHE", cache.name
    state.normals = [name for name in mesh_cache.NORMALS if name in obj.modifiers]
    state.active_modifier = reference.modifiers.active.name if reference.modifiers.active else ""
    for modifier in [*deforming, live] if live else deforming:
        state.modifiers[modifier.name] = [modifier.show_viewport, modifier.show_render]
    state.frames, state.samples = mesh_cache.range_of(cache)
    return state


register, unregister = registration.handlers([("load_post", recover)], once_enabled=recover)
