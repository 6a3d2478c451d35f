# SPDX-License-Identifier: GPL-3.0-or-later
"""How the vertices of a model follow its bones: by MMD's deform types, or one method for all."""

from typing import NamedTuple

import bpy

from ..blender import blender_versions

# The properties of models and operators that define a Deformation.
PROPERTIES = ("deformation", "correction")
NORMALS = "use_mmd_normals"  # the property that rotates normals as MMD does
_CORRECTED = {"BULGE_FREE", "BULGE_COMPENSATED"}


class Deformation(NamedTuple):
    """`method` and `correction`, as arguments of `mmdskin.skin`."""

    method: str = "mmd"
    correction: float = 1.0

    @property
    def uses_rest_bones(self) -> bool:
        """Whether the method depends on the bones' rest positions."""
        return self.method.upper() in _CORRECTED


def is_corrected(name: str) -> bool:
    """Whether `correction` applies to an item of the property `deformation`."""
    return name in _CORRECTED


def gives_normals(armature: bpy.types.Object, override: bool | None = None) -> bool:
    """Whether a model shows MMD's normals; `override` goes before its own setting."""
    wanted = armature.mmdskin.use_mmd_normals if override is None else override
    return wanted and blender_versions.HAS_FREE_NORMALS


def method_of(armature: bpy.types.Object, overrides: dict | None = None) -> Deformation:
    """The Deformation of a model; `overrides`: properties by name that replace the model's own."""
    own, overrides = armature.mmdskin, overrides or {}
    name, correction = (overrides.get(key, getattr(own, key)) for key in PROPERTIES)
    return Deformation(name.lower(), correction if is_corrected(name) else 1.0)
