# SPDX-License-Identifier: MIT
"""Gravity that changes from frame to frame, and its noise, seen in the fall of a ball."""

import pickle

import mmdskin
import numpy as np
import pytest
from physics import chains
from physics.chains import PHYSICS, bone_positions, same

DOWN = (0.0, -98.0, 0.0)


@pytest.fixture(scope="module")
def ball():
    """A bone whose body falls freely and without damping."""
    file = chains.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    return chains.load(file)


def physics(gravity=DOWN, **settings):
    defaults = {"settle": 0, "additional_damping": False, "ground": False}
    return mmdskin.Physics(gravity, **(defaults | settings))


def places(ball, settings, frames):
    """Where the ball is, relative to its start."""
    poses = ball.pose(None, frames, physics=settings)
    return bone_positions(ball, poses)[:, 1] - np.array(ball.bones[1].position)


def accelerations(ball, settings, last):
    """Of every step up to a frame, (S, 3): the differences of velocities, which start at 0."""
    steps = np.arange(round(last * settings.hz / 30) + 1)
    way = places(ball, settings, steps * 30 / settings.hz)
    velocities = np.diff(way, axis=0, prepend=way[:1]) * settings.hz
    return np.diff(velocities, axis=0) * settings.hz


def test_rows_apply_at_their_frames_and_linearly_between(ball):
    rows = np.array([DOWN, (60, 0, 0), (0, 0, -30), (0, -98, 20)])
    found = accelerations(ball, physics(rows), 5)
    frames = np.arange(1, 11) / 2  # of the ends of the steps
    expected = np.stack([np.interp(frames, range(4), rows[:, i]) for i in range(3)], axis=1)
    assert np.allclose(found, expected, rtol=0, atol=0.05)  # float32 matrices, times 3600


def test_equal_rows_are_that_gravity(ball):
    frames = np.arange(20)
    constant = ball.pose(None, frames, physics=physics((3, -50, 1)))
    assert same(constant, ball.pose(None, frames, physics=physics([(3, -50, 1)] * 7)))
    assert same(constant, ball.pose(None, frames, physics=physics([(3, -50, 1)])))


def test_the_first_row_applies_before_frame_0(ball):
    rows = [(10, 0, 0), (0, 0, 0)]
    ways = places(ball, physics(rows, start=-10), [-10, -0.5, 0])
    assert np.allclose(ways[1:, 0], 10 * np.array([19 * 20, 20 * 21]) / 2 / 3600, atol=1e-5)


def test_a_simulation_of_poses_counts_frames_from_its_start(ball):
    rows = np.linspace((0, -98, 0), (50, 0, 9), 30)
    simulation = mmdskin.Simulation(ball, None, physics(rows))
    expected = ball.pose(None, range(10), physics=physics(rows)).bone_matrices
    for frame in range(10):
        assert np.allclose(simulation.step().bone_matrices, expected[frame], rtol=0, atol=1e-6)


def test_steps_move_gravity_linearly_from_that_of_the_step_before(ball):
    """As rows do, whose frames are the steps: velocities are sums of the numbers below."""
    simulation = mmdskin.Simulation(ball, None, physics((0, 500, 0)))
    given = np.array([DOWN, (60, 0, 0), (0, 0, -30), (0, -98, 20)])
    found = []
    for gravity in given:
        pose = simulation.step(seconds=1 / 15, gravity=gravity)
        found.append(bone_positions(ball, pose)[1] - np.array(ball.bones[1].position))
    gravity = np.stack([np.interp(np.arange(13) / 4, range(4), row) for row in given.T], axis=1)
    ways = np.cumsum(np.cumsum(gravity[1:] / 60, axis=0) / 60, axis=0)  # symplectic Euler
    assert np.allclose(found, np.concatenate([np.zeros((1, 3)), ways[3::4]]), rtol=0, atol=1e-5)


def test_a_step_without_gravity_has_that_of_the_settings(ball):
    rows = np.linspace((0, -98, 0), (50, 0, 9), 30)
    runs = [mmdskin.Simulation(ball, None, physics(rows, gravity_noise=3)) for _ in range(2)]
    for gravity in (None, rows[1], rows[2]):
        runs[0].step(gravity=gravity)
        runs[1].step()
    assert not same(runs[0].step(gravity=(9, 9, 9)), runs[1].step())
    for run in runs:
        run.reset()
    assert same(runs[0].step(), runs[1].step())
    assert same(runs[0].step(), runs[1].step())
    assert same(runs[0].pose(5), ball.pose(None, 5, physics=physics(rows, gravity_noise=3)))


def test_gravity_of_the_first_step_acts_while_bodies_settle(ball):
    given, constant = (
        mmdskin.Simulation(ball, None, physics(down, settle=9)) for down in (DOWN, (7, 0, 0))
    )
    assert same(given.step(gravity=(7, 0, 0)), constant.step())


def test_steps_with_equal_gravity_are_steps_with_that_of_the_settings():
    chain = chains.load(chains.chain_file())
    given, constant = (
        mmdskin.Simulation(chain, None, mmdskin.Physics(g)) for g in (DOWN, (9, -50, 1))
    )
    for frame in range(20):
        root = {"root": ((frame / 5, 0, 0), None)}
        assert same(given.step(root, gravity=(9, -50, 1)), constant.step(root))


@pytest.mark.parametrize(
    ("gravity", "error", "words"),
    [
        ((0, float("nan"), 0), ValueError, "gravity: nan, expected at most 1e6"),
        ((0, 0, float("inf")), ValueError, "gravity: inf"),
        ((-1.1e6, 0, 0), ValueError, r"gravity: -1.1e\+06, expected at most 1e6"),
        ((0, 0), ValueError, r"gravity: shape \(2,\)"),
        ("down", TypeError, "gravity"),
    ],
)
def test_a_refused_gravity_of_a_step_changes_nothing(ball, gravity, error, words):
    simulation, untouched = (mmdskin.Simulation(ball, None, physics()) for _ in range(2))
    for one in (simulation, untouched):
        one.step(gravity=(1, 2, 3))
    with pytest.raises(error, match=words):
        simulation.step({"root": ((1, 0, 0), None)}, seconds=1, gravity=gravity)
    assert pickle.dumps(simulation) == pickle.dumps(untouched)


def noise(ball, last=300, **settings):
    return accelerations(ball, physics((0, 0, 0), gravity_noise=20, **settings), last)


def test_noise_is_random_in_every_frame_and_axis_up_to_its_strength(ball):
    found = noise(ball)
    assert np.abs(found).max() < 20.1 and np.abs(found).max() > 19
    frames = found[1::2]
    assert np.abs(frames.mean(axis=0)).max() < 3  # 20 / sqrt(3) / sqrt(300) = 0.7
    assert np.allclose(frames.std(axis=0), 20 / np.sqrt(3), rtol=0.1)
    assert np.abs(np.corrcoef(frames.T) - np.eye(3)).max() < 0.25
    following = np.corrcoef(frames[1:, 0], frames[:-1, 0])[0, 1]
    assert abs(following) < 0.25


def test_noise_is_linear_between_frames_at_any_rate(ball):
    at_60, at_120 = noise(ball, 60), noise(ball, 60, hz=120)
    assert np.allclose(at_60[2::2], (at_60[1:-1:2] + at_60[3::2]) / 2, rtol=0, atol=0.3)
    assert np.allclose(at_120[1::2], at_60, rtol=0, atol=0.5)


def test_noise_depends_on_the_seed_alone(ball):
    def frames(seed):
        settings = physics(gravity_noise=5, gravity_seed=seed)
        return ball.pose(None, [10, 3, 30], physics=settings)

    assert same(frames(1), frames(1))
    assert len({frames(seed).bone_matrices.tobytes() for seed in range(20)}) == 20


def test_no_noise_is_no_change(ball):
    frames = np.arange(20)
    settled = ball.pose(None, frames, physics=physics(gravity_seed=7))
    assert same(settled, ball.pose(None, frames, physics=physics()))


def test_a_simulation_keeps_its_gravity_in_pickles():
    chain, swing = chains.load(chains.chain_file()), chains.swing()
    rows = np.linspace((0, -98, 0), (50, 0, 9), 30)
    settings = mmdskin.Physics(rows, gravity_noise=3, gravity_seed=4)
    simulation = mmdskin.Simulation(chain, swing, settings)
    rows[:] = 0  # it has copied them
    simulation.pose(10)
    assert np.array_equal(simulation.physics.gravity, np.linspace((0, -98, 0), (50, 0, 9), 30))
    assert (simulation.physics.gravity_noise, simulation.physics.gravity_seed) == (3, 4)
    other = pickle.loads(pickle.dumps(simulation))
    assert same(simulation.pose([60, 20]), other.pose([60, 20]))
    assert same(other.pose(50), chain.pose(swing, 50, physics=simulation.physics))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gravity": [DOWN, (0, float("nan"), 0)]}, r"gravity\[1, 1\]: nan, expected at most 1e6"),
        ({"gravity": [(2e6, 0, 0)]}, r"gravity\[0, 0\]: 2e\+06"),
        ({"gravity": np.zeros((0, 3))}, "Physics.gravity: no rows"),
        ({"gravity": np.zeros((4, 2))}, r"Physics.gravity: shape \(4, 2\)"),
        ({"gravity": np.zeros((1, 4, 3))}, "Physics.gravity: shape"),
        ({"gravity_noise": -1}, "gravity_noise: -1, expected 0 to 1e6"),
        ({"gravity_noise": float("nan")}, "gravity_noise: nan"),
        ({"gravity_seed": -1}, "Physics.gravity_seed: -1, expected 0 to 2147483647"),
    ],
)
def test_an_error_names_the_bad_gravity(ball, fields, words):
    settings = mmdskin.Physics(**fields)
    with pytest.raises(ValueError, match=words):
        mmdskin.Simulation(ball, None, settings)
    with pytest.raises(ValueError, match=words):
        ball.pose(physics=settings)
