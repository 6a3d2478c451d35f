# SPDX-License-Identifier: MIT
"""Laws of mechanics, computed by hand."""

from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
import pytest
from physics.rigs import body, joint

STEP = 1 / 60


def free_world(bodies, joints, additional_damping=False):
    """A world without gravity and contacts."""
    settings = {"gravity": (0, 0, 0), "contacts": False, "additional_damping": additional_damping}
    return mmdskin.World(bodies, joints, **settings)


def rotation_matrix(q):
    x, y, z, w = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def test_free_fall_with_damping_follows_the_closed_form():
    damping, start, speed = 0.3, np.array((1, 50, -2)), np.array((3, 7, 1))
    bodies = [body(position=start, linear_damping=damping, mass=2.5)]
    world = mmdskin.World(bodies, [], contacts=False, additional_damping=False)
    state = world.state.copy()
    state[0, 7:10] = speed
    world.state = state
    damping = float(np.float32(damping))
    factor, fall = (1 - damping) ** STEP, np.array((0, -98, 0)) * STEP
    for n in range(1, 121):
        world.step()
        # v(n) = factor (v(n-1) + fall), a geometric series
        terminal = factor * fall / (1 - factor)
        velocity = terminal + factor**n * (speed - terminal)
        distance = n * terminal + (speed - terminal) * factor * (1 - factor**n) / (1 - factor)
        assert np.abs(world.state[0, 7:10] - velocity).max() < 1e-9
        assert np.abs(world.state[0, :3] - start - distance * STEP).max() < 1e-9


def test_joints_conserve_momentum_and_angular_momentum():
    random = np.random.default_rng(5)
    sizes = random.uniform(0.3, 1, (4, 3))
    bodies = [
        body(
            shape="box",
            size=sizes[i],
            mass=1 + i,
            position=random.normal(size=3),
            rotation=random.normal(size=3),
        )
        for i in range(4)
    ]
    links = [(0, 1), (1, 2), (2, 3), (3, 0)]
    joints = [
        joint(a, b, position=random.normal(size=3), rotation=random.normal(size=3))
        for a, b in links
    ]
    world = free_world(bodies, joints)
    state = world.state.copy()
    state[:, :3] += random.normal(size=(4, 3)) * 0.1
    state[:, 7:] = random.normal(size=(4, 6))
    world.state = state

    def momenta(poses, velocities):
        linear, angular = np.zeros(3), np.zeros(3)
        for i, record in enumerate(bodies):
            squares = np.float32(sizes[i]).astype(float) ** 2
            inertia = record.mass / 3 * (squares.sum() - squares)
            basis = rotation_matrix(poses[i, 3:7])
            linear += record.mass * velocities[i, 7:10]
            angular += np.cross(poses[i, :3], record.mass * velocities[i, 7:10])
            angular += basis @ (inertia * (basis.T @ velocities[i, 10:]))
        return np.array([linear, angular])

    for _ in range(20):
        before = world.state
        world.step()
        # impulses act at the poses before the step
        assert np.abs(momenta(before, world.state) - momenta(before, before)).max() < 1e-9
    assert np.abs(world.state[:, 7:] - state[:, 7:]).max() > 0.1


def test_a_kinematic_body_moves_to_its_transform_with_a_matching_velocity():
    world = mmdskin.World([body(mode="follow_bone"), body(mode="physics")], [])
    quarter = np.sqrt(0.5)
    world.step([(1, 2, 3, 0, 0, 2 * quarter, 2 * quarter)])  # not normalized
    assert np.allclose(world.state[0, :7], (1, 2, 3, 0, 0, quarter, quarter), rtol=0, atol=1e-15)
    velocities = np.array((1, 2, 3, 0, 0, np.pi / 2)) * 60
    assert np.allclose(world.state[0, 7:], velocities, rtol=1e-14, atol=0)
    world.step()
    assert not world.state[0, 7:].any()


def test_a_spring_pulls_back_with_its_stiffness():
    """In one step velocity = force x time / mass, unless the motor factor reduces it."""
    free = {"translation_lower": (1, 0, 0), "translation_upper": (-1, 0, 0)}
    joints = [joint(0, 1, translation_spring=(5, 0, 0), **free)]
    world = free_world([body(mode="follow_bone"), body(mass=4)], joints)
    state = world.state.copy()
    state[1, 0] = 0.5
    world.state = state
    world.step()
    assert np.isclose(world.state[1, 7], -5 * 0.5 / 4 * STEP, rtol=1e-12)


def test_a_violated_limit_corrects_half_of_its_error():
    joints = [joint(0, 1, translation_lower=(-0.5, 0, 0), translation_upper=(0.25, 0, 0))]
    world = free_world([body(mode="follow_bone"), body()], joints)
    state = world.state.copy()
    state[1, 0] = 1.25
    world.state = state
    world.step()
    assert np.isclose(world.state[1, 0], 0.75, rtol=1e-12)


def test_only_additional_damping_brings_slow_bodies_to_rest():
    for extra in (True, False):
        world = free_world([body()], [], additional_damping=extra)
        state = world.state.copy()
        state[0, 7], state[0, 11] = 0.05, 0.02
        world.state = state
        world.step()
        factor = 0.005 if extra else 1
        assert np.allclose(world.state[0, [7, 11]], np.array((0.05, 0.02)) * factor, atol=1e-15)


def swing(seed):
    random = np.random.default_rng(seed)
    bodies = [body(mode="follow_bone")]
    bodies += [body(position=(0, -1 - i, 0), angular_damping=0.5) for i in range(8)]
    limit = {"rotation_lower": (-1, -0.2, -1), "rotation_upper": (1, 0.2, 1)}
    joints = [joint(i, i + 1, position=(0, -0.5 - i, 0), **limit) for i in range(8)]
    world = mmdskin.World(bodies, joints)
    for _ in range(100):
        world.step([(*random.normal(size=3), 0, 0, 0, 1)])
    return world.state.tobytes()


def test_the_same_bits_in_every_run_and_thread():
    alone = [swing(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(swing, range(4))) == alone
    assert len(set(alone)) == 4


def test_a_push_changes_velocities_by_impulse_and_torque():
    """A sphere's moment of inertia is 0.4 m r squared."""
    ball = body(shape="sphere", size=(2, 0, 0), mass=5)
    world = free_world([ball, ball._replace(mode="follow_bone")], [])
    for index in range(2):
        world.apply_impulse(index, (10, 0, -5), torque=(0, 16, 0))
    assert np.allclose(world.state[0, 7:], [2, 0, -1, 0, 2, 0], rtol=1e-12)
    assert not world.state[1, 7:].any()


@pytest.mark.parametrize(
    "index, impulse, message",
    [
        (1, (0, 0, 0), "body: 1, expected 0 to 0"),
        (-1, (0, 0, 0), "body: -1, expected 0 to 0"),
        (10**400, (0, 0, 0), "body: 1000"),
        (0, (10**400, 0, 0), "impulse: a number is too large"),
        (0, (0, 1e9, 0), "velocity 1e\\+09"),
        (0, (np.nan, 0, 0), "velocity nan"),
    ],
)
def test_a_push_that_cannot_be_changes_nothing(index, impulse, message):
    world = free_world([body(mass=1)], [])
    with pytest.raises(ValueError, match=message):
        world.apply_impulse(index, impulse)
    assert not world.state[0, 7:].any()


def test_the_ground_of_a_world_is_at_its_height():
    ball = body(shape="sphere", size=(1, 0, 0), position=(0, 9, 0), mass=1)
    world = mmdskin.World([ball], [], ground=5.0)
    for _ in range(120):
        world.step()
    assert np.isclose(world.state[0, 1], 6, atol=0.01)


def test_strain_is_the_distance_beyond_the_limits_of_a_joint():
    world = free_world([body(mode="follow_bone"), body(mass=1)], [joint(0, 1)])
    state = world.state.copy()
    state[1, :3] += (3, 4, 0)
    world.state = state
    assert np.allclose(world.strain, [[5, 0]], atol=1e-12)
