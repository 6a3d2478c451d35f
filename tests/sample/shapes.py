# SPDX-License-Identifier: MIT
"""The shapes and the texture of the sample model."""

import struct
import zlib

import numpy as np

AROUND, ALONG, CAP = 24, 44, 6


def capsule(bottom, top, radius, around=AROUND, along=ALONG, cap=CAP):
    """A tube along y with round ends: positions, normals, uvs, triangles, height on the axis."""
    latitude = np.linspace(0, np.pi / 2, cap, endpoint=False)
    body = np.linspace(bottom + radius, top - radius, along)
    height = np.concatenate(
        [
            bottom + radius - radius * np.cos(latitude),
            body,
            (top - radius + radius * np.cos(latitude))[::-1],
        ]
    )
    r = np.concatenate(
        [radius * np.sin(latitude), np.full(along, radius), (radius * np.sin(latitude))[::-1]]
    )
    tilt = np.concatenate([-np.cos(latitude), np.zeros(along), np.cos(latitude)[::-1]])
    angle = np.linspace(0, 2 * np.pi, around + 1)  # the seam has its own vertices for the texture
    ring = np.stack([np.cos(angle), np.zeros_like(angle), np.sin(angle)], 1)
    axis = np.array([0, 1, 0])
    positions = height[:, None, None] * axis + r[:, None, None] * ring
    normals = tilt[:, None, None] * axis + np.sqrt(1 - tilt**2)[:, None, None] * ring
    u, v = np.meshgrid(angle / (2 * np.pi), (top - height) / (top - bottom))
    i, j = np.meshgrid(np.arange(len(height) - 1), np.arange(around), indexing="ij")
    a, b = (i * (around + 1) + j).ravel(), ((i + 1) * (around + 1) + j).ravel()
    # clockwise seen from outside, left-handed
    triangles = np.concatenate([np.stack([a, b, b + 1], 1), np.stack([a, b + 1, a + 1], 1)])
    corner = positions.reshape(-1, 3)[triangles]
    area = np.linalg.norm(
        np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1
    )
    heights = np.repeat(height, around + 1)
    return (
        positions.reshape(-1, 3),
        normals.reshape(-1, 3),
        np.stack([u, v], -1).reshape(-1, 2),
        triangles[area > 1e-9],
        heights,
    )


def patch(x, y, width, height, radius, lift, rings=3, around=16):
    """A disc on the front of a tube about y: positions, normals, triangles, height."""
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    r = np.repeat(np.arange(1, rings + 1) / rings, around)
    ring = np.tile(np.stack([np.cos(angle), np.sin(angle)], 1), (rings, 1)) * r[:, None]
    flat = np.concatenate([[[0, 0]], ring]) * np.array([width, height]) / 2 + [x, y]
    azimuth = flat[:, 0] / radius
    normals = np.stack([np.sin(azimuth), np.zeros_like(azimuth), -np.cos(azimuth)], 1)
    positions = normals * (radius + lift) + flat[:, 1, None] * np.array([0, 1, 0])
    i, k = np.arange(around), (np.arange(around) + 1) % around
    triangles = [np.stack([np.zeros(around, int), 1 + k, 1 + i], 1)]
    for start in range(1, 1 + (rings - 1) * around, around):
        a, b, c, d = start + i, start + k, start + around + i, start + around + k
        triangles += [np.stack([a, b, c], 1), np.stack([b, d, c], 1)]
    return positions, normals, np.concatenate(triangles), flat[:, 1]


def texture_png(size=128, squares=8):
    """A subtle checker texture as PNG bytes."""
    i, j = np.indices((size, size)) * squares // size
    return png(np.where(((i + j) % 2)[..., None] == 0, np.uint8(255), np.uint8(216)).repeat(3, 2))


def png(pixels):
    """The PNG file of pixels (rows, columns, 3) uint8."""
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
