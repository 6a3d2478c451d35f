# SPDX-License-Identifier: MIT
"""Motion.camera_at: keys by their curves, cuts, and the position of a camera given by distance and angles."""

import math

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from judges import pose_twin as twin

FAST = bytes([0, 127, 127, 127])  # x1 x2 y1 y2
STRAIGHT = bytes([20, 107, 20, 107])


def motion_of(*keys):
    return mmdskin.load_motion(mf.write_vmd(mf.Keys(camera=keys)))


def key(frame, **members):
    return mf.CameraKey(frame)._replace(**members)


def test_without_keys_it_is_mmds_default_camera():
    position, target, up, fov = motion_of().camera_at(7)
    assert position.tolist() == [0, 10, -45]
    assert target.tolist() == [0, 10, 0]
    assert up.tolist() == [0, 1, 0]
    assert float(fov) == 30


def test_a_camera_is_in_front_of_its_target():
    position, target, up, _ = motion_of(key(0, distance=-20, target=(1, 2, 3))).camera_at(0)
    assert position.tolist() == [1, 2, -17]
    assert target.tolist() == [1, 2, 3]
    assert up.tolist() == [0, 1, 0]


def test_a_rotation_about_y_moves_it_to_the_side():
    # p_view = Ry(90 degrees) (p - target): -x is ahead
    turned = key(0, distance=-10, target=(0, 0, 0), rotation=(0, math.pi / 2, 0))
    np.testing.assert_allclose(motion_of(turned).camera_at(0).position, [10, 0, 0], atol=1e-5)


def test_a_rotation_about_x_moves_it_below_or_above():
    turned = key(0, distance=-10, target=(0, 0, 0), rotation=(math.pi / 2, 0, 0))
    camera = motion_of(turned).camera_at(0)
    np.testing.assert_allclose(camera.position, [0, -10, 0], atol=1e-5)
    np.testing.assert_allclose(camera.up, [0, 0, -1], atol=1e-6)


def test_a_rotation_about_z_tilts_the_picture():
    camera = motion_of(key(0, rotation=(0, 0, math.pi / 2))).camera_at(0)
    np.testing.assert_allclose(camera.up, [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(camera.position, [0, 10, -45], atol=1e-5)


@pytest.mark.parametrize("distance", [0, 5])
def test_a_camera_at_or_behind_its_target_looks_in_the_same_direction(distance):
    camera = motion_of(key(0, distance=distance, target=(0, 0, 0))).camera_at(0)
    assert camera.position.tolist() == [0, 0, distance]
    assert camera.target.tolist() == [0, 0, distance + 1]


@pytest.mark.parametrize("distance", [0, -1e-3, -45, 1e8])
def test_far_away_the_target_is_still_ahead_of_the_camera(distance):
    far = key(0, distance=distance, target=(0, -1e10, 0), rotation=(0.3, 0.5, 0))
    camera = motion_of(far).camera_at(0)
    way = np.float64(camera.target) - camera.position
    ahead = [-math.cos(0.3) * math.sin(0.5), math.sin(0.3), math.cos(0.3) * math.cos(0.5)]
    np.testing.assert_allclose(way / np.linalg.norm(way), ahead, atol=1 / 4096)


def test_each_value_has_its_own_curve():
    for channel, member in enumerate(("x", "y", "z", "rotation", "distance", "view angle")):
        curves = bytearray(STRAIGHT * 6)
        curves[4 * channel : 4 * channel + 4] = FAST
        end = key(8, target=(1, 1, 1), rotation=(1, 1, 1), distance=-1, view_angle=100)
        start = key(0, target=(0, 0, 0), distance=0, view_angle=0)
        motion = motion_of(start, end._replace(block=bytes(curves)))
        track = mf.read(mf.write_vmd(mf.Keys(camera=[start, end._replace(block=bytes(curves))])))
        found, expected = motion.camera_at(2), twin.camera_at(track.camera, 2)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5, err_msg=member)


def test_keys_on_neighboring_frames_are_a_cut():
    motion = motion_of(key(0, view_angle=10), key(1, view_angle=50), key(3, view_angle=70))
    assert motion.camera_at([0, 0.25, 0.999, 1, 2, 3]).fov.tolist() == [10, 10, 10, 50, 60, 70]


def test_first_and_last_keys_hold_beyond_the_track():
    motion = motion_of(key(5, view_angle=20), key(9, view_angle=40))
    assert motion.camera_at([-1e9, 0, 5, 7, 9, 1e9]).fov.tolist() == [20, 20, 20, 30, 40, 40]


def test_a_number_gives_one_camera_and_an_array_many():
    motion = motion_of(key(0), key(10, view_angle=60))
    one, many = motion.camera_at(5), motion.camera_at([5, 10])
    assert [np.shape(member) for member in one] == [(3,), (3,), (3,), ()]
    assert [member.shape for member in many] == [(2, 3), (2, 3), (2, 3), (2,)]
    assert all((np.asarray(a) == b[0]).all() for a, b in zip(one, many, strict=True))
    assert isinstance(one, mmdskin.Camera)
    assert motion.camera_at([]).position.shape == (0, 3)


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (math.nan, "^frames is NaN$"),
        (math.inf, "^frames is infinite$"),
        ([0, math.nan], r"^frames\[1\] is NaN$"),
    ],
)
def test_frames_that_are_not_numbers_are_rejected(bad, text):
    with pytest.raises(ValueError, match=text):
        motion_of(key(0)).camera_at(bad)


def test_frames_have_one_dimension():
    with pytest.raises(ValueError, match="frames: 2 dimensions"):
        motion_of().camera_at([[1, 2]])


@pytest.mark.parametrize("seed", range(4))
def test_random_cameras_equal_the_twin(seed):
    r = np.random.default_rng(seed)
    keys = [
        mf.CameraKey(
            int(r.integers(60)),
            float(r.uniform(-60, 20)),
            tuple(r.normal(size=3) * 10),
            tuple(r.uniform(-4, 4, 3)),
            bytes(r.integers(0, 128, 24).tolist()),
            int(r.integers(1, 120)),
            0,
        )
        for _ in range(30)
    ]
    data = mf.write_vmd(mf.Keys(camera=keys))
    track = mf.read(data).camera
    frames = r.uniform(-2, 62, 200)
    found = mmdskin.load_motion(data).camera_at(frames)
    for k, frame in enumerate(frames):
        for member, expected in zip(found, twin.camera_at(track, frame), strict=True):
            np.testing.assert_allclose(member[k], expected, atol=2e-5)
