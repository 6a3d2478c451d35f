# SPDX-License-Identifier: MIT
"""A small software renderer, enough for a shaded and labelled picture of the sample's limbs."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

BACKGROUND = np.array([[0.97, 0.97, 0.98], [0.86, 0.88, 0.92]])  # top, bottom
LIGHTS = (((-0.5, 0.75, -0.65), 0.75), ((0.8, 0.15, -0.5), 0.28), ((0.1, 0.4, 0.95), 0.35))
SUPERSAMPLE = 3


def view(yaw=0.0, pitch=0.0):
    """Rows x, y, depth of a camera that looks along +z, turned by degrees."""
    a, b = np.radians([yaw, pitch])
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    tip = np.array([[1, 0, 0], [0, np.cos(b), np.sin(b)], [0, -np.sin(b), np.cos(b)]])
    return tip @ turn


def facing(positions, triangles, camera):
    """The triangles that show their outside, which are all that a closed surface needs."""
    a, b, c = ((positions @ camera.T)[triangles[:, i], :2] for i in range(3))
    (x1, y1), (x2, y2) = (b - a).T, (c - a).T
    return triangles[x1 * y2 - x2 * y1 < 0]  # clockwise


def chequer(uvs, colour, squares):
    """Colour per point: two shades of one colour in squares of the texture plane."""
    i, j = (np.floor(uvs * squares + 1e-4).astype(int) % 2).T
    return np.where((i ^ j)[:, None] == 0, 1.0, 0.78) * np.asarray(colour)


def shade(normals, colours):
    """Three lights, a highlight and a dark rim, on colours in 0..1; linear in, display out."""
    light = np.full(len(normals), 0.16)
    for direction, strength in LIGHTS:
        direction = np.array(direction) / np.linalg.norm(direction)
        light += strength * np.clip(normals @ direction, 0, None)
    half = np.array(LIGHTS[0][0]) / np.linalg.norm(LIGHTS[0][0]) + [0, 0, -1]
    half /= np.linalg.norm(half)
    highlight = 0.22 * np.clip(normals @ half, 0, None) ** 40
    rim = 1 - 0.35 * np.clip(1 - abs(normals[:, 2]), 0, 1) ** 4
    linear = np.asarray(colours) ** 2.2 * (light * rim)[:, None] + highlight[:, None]
    return np.clip(linear, 0, 1) ** (1 / 2.2)


def render(parts, size, centre, height, camera):
    """RGB image, `height` units high, of (positions, normals, uvs, triangles, colour, squares)."""
    width, rows = (n * SUPERSAMPLE for n in size)
    mix = np.linspace(0, 1, rows)[:, None, None]
    image = np.broadcast_to(
        BACKGROUND[0] * (1 - mix) + BACKGROUND[1] * mix, (rows, width, 3)
    ).copy()
    depth = np.full((rows, width), np.inf)
    scale = rows / height
    for positions, normals, uvs, triangles, colour, squares in parts:
        eye = (positions - centre) @ camera.T
        points = np.stack(
            [width / 2 + eye[:, 0] * scale, rows / 2 - eye[:, 1] * scale, eye[:, 2]], 1
        )
        attributes = np.concatenate([normals @ camera.T, uvs], 1)
        for triangle in triangles:
            _fill(image, depth, points[triangle], attributes[triangle], colour, squares)
    return Image.fromarray((image * 255).astype(np.uint8)).resize(size, Image.Resampling.LANCZOS)


def _fill(image, depth, corners, attributes, colour, squares):
    (x0, y0, _), (x1, y1, _), (x2, y2, _) = corners
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if abs(area) < 1e-9:
        return
    rows, width = depth.shape
    left, top = np.maximum(np.ceil(corners[:, :2].min(0) - 0.5), 0).astype(int)
    right = min(int(np.floor(corners[:, 0].max() - 0.5)), width - 1)
    bottom = min(int(np.floor(corners[:, 1].max() - 0.5)), rows - 1)
    if right < left or bottom < top:
        return
    x, y = np.meshgrid(np.arange(left, right + 1) + 0.5, np.arange(top, bottom + 1) + 0.5)
    b = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
    c = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area
    share = np.stack([1 - b - c, b, c], -1)
    z = share @ corners[:, 2]
    window = depth[top : bottom + 1, left : right + 1]
    seen = (share.min(-1) >= -1e-9) & (z < window)
    if not seen.any():
        return
    window[seen] = z[seen]
    values = share[seen] @ attributes
    normals = values[:, :3] / np.maximum(np.linalg.norm(values[:, :3], axis=1), 1e-9)[:, None]
    normals = np.where(normals[:, 2:] > 0, -normals, normals)  # both sides are lit
    image[top : bottom + 1, left : right + 1][seen] = shade(
        normals, chequer(values[:, 3:], colour, squares)
    )


def ring_areas(rings):
    """Area that each closed ring of points (n,k,3) spans."""
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
