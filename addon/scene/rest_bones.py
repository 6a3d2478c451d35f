# SPDX-License-Identifier: GPL-3.0-or-later
"""Rest positions of bones, also for the methods that reduce bulging: docs/methods.md#segments."""

from collections.abc import Sequence

import numpy as np
from bpy.types import Object
from mathutils import Vector

from ..blender import arrays, evaluated_bones
from . import mmd_tools, model_file

_SHORTEST = 1e-4 * mmd_tools.USUAL_SCALE


def signature(armature: Object, obj: Object) -> np.ndarray:
    """Numbers that change with the rest pose or the objects' relative transform."""
    bones = armature.data.bones
    ends = [arrays.read(bones, name, 3) for name in ("head_local", "tail_local")]
    worlds = [np.array(one.matrix_world, np.float32) for one in (armature, obj)]
    return np.concatenate([numbers.ravel() for numbers in (*ends, *worlds)])


def matrices(armature: Object) -> np.ndarray:
    """(B, 4, 4) float64 of all bones, in the armature's space."""
    columns = evaluated_bones.columns(armature.data.bones, "matrix_local")
    return columns.transpose(0, 2, 1).astype(np.float64)


def segments(armature: Object, names: Sequence[str]) -> np.ndarray:
    """(B, 2, 3) float64 in armature space: head and tail of each bone's segment.

    Blender gives every bone a length. If the file gives none, which importers store, the bone uses
    the segment of the bone whose rotation it copies, else its parent's.
    """
    bones, sources = armature.data.bones, model_file.rotation_sources(armature)
    tips = {bone.name for bone in armature.pose.bones if model_file.is_tip(bone)}
    known = {}

    def segment(name: str) -> tuple[Vector, Vector]:
        way = []
        while name is not None and name not in known and name not in way:
            bone = bones[name]
            if bone.length > _SHORTEST and name not in tips:
                known[name] = (bone.head_local, bone.tail_local)
                break
            way.append(name)
            name = sources.get(name) or (bone.parent.name if bone.parent else None)
        found = known.get(name)
        for passed in way:
            known[passed] = found
        return found

    heads = [(bones[name].head_local,) * 2 for name in names]
    found = [segment(name) or head for name, head in zip(names, heads, strict=True)]
    return np.array(found, np.float64).reshape(-1, 2, 3)


def parents(armature: Object, names: Sequence[str]) -> np.ndarray:
    """(B,) int32: for each named bone, the index of its nearest named ancestor, or -1."""
    number = {name: i for i, name in enumerate(names)}
    found = np.full(len(names), -1, np.int32)
    for i, name in enumerate(names):
        above = armature.data.bones[name].parent
        while above is not None and above.name not in number:
            above = above.parent
        if above is not None:
            found[i] = number[above.name]
    return found
