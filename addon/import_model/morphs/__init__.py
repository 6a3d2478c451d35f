# SPDX-License-Identifier: GPL-3.0-or-later
"""Morphs that do not move vertices: sliders on the armature, and what they drive.

Bone morphs are Action constraints before all others, material and UV morphs are drivers of
materials and nodes; impulse morphs only act in Simulate. A group's slider drives all of its
children; if one of them moves vertices, the slider is the group's shape key. Flip morphs have none.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bpy.types import Object

from ...blender import blender_versions
from ...blender.translations import tr
from ...scene import names, sliders
from . import bone, material, uv
from .weights import Weights

if TYPE_CHECKING:
    import mmdskin

_ACTING = {"bone", "impulse", "material", *(uv.KINDS if blender_versions.NODES_WRITE_UVS else ())}


def add(
    rig: Object,
    obj: Object,
    pmx: "mmdskin.Model",
    key_names: dict[int, str],
    bone_names: Sequence[str],
    scale: float,
    warnings: list[str],
) -> dict[int, str]:
    """Create all of them; returns the names of the custom properties by morph index.

    `key_names` are the shape keys, by morph index.
    """
    made = {
        number: name
        for number, name in enumerate(names.morphs(pmx.morphs, rig.keys()))
        if number not in key_names and _acts(pmx.morphs, number)
    }
    for name in made.values():
        rig[name] = 0.0
        sliders.widen(rig, name)
        rig.property_overridable_library_set(sliders.path(name), True)
    weights = Weights(rig, obj.data, pmx.morphs, made, key_names, warnings)
    bone.add(rig, pmx, bone_names, weights, scale)
    material.add(obj.data, pmx, weights)
    if blender_versions.NODES_WRITE_UVS:
        uv.add(obj, pmx, weights)
    elif any(morph.kind in uv.KINDS for morph in pmx.morphs):
        warnings.append(tr("UV morphs require Blender 3.5 or later"))
    return made


def _acts(morphs: "tuple[mmdskin.Morph, ...]", number: int) -> bool:
    morph = morphs[number]
    if morph.kind == "group":
        return any(child >= 0 and morphs[child].kind in _ACTING for child in morph.indices)
    return morph.kind in _ACTING and len(morph.indices) > 0
