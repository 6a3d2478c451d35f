# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials of the hull where those of the surfaces do not do.

Before 4.2, EEVEE ignores the alpha of opaque materials, which hides the front of the hull: where they
are two-sided, it would cover the model. So the hull has one-sided materials instead, which follow the
values of the surface's. An invisible one hides the hull's faces without an edge that share points.
"""

from collections.abc import Iterable
from typing import Any

import bpy

from ..blender import blender_versions, node_builder
from ..scene import material_values
from . import materials, shading

_MARK = "mmdskin_edge"  # custom property of our materials
_INVISIBLE = "MMD No Edge"

# The edge's material of the surface's.
Replaced = dict[bpy.types.Material, bpy.types.Material]


def replaced(edged: Iterable[bpy.types.Material], known: Replaced) -> Replaced:
    """What the hull has instead of materials with an edge: what is known, else a new material."""
    return {
        one: known.get(one) or _new(one)
        for one in edged
        if blender_versions.ignores_alpha(one) and not one.use_backface_culling
    }


def invisible() -> bpy.types.Material:
    """The material that shows nothing, made at its first use."""
    for one in node_builder.own(bpy.data.materials, _MARK):
        if one[_MARK] == _INVISIBLE:
            return one
    material, _ = shading.new_material(_INVISIBLE)
    material[_MARK] = _INVISIBLE
    blender_versions.hide_by_alpha(material)
    return material


def drop_unused() -> None:
    node_builder.drop_unused(bpy.data.materials, _MARK)
    shading.drop_unused()


def _new(surface: bpy.types.Material) -> bpy.types.Material:
    values: Any = material_values.read(surface)
    material, look = shading.new_material(f"{surface.name}_edge", shading.SHADING)
    material[_MARK] = surface.name
    material.use_backface_culling, material.shadow_method = True, "NONE"
    materials.follow_edge(surface, look, values)
    # Before 4.2, Cycles has no backface culling.
    sides = material.node_tree.nodes.new("ShaderNodeNewGeometry")
    sides.location.x = -250
    material.node_tree.links.new(sides.outputs["Backfacing"], look.inputs["Back"])
    _look_alike_in_solid(surface, material)
    opacity = values.edge_color[3]
    if opacity.value < 1 or opacity.is_driven(surface):
        material.blend_method = "HASHED"
    return material


def _look_alike_in_solid(surface: bpy.types.Material, material: Any) -> None:
    """Solid shading draws both sides of the hull, in the viewport color or the active texture."""
    material.diffuse_color = surface.diffuse_color
    tree: Any = surface.node_tree
    images = [one.image for one in tree.nodes if one.type == "TEX_IMAGE" and one.image]
    if images:  # the first is the texture, of all importers
        texture = material.node_tree.nodes.new("ShaderNodeTexImage")
        texture.image, texture.location.y = images[0], -300
        material.node_tree.nodes.active = texture
