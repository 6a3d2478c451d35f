# SPDX-License-Identifier: MIT
"""Motions between their keys, seen in poses: curves, tracks, names, distant frames."""

import math

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from judges import pose_rigs as rigs
from judges import pose_twin as twin
from judges.pose_rigs import bone, model_of
from judges.pose_twin import about

X, Y, Z = np.eye(3)
FAST = (0, 127, 127, 127)
STRAIGHT = (20, 20, 107, 107)


def block(**curves):
    """Interpolation bytes; channels x, y, z, r that are not given are linear."""
    return mf.block([curves.get(channel, STRAIGHT) for channel in "xyzr"])


def key(frame, translation=(0, 0, 0), rotation=(0, 0, 0, 1), curves=None, name="a"):
    return mf.BoneKey(name, frame, translation, rotation, curves)


def matrices(frames, *keys):
    """Skinning matrices of the one bone at the origin."""
    return model_of(bone("a")).pose(rigs.motion_of(*keys), frames).bone_matrices[..., 0, :, :]


def places(frames, *keys):
    return matrices(frames, *keys)[..., :3, 3]


# Curves: docs/mmd-behavior.md#bezier and #check-bezier


def curve(row, x):
    """Value of a curve, from a bone that moves one unit along x in 120 frames."""
    return places(np.atleast_1d(x) * 120, key(0), key(120, X, curves=block(x=row)))[:, 0]


def test_curves_have_the_values_of_twelve_bisection_steps():
    found = curve(FAST, np.arange(1, 6) / 6)
    expected = [0.5933867, 0.76974937, 0.875, 0.94200122, 0.98259475]
    np.testing.assert_allclose(found, expected, atol=6e-8, rtol=0)


@pytest.mark.parametrize(
    "row, x, height",
    [
        (FAST, 1 / 6, 0.593376), (FAST, 1 / 3, 0.769612), (FAST, 0.5, 0.875),
        (FAST, 2 / 3, 0.942056), (FAST, 5 / 6, 0.982596), ((127, 0, 0, 127), 0.25, 0.029725),
    ],
)  # fmt: skip
def test_curves_are_close_to_their_exact_values(row, x, height):
    assert curve(row, x)[0] == pytest.approx(height, abs=1.6e-4)


@pytest.mark.parametrize("row", [STRAIGHT, (0, 0, 127, 127), (64, 64, 64, 64), (127, 127, 0, 0)])
def test_curves_with_x_equal_y_are_straight(row):
    x = np.arange(0, 1.01, 0.05)
    np.testing.assert_allclose(curve(row, x), x, atol=1e-7)


@pytest.mark.parametrize("row", [(0, 127, 127, 0), (127, 0, 0, 127), (1, 126, 3, 90), FAST])
def test_curves_equal_the_twin_and_rise_from_0_to_1(row):
    x = np.linspace(0, 1, 61)
    found = curve(row, x)
    np.testing.assert_allclose(found, [twin.bezier(row, v) for v in x], atol=1e-7)
    assert (found[0], found[-1]) == (0, 1)


def test_each_channel_has_its_own_curve():
    rows = {"x": FAST, "y": (127, 0, 0, 127), "z": STRAIGHT, "r": (0, 64, 127, 127)}
    m = matrices(3, key(0), key(12, (1, 1, 1), about(X, 1), block(**rows)))
    np.testing.assert_allclose(m[:3, 3], [twin.bezier(rows[c], 0.25) for c in "xyz"], atol=1e-7)
    rigs.assert_turn(m, about(X, twin.bezier(rows["r"], 0.25)))


def test_the_later_key_owns_the_curve():
    keys = key(0, curves=block(x=FAST)), key(10, X), key(20, 2 * X, curves=block(x=FAST))
    assert places(5, *keys)[0] == pytest.approx(0.5)
    assert places(15, *keys)[0] == pytest.approx(1.875)


# Tracks: docs/mmd-behavior.md#tracks and #key-interpolation


def test_first_and_last_keys_hold_beyond_the_track():
    x = places([-1e9, -5, 0, 9.99, 10, 20, 20.01, 1e9], key(10, X), key(20, 3 * X))[:, 0]
    assert x.tolist() == [1, 1, 1, 1, 1, 3, 3, 3]


def test_frames_between_keys_may_be_fractional():
    x = places([0.25, 1.5, 1.75], key(0), key(1, X), key(2, 3 * X))[:, 0]
    np.testing.assert_allclose(x, [0.25, 2, 2.5], atol=1e-7)


def test_keys_on_neighboring_frames_are_blended():
    assert places(0.5, key(0), key(1, X))[0] == pytest.approx(0.5)


def test_the_last_of_equal_frames_is_used():
    assert places([5, 7.5], key(5, X), key(10, 4 * X), key(5, 2 * X))[:, 0].tolist() == [2, 3]


def test_rotations_take_the_shorter_arc():
    near, far = about(Z, 0.2), -about(Z, 1.0)
    rigs.assert_turn(matrices(2.5, key(0, rotation=near), key(10, rotation=far)), about(Z, 0.4))


def test_rotations_keep_their_speed():
    m = matrices(np.arange(11), key(0), key(10, rotation=about(X, 3)))
    for i in range(11):
        rigs.assert_turn(m[i], about(X, 0.3 * i))


def test_interpolation_of_opposite_rotations_gives_rotations():
    rigs.assert_rigid(matrices(np.arange(0, 10, 0.5), key(0), key(10, rotation=(1, 0, 0, 0))))


@pytest.mark.parametrize("bad", [(0, 0, 0, 0), (math.nan, 0, 0, 1)])
def test_keys_with_an_invalid_rotation_do_not_rotate(bad):
    assert (matrices(0, key(0, rotation=bad)) == np.eye(4)).all()


def test_distant_frame_numbers_are_sampled_exactly():
    last = 2**32 - 1
    x = places([last - 1, last - 0.5, last, 2.0**33], key(last - 1), key(last, X))[:, 0]
    assert x.tolist() == [0, 0.5, 1, 1]


def test_morphs_are_linear_between_keys():
    model = model_of(bone("a"), morphs=[rigs.morph(name, "group") for name in "mnm"])
    keys = mf.MorphKey("m", 10, 1.0), mf.MorphKey("m", 0, -1.0), mf.MorphKey("k", 0, 1.0)
    weights = model.pose(rigs.motion_of(morphs=keys), [-5, 0, 2.5, 10, 99]).morph_weights
    assert weights[:, 0].tolist() == [-1, -1, -0.5, 1, 1]
    assert (weights[:, 1] == 0).all()


def test_morphs_of_one_name_all_follow_its_track():
    model = model_of(bone("a"), morphs=[rigs.morph(name, "group") for name in "mnm"])
    pose = model.pose(rigs.motion_of(morphs=[mf.MorphKey("m", 0, 0.5)]))
    assert pose.morph_weights.tolist() == [0.5, 0, 0.5]


def test_the_first_of_bones_with_one_name_follows_the_track():
    model = model_of(bone("a"), bone("a"))
    pose = model.pose(rigs.motion_of(key(0, X))).bone_matrices
    assert pose[:, 0, 3].tolist() == [1, 0]


def test_full_and_half_width_names_differ():
    model = model_of(bone("左足ＩＫ"), bone("左足IK"))
    pose = model.pose(rigs.motion_of(key(0, X, name="左足IK"))).bone_matrices
    assert pose[:, 0, 3].tolist() == [0, 1]


def test_a_pose_file_is_a_motion_of_one_frame():
    data = mf.write_vpd(mf.Keys("x", [key(0, (1, 2, 3), about(X, 1))], [mf.MorphKey("m", 0, 0.5)]))
    model = model_of(bone("a"), morphs=[rigs.morph("m", "group")])
    pose = model.pose(mmdskin.load_motion(data), [-1, 0, 7])
    np.testing.assert_allclose(pose.bone_matrices[:, 0, :3, 3], [(1, 2, 3)] * 3, atol=1e-6)
    rigs.assert_turn(pose.bone_matrices[1, 0], about(X, 1), atol=1e-5)
    assert pose.morph_weights.tolist() == [[0.5]] * 3


# Motions of other models


def test_a_motion_of_another_model_gives_the_bind_pose_and_is_reported():
    model = model_of(bone("a"), morphs=[rigs.morph("m", "group")])
    motion = rigs.motion_of(
        key(0, X, name="b"),
        morphs=[mf.MorphKey("n", 0, 1.0)],
        properties=[mf.PropertyKey(0, 1, [("c", 0), ("d", 1)])],
    )
    pose = model.pose(motion, [0, 5])
    assert (pose.bone_matrices == np.eye(4)).all()
    assert (pose.morph_weights == 0).all()
    assert motion.unmatched(model) == (("b",), ("n",), ("c", "d"))
    assert motion.unmatched(model)._fields == ("bones", "morphs", "ik")


def test_names_that_a_model_has_are_not_unmatched():
    solver = bone("a", ik=rigs.ik(1, []))
    model = model_of(solver, bone("b"), morphs=[rigs.morph("m", "group")])
    motion = rigs.motion_of(
        key(0), morphs=[mf.MorphKey("m", 0, 1.0)], properties=[mf.PropertyKey(0, 1, [("a", 0)])]
    )
    assert motion.unmatched(model) == ((), (), ())


@pytest.mark.parametrize("wrong", [None, "a", 1])
def test_only_models_can_be_matched(wrong):
    with pytest.raises(TypeError):
        rigs.motion_of(key(0)).unmatched(wrong)


def test_a_motion_without_keys_is_the_bind_pose():
    pose = model_of(bone("a")).pose(rigs.motion_of(), [0, 1])
    assert (pose.bone_matrices == np.eye(4)).all()


# All together, against the twin


def random_motion(r, names, morphs):
    def row():
        return r.integers(0, 128, 4).tolist()

    keys = [
        mf.BoneKey(
            str(r.choice(names)),
            int(r.integers(60)),
            tuple(r.normal(size=3)),
            tuple(r.normal(size=4)),
            mf.block([row() for _ in range(4)]),
        )
        for _ in range(80)
    ]
    weights = [
        mf.MorphKey(str(r.choice(morphs)), int(r.integers(60)), float(r.random()))
        for _ in range(20)
    ]
    return mf.write_vmd(mf.Keys("", keys, weights))


@pytest.mark.parametrize("seed", range(10))
def test_random_motions_equal_the_twin(seed):
    r = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    bones = [
        bone(n, r.normal(size=3), i - 1, fixed_axis=(X if n == "c" else None))
        for i, n in enumerate(names)
    ]
    source = rigs.source(*bones, morphs=[rigs.morph("m", "bone", (1, 1, 0, 0, *about(Y, 1)))])
    data = random_motion(r, [*names, "e"], ["m", "n"])
    model, motion, given = (
        mmdskin.load_model(rigs.pmx.write(source)),
        mmdskin.load_motion(data),
        mf.read(data),
    )
    frames = np.sort(r.uniform(-2, 62, 40))
    pose = model.pose(motion, frames)
    for k, frame in enumerate(frames):
        locals_ = twin.sample(source, given, frame)
        np.testing.assert_allclose(
            pose.bone_matrices[k], twin.skinning(source, *locals_), atol=2e-5
        )
        np.testing.assert_allclose(pose.morph_weights[k], locals_[2], atol=1e-6)
