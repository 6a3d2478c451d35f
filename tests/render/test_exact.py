# SPDX-License-Identifier: MIT
"""Depth, triangles and normals of pictures of real models equal rays in float64."""

import mmdskin
import numpy as np
import pytest
from files import locations
from judges import rays

SIZE = (400, 500)
PIXELS = 1150  # some of which are near edges
NEAR_EDGE = 0.02  # pixels
CAMERA = mmdskin.Camera((14, 17, -33), (0, 10, 0), (0.1, 1, 0), 32)
MODELS = locations.at_hand_of("巡音ルカ.pmx", "初音ミク.pmx", "miku_v2.pmd", own="dancer.pmx")
DANCE = locations.at_hand_of("realize_motion.vmd", own="dancer.vmd")[0]


@pytest.fixture(scope="module", params=MODELS, ids=[path.name for path in MODELS])
def picture(request, gl):
    model, motion = mmdskin.load_model(request.param), mmdskin.load_motion(DANCE)
    skinned = mmdskin.skin(model, model.pose(motion, 400))
    want = ("depth", "normals", "triangles")
    return model, skinned, mmdskin.render(model, skinned, size=SIZE, camera=CAMERA, want=want)


def away_from_edges(owners, cast, places):
    """Whether the neighborhood of each position belongs to the same triangle."""
    same = np.full(len(places), True)
    for shift in ((-NEAR_EDGE, 0), (NEAR_EDGE, 0), (0, -NEAR_EDGE), (0, NEAR_EDGE)):
        same &= cast(places + shift)[1] == owners
    return same


def test_depths_and_triangles_equal_rays(picture):
    model, skinned, seen = picture
    r = np.random.default_rng(0)
    covered = np.argwhere(seen.triangles >= 0)
    rows, columns = r.choice(covered, PIXELS, replace=False).T
    places = np.column_stack([columns, rows]) + 0.5
    sides = rays.drawn_sides(model.materials, len(model.triangles))

    def cast(at):
        return rays.cast(at, skinned.positions, model.triangles, sides, CAMERA, SIZE)

    depths, owners, _ = cast(places)
    away = away_from_edges(owners, cast, places)
    assert away.sum() >= 1000
    found = seen.triangles[rows, columns][away]
    np.testing.assert_array_equal(found, owners[away])
    np.testing.assert_allclose(seen.depth[rows, columns][away], depths[away], rtol=0, atol=5e-5)


def test_empty_pixels_are_those_whose_rays_hit_nothing(picture):
    model, skinned, seen = picture
    r = np.random.default_rng(1)
    rows, columns = r.integers(SIZE[1], size=300), r.integers(SIZE[0], size=300)
    places = np.column_stack([columns, rows]) + 0.5
    sides = rays.drawn_sides(model.materials, len(model.triangles))

    def cast(at):
        return rays.cast(at, skinned.positions, model.triangles, sides, CAMERA, SIZE)

    _, owners, _ = cast(places)
    away = away_from_edges(owners, cast, places)
    assert (owners[away] < 0).any() and (owners[away] >= 0).any()
    np.testing.assert_array_equal(seen.triangles[rows, columns][away] < 0, owners[away] < 0)
    assert (np.isinf(seen.depth) == (seen.triangles < 0)).all()
    assert (np.linalg.norm(seen.normals[seen.triangles < 0], axis=-1) == 0).all()


def test_normals_are_those_of_the_corners(picture):
    model, skinned, seen = picture
    rows, columns = np.argwhere(seen.triangles >= 0)[::37].T
    triangles = model.triangles[seen.triangles[rows, columns]]
    corners = skinned.normals[triangles].astype(float)
    directions = rays.rays(np.column_stack([columns, rows]) + 0.5, CAMERA, SIZE)
    a, b, c = skinned.positions[triangles].astype(float).transpose(1, 0, 2) - np.array(
        CAMERA.position, float
    )
    # barycentric weights at the pixel, from the ray's intersection with the triangle's plane
    shares = np.linalg.solve(np.stack([a, b, c], -1), directions[..., None])[..., 0]
    shares /= shares.sum(1, keepdims=True)
    expected = (corners * shares[..., None]).sum(1)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    behind = np.linalg.det(np.stack([a, b, c], -1)) > 0
    expected[behind] *= -1
    inside = (shares > 0.02).all(1)
    found = seen.normals[rows, columns]
    # A corner may be off by a part of a pixel, which is a longer way on a surface that is seen at a
    # grazing angle.
    plane = np.cross(b - a, c - a)
    facing = np.abs((plane * directions).sum(1))
    facing /= np.linalg.norm(plane, axis=1) * np.linalg.norm(directions, axis=1)
    off = np.abs(found - expected).max(1)
    assert (off <= 1e-3 / facing)[inside].all()
    assert np.median(off[inside]) <= 1e-4
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
