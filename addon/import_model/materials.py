# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials: a Principled BSDF with colour, texture and alpha; the rest as custom properties.

The nodes are few and plain, so that every exporter understands them: the texture, or without one
the colour MMD shows under its default light. Nothing of the file's record is lost (`mmd_…`).
"""

from collections.abc import Sequence

import bpy
from bpy_extras.node_shader_utils import PrincipledBSDFWrapper
from mathutils import Color

from .. import blender_versions, names
from ..translations import tr
from .mesh import materials_of, put
from .textures import Textures

DOUBLE_SIDED = 0x1
DEFAULT_LIGHT = 154 / 255
_ALPHA = "Material alpha"  # label of a node


def add(mesh, pmx, kept, folder, options, report):
    """Give the mesh its materials, in the file's order; `kept` are its triangles' numbers."""
    textures = Textures(pmx.textures, folder, options.pack, report)
    for number, record in enumerate(pmx.materials):
        mesh.materials.append(_material(record, number, textures, options.english))
    _assign(mesh, pmx, kept, report)


def _assign(mesh, pmx, kept, report):
    counts = [max(record.index_count, 0) // 3 for record in pmx.materials]
    total = len(pmx.triangles)
    if not counts or not total:
        return
    if sum(counts) != total:
        report.warn(
            tr(
                "The materials count {counted} triangles, the model has {total}",
                counted=sum(counts),
                total=total,
            )
        )
    put(*blender_versions.material_indices(mesh), materials_of(pmx)[kept])


def _material(record, number, textures, english):
    material = bpy.data.materials.new(names.material(record, english))
    material.use_backface_culling = not record.flags & DOUBLE_SIDED
    _shade(material, record, textures.image(record.texture))
    _describe(material, record, number, textures)
    return material


def _shade(material, record, image):
    linear = Color(_lit(record.ambient, record.diffuse)).from_srgb_to_scene_linear()
    alpha = min(max(record.diffuse[3], 0.0), 1.0)
    shader = PrincipledBSDFWrapper(material, is_readonly=False)  # type: ignore[call-arg]
    shader.base_color, shader.alpha = linear[:], alpha
    shader.specular, shader.roughness = 0.0, 1.0
    see_through = alpha < 1
    if image:
        shader.base_color_texture.image = image
        if _has_alpha(image):
            see_through = True
            _link_alpha(material, shader, alpha)
    material.diffuse_color = (*linear, alpha)  # the wrapper has set its own
    if see_through:
        blender_versions.dither_transparency(material)


def _has_alpha(image):
    return image.channels == 4 and image.depth in (16, 32, 64, 128)


def _link_alpha(material, shader, alpha):
    tree, target = material.node_tree, shader.node_principled_bsdf.inputs["Alpha"]
    tree.links.new(shader.base_color_texture.node_image.outputs["Alpha"], target)
    if alpha < 1:
        _multiply_alpha(tree, target).default_value = alpha


def _multiply_alpha(tree, target):
    """The factor of a node that is put in front of a socket with a link."""
    node = tree.nodes.new("ShaderNodeMath")
    node.operation, node.label = "MULTIPLY", _ALPHA
    node.location = (-200, -100)
    node.inputs[1].default_value = 1.0
    tree.links.new(target.links[0].from_socket, node.inputs[0])
    tree.links.new(node.outputs[0], target)
    return node.inputs[1]


def color_of(
    material: bpy.types.Material,
) -> tuple[bpy.types.NodeSocket, Sequence[float]]:
    """The socket that a colour may be written to, and what the file's stands for 1 there, or 0.

    A texture is multiplied by it.
    """
    tree = material.node_tree
    target = _principled(tree).inputs["Base Color"]
    if not target.is_linked:
        return target, (0.0, 0.0, 0.0)
    node = tree.nodes.new("ShaderNodeMix")
    node.data_type, node.blend_type, node.label = "RGBA", "MULTIPLY", "Material colour"
    node.location = (-200, 100)
    node.inputs[0].default_value = 1.0
    texture, color = [s for s in node.inputs if s.enabled and s.type == "RGBA"]
    color.default_value = (1.0, 1.0, 1.0, 1.0)
    tree.links.new(target.links[0].from_socket, texture)
    tree.links.new(next(s for s in node.outputs if s.enabled), target)
    return color, _lit(material["mmd_ambient"], material["mmd_diffuse"])


def alpha_of(material: bpy.types.Material) -> bpy.types.NodeSocket:
    """The socket that the alpha of the file's material may be written to."""
    blender_versions.dither_transparency(material)
    tree = material.node_tree
    target = _principled(tree).inputs["Alpha"]
    if not target.is_linked:
        return target
    node = target.links[0].from_node
    return node.inputs[1] if node.label == _ALPHA else _multiply_alpha(tree, target)


def _principled(tree):
    return next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")


def _lit(ambient, diffuse):
    """The colour under MMD's default light."""
    return [
        min(dark + light * DEFAULT_LIGHT, 1)
        for dark, light in zip(ambient, list(diffuse)[:3], strict=True)
    ]


def _describe(material, record, number, textures):
    fields = record._asdict()
    fields["name_j"], fields["name_e"] = fields.pop("name"), fields.pop("name_english")
    for name in ("texture", "sphere_texture"):
        fields[name] = textures.path(fields[name])
    if not record.shared_toon:
        fields["toon"] = textures.path(record.toon)
    fields["material_id"] = number
    for name, value in fields.items():
        material[f"mmd_{name}"] = value
