# SPDX-License-Identifier: MIT
"""render() of a Pose: the picture of its vertices, skinned on the CPU or on the device."""

import mmdskin
import numpy as np
import pytest
from files import locations
from render.scene import CAMERA, shows, squares

pytestmark = pytest.mark.usefixtures("gl")

MODELS = locations.at_hand_of(
    "巡音ルカ_sdefr.pmx", "初音ミク_qdef.pmx", "miku_v2.pmd", own="dancer.pmx"
)
DANCE = locations.at_hand_of("realize_motion.vmd", own="dancer.vmd")[0]
VIEW = mmdskin.Camera((6, 14, -40), (0, 10, 0), (0.05, 1, 0), 30)
FRAMES = (400, 430)


@pytest.fixture(scope="module", params=MODELS, ids=[path.name for path in MODELS])
def posed(request):
    model, motion = mmdskin.load_model(request.param), mmdskin.load_motion(DANCE)
    return model, model.pose(motion, FRAMES)


def agree(found, expected):
    """The share of pixels within 1; pixels at outlines may belong to another triangle."""
    return np.mean(np.abs(found.astype(int) - expected).max(-1) <= 1)


@pytest.mark.parametrize("look", ["lambert", "mmd"])
@pytest.mark.parametrize("by", ["auto", "gl"])
def test_a_pose_gives_the_picture_of_its_vertices(posed, look, by):
    model, pose = posed
    options = {"camera": VIEW, "size": (256, 256), "look": look, "edges": True, "textures": {}}
    expected = mmdskin.render(model, mmdskin.skin(model, pose), **options).image
    found = mmdskin.render(model, pose, backend=by, **options).image
    assert found.shape == (2, 256, 256, 4)
    assert agree(found, expected) >= (0.9995 if by == "gl" else 1)


@pytest.mark.parametrize("camera", [VIEW, VIEW._replace(position=(2, 40, -20))])
def test_a_pose_casts_the_shadow_of_its_vertices_on_the_ground(posed, camera):
    """On the device all triangles are drawn; of vertices on the CPU it knows what small ones cover."""
    model, pose = posed
    options = {
        "camera": camera,
        "size": (256, 256),
        "look": "mmd",
        "textures": {},
        "ground_shadow": (1, 0, 1, 0.5),
    }
    expected = mmdskin.render(model, mmdskin.skin(model, pose), **options).image
    found = mmdskin.render(model, pose, backend="gl", **options).image
    assert agree(found, expected) >= 0.9995
    assert shows(expected, [255, 0, 255, 127.5]).sum() > 300


def test_other_results_are_those_of_the_vertices(posed):
    model, pose = posed
    options = {"camera": VIEW, "size": (128, 128), "want": ("depth", "normals", "triangles")}
    expected = mmdskin.render(model, mmdskin.skin(model, pose), **options)
    found = mmdskin.render(model, pose, backend="gl", **options)
    same = found.triangles == expected.triangles
    assert same.mean() >= 0.9995
    covered = same & (expected.triangles >= 0)
    np.testing.assert_allclose(found.depth[covered], expected.depth[covered], atol=1e-4)
    off = np.abs(found.normals[covered] - expected.normals[covered]).max(-1)
    assert np.mean(off <= 1e-3) >= 0.999


@pytest.mark.parametrize("options", [{"self_shadow": True, "camera": VIEW}, {"camera": None}])
def test_what_needs_the_vertices_is_the_same_too(posed, options):
    model, pose = posed
    options = {"size": (128, 128), "look": "mmd", "textures": {}, **options}
    expected = mmdskin.render(model, mmdskin.skin(model, pose), **options).image
    found = mmdskin.render(model, pose, backend="gl", **options).image
    assert agree(found, expected) >= 0.9995


def test_one_pose_serves_many_cameras_and_uvs(posed):
    model, pose = posed
    single = mmdskin.Pose(pose.bone_matrices[0], pose.morph_weights[0])
    cameras = VIEW._replace(position=[(6, 14, -40), (-20, 5, -30), (0, 10, 40)])
    textures = {0: np.random.default_rng(0).integers(0, 256, (8, 8, 4), np.uint8)}
    options = {"camera": cameras, "size": (64, 64), "textures": textures, "look": "mmd"}
    uvs = model.uvs + np.float32([[[0, 0]], [[0.25, 0]], [[0, 0.25]]])
    expected = mmdskin.render(model, mmdskin.skin(model, single), uvs=uvs, **options).image
    for by in ("auto", "gl"):
        found = mmdskin.render(model, single, uvs=uvs, backend=by, **options).image
        assert found.shape[0] == 3 and agree(found, expected) >= 0.999


@pytest.mark.parametrize("by", ["auto", "gl"])
def test_a_mesh_without_normals_may_be_posed(by):
    mesh, skinned = squares((0, 0, 0))
    bare = mmdskin.Mesh(
        skinned.positions, np.zeros((4, 1), int), np.ones((4, 1)), triangles=[[0, 1, 2], [0, 2, 3]]
    )
    del mesh
    matrix = np.eye(4, dtype=np.float32)[None]
    matrix[0, 0, 3] = 0.5
    seen = mmdskin.render(
        bare, mmdskin.Pose(matrix, None), camera=CAMERA, size=(8, 8), backend=by,
        want=("triangles",),
    ).triangles  # fmt: skip
    assert (seen[:, 4:] >= 0).all() and (seen[:, :4] < 0).all()


@pytest.mark.parametrize("by", ["auto", "gl"])
@pytest.mark.parametrize(
    ("matrices", "weights", "text"),
    [
        (np.zeros((0, 4, 4)), None, "bone 0 of 0"),
        (np.full((1, 4, 4), np.nan), None, "bone_matrices"),
        (np.full((1, 4, 4), 1e12), None, "positions"),
        (np.eye(4)[None], np.zeros((1, 5)), "morph_weights"),
        ("x", None, "bone_matrices"),
    ],
)
def test_poses_that_do_not_fit_are_refused(by, matrices, weights, text):
    mesh = mmdskin.Mesh(
        np.ones((3, 3)), np.zeros((3, 1), int), np.ones((3, 1)), triangles=[[0, 1, 2]]
    )
    with pytest.raises((ValueError, TypeError), match=text):
        mmdskin.render(mesh, mmdskin.Pose(matrices, weights), camera=CAMERA, backend=by)
