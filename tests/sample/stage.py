# SPDX-License-Identifier: MIT
"""Pictures of whole models as MMD shows them: textures, two tones of light, outlines, a shadow."""

from functools import cache, partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter
from sample import picture

LIGHT = np.array((-0.4, 0.62, -0.85)) / np.linalg.norm((-0.4, 0.62, -0.85))
SHADE = np.array((0.80, 0.72, 0.82))  # what is left of a colour in the shade
FLOOR = np.array((0.925, 0.94, 0.97))
EDGE_WIDTH = 0.045  # units, for an edge size of 1
BOTH_SIDES, EDGE = 0x01, 0x10  # flags of materials


@cache
def _image(path):
    return np.asarray(Image.open(path).convert("RGB")) / 255


def _textured(uvs, path, colour):
    image = _image(path)
    u, v = np.clip(uvs, 0, 0.99999).T
    return image[(v * image.shape[0]).astype(int), (u * image.shape[1]).astype(int)] * colour


def _plain(uvs, colour):
    return np.broadcast_to(colour, (len(uvs), 3))


def _unlit(_, colours):
    return colours


def _two_tones(normals, colours, camera):
    lit = np.clip((normals @ (camera @ LIGHT) + 0.12) / 0.16, 0, 1)
    lit = lit * lit * (3 - 2 * lit)
    return colours * (SHADE + (1 - SHADE) * lit[:, None])


def _material_parts(model, material, triangles, positions, normals, camera, folder):
    """The surface and, where the material has one, its outline: a swollen hull, seen from inside."""
    colour = np.array(material.diffuse[:3])
    paint = partial(_plain, colour=colour)
    if material.texture >= 0:
        path = Path(folder) / model.textures[material.texture]
        paint = partial(_textured, path=path, colour=colour)
    shade = partial(_two_tones, camera=camera) if material.flags & EDGE else _unlit
    seen = triangles
    if not material.flags & BOTH_SIDES:
        seen = picture.facing(positions, triangles, camera)
    yield picture.Part(positions, normals, model.uvs, seen, paint, shade)
    if material.flags & EDGE:
        # A little behind, so that folds do not draw lines over themselves.
        hull = positions + EDGE_WIDTH * material.edge_size * normals + 0.05 * camera[2]
        inside = picture.facing(hull, triangles[:, ::-1], camera)
        paint = partial(_plain, colour=material.edge_color[:3])
        yield picture.Part(hull, normals, model.uvs, inside, paint, _unlit)


def parts(model, positions, normals, camera, folder):
    ends = np.cumsum([material.index_count // 3 for material in model.materials])
    pieces = np.split(model.triangles, ends[:-1])
    for material, triangles in zip(model.materials, pieces, strict=True):
        yield from _material_parts(model, material, triangles, positions, normals, camera, folder)


def draw(model, positions, normals, folder, size, centre, height, camera, shadow=True):
    """RGB image of a model whose textures lie in a folder; float64 positions and normals (V,3)."""
    positions, normals = positions.astype(float), normals.astype(float)
    behind = np.broadcast_to(
        FLOOR, (size[1] * picture.SUPERSAMPLE, size[0] * picture.SUPERSAMPLE, 3)
    )
    if shadow:
        behind = _shadowed(behind, model, positions, centre, height, camera)
    found = parts(model, positions, normals, camera, folder)
    return picture.render(found, size, centre, height, camera, behind)


def _shadowed(image, model, positions, centre, height, camera):
    """With the model's soft shadow on the floor, y = 0, under a light from above."""
    fall = np.array((0.12, 0.0, 0.25))
    flat = positions * (1, 0, 1) + positions[:, 1:2] * fall
    size = image.shape[1::-1]
    points = picture.project(flat, size, centre, height, camera)[model.triangles]
    pixels, _, _ = picture.visible(points, size)
    mask = np.zeros(size[0] * size[1], np.uint8)
    mask[pixels] = 255
    soft = Image.fromarray(mask.reshape(size[::-1])).filter(ImageFilter.GaussianBlur(size[1] / 150))
    share = np.asarray(soft)[..., None] / 255 * 0.16
    return image * (1 - share * (1 - SHADE) / (1 - SHADE).mean())
