# SPDX-License-Identifier: GPL-3.0-or-later
"""How the vertices of a model follow its bones: MMD's own types, or one method for all of them."""

from typing import NamedTuple

import bpy

from . import blender_versions

# The properties of a model, and of operators, that a Deformation is read from.
PROPERTIES = ("deformation", "correction")
NORMALS = "use_mmd_normals"  # the property by which normals are turned as MMD turns them
_CORRECTED = {"BULGE_FREE", "BULGE_COMPENSATED"}


class Deformation(NamedTuple):
    """`method` and `correction` as `mmdskin.skin` takes them."""

    method: str = "mmd"
    correction: float = 1.0

    @property
    def uses_rest_bones(self) -> bool:
        """Whether it matters where the bones lie at rest."""
        return self.method.upper() in _CORRECTED


def is_corrected(name: str) -> bool:
    """Whether `correction` means anything under an item of the property `deformation`."""
    return name in _CORRECTED


def gives_normals(armature: bpy.types.Object, given: bool | None = None) -> bool:
    """Whether a model shows MMD's normals, too; `given` goes before its own setting."""
    wanted = armature.mmdskin.use_mmd_normals if given is None else given
    return wanted and blender_versions.HAS_FREE_NORMALS


def of(armature: bpy.types.Object, given: dict | None = None) -> Deformation:
    """That of a model; `given`: properties, by name, that go before the model's own."""
    own, given = armature.mmdskin, given or {}
    name, correction = (given.get(key, getattr(own, key)) for key in PROPERTIES)
    return Deformation(name.lower(), correction if is_corrected(name) else 1.0)
