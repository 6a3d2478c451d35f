# SPDX-License-Identifier: GPL-3.0-or-later
"""The images of a material's base texture, sphere map and toon.

An image whose file is missing counts as none, as in MMD. MMD's ten shared toons are made from the
native module's numbers and packed into the .blend file.
"""

import re
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import native
from ..scene import material_values, textures

_MARK = "mmdskin_toon"  # ID property of the images of shared toons: their number
_SHARED = re.compile(r"toon(0[1-9]|10)\.bmp", re.IGNORECASE)


class Images(NamedTuple):
    base: bpy.types.Image | None
    sphere: bpy.types.Image | None
    toon: bpy.types.Image | None


def collect(
    material: bpy.types.Material,
    values: material_values.MaterialValues,
    folder: textures.TextureFolder,
) -> Images:
    """The images of a material; the folder notes files that are missing."""
    base = _in_node(material, material_values.BASE_NODE) or folder.image(values.texture)
    sphere = toon = None
    if values.sphere_mode != material_values.NO_SPHERE:
        sphere = _in_node(material, material_values.SPHERE_NODE)
        sphere = sphere or folder.image(values.sphere_texture)
    toon = _in_node(material, material_values.TOON_NODE) or _toon(values.toon, folder)
    return Images(
        *(image if image and _is_usable(image) else None for image in (base, sphere, toon))
    )


def drop_unused(images: list[bpy.types.Image]) -> None:
    """Remove those of the images that nothing uses."""
    for image in images:
        if not image.users:
            bpy.data.images.remove(image)


def _in_node(material: bpy.types.Material, name: str) -> bpy.types.Image | None:
    node: Any = material.node_tree.nodes.get(name)
    return node.image if node is not None and node.type == "TEX_IMAGE" else None


def _toon(toon: str | int, folder: textures.TextureFolder) -> bpy.types.Image | None:
    if isinstance(toon, int):
        return _shared(toon)
    name = textures.relative(toon).rpartition("/")[2]
    # Old models name a shared toon as if its file were in their folder.
    if _SHARED.fullmatch(name) and not folder.has(toon):
        return _shared(int(name[4:6]) - 1)
    return folder.image(toon)


def _shared(number: int) -> bpy.types.Image | None:
    ramps = native.load().toons()
    if not 0 <= number < len(ramps):
        return None
    for image in bpy.data.images:
        if image.get(_MARK) == number and not image.library:
            return image
    return _image(f"toon{number + 1:02d}", number, ramps[number])


def _image(name: str, number: int, ramp: np.ndarray) -> bpy.types.Image:
    """A packed image of (rows, 4) colors, the first row on top."""
    image: Any = bpy.data.images.new(name, 1, len(ramp), alpha=False)
    image[_MARK] = number
    image.pixels.foreach_set((ramp[::-1] / np.float32(255)).astype(np.float32).ravel())
    image.update()
    image.pack()
    return image


def _is_usable(image: Any) -> bool:
    return textures.exists(image) and image.size[0] > 0
