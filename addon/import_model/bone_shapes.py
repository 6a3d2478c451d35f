# SPDX-License-Identifier: GPL-3.0-or-later
"""Custom bone shapes: boxes for IK bones, small crosses for bones that MMD hides."""

from typing import TYPE_CHECKING, Any

import bpy

from .armature import VISIBLE

if TYPE_CHECKING:
    import mmdskin

_IK, _HIDDEN = "mmd_shape_ik", "mmd_shape_hidden"
# Sizes are relative to the bone's length.
_FORMS: dict[str, Any] = {_IK: ("CUBE", 0.4), _HIDDEN: ("PLAIN_AXES", 0.2)}


def add(
    armature: bpy.types.Object, records: "tuple[mmdskin.Bone, ...]", bone_names: list[str]
) -> None:
    for name, record in zip(bone_names, records, strict=True):
        if not record.flags & VISIBLE:
            armature.pose.bones[name].custom_shape = _shape(_HIDDEN)
        elif record.ik:
            armature.pose.bones[name].custom_shape = _shape(_IK)


def _shape(name: str) -> bpy.types.Object:
    """An empty outside any scene, shared by all models of the file."""
    known: bpy.types.Object | None = bpy.data.objects.get((name, None))
    if known is None:
        known = bpy.data.objects.new(name, None)
        known.empty_display_type, known.empty_display_size = _FORMS[name]
    return known
