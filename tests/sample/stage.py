# SPDX-License-Identifier: MIT
"""Pictures of whole models as MMD shows them: textures, two tones of light, outlines, a shadow."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import mmdskin
import numpy as np
from judges import rays
from PIL import Image, ImageFilter
from sample import picture

SUPERSAMPLE = 3

LIGHT = np.array((-0.4, 0.62, -0.85)) / np.linalg.norm((-0.4, 0.62, -0.85))
SHADE = np.array((0.80, 0.72, 0.82))  # factor of a color in the shade
FLOOR = np.array((0.925, 0.94, 0.97))
EDGE_WIDTH = 0.045  # units, for an edge size of 1
BOTH_SIDES, EDGE = 0x01, 0x10  # flags of materials


@cache
def _image(path):
    return np.asarray(Image.open(path).convert("RGB")) / 255


def _textured(uvs, path, color):
    image = _image(path)
    u, v = np.clip(uvs, 0, 0.99999).T
    return image[(v * image.shape[0]).astype(int), (u * image.shape[1]).astype(int)] * color


def _plain(uvs, color):
    return np.broadcast_to(color, (len(uvs), 3))


def _unlit(_, colors):
    return colors


def _two_tones(normals, colors):
    lit = np.clip((normals @ LIGHT + 0.12) / 0.16, 0, 1)
    lit = lit * lit * (3 - 2 * lit)
    return colors * (SHADE + (1 - SHADE) * lit[:, None])


class Part(NamedTuple):
    """A surface to draw."""

    positions: np.ndarray
    normals: np.ndarray
    uvs: np.ndarray
    triangles: np.ndarray
    both_sides: bool
    paint: Callable  # uvs (n,2) to colors (n,3)
    shade: Callable = _unlit  # normals (n,3) and colors to colors


def _material_parts(model, material, triangles, positions, normals, ahead, folder):
    """The surface and, if the material has one, its outline: an inflated hull seen from inside."""
    color = np.array(material.diffuse[:3])
    paint = partial(_plain, color=color)
    if material.texture >= 0:
        path = Path(folder) / model.textures[material.texture]
        paint = partial(_textured, path=path, color=color)
    shade = _two_tones if material.flags & EDGE else _unlit
    both_sides = bool(material.flags & BOTH_SIDES)
    yield Part(positions, normals, model.uvs, triangles, both_sides, paint, shade)
    if material.flags & EDGE:
        # Slightly behind, so that folds do not draw lines over themselves.
        hull = positions + EDGE_WIDTH * material.edge_size * normals + 0.05 * ahead
        paint = partial(_plain, color=material.edge_color[:3])
        yield Part(hull, normals, model.uvs, triangles[:, ::-1], False, paint)


def parts(model, positions, normals, ahead, folder):
    ends = np.cumsum([material.index_count // 3 for material in model.materials])
    pieces = np.split(model.triangles, ends[:-1])
    for material, triangles in zip(model.materials, pieces, strict=True):
        yield from _material_parts(model, material, triangles, positions, normals, ahead, folder)


def draw(model, positions, normals, folder, size, camera, shadow=True):
    """RGB image of a model whose textures are in a folder; positions and normals (V,3)."""
    positions, normals = positions.astype(float), normals.astype(float)
    big = tuple(n * SUPERSAMPLE for n in size)
    image = np.tile(FLOOR, (big[1], big[0], 1))
    if shadow:
        image = _shadowed(image, model, positions, camera)
    ahead = rays.axes(camera)[2]
    _paint(image, list(parts(model, positions, normals, ahead, folder)), camera)
    drawn = Image.fromarray((image * 255).astype(np.uint8))
    return drawn.resize(size, Image.Resampling.BOX)


def _paint(image, painted, camera):
    """Colors the pixels (rows, columns, 3) that show a part."""
    size = image.shape[1::-1]
    starts = np.cumsum([0, *(len(part.positions) for part in painted)])
    positions, normals, uvs = (
        np.concatenate(arrays) for arrays in list(zip(*painted, strict=True))[:3]
    )
    triangles = np.concatenate(
        [part.triangles + start for part, start in zip(painted, starts[:-1], strict=True)]
    )
    materials = [
        picture.PLAIN._replace(index_count=part.triangles.size, flags=part.both_sides)
        for part in painted
    ]
    seen = mmdskin.render(
        picture.mesh(positions, triangles),
        mmdskin.Skinned(positions, normals, None),
        size=size,
        camera=camera,
        materials=materials,
        want=("normals", "triangles"),
    )
    rows, columns = np.nonzero(seen.triangles >= 0)
    owners, normals = seen.triangles[rows, columns], seen.normals[rows, columns]
    corners = triangles[owners]
    places = np.column_stack([columns, rows]) + 0.5
    shares = _shares(positions[corners] - camera.position, rays.rays(places, camera, size))
    uvs = np.einsum("nk,nkc->nc", shares, uvs[corners])
    ends = np.cumsum([len(part.triangles) for part in painted])
    for part, end in zip(painted, ends, strict=True):
        mine = (owners < end) & (owners >= end - len(part.triangles))
        colors = part.shade(normals[mine], part.paint(uvs[mine]))
        image[rows[mine], columns[mine]] = colors


def _shares(corners, directions):
    """Barycentric coordinates of where rays from the origin meet triangles (n,3,3)."""
    a, b, c = corners.transpose(1, 0, 2)
    volumes = np.stack([(directions * np.cross(u, v)).sum(1) for u, v in ((b, c), (c, a), (a, b))])
    return (volumes / volumes.sum(0)).T


def _shadowed(image, model, positions, camera):
    """The image with the model's soft shadow on the floor, y = 0, under a light from above."""
    fall = np.array((0.12, 0.0, 0.25))
    flat = positions * (1, 0, 1) + positions[:, 1:2] * fall
    size = image.shape[1::-1]
    shown = mmdskin.Skinned(flat, None, None)
    ground = picture.mesh(flat, model.triangles)
    seen = mmdskin.render(ground, shown, size=size, camera=camera, want=("triangles",)).triangles
    mask = Image.fromarray((seen >= 0).astype(np.uint8) * 255)
    soft = np.asarray(mask.filter(ImageFilter.GaussianBlur(size[1] / 150)))
    fraction = soft[..., None] / 255 * 0.16
    return image * (1 - fraction * (1 - SHADE) / (1 - SHADE).mean())
