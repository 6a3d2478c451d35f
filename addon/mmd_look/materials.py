# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the look on a material, and take it off: nodes beside the material's own.

The nodes end in two Material Outputs, one for EEVEE and one for Cycles. The material's own output
stays the active one, so exporters still find the Principled BSDF, and removing our nodes restores
the material. Drivers let the group's numbers follow the material's properties. Edges have materials of
their own where those of the surfaces do not do.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import bpy
import numpy as np
from bpy.types import Image, Material

from ..blender import actions, blender_versions, drivers, node_builder
from ..blender.native import mmdskin
from ..scene import material_values, saved_state, textures
from ..scene.material_values import MaterialValues, Number
from . import shading

EEVEE, CYCLES = "EEVEE", "CYCLES"  # targets of Material Outputs
_NAME = "MMD Look"  # how the names of our nodes begin
_COORDINATES, _SHADING, _TOON = "Coordinates", "Shading", "Toon"  # and how they end
_SHADOW, _SHADOW_TOON, _SHADOW_PLACE = "Self-Shadow", "Shadow Toon", "Shadow Coordinates"
_SUB_TEXTURE_MAP = "UV1"
_PLACE = (-700, -600)
_EDGE = "mmdskin_edge"  # custom property of our materials of edges
_INVISIBLE = "MMD No Edge"
_SHARED = "mmdskin_toon"  # ID property of the images of shared toons: their number
_ENLARGED = "mmdskin_enlarged"  # ID property of enlarged copies: the image
_SMOOTH = 1024  # width and height from which on texels of a sphere map are too small to be seen
_LARGEST = 4096  # width or height of what is enlarged
_SHARED_NAME = re.compile(r"toon(0[1-9]|10)\.bmp", re.IGNORECASE)

Replaced = dict[Material, Material]  # by the surface's material: that of its edge


@dataclass
class LookState(saved_state.SavedState):
    """What `disable` restores on a material."""

    PROPERTY: ClassVar[str] = saved_state.LOOK

    animated: bool = False  # whether the node tree had animation data
    shadow_method: str = ""  # that of EEVEE before 4.2, if self-shadow has changed it


class Images(NamedTuple):
    base: Image | None
    sphere: Image | None
    toon: Image | None


def is_on(material: Material | None) -> bool:
    """Whether a material shows the look."""
    return material is not None and bool(_ours(material))


def enable(material: Material, values: MaterialValues, folder: textures.TextureFolder) -> None:
    """Add the look to a material that does not have it."""
    tree = material.node_tree
    own = [node for node in tree.nodes if node.type == "OUTPUT_MATERIAL" and node.is_active_output]
    LookState(animated=tree.animation_data is not None).write(material)
    where = _add(tree, "ShaderNodeGroup", _COORDINATES, (0, 0))
    where.node_tree = shading.group(shading.COORDINATES)
    look = _add(tree, "ShaderNodeGroup", _SHADING, (600, 0))
    look.node_tree = shading.group(shading.SHADING)
    for name in ("Highlight", "Back"):
        tree.links.new(where.outputs[name], look.inputs[name])
    used = _images(material, values, folder)
    _show_images(tree, where, look, values, used)
    look.inputs["Double Sided"].default_value = values.flags & material_values.DOUBLE_SIDED
    _follow(material, look, values, used)
    for place, engine in enumerate((EEVEE, CYCLES)):
        output = _add(tree, "ShaderNodeOutputMaterial", engine, (900, -150 * place))
        output.target, output.is_active_output = engine, False
        tree.links.new(look.outputs[shading.RESULT], output.inputs["Surface"])
    for node in own:
        node.is_active_output = True


def has_self_shadow(material: Material) -> bool:
    return is_on(material) and _SHADOW in _by_name(material)


def enable_self_shadow(material: Material, values: MaterialValues) -> None:
    """Let a material with the look have self-shadow in EEVEE."""
    tree, ours = material.node_tree, _by_name(material)
    look = ours[_SHADING]
    shadow = _add(tree, "ShaderNodeGroup", _SHADOW, (300, 300))
    shadow.node_tree = shading.group(shading.SELF_SHADOW)
    shadow.inputs["Receives"].default_value = bool(values.flags & material_values.RECEIVES)
    tree.links.new(shadow.outputs["Light"], look.inputs["Light"])
    look.inputs["Casts"].default_value = bool(values.flags & material_values.CASTS)
    if _TOON in ours:
        toon = _add(tree, "ShaderNodeTexImage", _SHADOW_TOON, (300, -1200))
        toon.image, toon.extension = ours[_TOON].image, "EXTEND"
        lowest = _add(tree, "ShaderNodeCombineXYZ", _SHADOW_PLACE, (100, -1200))
        tree.links.new(lowest.outputs[0], toon.inputs[0])
        tree.links.new(toon.outputs["Color"], look.inputs["Toon Shadow"])
    tree.links.new(look.outputs[shading.SHADOWED], ours[EEVEE].inputs["Surface"])
    state = LookState.read(material)
    _, state.shadow_method = blender_versions.blending(material)
    blender_versions.set_blending(material, "", "CLIP")
    state.write(material)


def disable_self_shadow(material: Material) -> None:
    """The inverse of `enable_self_shadow`."""
    tree, ours, state = material.node_tree, _by_name(material), LookState.read(material)
    for name in (_SHADOW, _SHADOW_TOON, _SHADOW_PLACE):
        if name in ours:
            tree.nodes.remove(ours[name])
    look = ours[_SHADING]
    look.inputs["Casts"].default_value = 1.0
    tree.links.new(look.outputs[shading.RESULT], ours[EEVEE].inputs["Surface"])
    blender_versions.set_blending(material, "", state.shadow_method)
    state.shadow_method = ""
    state.write(material)


def disable(material: Material) -> None:
    """Remove the look from a material."""
    if has_self_shadow(material):
        disable_self_shadow(material)
    tree, state = material.node_tree, LookState.read(material)
    ours = _ours(material)
    used = [node.image for node in ours if node.type == "TEX_IMAGE" and node.image]
    drivers.remove(tree, f'nodes["{_NAME}')
    for node in ours:
        tree.nodes.remove(node)
    if not state.animated:
        actions.clear_if_empty(tree)
    if LookState.PROPERTY in material:
        del material[LookState.PROPERTY]
    _drop_unused(list(dict.fromkeys(used)))


def _ours(material: Material) -> list:
    tree = material.node_tree
    return [node for node in tree.nodes if node.name.startswith(_NAME)] if tree else []


def _by_name(material: Material) -> dict[str, Any]:
    """Our nodes, by what follows `_NAME` in their names."""
    return {node.name.removeprefix(f"{_NAME} "): node for node in _ours(material)}


def _add(tree: Any, kind: str, name: str, offset: tuple[float, float]) -> Any:
    node = tree.nodes.new(kind)
    node.name = node.label = f"{_NAME} {name}"
    node.location = (_PLACE[0] + offset[0], _PLACE[1] + offset[1])
    return node


def _show_images(tree: Any, where: Any, look: Any, values: MaterialValues, used: Images) -> None:
    if used.base:
        _texture(tree, look, used.base, "Base", 0)
    if used.sphere:
        node = _texture(tree, look, used.sphere, "Sphere", 1)
        if values.sphere_mode == material_values.SUB_TEXTURE:
            uv = _add(tree, "ShaderNodeUVMap", "Sub-Texture", (100, -600))
            uv.uv_map = _SUB_TEXTURE_MAP
            tree.links.new(uv.outputs[0], node.inputs[0])
        else:
            tree.links.new(where.outputs["Sphere UV"], node.inputs[0])
            _read_without_mip_maps(node)
        adds = values.sphere_mode == material_values.ADD
        look.inputs["Sphere Add" if adds else "Sphere Multiply"].default_value = 1.0
    if used.toon:
        toon: Any = used.toon
        where.inputs[shading.TOON_ROWS].default_value = toon.size[1]
        for place, name in enumerate((_TOON, shading.NEXT_TOON)):
            node = _texture(tree, look, toon, name, 2 + place)
            node.extension, node.interpolation = "EXTEND", "Closest"
            tree.links.new(where.outputs[f"{name} UV"], node.inputs[0])
        tree.links.new(where.outputs[shading.TOON_MIX], look.inputs[shading.TOON_MIX])


def _read_without_mip_maps(node: Any) -> None:
    """EEVEE chooses a mip map by how much the coordinates differ between neighboring pixels.

    Those of sphere maps differ a lot at creases and thin parts, where a mip map shows an average of
    its colors: light or dark specks.
    """
    smooth = _enlarged(node.image)
    if smooth is not None:
        node.image, node.interpolation, node.extension = smooth, "Closest", "EXTEND"


def _texture(tree: Any, look: Any, image: Image, name: str, place: int) -> Any:
    node = _add(tree, "ShaderNodeTexImage", name, (300, -300 * place))
    node.image = image
    tree.links.new(node.outputs["Color"], look.inputs[name])
    alpha = look.inputs.get(f"{name} Alpha")
    if alpha is not None and textures.has_alpha(image):
        tree.links.new(node.outputs["Alpha"], alpha)
    return node


def _follow(material: Material, look: Any, values: MaterialValues, used: Images) -> None:
    """Give the group the material's numbers, by drivers where they are properties."""
    _drive(material, look.inputs["Diffuse"], values.diffuse[:3])
    _drive(material, look.inputs["Ambient"], values.ambient)
    _drive(material, look.inputs["Specular"], values.specular)
    _drive(material, look.inputs["Power"], [values.power])
    _follow_edge(material, look, values)
    alpha, expression = values.diffuse[3], "x"
    if used.base is None or not textures.has_alpha(used.base):
        expression = f"1 if x>={material_values.OPAQUE} else x"
        if alpha.value >= material_values.OPAQUE:
            alpha = alpha._replace(value=1.0)
    _drive(material, look.inputs["Alpha"], [alpha], expression)
    for name, (multiply, add) in material_values.FACTORS.items():
        if multiply in material and getattr(used, name.lower()):
            _drive(material, look.inputs[f"{name} Factor"], _numbers(material, multiply))
            _drive(material, look.inputs[f"{name} Summand"], _numbers(material, add))
            both = {"x": (material, f'["{multiply}"][3]'), "y": (material, f'["{add}"][3]')}
            drivers.drive(look.inputs[f"{name} Weight"], "default_value", "x+y", -1, **both)


def _follow_edge(material: Material, look: Any, values: MaterialValues) -> None:
    """Give a group, which may be another material's, what a material says about its edge."""
    _drive(material, look.inputs["Edge Color"], values.edge_color[:3])
    _drive(material, look.inputs["Edge Alpha"], values.edge_color[3:])
    _drive(material, look.inputs["Edge Size"], [values.edge_size])


def _numbers(material: Material, name: str) -> list[Number]:
    return [Number(material[name][i], f'["{name}"][{i}]') for i in range(3)]


def _drive(
    material: Material, socket: Any, numbers: Sequence[Number], expression: str = "x"
) -> None:
    for index, number in enumerate(numbers):
        place = index if len(numbers) > 1 else -1
        if number.path:
            drivers.drive(socket, "default_value", expression, place, x=(material, number.path))
        elif place >= 0:
            socket.default_value[index] = number.value
        else:
            socket.default_value = number.value


# Materials of edges. Before 4.2, EEVEE ignores the alpha of opaque materials, which hides the front of the hull:
# where they are two-sided, it would cover the model. So the hull has one-sided materials instead, which follow
# the values of the surface's. An invisible one hides the hull's faces without an edge that share points.


def replaced_by_edges(edged: Iterable[Material], known: Replaced) -> Replaced:
    """What the hull has instead of materials with an edge: what is known, else a new material."""
    return {
        one: known.get(one) or _new_edge(one)
        for one in edged
        if blender_versions.blending(one)[0] == "OPAQUE" and not one.use_backface_culling
    }


def invisible_edge() -> Material:
    """The material that shows nothing, made at its first use."""
    for one in node_builder.own(bpy.data.materials, _EDGE):
        if one[_EDGE] == _INVISIBLE:
            return one
    material, _ = shading.new_material(_INVISIBLE)
    material[_EDGE] = _INVISIBLE
    blender_versions.set_blending(material, "CLIP", "NONE")  # EEVEE draws nothing of it
    return material


def drop_unused_edges() -> None:
    node_builder.drop_unused(bpy.data.materials, _EDGE)
    shading.drop_unused()


def _new_edge(surface: Material) -> Material:
    values: Any = material_values.read(surface)
    material, look = shading.new_material(f"{surface.name}_edge", shading.SHADING)
    material[_EDGE] = surface.name
    material.use_backface_culling, material.shadow_method = True, "NONE"
    _follow_edge(surface, look, values)
    # Before 4.2, Cycles has no backface culling.
    sides = material.node_tree.nodes.new("ShaderNodeNewGeometry")
    sides.location.x = -250
    material.node_tree.links.new(sides.outputs["Backfacing"], look.inputs["Back"])
    _look_alike_in_solid(surface, material)
    opacity = values.edge_color[3]
    if opacity.value < 1 or opacity.is_driven(surface):
        material.blend_method = "HASHED"
    return material


def _look_alike_in_solid(surface: Material, material: Any) -> None:
    """Solid shading draws both sides of the hull, in the viewport color or the active texture."""
    material.diffuse_color = surface.diffuse_color
    tree: Any = surface.node_tree
    images = [one.image for one in tree.nodes if one.type == "TEX_IMAGE" and one.image]
    if images:  # the first is the texture, of all importers
        texture = material.node_tree.nodes.new("ShaderNodeTexImage")
        texture.image, texture.location.y = images[0], -300
        material.node_tree.nodes.active = texture


# The images of base texture, sphere map and toon. One whose file is missing counts as none, as in MMD. MMD's ten
# shared toons are made from the native module's numbers and packed into the .blend file, and so are enlarged
# copies of sphere maps.


def _images(material: Material, values: MaterialValues, folder: textures.TextureFolder) -> Images:
    """The images of a material; the folder notes files that are missing."""
    base = _in_node(material, material_values.BASE_NODE) or folder.image(values.texture)
    sphere = None
    if values.sphere_mode != material_values.NO_SPHERE:
        sphere = _in_node(material, material_values.SPHERE_NODE)
        sphere = sphere or folder.image(values.sphere_texture)
    toon = _in_node(material, material_values.TOON_NODE) or _toon(values.toon, folder)
    return Images(*map(_usable, (base, sphere, toon)))


def _enlarged(image: Image) -> Image | None:
    """An image that is smooth without interpolation: a copy with more texels if it has few.

    None if there is none: for films, images in linear light, and long strips.
    """
    own: Any = image
    if min(own.size) >= _SMOOTH:
        return image
    if own.is_float or own.source not in ("FILE", "GENERATED") or max(own.size) > _LARGEST:
        return None
    for other in bpy.data.images:
        if other.get(_ENLARGED) == image and not other.library:
            return other
    pixels = np.empty((own.size[1], own.size[0], 4), np.float32)
    own.pixels.foreach_get(pixels.ravel())
    for axis in (0, 1):
        pixels = _interpolated(pixels, max(_SMOOTH, pixels.shape[axis]), axis)
    copy = _packed(f"{image.name}_enlarged", pixels, textures.has_alpha(image))
    copy[_ENLARGED] = image
    copy.colorspace_settings.name = own.colorspace_settings.name
    copy.alpha_mode = own.alpha_mode
    return copy


def _drop_unused(images: list[Image]) -> None:
    """Remove those of the images that nothing uses, and then what they are copies of."""
    for image in images:
        is_ours = _SHARED in image or _ENLARGED in image
        if image.packed_file and not is_ours and not textures.has_file(image):
            image.use_fake_user = True  # the look may be turned on again
        elif not image.users:
            source = image.get(_ENLARGED)
            bpy.data.images.remove(image)
            if source is not None:
                _drop_unused([source])


def _in_node(material: Material, name: str) -> Image | None:
    node: Any = material.node_tree.nodes.get(name)
    return node.image if node is not None and node.type == "TEX_IMAGE" else None


def _toon(toon: str | int, folder: textures.TextureFolder) -> Image | None:
    if isinstance(toon, int):
        return _shared_toon(toon)
    name = textures.relative(toon).rpartition("/")[2]
    # Old models name a shared toon as if its file were in their folder.
    if _SHARED_NAME.fullmatch(name) and not folder.has(toon):
        return _shared_toon(int(name[4:6]) - 1)
    return folder.image(toon)


def _shared_toon(number: int) -> Any:
    ramps = mmdskin.toons()
    if not 0 <= number < len(ramps):
        return None
    for image in bpy.data.images:
        if image.get(_SHARED) == number and not image.library:
            return image
    image = _packed(f"toon{number + 1:02d}", ramps[number][::-1, None] / np.float32(255), False)
    image[_SHARED] = number
    return image


def _interpolated(pixels: np.ndarray, count: int, axis: int) -> np.ndarray:
    """Pixels with `count` rows (axis 0) or columns (1), linearly between the centers of texels."""
    last = pixels.shape[axis] - 1
    place = ((np.arange(count) + 0.5) * ((last + 1) / count) - 0.5).clip(0, last)
    low = place.astype(np.intp)
    share = (place - low).astype(np.float32).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    first, second = (pixels.take(one, axis) for one in (low, np.minimum(low + 1, last)))
    return first + (second - first) * share


def _packed(name: str, pixels: np.ndarray, alpha: bool) -> Any:
    """A new packed image of (rows, columns, 4) colors, the first row at the bottom."""
    image: Any = bpy.data.images.new(name, pixels.shape[1], pixels.shape[0], alpha=alpha)
    image.pixels.foreach_set(np.ascontiguousarray(pixels, np.float32).ravel())
    image.update()
    image.pack()
    return image


def _usable(image: Any) -> Image | None:
    """The image, None if its file is missing."""
    return image if image and textures.exists(image) and image.size[0] > 0 else None
