# SPDX-License-Identifier: GPL-3.0-or-later
"""How bones look that are not like others: IK bones are boxes, bones that MMD hides small crosses."""

from typing import Any

import bpy

from .armature import VISIBLE

_IK, _HIDDEN = "mmd_shape_ik", "mmd_shape_hidden"
# Sizes are of a bone's length.
_FORMS: dict[str, Any] = {_IK: ("CUBE", 0.4), _HIDDEN: ("PLAIN_AXES", 0.2)}


def add(armature, records, bone_names):
    for name, record in zip(bone_names, records, strict=True):
        if not record.flags & VISIBLE:
            armature.pose.bones[name].custom_shape = _shape(_HIDDEN)
        elif record.ik:
            armature.pose.bones[name].custom_shape = _shape(_IK)


def _shape(name):
    """An empty that is in no scene, shared by all models of the file."""
    known = bpy.data.objects.get((name, None))
    if known is None:
        known = bpy.data.objects.new(name, None)
        known.empty_display_type, known.empty_display_size = _FORMS[name]
    return known
