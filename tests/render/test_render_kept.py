# SPDX-License-Identifier: MIT
"""What calls keep on the device for later ones never shows: pictures are those of a first call."""

import mmdskin
import numpy as np
import pytest
from render.scene import draw, material, squares

pytestmark = pytest.mark.usefixtures("gl")

CORNER_UVS = np.float32([[0, 1], [0, 0], [1, 0], [1, 1]])


def textured(pixels, size=(8, 8), **options):
    """The picture of a square with this texture, a texel for each pixel if both have one size."""
    mesh, skinned = squares((0, 0, 0))
    shown = material()._replace(diffuse=(0, 0, 0, 1), ambient=(1, 1, 1), texture=0)
    options = {"look": "mmd"} | options
    return draw(
        mesh, skinned, materials=[shown], uvs=CORNER_UVS, textures={0: pixels}, size=size, **options
    ).image


@pytest.mark.parametrize("side", [1, 5, 8, 64])
def test_a_texture_that_changes_in_place(side):
    """By one number anywhere, back and forth, beside textures of other calls."""
    size = side, side
    pixels = np.random.default_rng(1).integers(0, 255, (side, side, 4), np.uint8)
    pixels[..., 3] = 255
    for row, column, channel in [(0, 0, 0), (side - 1, side - 1, 2), (side // 2, 0, 1)] * 2:
        pixels[row, column, channel] += 1
        found = textured(pixels, size)
        np.testing.assert_array_equal(found, pixels)
        textured(255 - pixels, size)
        pixels[row, column, channel] -= 1
        np.testing.assert_array_equal(textured(pixels, size), pixels)


def test_textures_that_differ_in_three_alphas_only():
    """A digest that multiplies before it mixes the high bits takes these two for one."""
    pixels = np.zeros((2, 8 * 8, 4), np.uint8)
    pixels[1, [1, 16, 17], 3] = 255, 23, 23
    for texture in pixels.reshape(2, 8, 8, 4):
        np.testing.assert_array_equal(textured(texture)[..., 3], texture[..., 3])


def test_textures_of_the_same_bytes_and_another_shape():
    pixels = np.random.default_rng(2).integers(0, 256, (8, 8, 4), np.uint8)
    shapes = [(8, 8, 4), (16, 4, 4), (4, 16, 4)]
    first = []
    for shape in shapes:
        mmdskin.shutdown()
        first.append(textured(pixels.reshape(shape), (16, 16)))
    assert len({picture.tobytes() for picture in first}) == 3
    for shape, expected in zip(shapes * 2, first * 2, strict=True):
        np.testing.assert_array_equal(textured(pixels.reshape(shape), (16, 16)), expected)


def test_a_texture_in_both_looks():
    """One averages numbers, the other linear colors."""
    stripes = np.zeros((64, 64, 4), np.uint8)
    stripes[..., 3] = 255
    stripes[:, ::2, :3] = 255
    for look, gray in [("mmd", 128), ("lambert", 188)] * 2:
        seen = textured(stripes, (8, 8), look=look)
        assert np.abs(seen[..., :3].astype(int) - gray).max() <= 1


def test_a_first_call_and_a_later_one_agree():
    """Framebuffers of other sizes, samples, outputs and shadows in between."""
    mesh, skinned = squares((0, 0, 0), (0.2, 0.1, -0.2), side=0.6)
    shown = [material((1, 0, 0, 0.5)), material((0, 0, 1, 1))]
    calls = [
        {"size": (40, 30)},
        {"size": (30, 40), "look": "mmd", "self_shadow": True},
        {"size": (40, 30), "samples": 2},
        {"size": (80, 60), "want": ("depth",)},
        {"size": (40, 30), "want": ("triangles", "normals", "image")},
        {"size": (400, 300), "look": "mmd", "self_shadow": True, "samples": 2},
        {"size": (40, 30), "want": ("depth", "normals", "triangles")},
    ]

    def results(options):
        return draw(mesh, skinned, materials=shown, **options)

    first = []
    for options in calls:
        mmdskin.shutdown()
        first.append(results(options))
    order = np.random.default_rng(3).integers(0, len(calls), 40)
    for index in order:
        for found, expected in zip(results(calls[index]), first[index], strict=True):
            np.testing.assert_array_equal(found, expected)
