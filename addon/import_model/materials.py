# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials: a Principled BSDF with colour, texture and alpha; the rest as custom properties.

The nodes are few and plain, so that every exporter understands them: the texture, or without one
the colour MMD shows under its default light. Nothing of the file's record is lost (`mmd_…`).
"""

import bpy
from bpy_extras.node_shader_utils import PrincipledBSDFWrapper
from mathutils import Color

from .. import blender_versions, names
from ..translations import tr
from .mesh import materials_of, put
from .textures import Textures

DOUBLE_SIDED = 0x1
_DEFAULT_LIGHT = 154 / 255


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
    color = [
        min(ambient + diffuse * _DEFAULT_LIGHT, 1)
        for ambient, diffuse in zip(record.ambient, record.diffuse[:3], strict=True)
    ]
    linear = Color(color).from_srgb_to_scene_linear()
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
    tree = material.node_tree
    source = shader.base_color_texture.node_image.outputs["Alpha"]
    if alpha < 1:
        factor = tree.nodes.new("ShaderNodeMath")
        factor.operation, factor.label = "MULTIPLY", "Material alpha"
        factor.location = (-200, -100)
        factor.inputs[1].default_value = alpha
        tree.links.new(source, factor.inputs[0])
        source = factor.outputs[0]
    tree.links.new(source, shader.node_principled_bsdf.inputs["Alpha"])


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
