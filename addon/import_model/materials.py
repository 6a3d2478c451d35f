# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials: a Principled BSDF with color, texture and alpha; the rest in custom properties.

The nodes are few and simple, so that every exporter supports them: the texture, or else the color
that MMD shows under its default light. The file's other values are stored as `mmd_…`.
"""

from typing import Any

import bpy
from bpy.types import Image, Material, Mesh, Node, NodeSocket, ShaderNodeTree
from bpy_extras.node_shader_utils import PrincipledBSDFWrapper
from mathutils import Color

from ..blender import blender_versions
from ..blender.native import mmdskin
from ..scene import material_values, names, textures
from .model_import import ModelImport, describe, group

DEFAULT_LIGHT = 154 / 255
_ALPHA = "Material alpha"  # label of a node


def add(importing: ModelImport, mesh: Mesh) -> None:
    """Create the mesh's materials, in the file's order."""
    pmx = importing.pmx
    for number, record in enumerate(pmx.materials):
        fields = group(record) | {"material_id": number}
        for name in ("texture", "sphere_texture", *([] if record.shared_toon else ["toon"])):
            fields[name] = pmx.textures[fields[name]] if fields[name] >= 0 else ""
        material = bpy.data.materials.new(names.material(record, importing.english))
        material.use_backface_culling = not record.flags & material_values.DOUBLE_SIDED
        _shade(material, record, importing.folder.image(fields["texture"]))
        describe(material, fields)
        mesh.materials.append(material)
    covered = sum(record.index_count // 3 for record in pmx.materials)
    if pmx.materials and covered != len(pmx.triangles):
        importing.caution(
            "The materials cover {counted} triangles, but the model has {total}",
            counted=covered,
            total=len(pmx.triangles),
        )


def _shade(material: Material, record: "mmdskin.Material", image: Image | None) -> None:
    linear = Color(_lit(record.ambient, record.diffuse)).from_srgb_to_scene_linear()
    alpha, has_alpha = min(max(record.diffuse[3], 0.0), 1.0), image and textures.has_alpha(image)
    if alpha >= material_values.OPAQUE and not has_alpha:
        alpha = 1.0
    shader: Any = PrincipledBSDFWrapper(material, is_readonly=False)  # type: ignore[call-arg]
    shader.base_color, shader.alpha = linear[:], alpha
    shader.specular, shader.roughness = 0.0, 1.0
    if image:
        shader.base_color_texture.image = image
    if has_alpha:
        tree, target = material.node_tree, shader.node_principled_bsdf.inputs["Alpha"]
        tree.links.new(shader.base_color_texture.node_image.outputs["Alpha"], target)
        if alpha < 1:
            _multiply_alpha(tree, target).default_value = alpha
    # The wrapper has changed it.
    material.diffuse_color = (*linear, alpha)  # type: ignore[assignment]
    if has_alpha or alpha < 1:
        blender_versions.set_blending(material, "HASHED", "HASHED")


def _multiply_alpha(tree: ShaderNodeTree, target: NodeSocket) -> NodeSocket:
    """Insert a node in front of a linked socket; returns its factor."""
    node = tree.nodes.new("ShaderNodeMath")
    node.operation, node.label = "MULTIPLY", _ALPHA
    node.location = (-200, -100)
    node.inputs[1].default_value = 1.0
    tree.links.new(target.links[0].from_socket, node.inputs[0])
    tree.links.new(node.outputs[0], target)
    return node.inputs[1]


def color_of(material: Material) -> Any:
    """The socket for a color, and the color for which it is white if it multiplies a texture, else 0."""
    tree = material.node_tree
    target = _principled(tree).inputs["Base Color"]
    if not target.is_linked:
        return target, (0.0, 0.0, 0.0)
    node = tree.nodes.new("ShaderNodeMix")
    node.data_type, node.blend_type, node.label = "RGBA", "MULTIPLY", "Material Color"
    node.location = (-200, 100)
    node.inputs[0].default_value = 1.0
    texture, color = [s for s in node.inputs if s.enabled and s.type == "RGBA"]
    color.default_value = (1.0, 1.0, 1.0, 1.0)
    tree.links.new(target.links[0].from_socket, texture)
    tree.links.new(next(s for s in node.outputs if s.enabled), target)
    return color, _lit(material["mmd_ambient"], material["mmd_diffuse"])


def alpha_of(material: Material) -> NodeSocket:
    """The socket for the material's alpha."""
    blender_versions.set_blending(material, "HASHED", "HASHED")
    tree = material.node_tree
    target = _principled(tree).inputs["Alpha"]
    if not target.is_linked:
        return target
    node = target.links[0].from_node
    return node.inputs[1] if node.label == _ALPHA else _multiply_alpha(tree, target)


def _principled(tree: ShaderNodeTree) -> Node:
    return next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")


def _lit(ambient: tuple[float, ...], diffuse: tuple[float, ...]) -> list:
    """The color under MMD's default light."""
    pairs = zip(ambient, list(diffuse)[:3], strict=True)
    return [min(dark + light * DEFAULT_LIGHT, 1) for dark, light in pairs]
