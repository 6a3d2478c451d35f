# SPDX-License-Identifier: MIT
"""Shaded and labeled pictures of our models, drawn by mmdskin.render."""

import mmdskin
import numpy as np
from PIL import Image, ImageDraw, ImageFont

BACKGROUND = np.array([[0.97, 0.97, 0.98], [0.86, 0.88, 0.92]])  # top, bottom
LIGHT = (0.5, -0.75, 0.65)
LENS = 12  # degrees: a long lens, so that perspective is weak
SAMPLES = 3
PLAIN = mmdskin.Material(
    *("", "", (1, 1, 1, 1), (0, 0, 0), 0, (0.55, 0.55, 0.55), 1, (0, 0, 0, 1), 1, 0, -1, "none"),
    *(-1, False, "", 0),
)


def camera(center, height, yaw=0.0, pitch=0.0):
    """A camera that sees `height` units around the center, from the front, rotated by degrees."""
    a, b = np.radians([yaw, pitch])
    rotation = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    tip = np.array([[1, 0, 0], [0, np.cos(b), np.sin(b)], [0, -np.sin(b), np.cos(b)]])
    _, up, ahead = tip @ rotation
    away = height / 2 / np.tan(np.radians(LENS) / 2)
    return mmdskin.Camera(np.subtract(center, away * ahead), center, up, LENS)


def mesh(positions, triangles):
    """A model of one rigid surface, with all that a picture needs."""
    count = len(positions)
    return mmdskin.Mesh(
        positions, np.zeros((count, 1), int), np.ones((count, 1)), triangles=triangles
    )


def chequer(color, squares=(8, 16), pixels=16):
    """A texture: two shades of one color in squares."""
    i, j = np.indices((squares[1] * pixels, squares[0] * pixels)) // pixels
    shade = np.where((i + j) % 2 == 0, 1.0, 0.78)[..., None]
    image = np.full((*i.shape, 4), 255, np.uint8)
    image[..., :3] = shade * np.asarray(color) * 255
    return image


def surface(positions, normals, uvs, triangles, texture, size, seen_by):
    """RGB image of one textured surface on a background that darkens downwards."""
    image = mmdskin.render(
        mesh(positions, triangles),
        mmdskin.Skinned(positions, normals, None),
        size=size,
        camera=seen_by,
        light=LIGHT,
        materials=[PLAIN._replace(index_count=triangles.size)],
        uvs=uvs,
        textures={0: texture},
        samples=SAMPLES,
    ).image
    return on_background(image)


def on_background(image):
    """RGB image of a picture (H,W,4) with alpha on the background."""
    fraction = image[..., 3:] / 255
    mixed = image[..., :3] * fraction + background(image.shape[1::-1]) * 255 * (1 - fraction)
    return Image.fromarray(mixed.round().astype(np.uint8))


def background(size):
    mix = np.linspace(0, 1, size[1])[:, None, None]
    rows = BACKGROUND[0] * (1 - mix) + BACKGROUND[1] * mix
    return np.broadcast_to(rows, (size[1], size[0], 3))


def ring_areas(rings):
    """Area of each closed ring of points (n,k,3)."""
    spokes = rings - rings.mean(1, keepdims=True)
    return np.linalg.norm(np.cross(spokes, np.roll(spokes, -1, 1)).sum(1), axis=1) / 2


def font(size):
    return ImageFont.load_default(size)


def sheet(rows, captions, row_titles, notes, title, gap=14):
    """One page: images in rows, captions over columns, titles over rows, a note in each image."""
    w = rows[0][0].width
    head, band = 96, 40
    size = (len(rows[0]) * (w + gap) + gap, head + sum(row[0].height + band + gap for row in rows))
    page = Image.new("RGB", size, (250, 250, 252))
    draw = ImageDraw.Draw(page)
    draw.text((gap + 4, 16), title, (40, 44, 52), font(26))
    for i, caption in enumerate(captions):
        x = gap + i * (w + gap) + w / 2
        draw.text((x, 74), caption, (40, 44, 52), font(24), anchor="mm")
    y = head
    for j, row in enumerate(rows):
        draw.text((gap + 4, y + band / 2), row_titles[j], (90, 96, 108), font(19), anchor="lm")
        for i, image in enumerate(row):
            x = gap + i * (w + gap)
            page.paste(image, (x, y + band))
            place = (x + w - 10, y + band + image.height - 10)
            draw.text(place, notes[j][i], (110, 116, 128), font(17), anchor="rs")
        y += row[0].height + band + gap
    return page
