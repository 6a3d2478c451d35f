# SPDX-License-Identifier: MIT
"""Motion.from_camera: the inverse of camera_at."""

import mmdskin
import numpy as np
import pytest


def random_track(seed, count=90):
    """Keys with any curves, some of them cuts, and the frames of these."""
    rng = np.random.default_rng(seed)
    gaps = rng.integers(5, 60, count)
    gaps[0] = 0
    gaps[rng.choice(np.arange(2, count), 8, replace=False)] = 1
    frames = np.cumsum(gaps)
    track = mmdskin.CameraTrack(
        frames.astype(np.uint32),
        -rng.uniform(5, 60, count),
        rng.uniform(-20, 20, (count, 3)),
        np.cumsum(rng.uniform(-0.6, 0.6, (count, 3)), 0) * [0.1, 1, 0.2],
        rng.integers(0, 128, (count, 6, 4), np.uint8),
        rng.integers(20, 50, count).astype(float),
        np.ones(count, bool),
    )
    return track, frames[gaps == 1]


def error(a, b):
    return [float(np.abs(x - y).max()) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_camera_comes_back_within_its_tolerances_with_its_keys(seed):
    track, cuts = random_track(seed)
    motion = mmdskin.Motion.from_tracks(camera=track)
    frames = np.arange(motion.frame_range[1] + 1)
    camera = motion.camera_at(frames)
    fitted = mmdskin.Motion.from_camera(camera, frames, cuts=cuts)
    position, target, up, fov = error(camera, fitted.camera_at(frames))
    assert target <= 0.02 + 1e-5
    assert position <= 0.02 * np.sqrt(4) + 60 * np.radians(0.05) * np.sqrt(3)
    assert up <= np.radians(0.05) * np.sqrt(3)
    assert fov <= 0.5 + 1e-5
    assert set(track.frames) <= set(fitted.camera.frames)
    assert len(fitted.camera.frames) <= 1.15 * len(track.frames)


def test_neighboring_keys_are_cuts_only():
    track, cuts = random_track(6)
    motion = mmdskin.Motion.from_tracks(camera=track._replace(interpolation=None))
    frames = np.arange(motion.frame_range[1] + 1)
    fitted = mmdskin.Motion.from_camera(motion.camera_at(frames), frames, cuts=cuts)
    keys = fitted.camera.frames.astype(int)
    assert set(keys[1:][np.diff(keys) == 1]) == set(cuts)


def test_it_is_named_as_mmd_names_cameras():
    motion = mmdskin.Motion.from_camera(mmdskin.Camera([0, 10, -45], [0, 10, 0], [0, 1, 0], 30))
    assert motion.name == "カメラ・照明"
    assert motion.camera.distances.tolist() == [-45]
    assert motion.camera.targets.tolist() == [[0, 10, 0]]
    assert motion.camera.rotations.tolist() == [[0, 0, 0]]


def test_its_keys_have_perspective():
    at = np.linspace([0, 10, -45], [10, 10, -45], 20)
    motion = mmdskin.Motion.from_camera(mmdskin.Camera(at, [0, 10, 0], [0, 1, 0], 30))
    assert len(motion.camera.frames) > 1
    assert motion.camera.perspective.all()


def test_angles_go_on_past_a_whole_turn():
    angle = np.radians(np.arange(0, 800, 10))
    position = np.stack([-20 * np.sin(angle), 0 * angle, -20 * np.cos(angle)], -1)
    camera = mmdskin.Camera(position, np.zeros(3), [0, 1, 0], 30)
    fitted = mmdskin.Motion.from_camera(camera)
    assert abs(np.ptp(fitted.camera.rotations[:, 1])) == pytest.approx(np.radians(790), abs=0.01)


def test_a_camera_that_looks_straight_down_keeps_its_heading():
    camera = mmdskin.Camera([0, 30, 0], [0, 0, 0], [0, 0, 1], 30)
    again = mmdskin.Motion.from_camera(camera).camera_at(0)
    assert error(camera, again) == pytest.approx([0, 0, 0, 0], abs=1e-4)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tolerance": -1}, "tolerance: expected a positive number"),
        ({"degrees": 10**400}, "degrees: 1000"),
        ({"degrees": float("inf")}, "degrees: expected a positive number"),
        ({"cuts": [5]}, "cuts: number 0 is not one of the frames"),
        ({"cuts": [0.5]}, "cuts: number 0 is not one of the frames"),
        ({"frames": [3, 4]}, "frames: expected 1 whole number "),
    ],
)
def test_a_bad_option_is_named(options, text):
    camera = mmdskin.Camera([0, 10, -45], [0, 10, 0], [0, 1, 0], 30)
    with pytest.raises(ValueError, match=text):
        mmdskin.Motion.from_camera(camera, **options)


def test_a_camera_without_a_direction_is_an_error():
    camera = mmdskin.Camera([[0, 0, 1], [0, 0, 0]], [0, 0, 0], [0, 1, 0], 30)
    with pytest.raises(ValueError, match="camera: frame 1: position and target are equal"):
        mmdskin.Motion.from_camera(camera)


def test_a_camera_without_frames_is_an_error():
    none = np.zeros((0, 3))
    with pytest.raises(ValueError, match="camera: no frames"):
        mmdskin.Motion.from_camera(mmdskin.Camera(none, none, none, np.zeros(0)), [])


@pytest.mark.parametrize("member", ["position", "target", "up", "fov"])
def test_a_number_that_is_not_finite_is_named_by_its_frame(member):
    camera = mmdskin.Camera(
        np.tile([0.0, 10, -45], (9, 1)),
        np.zeros((9, 3)),
        np.tile([0.0, 1, 0], (9, 1)),
        np.full(9, 30.0),
    )
    getattr(camera, member)[5] = np.nan
    with pytest.raises(ValueError, match="camera"):
        mmdskin.Motion.from_camera(camera)


def test_a_slow_pan_of_many_frames_is_few_keys():
    n = 3000
    target = np.stack([10 * (1 - np.exp(-5 * np.arange(n) / n)), np.zeros(n), np.zeros(n)], -1)
    camera = mmdskin.Camera(target + [0, 0, -30], target, [0, 1, 0], 30)
    fitted = mmdskin.Motion.from_camera(camera)
    assert len(fitted.camera.frames) < 12
    assert (
        max(
            error(
                camera._replace(up=0, fov=0), fitted.camera_at(np.arange(n))._replace(up=0, fov=0)
            )[:2]
        )
        < 0.05
    )
