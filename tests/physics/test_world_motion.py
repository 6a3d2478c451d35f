# SPDX-License-Identifier: MIT
"""Laws of motion, by hand."""

from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
from physics.rigs import body, joint

STEP = 1 / 60


def free_world(bodies, joints, damping_extra=False):
    """Without weight and contacts."""
    settings = {"gravity": (0, 0, 0), "contacts": False, "damping_extra": damping_extra}
    return mmdskin.World(bodies, joints, **settings)


def rotation_matrix(q):
    x, y, z, w = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def test_free_fall_with_damping_is_the_closed_form():
    damping, start, speed = 0.3, np.array((1, 50, -2)), np.array((3, 7, 1))
    bodies = [body(position=start, linear_damping=damping, mass=2.5)]
    world = mmdskin.World(bodies, [], contacts=False, damping_extra=False)
    state = world.state.copy()
    state[0, 7:10] = speed
    world.state = state
    damping = float(np.float32(damping))
    kept, fall = (1 - damping) ** STEP, np.array((0, -98, 0)) * STEP
    for n in range(1, 121):
        world.step()
        # v(n) = kept (v(n-1) + fall), a geometric series
        end = kept * fall / (1 - kept)
        velocity = end + kept**n * (speed - end)
        way = n * end + (speed - end) * kept * (1 - kept**n) / (1 - kept)
        assert np.abs(world.state[0, 7:10] - velocity).max() < 1e-9
        assert np.abs(world.state[0, :3] - start - way * STEP).max() < 1e-9


def test_joints_keep_momentum_and_angular_momentum():
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

    def momenta(places, motion):
        total, turning = np.zeros(3), np.zeros(3)
        for i, record in enumerate(bodies):
            squares = np.float32(sizes[i]).astype(float) ** 2
            own = record.mass / 3 * (squares.sum() - squares)
            axes = rotation_matrix(places[i, 3:7])
            total += record.mass * motion[i, 7:10]
            turning += np.cross(places[i, :3], record.mass * motion[i, 7:10])
            turning += axes @ (own * (axes.T @ motion[i, 10:]))
        return np.array([total, turning])

    for _ in range(20):
        before = world.state
        world.step()
        # impulses act where the step found the bodies
        assert np.abs(momenta(before, world.state) - momenta(before, before)).max() < 1e-9
    assert np.abs(world.state[:, 7:] - state[:, 7:]).max() > 0.1


def test_a_follower_is_where_it_was_sent_and_moves_by_the_way():
    world = mmdskin.World([body(mode="follow_bone"), body(mode="physics")], [])
    quarter = np.sqrt(0.5)
    world.step([(1, 2, 3, 0, 0, 2 * quarter, 2 * quarter)])  # any length
    assert np.allclose(world.state[0, :7], (1, 2, 3, 0, 0, quarter, quarter), rtol=0, atol=1e-15)
    motion = np.array((1, 2, 3, 0, 0, np.pi / 2)) * 60
    assert np.allclose(world.state[0, 7:], motion, rtol=1e-14, atol=0)
    world.step()
    assert not world.state[0, 7:].any()


def test_a_spring_pulls_back_with_its_stiffness():
    """One step: velocity = force x time / mass, where the limiter leaves it."""
    free = {"translation_lower": (1, 0, 0), "translation_upper": (-1, 0, 0)}
    ties = [joint(0, 1, translation_spring=(5, 0, 0), **free)]
    world = free_world([body(mode="follow_bone"), body(mass=4)], ties)
    state = world.state.copy()
    state[1, 0] = 0.5
    world.state = state
    world.step()
    assert np.isclose(world.state[1, 7], -5 * 0.5 / 4 * STEP, rtol=1e-12)


def test_a_violated_limit_gives_back_half_of_its_error():
    ties = [joint(0, 1, translation_lower=(-0.5, 0, 0), translation_upper=(0.25, 0, 0))]
    world = free_world([body(mode="follow_bone"), body()], ties)
    state = world.state.copy()
    state[1, 0] = 1.25
    world.state = state
    world.step()
    assert np.isclose(world.state[1, 0], 0.75, rtol=1e-12)


def test_slow_bodies_come_to_rest_by_extra_damping_alone():
    for extra in (True, False):
        world = free_world([body()], [], damping_extra=extra)
        state = world.state.copy()
        state[0, 7], state[0, 11] = 0.05, 0.02
        world.state = state
        world.step()
        kept = 0.005 if extra else 1
        assert np.allclose(world.state[0, [7, 11]], np.array((0.05, 0.02)) * kept, atol=1e-15)


def swing(seed):
    random = np.random.default_rng(seed)
    bodies = [body(mode="follow_bone")]
    bodies += [body(position=(0, -1 - i, 0), angular_damping=0.5) for i in range(8)]
    limit = {"rotation_lower": (-1, -0.2, -1), "rotation_upper": (1, 0.2, 1)}
    ties = [joint(i, i + 1, position=(0, -0.5 - i, 0), **limit) for i in range(8)]
    world = mmdskin.World(bodies, ties)
    for _ in range(100):
        world.step([(*random.normal(size=3), 0, 0, 0, 1)])
    return world.state.tobytes()


def test_the_same_bits_in_every_run_and_thread():
    alone = [swing(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(swing, range(4))) == alone
    assert len(set(alone)) == 4
