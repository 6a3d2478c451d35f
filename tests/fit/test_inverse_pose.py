# SPDX-License-Identifier: MIT
"""Model.locals_of: the local values of a pose."""

import mmdskin
import numpy as np
import pytest
from fit import dances
from judges import pose_rigs as rigs

DANCES = pytest.mark.parametrize("dance", dances.at_hand(), ids=lambda d: d[0])
QUARTER = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]


@DANCES
@pytest.mark.parametrize("physics", [None, True], ids=["keys", "physics"])
def test_the_values_of_a_dance_give_its_mesh_again(dance, physics):
    model, motion = dances.load(*dance[:2])
    pose = model.pose(motion, np.arange(0, dance[2], 3), physics=physics)
    translations, rotations = model.locals_of(pose)
    again = model.pose_from(translations, rotations, morph_weights=pose.morph_weights, ik=False)
    assert dances.distances(model, pose, again).max() < 5e-4


def test_random_values_come_back():
    rng = np.random.default_rng(1)
    model = rigs.model_of(
        rigs.bone("root"), rigs.bone("a", (0, 1, 0), 0), rigs.bone("b", (0, 2, 0), 1)
    )
    translations = rng.normal(size=(20, 3, 3))
    rotations = rng.normal(size=(20, 3, 4))
    rotations *= np.sign(rotations[..., 3:]) / np.linalg.norm(rotations, axis=-1, keepdims=True)
    found = model.locals_of(model.pose_from(translations, rotations))
    assert np.abs(found[0] - translations).max() < 1e-5
    assert np.abs(found[1] - rotations).max() < 1e-6


def test_an_append_is_undone():
    append = rigs.pmx.Append(source=0, ratio=0.5, rotation=True)
    model = rigs.model_of(rigs.bone("source"), rigs.bone("half", append=append))
    pose = model.pose_from({"source": (None, QUARTER)})
    _, rotations = model.locals_of(pose)
    assert np.allclose(rotations, [QUARTER, [0, 0, 0, 1]], atol=1e-6)


def test_an_append_whose_source_is_evaluated_later_is_undone_as_it_acts():
    def append(source):
        return rigs.pmx.Append(source=source, ratio=1.0, translation=True)

    model = rigs.model_of(
        rigs.bone("z"), rigs.bone("x", append=append(2)), rigs.bone("y", append=append(0))
    )
    pose = model.pose_from({"z": ([1, 0, 0], None), "y": ([0, 1, 0], None)})
    translations, rotations = model.locals_of(pose)
    assert np.allclose(translations, [[1, 0, 0], [0, 0, 0], [0, 1, 0]], atol=1e-6)
    assert np.allclose(
        model.pose_from(translations, rotations).bone_matrices, pose.bone_matrices, atol=1e-6
    )


def test_a_cycle_of_parent_and_append_gives_the_same_values_in_every_batch():
    append = rigs.pmx.Append(source=1, ratio=0.5, rotation=True, translation=True)
    others = [rigs.bone(f"b{i}") for i in range(40)]
    model = rigs.model_of(rigs.bone("b", append=append), rigs.bone("a", (0, 1, 0), 0), *others)
    rng = np.random.default_rng(5)
    moves, turns = rng.normal(size=(2000, 42, 3)), rng.normal(size=(2000, 42, 4))
    pose = model.pose_from(moves, turns)
    whole, again = model.locals_of(pose), model.locals_of(pose)
    alone = model.locals_of(pose.bone_matrices[1234])
    assert all((x == y).all() for x, y in zip(whole, again, strict=True))
    assert all((x[1234] == y).all() for x, y in zip(whole, alone, strict=True))


def test_bone_morphs_of_the_weights_are_undone():
    shift = rigs.morph("shift", "bone", (0, 1, 2, 3, *QUARTER))
    model = rigs.model_of(rigs.bone("root"), morphs=[shift])
    pose = model.pose_from({}, morph_weights=[1.0])
    translations, rotations = model.locals_of(pose)
    assert np.allclose(translations, 0, atol=1e-6)
    assert np.allclose(rotations, [[0, 0, 0, 1]], atol=1e-6)
    assert np.allclose(model.locals_of(pose.bone_matrices)[0], [[1, 2, 3]], atol=1e-6)


def test_a_rotation_is_projected_on_a_fixed_axis_by_its_twist():
    model = rigs.model_of(rigs.bone("twist", fixed_axis=(0, 0, 1)))
    swing = np.array([np.sin(0.2), 0, 0, np.cos(0.2)])
    twist = np.array([0, 0, np.sin(-0.3), np.cos(0.3)])
    # swing after twist, x y z w
    both = [
        swing[0] * twist[3],
        -swing[0] * twist[2],
        swing[3] * twist[2],
        swing[3] * twist[3],
    ]
    _, rotations = model.locals_of(model.pose_from({"twist": (None, both)}))
    assert np.allclose(rotations, [twist], atol=1e-6)


@pytest.mark.parametrize("scale", [(2, 1, 0.5), (1e-4, 1e-4, 1e-4), (1e6, 1e6, 1e6)], ids=str)
def test_a_scaled_bone_keeps_its_rotation(scale):
    model = rigs.model_of(rigs.bone("root"))
    pose = model.pose_from({"root": (None, QUARTER)}).bone_matrices.copy()
    pose[0, :3, :3] = pose[0, :3, :3] @ np.diag(scale)
    _, rotations = model.locals_of(pose)
    assert np.allclose(rotations, [QUARTER], atol=1e-6)


def test_one_pose_has_no_axis_of_frames():
    model = rigs.model_of(rigs.bone("root"))
    translations, rotations = model.locals_of(model.pose_from({}))
    assert translations.shape == (1, 3)
    assert rotations.shape == (1, 4)


def test_matrices_that_are_not_finite_are_named():
    model = rigs.model_of(rigs.bone("root"), rigs.bone("b"))
    matrices = np.tile(np.eye(4, dtype=np.float32), (3, 2, 1, 1))
    matrices[2, 1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="pose: frame 2, bone 1: matrix is NaN"):
        model.locals_of(matrices)


def test_weights_must_have_as_many_frames_as_the_matrices():
    model = rigs.model_of(rigs.bone("root"))
    pose = mmdskin.Pose(np.tile(np.eye(4, dtype="f4"), (3, 1, 1, 1)), np.zeros((2, 0), "f4"))
    with pytest.raises(ValueError, match="morph_weights: 2 frames, expected 1 or 3"):
        model.locals_of(pose)
