# SPDX-License-Identifier: GPL-3.0-or-later
"""How the vertices of a model follow its bones: by MMD's deform types, or one method for all.

Also the bones' segments at rest, for the methods that reduce bulging: docs/methods.md#segments.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from bpy.types import Object
from mathutils import Vector

from ..blender import arrays, blender_versions
from ..scene import mmd_tools

# The properties of models and operators that define a Deformation.
PROPERTIES = ("deformation", "correction")
NORMALS = "use_mmd_normals"  # the property that rotates normals as MMD does
_CORRECTED = {"BULGE_FREE", "BULGE_COMPENSATED"}
_SHORTEST = 1e-4 * mmd_tools.USUAL_SCALE


class Deformation(NamedTuple):
    """`method` and `correction`, as arguments of `mmdskin.skin`."""

    method: str = "mmd"
    correction: float = 1.0


class Shown(NamedTuple):
    """How a live model is deformed."""

    deformation: Deformation
    uses_rest_bones: bool  # whether it depends on the bones' rest positions
    normals: bool  # whether normals are MMD's


def is_corrected(name: str) -> bool:
    """Whether `correction` applies to an item of the property `deformation`."""
    return name in _CORRECTED


def gives_normals(armature: Object, override: bool | None = None) -> bool:
    """Whether a model shows MMD's normals; `override` goes before its own setting."""
    wanted = armature.mmdskin.use_mmd_normals if override is None else override
    return wanted and blender_versions.HAS_FREE_NORMALS


def method_of(armature: Object, overrides: dict | None = None) -> Deformation:
    """The Deformation of a model; `overrides`: properties by name that replace the model's own."""
    own, overrides = armature.mmdskin, overrides or {}
    name, correction = (overrides.get(key, getattr(own, key)) for key in PROPERTIES)
    return Deformation(name.lower(), correction if is_corrected(name) else 1.0)


def shown(armature: Object) -> Shown:
    """What the settings say: no animation changes them, so they are read once for each copy."""
    uses_rest_bones = is_corrected(armature.mmdskin.deformation)
    return Shown(method_of(armature), uses_rest_bones, gives_normals(armature))


# Rest positions of bones


def signature(armature: Object, obj: Object) -> np.ndarray:
    """Numbers that change with the rest pose or the objects' relative transform."""
    bones = armature.data.bones
    ends = [arrays.read(bones, name, 3) for name in ("head_local", "tail_local")]
    worlds = [np.array(one.matrix_world, np.float32) for one in (armature, obj)]
    return np.concatenate([numbers.ravel() for numbers in (*ends, *worlds)])


def segments(armature: Object, names: Sequence[str]) -> np.ndarray:
    """(B, 2, 3) float64 in armature space: head and tail of each bone's segment.

    Blender gives every bone a length. If the file gives none, which importers store, the bone uses
    the segment of the bone whose rotation it copies, else its parent's.
    """
    bones, sources = armature.data.bones, mmd_tools.rotation_sources(armature)
    tips = {bone.name for bone in armature.pose.bones if mmd_tools.is_tip(bone)}
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
    number, bones = {name: i for i, name in enumerate(names)}, armature.data.bones
    named = (
        (number[above.name] for above in bones[name].parent_recursive if above.name in number)
        for name in names
    )
    return np.array([next(above, -1) for above in named], np.int32)
