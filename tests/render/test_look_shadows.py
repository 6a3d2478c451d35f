# SPDX-License-Identifier: MIT
"""Shadows in the look of MMD: on the ground against the twin, and of surfaces on each other against rays."""

import mmdskin
import numpy as np
import pytest
from judges import look_twin
from render.scene import PLAIN, ball, boxes, mesh_of, shows

pytestmark = pytest.mark.usefixtures("gl")

CAMERA = mmdskin.Camera((8, 14, -18), (0, 1, 0), (0, 1, 0), 30)
SIZE = (160, 160)
EVERYTHING = 0x1F
# a box above a slab
BOXES = (((0, 0, 0), (4, 0.5, 4)), ((0.5, 3, 0), (1, 1, 1)))
SURFACE = PLAIN._replace(
    diffuse=(0.5, 0.5, 0.5, 1), ambient=(0.5, 0.5, 0.5), flags=EVERYTHING, toon=2,
    shared_toon=True, index_count=36,
)  # fmt: skip


def pictures(scene, materials, **options):
    """(found, expected): (H,W,4) bytes and the twin's numbers of 0 to 255."""
    mesh, skinned = scene
    options = {"camera": CAMERA, "size": SIZE, "light": (-0.5, -1, 0.5)} | options
    corners = options.pop("corners", None)
    found = mmdskin.render(mesh, skinned, look="mmd", materials=materials, **options).image
    if corners is None:
        corners = np.arange(len(skinned.positions)).reshape(-1, 4)[:, [0, 1, 2, 0, 2, 3]]
    twin = look_twin.Scene(
        skinned.positions,
        skinned.normals,
        corners.reshape(-1, 3),
        materials,
        toons=mmdskin.toons(),
        **options,
    )
    return found.astype(int), look_twin.render(twin)[0] * 255


def same_coverage(found, expected):
    a, b = found[..., 3] > 0, expected[..., 3] > 0
    return (a == b).mean()


# On the ground


@pytest.mark.parametrize("light", [(-0.5, -1, 0.5), (2, -1, 0), (0.5, 1, 0.3)])
@pytest.mark.parametrize("color", [(0, 0, 0, 0.5), (0.2, 0.4, 0.6, 1)])
def test_the_shadow_on_the_ground_equals_the_twins(light, color):
    found, expected = pictures(
        boxes(((0, 3, 0), (1, 1, 1)), ((1, 5, 1), (0.5, 0.5, 0.5))), [SURFACE] * 2, light=light,
        ground_shadow=color,
    )  # fmt: skip
    assert same_coverage(found, expected) >= 0.995
    # no pixel is darkened twice
    off = np.abs(found - np.round(expected)).max(-1)
    assert np.mean(off <= 2) >= 0.995
    assert (expected[..., 3] == color[3] * 255).sum() > 300


@pytest.mark.parametrize("light", [(1, 0, 0.5), (1, 1e-9, 0)])
def test_a_level_light_casts_no_shadow_on_the_ground(light):
    options = {"materials": [SURFACE], "look": "mmd", "camera": CAMERA, "light": light}
    mesh, skinned = boxes(((0, 3, 0), (1, 1, 1)))
    with_shadow = mmdskin.render(mesh, skinned, ground_shadow=True, **options).image
    np.testing.assert_array_equal(with_shadow, mmdskin.render(mesh, skinned, **options).image)


def test_surfaces_of_all_sizes_cast_one_shadow_on_the_ground():
    box_skinned = boxes(((0, 3, 0), (1.5, 1, 1.5)))[1]
    ball_skinned = ball(48, 1.2, (2, 4, 0))[1]
    positions = np.concatenate([box_skinned.positions, ball_skinned.positions])
    normals = np.concatenate([box_skinned.normals, ball_skinned.normals])
    box = np.arange(24).reshape(-1, 4)[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    down, around = np.mgrid[0:48, 0:48]
    a = (down * 49 + around).ravel() + 24
    quads = np.stack([a, a + 1, a + 49, a + 1, a + 50, a + 49], 1).reshape(-1, 3)
    triangles = np.concatenate([box, quads])
    scene = mesh_of(positions, normals, triangles)
    materials = [SURFACE, SURFACE._replace(index_count=3 * len(quads))]
    for camera in (
        CAMERA,
        CAMERA._replace(position=(0.5, 30, -1)),
        CAMERA._replace(position=(2, 3, -5)),
    ):
        found, expected = pictures(
            scene, materials, corners=triangles, ground_shadow=(1, 0, 0, 0.5), camera=camera
        )
        assert same_coverage(found, expected) >= 0.995
        off = np.abs(found - np.round(expected)).max(-1)
        assert np.mean(off <= 2) >= 0.995
        assert shows(found[..., 3:], 127.5).sum() > 300


def test_by_default_the_shadow_on_the_ground_has_the_color_of_the_light():
    mesh, skinned = boxes(((0, 3, 0), (1, 1, 1)))
    options = {"materials": [SURFACE], "look": "mmd", "camera": CAMERA}
    colors = [(0.2, 0.4, 0.6), (1, 1, 0)]
    seen = mmdskin.render(mesh, skinned, ground_shadow=True, light_color=colors, **options).image
    for picture, color in zip(seen, colors, strict=True):
        same = (picture == [*np.round(np.multiply(color, 255)), 255]).all(-1)
        assert same.sum() > 500


def test_materials_without_the_flag_cast_no_shadow_on_the_ground():
    mesh, skinned = boxes(((0, 3, 0), (1, 1, 1)))
    material = SURFACE._replace(flags=EVERYTHING & ~2)
    options = {"materials": [material], "look": "mmd", "camera": CAMERA}
    with_shadow = mmdskin.render(mesh, skinned, ground_shadow=True, **options).image
    np.testing.assert_array_equal(with_shadow, mmdskin.render(mesh, skinned, **options).image)


# On each other


def shadowed(picture, lit):
    """Pixels that are darker than without shadows."""
    return (picture[..., 3] > 0) & (picture[..., 0] < lit[..., 0] - 20)


def test_the_shadow_of_a_box_is_where_rays_find_it():
    found, expected = pictures(boxes(*BOXES), [SURFACE] * 2, self_shadow=True)
    none = [SURFACE._replace(flags=EVERYTHING & ~8)] * 2
    lit, _ = pictures(boxes(*BOXES), none, self_shadow=True)
    a, b = shadowed(found, lit), shadowed(expected, lit)
    assert b.sum() > 300
    assert (a & b).sum() / (a | b).sum() >= 0.97
    assert np.mean(np.abs(found - np.round(expected)).max(-1) <= 2) >= 0.985


@pytest.mark.parametrize("flag", [4, 8], ids=["casts", "receives"])
@pytest.mark.parametrize("which", [0, 1])
def test_flags_of_self_shadow(flag, which):
    materials = [SURFACE] * 2
    materials[which] = SURFACE._replace(flags=EVERYTHING & ~flag)
    found, expected = pictures(boxes(*BOXES), materials, self_shadow=True)
    assert np.mean(np.abs(found - np.round(expected)).max(-1) <= 2) >= 0.98


def test_without_receivers_only_the_angle_to_the_light_counts():
    materials = [SURFACE._replace(flags=EVERYTHING & ~8)] * 2
    found, expected = pictures(boxes(*BOXES), materials, self_shadow=True)
    assert np.mean(np.abs(found - np.round(expected)).max(-1) <= 1) >= 0.995


def test_a_ball_does_not_shadow_its_lit_side():
    mesh, skinned = ball(64)
    material = SURFACE._replace(index_count=3 * 8192)
    options = {"look": "mmd", "self_shadow": True, "light": (0, 0, 1), "size": (128, 128)}
    seen = mmdskin.render(mesh, skinned, materials=[material], **options).image
    without = material._replace(flags=EVERYTHING & ~8)
    expected = mmdskin.render(mesh, skinned, materials=[without], **options).image
    assert np.abs(seen.astype(int) - expected).max() <= 1


def test_without_anything_that_casts_nothing_is_shadowed():
    materials = [SURFACE._replace(flags=EVERYTHING & ~4)] * 2
    found, expected = pictures(boxes(*BOXES), materials, self_shadow=True)
    assert np.mean(np.abs(found - np.round(expected)).max(-1) <= 1) >= 0.995


@pytest.mark.parametrize(
    ("flags", "light_y", "casts"), [(4, -1, True), (4, 1, False), (5, 1, True)]
)
def test_single_sided_surfaces_cast_shadows_where_the_light_sees_their_front(flags, light_y, casts):
    # a square that faces up, between two others that receive its shadow
    square = np.float64([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]])
    positions = np.concatenate([square, square * 3 - [0, 2, 0], square * 3 + [0, 2, 0]])
    triangles = np.int32([[0, 1, 2], [0, 2, 3]]) + np.int32([0, 4, 8])[:, None, None]
    mesh, skinned = mesh_of(positions, [[0, 1, 0]] * 8 + [[0, -1, 0]] * 4, triangles.reshape(-1, 3))
    receiver = SURFACE._replace(flags=9, index_count=6)
    materials = [SURFACE._replace(flags=flags, index_count=6), receiver, receiver]
    below = mmdskin.Camera((0, 2 if light_y < 0 else -2, -8), (0, -2 * -light_y, 0), (0, 1, 0), 30)
    options = {"look": "mmd", "camera": below, "light": (0, light_y, 0), "size": (64, 64)}
    bare = materials[0]._replace(diffuse=(0, 0, 0, 0))
    lit = mmdskin.render(
        mesh, skinned, materials=[bare, *materials[1:]], self_shadow=True, **options
    )
    seen = mmdskin.render(mesh, skinned, materials=materials, self_shadow=True, **options)
    assert (shadowed(seen.image.astype(int), lit.image.astype(int)).sum() > 50) == casts
