# SPDX-License-Identifier: MIT
"""A small software renderer, enough for shaded and labelled pictures of our models."""

from collections.abc import Callable
from typing import NamedTuple

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


class Part(NamedTuple):
    """Something to draw."""

    positions: np.ndarray
    normals: np.ndarray
    uvs: np.ndarray
    triangles: np.ndarray
    paint: Callable  # uvs (n,2) to colours (n,3)
    shade: Callable = shade  # normals (n,3) in the camera's space and colours to colours


def background(size):
    mix = np.linspace(0, 1, size[1])[:, None, None]
    rows = BACKGROUND[0] * (1 - mix) + BACKGROUND[1] * mix
    return np.broadcast_to(rows, (size[1], size[0], 3))


def render(parts, size, centre, height, camera, behind=None):
    """RGB image of the parts, `height` units high, before the picture `behind` (rows, columns, 3)."""
    parts = [part for part in parts if len(part.triangles)]
    big = tuple(n * SUPERSAMPLE for n in size)
    image = np.array(background(big) if behind is None else behind, order="C")
    points = np.concatenate(
        [project(part.positions, big, centre, height, camera)[part.triangles] for part in parts]
    )
    pixels, owners, shares = visible(points, big)
    ends = np.cumsum([len(part.triangles) for part in parts])
    for part, end in zip(parts, ends, strict=True):
        mine = (owners < end) & (owners >= end - len(part.triangles))
        corners = part.triangles[owners[mine] - end]
        normals, uvs = (
            np.einsum("nk,nkc->nc", shares[mine], values[corners])
            for values in (part.normals @ camera.T, part.uvs)
        )
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
        normals *= np.where(normals[:, 2:] > 0, -1, 1)  # both sides are lit
        image.reshape(-1, 3)[pixels[mine]] = part.shade(normals, part.paint(uvs))
    picture = Image.fromarray((image * 255).astype(np.uint8))
    return picture.resize(size, Image.Resampling.BOX)


def project(positions, size, centre, height, camera):
    """Columns, rows and depths on an image that is `height` units high."""
    width, rows = size
    eye = (positions - centre) @ camera.T
    return eye * (rows / height) * [1, -1, 1] + [width / 2, rows / 2, 0]


def visible(points, size):
    """What the nearest of triangles (n,3,3) cover: pixels, their triangles and shares of corners."""
    width, rows = size
    row, owner = _spread(*_between(points[:, :, 1].min(1), points[:, :, 1].max(1), rows))
    left, right = _crossings(points[owner, :, :2], row + 0.5)
    column, line = _spread(*_between(left, right, width))
    row, owner = row[line], owner[line]
    pixel = row * width + column
    depth = (
        _planes(points)[owner] * np.stack([column + 0.5, row + 0.5, np.ones(len(row))], 1)
    ).sum(1)
    nearest = np.full(rows * width, np.inf)
    np.minimum.at(nearest, pixel, depth)
    seen = depth == nearest[pixel]
    pixel, owner = pixel[seen], owner[seen]
    return pixel, owner, _shares(points[owner, :, :2], column[seen] + 0.5, row[seen] + 0.5)


def _planes(points):
    """(a, b, c) of each triangle (n,3,3), whose depth at x, y is a x + b y + c."""
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    slopes = -normals[:, :2] / np.where(normals[:, 2:] == 0, np.inf, normals[:, 2:])
    at_zero = points[:, 0, 2] - (slopes * points[:, 0, :2]).sum(1)
    return np.column_stack([slopes, at_zero])


def _between(low, high, limit):
    """The first integer n with n + 0.5 >= low, and how many there are until high, in 0..limit."""
    first, end = (np.clip(np.ceil(edge - 0.5), 0, limit).astype(int) for edge in (low, high))
    return first, np.maximum(end - first, 0)


def _spread(first, counts):
    """first[i], first[i] + 1, … counts[i] times, and the i that each belongs to."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts - first, counts), owner


def _crossings(corners, y):
    """Where a horizontal line enters and leaves each triangle (n,3,2)."""
    ends = np.roll(corners, -1, 1)
    low, high = corners[..., 1], ends[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (y[:, None] - low) / (high - low)
        x = corners[..., 0] + share * (ends[..., 0] - corners[..., 0])
    crossed = (np.minimum(low, high) <= y[:, None]) & (y[:, None] < np.maximum(low, high))
    return np.where(crossed, x, np.inf).min(1), np.where(crossed, x, -np.inf).max(1)


def _shares(corners, x, y):
    """Barycentric coordinates of points in triangles (n,3,2)."""
    (x0, y0), (x1, y1), (x2, y2) = np.moveaxis(corners, 0, -1)
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    b = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
    c = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area
    return np.stack([1 - b - c, b, c], -1)


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
