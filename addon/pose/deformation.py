# SPDX-License-Identifier: GPL-3.0-or-later
"""How the vertices of a model follow its bones: by MMD's deform types, or one method for all."""

from typing import NamedTuple

from bpy.types import Object

from ..blender import blender_versions

# The properties of models and operators that define a Deformation.
PROPERTIES = ("deformation", "correction")
NORMALS = "use_mmd_normals"  # the property that rotates normals as MMD does
_CORRECTED = {"BULGE_FREE", "BULGE_COMPENSATED"}


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
