# SPDX-License-Identifier: MIT
"""Rotations: matrices and quaternions, the smallest turn between directions, slerp."""

import numpy as np
from mmdskin.rotations import (
    about,
    apply,
    between,
    degrees_between,
    from_quaternions,
    nearest,
    slerp,
    to_quaternions,
    unit,
)

RANDOM = np.random.default_rng(2)


def test_quaternions_and_matrices_are_inverse_also_at_half_turns():
    q = unit(RANDOM.normal(size=(500, 4)))
    q[:4] = np.eye(4)  # half turns about x, y, z, and none
    q *= np.where(q[:, 3:] < 0, -1, 1)
    found = to_quaternions(from_quaternions(q))
    assert np.abs(found - q).max() < 1e-12


def test_a_quarter_turn_about_each_axis():
    """x -> y -> z -> x, as the right hand in right-handed axes and the left in MMD's."""
    for axis, (start, end) in enumerate((((1), (2)), ((2), (0)), ((0), (1)))):
        turned = about(axis, np.array(np.pi / 2)) @ np.eye(3)[start]
        assert np.allclose(turned, np.eye(3)[end])
        half = np.sqrt(0.5)
        q = np.append(half * np.eye(3)[axis], half)
        assert np.allclose(from_quaternions(q), about(axis, np.array(np.pi / 2)))


def test_the_smallest_turn_between_directions():
    a, b = RANDOM.normal(size=(2, 300, 3))
    b[:3] = -a[:3]  # opposite
    b[3] = a[3]
    turn = between(a, b)
    assert np.abs(apply(turn, unit(a)) - unit(b)).max() < 1e-7
    angle = np.degrees(np.arccos(np.clip((np.trace(turn, axis1=1, axis2=2) - 1) / 2, -1, 1)))
    assert np.abs(angle - degrees_between(a, b)).max() < 1e-4
    assert np.array_equal(between(np.zeros(3), np.ones(3)), np.eye(3))


def test_slerp_turns_evenly_along_the_shorter_way():
    a, b = about(1, np.radians([10.0, 170])), about(1, np.radians([50.0, -170]))
    wanted = about(1, np.radians([20.0, 175]))
    assert np.allclose(slerp(a, b, 0.25), wanted)
    assert np.allclose(slerp(a, a, 0.25), a)


def test_the_nearest_rotation_drops_scale_shear_and_mirrors():
    turn = from_quaternions(RANDOM.normal(size=(50, 4)))
    assert np.allclose(nearest(turn * 0.01), turn)
    found = nearest(RANDOM.normal(size=(50, 3, 3)))
    assert np.allclose(np.linalg.det(found), 1)
