# SPDX-License-Identifier: GPL-3.0-or-later
"""mmd_tools' own SDEF: a driver that writes the key `mmd_sdef_skinning`, and a mask."""

import bpy

KEY = "mmd_sdef_skinning"
MASK = "mmd_sdef_mask"


def suspend_sdef(obj):
    """Switch the SDEF driver of a mesh off; returns what `resume_sdef` needs, JSON-like."""
    key = _key(obj)
    if key is None:
        return {}
    drivers = [curve for curve in _drivers(obj) if not curve.mute]
    masked = [m for m in obj.modifiers if m.type == "ARMATURE" and m.vertex_group == MASK]
    state = {"mute": key.mute, "driven": bool(drivers), "masked": [m.name for m in masked]}
    for curve in drivers:
        curve.mute = True
    key.mute = True
    for modifier in masked:
        modifier.vertex_group = ""
    return state


def resume_sdef(obj, state):
    key = _key(obj)
    if not state or key is None:
        return
    key.mute = state["mute"]
    if state["driven"]:
        for curve in _drivers(obj):
            curve.mute = False
    for name in state["masked"]:
        modifier = obj.modifiers.get(name)
        if modifier is not None:
            modifier.vertex_group = MASK
    refresh_sdef(obj)


def refresh_sdef(obj):
    """The driver skips bones that have not moved, and would show an older pose again."""
    driver = bpy.app.driver_namespace.get("mmd_sdef_driver")
    cache = getattr(driver, "__self__", None)
    if hasattr(cache, "clear_cache"):
        cache.clear_cache(obj)


def _key(obj):
    keys = obj.data.shape_keys
    return keys.key_blocks.get(KEY) if keys else None


def _drivers(obj):
    animation = obj.data.shape_keys.animation_data
    curves = animation.drivers if animation else ()
    return [curve for curve in curves if curve.data_path == f'key_blocks["{KEY}"].value']
