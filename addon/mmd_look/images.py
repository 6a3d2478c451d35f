# SPDX-License-Identifier: GPL-3.0-or-later
"""The images of a material's base texture, sphere map and toon.

An image whose file is missing counts as none, as in MMD. MMD's ten shared toons are made from the
native module's numbers and packed into the .blend file, and so are enlarged copies of sphere maps.
"""

import re
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.types import Image, Material

from ..blender.native import mmdskin
from ..scene import material_values, textures

_MARK = "mmdskin_toon"  # ID property of the images of shared toons: their number
_ENLARGED = "mmdskin_enlarged"  # ID property of enlarged copies: the image
_SMOOTH = 1024  # width and height from which on texels of a sphere map are too small to be seen
_LARGEST = 4096  # width or height of what is enlarged
_SHARED = re.compile(r"toon(0[1-9]|10)\.bmp", re.IGNORECASE)


class Images(NamedTuple):
    base: Image | None
    sphere: Image | None
    toon: Image | None


def collect(
    material: Material, values: material_values.MaterialValues, folder: textures.TextureFolder
) -> Images:
    """The images of a material; the folder notes files that are missing."""
    base = _in_node(material, material_values.BASE_NODE) or folder.image(values.texture)
    sphere = toon = None
    if values.sphere_mode != material_values.NO_SPHERE:
        sphere = _in_node(material, material_values.SPHERE_NODE)
        sphere = sphere or folder.image(values.sphere_texture)
    toon = _in_node(material, material_values.TOON_NODE) or _toon(values.toon, folder)
    return Images(*map(_usable, (base, sphere, toon)))


def enlarged(image: Image) -> Image | None:
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


def drop_unused(images: list[Image]) -> None:
    """Remove those of the images that nothing uses, and then what they are copies of."""
    for image in images:
        is_ours = _MARK in image or _ENLARGED in image
        if image.packed_file and not is_ours and not textures.has_file(image):
            image.use_fake_user = True  # the look may be turned on again
        elif not image.users:
            source = image.get(_ENLARGED)
            bpy.data.images.remove(image)
            if source is not None:
                drop_unused([source])


def _in_node(material: Material, name: str) -> Image | None:
    node: Any = material.node_tree.nodes.get(name)
    return node.image if node is not None and node.type == "TEX_IMAGE" else None


def _toon(toon: str | int, folder: textures.TextureFolder) -> Image | None:
    if isinstance(toon, int):
        return _shared(toon)
    name = textures.relative(toon).rpartition("/")[2]
    # Old models name a shared toon as if its file were in their folder.
    if _SHARED.fullmatch(name) and not folder.has(toon):
        return _shared(int(name[4:6]) - 1)
    return folder.image(toon)


def _shared(number: int) -> Any:
    ramps = mmdskin.toons()
    if not 0 <= number < len(ramps):
        return None
    for image in bpy.data.images:
        if image.get(_MARK) == number and not image.library:
            return image
    image = _packed(f"toon{number + 1:02d}", ramps[number][::-1, None] / np.float32(255), False)
    image[_MARK] = number
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
