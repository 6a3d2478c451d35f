# SPDX-License-Identifier: MIT
"""Where bones are: joint positions, world and local transforms, and the forms of bone matrices."""

from types import SimpleNamespace

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import rigid_file
from judges import pose_rigs as rigs
from judges import pose_twin as twin

Z90 = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]


@pytest.fixture(scope="module")
def arm():
    """A shoulder at (0, 10, 0), with an elbow at +2 x and a hand at +3 x."""
    return rigs.model_of(
        rigs.bone("hand", (3, 10, 0), 1),  # before its parent in the file
        rigs.bone("elbow", (2, 10, 0), 2),
        rigs.bone("shoulder", (0, 10, 0)),
    )


@pytest.fixture(scope="module")
def bent(arm):
    """The shoulder moved by 5 z, the elbow turned by 90 degrees about z."""
    return arm.pose_from({"shoulder": ([0, 0, 5], None), "elbow": (None, Z90)})


def placed(rotation, position):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


TURN = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])  # Z90


def test_joints_are_where_the_bones_have_moved(arm, bent):
    wanted = [(2, 11, 5), (2, 10, 5), (0, 10, 5)]
    np.testing.assert_allclose(arm.joint_positions(bent), wanted, atol=1e-6)


def test_world_transforms_have_the_joints_as_their_translations(arm, bent):
    wanted = [
        placed(TURN, (2, 11, 5)),
        placed(TURN, (2, 10, 5)),
        placed(np.eye(3), (0, 10, 5)),
    ]
    np.testing.assert_allclose(arm.transforms(bent), wanted, atol=1e-6)


def test_local_transforms_are_relative_to_the_parent(arm, bent):
    wanted = [
        placed(np.eye(3), (1, 0, 0)),
        placed(TURN, (2, 0, 0)),
        placed(np.eye(3), (0, 10, 5)),
    ]
    np.testing.assert_allclose(arm.transforms(bent, "local"), wanted, atol=1e-6)


@pytest.mark.parametrize("space", ["world", "local"])
def test_transforms_come_back_as_skinning_matrices(space):
    """Also with scale and shear, of any rig."""
    rng = np.random.default_rng(3)
    model = mmdskin.load_model(pmx.write(rigs.random_rig(rng, 30)))
    matrices = np.tile(np.eye(4, dtype="f4"), (5, len(model.bones), 1, 1))
    matrices[..., :3, :] += rng.normal(size=(5, len(model.bones), 3, 4)) * 0.2
    transforms = model.transforms(matrices, space)
    assert transforms.shape == matrices.shape and transforms.dtype == np.float32
    again = model.skinning_matrices(transforms, space=space)
    np.testing.assert_allclose(again, matrices, atol=2e-5)


def test_world_transforms_equal_the_twin():
    rng = np.random.default_rng(4)
    model = mmdskin.load_model(pmx.write(rigs.random_rig(rng, 25)))
    values = rigs.random_locals(rng, model, 4)
    pose = model.pose_from(*values[:2], ik=False)
    worlds = rigs.worlds(model, pose)
    np.testing.assert_allclose(model.transforms(pose), worlds, atol=1e-5)
    np.testing.assert_allclose(model.joint_positions(pose), worlds[..., :3, 3], atol=1e-5)
    parents = [b.parent for b in model.bones]
    above = np.stack([worlds[:, p] if p >= 0 else np.eye(4)[None].repeat(4, 0) for p in parents], 1)
    local = np.linalg.inv(above) @ worlds
    np.testing.assert_allclose(model.transforms(pose, "local"), local, atol=1e-5)


def test_a_parent_without_an_inverse_is_an_error(arm):
    flat = np.tile(np.eye(4), (2, 3, 1, 1))
    flat[1, 2, 0, 0] = 0
    with pytest.raises(ValueError, match="pose: frame 1, bone 2: matrix has no inverse"):
        arm.transforms(flat, "local")
    assert np.isfinite(arm.transforms(flat)).all()


def test_wrong_transforms_are_errors(arm):
    matrices = np.tile(np.eye(4), (3, 1, 1))
    with pytest.raises(ValueError, match=r"transforms: shape \(2, 4, 4\), expected \(3, 4, 4\)"):
        arm.skinning_matrices(matrices[:2])
    with pytest.raises(ValueError, match='space: "bone" is unknown, expected "world" or "local"'):
        arm.transforms(matrices, space="bone")
    matrices[1, 0, 3] = np.nan
    for function in (arm.skinning_matrices, arm.transforms, arm.joint_positions):
        with pytest.raises(ValueError, match="frame 0, bone 1: matrix is NaN"):
            function(matrices)


def test_a_model_without_bones_has_no_transforms():
    model = rigs.model_of()
    empty = np.zeros((2, 0, 4, 4))
    assert model.transforms(empty, "local").shape == (2, 0, 4, 4)
    assert model.skinning_matrices(empty[0]).shape == (0, 4, 4)
    assert model.joint_positions(empty).shape == (2, 0, 3)


def forms(rotation, translation, matrix):
    """The same transform as (4,4), (3,4) and (7,), its quaternion of length 3."""
    return matrix, matrix[:3], np.concatenate([translation, np.multiply(rotation, 3)])


FORMS = forms(Z90, (1, 2, 3), placed(TURN, (1, 2, 3)))


@pytest.mark.parametrize("frames", [None, 1, 3])
@pytest.mark.parametrize("form", FORMS, ids=["4x4", "3x4", "7"])
def test_skin_takes_every_form_of_bone_matrices(form, frames):
    file = rigid_file(1)
    file.positions[:] = (1, 0, 0)
    bones = form[None] if frames is None else np.tile(form, (frames, 1, *([1] * form.ndim)))
    out = mmdskin.skin(mmdskin.load_model(pmx.write(file)), bones)
    wanted = np.broadcast_to((1, 3, 3), ((1, 3) if frames is None else (frames, 1, 3)))
    np.testing.assert_allclose(out.positions, wanted, atol=1e-6)


@pytest.mark.parametrize("form", FORMS[1:], ids=["3x4", "7"])
def test_poses_take_every_form_of_bone_matrices(arm, form):
    three, matrices = np.stack([form] * 3), np.stack([FORMS[0]] * 3)
    for function in (arm.joint_positions, arm.skinning_matrices, arm.transforms):
        np.testing.assert_allclose(function(three), function(matrices), atol=1e-6)
    pose = mmdskin.Pose(three, None)
    for found, wanted in zip(arm.locals_of(pose), arm.locals_of(matrices), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("form", FORMS[1:], ids=["3x4", "7"])
def test_fits_take_every_form_of_bone_matrices(arm, form):
    """The hand follows the elbow rigidly, so that all bones have one matrix."""
    frames, wanted = (np.stack([np.stack([each] * 3)] * 4) for each in (form, FORMS[0]))
    found = mmdskin.Motion.from_poses(arm, frames)
    assert found[0] == mmdskin.Motion.from_poses(arm, wanted)[0]
    assert found[1].worst < 1e-5


@pytest.mark.parametrize("form", FORMS[1:], ids=["3x4", "7"])
def test_pictures_take_every_form_of_bone_matrices(gl, form):
    file = rigid_file(3)
    file.positions[:] = [(0, 0, 0), (0, 9, 0), (9, 0, 0)]
    file.triangles = np.int32([[0, 1, 2]])
    file.materials = [pmx.Material("card", index_count=3)]
    model = mmdskin.load_model(pmx.write(file))
    found, wanted = (
        mmdskin.render(model, mmdskin.Pose(each[None], None), size=(40, 40)).image
        for each in (form, FORMS[0])
    )
    assert wanted[..., 3].any()
    np.testing.assert_array_equal(found, wanted)


def test_a_quaternion_of_length_zero_is_an_error():
    model = mmdskin.load_model(pmx.write(rigid_file(1)))
    message = "bone_matrices: frame 1, bone 0: quaternion has length zero"
    with pytest.raises(ValueError, match=message):
        mmdskin.skin(model, [[[0, 0, 0, 0, 0, 0, 1]], [[0, 0, 0, 0, 0, 0, 0]]])


def rotation(*quaternions):
    """As scipy's Rotation: quaternions by a method."""
    return SimpleNamespace(as_quat=lambda: np.squeeze(np.float64(quaternions)))


def test_rotations_of_scipy_stand_for_quaternions(arm):
    wanted = arm.pose_from({"elbow": (None, Z90)}).bone_matrices
    by_name = arm.pose_from({"elbow": (None, rotation(Z90))})
    identity = twin.about((0, 0, 1), 0)
    by_array = arm.pose_from(np.zeros((3, 3)), rotation(identity, Z90, identity))
    stepped = mmdskin.Simulation(arm).step({"elbow": (None, rotation(Z90))})
    for pose in (by_name, by_array, stepped):
        np.testing.assert_array_equal(pose.bone_matrices, wanted)
    track = ("elbow", [0, 5], None, rotation(identity, Z90), None)
    np.testing.assert_allclose(
        mmdskin.Motion.from_tracks([track]).bones[0].rotations, [identity, Z90], atol=1e-7
    )


def test_an_error_of_a_rotation_passes_through(arm):
    def fail():
        raise RuntimeError("no quaternions")

    with pytest.raises(RuntimeError, match="no quaternions"):
        arm.pose_from({"elbow": (None, SimpleNamespace(as_quat=fail))})
