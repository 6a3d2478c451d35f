# SPDX-License-Identifier: MIT
"""Wind drags bodies along by their linear damping, computed by hand."""

import copy
import pickle
from decimal import Decimal

import mmdskin
import numpy as np
import pytest
from physics import chains
from physics.chains import same
from physics.rigs import body, joint

STEP = 1 / 60
SIDE = (30.0, 0.0, 0.0)


def blown(bodies, seconds, joints=(), **settings):
    """The state of a world after some seconds in a wind from the side."""
    settings = {"wind": SIDE, "contacts": False, "additional_damping": False} | settings
    world = mmdskin.World(bodies, list(joints), **settings)
    for _ in range(round(seconds * 60)):
        world.step()
    return world.state


def test_damping_takes_a_free_body_along():
    """Half of the difference is left after each second, and half of that after the next one."""
    still = {"gravity": (0, 0, 0)}
    balls = [body(linear_damping=0.5)]
    assert np.allclose(blown(balls, 1, **still)[0, 7:], [15, 0, 0, 0, 0, 0], rtol=1e-12)
    assert np.allclose(blown(balls, 2, **still)[0, 7:], [22.5, 0, 0, 0, 0, 0], rtol=1e-12)


def test_a_body_that_falls_in_wind_has_its_terminal_velocity_relative_to_the_air():
    """Where one step of gravity is what damping takes: v = (v + h g) k, without wind."""
    left = 0.25**STEP
    (state,) = blown([body(linear_damping=0.75)], 40)
    terminal = -98 * STEP * left / (1 - left)
    assert np.allclose(state[7:10], [30, terminal, 0], rtol=1e-9)


@pytest.mark.parametrize("damping", [0.5, 0.75])
def test_in_still_air_damping_has_the_bits_of_its_formula(damping):
    """v = (v + h g) (1 - d)^h, as Bullet, which has no wind, rounds it."""
    left = float(Decimal(1 - damping) ** Decimal(STEP))  # the nearest number on every system
    gravity, velocity = np.array([-3.0, -98, 0.5]), np.array([0.3, 0.7, -0.1])
    world = mmdskin.World([body(linear_damping=damping)], [], contacts=False, gravity=gravity)
    world.state = np.hstack([world.state[:, :7], [[*velocity, 0, 0, 0]]])
    for _ in range(60):
        world.step()
        velocity = (velocity + STEP * gravity) * left
        assert world.state[0, 7:10].tobytes() == velocity.tobytes()


def test_a_body_without_damping_feels_no_wind():
    still = blown([body()], 1, wind=(0, 0, 0))
    assert np.allclose(blown([body()], 1), still, rtol=0, atol=1e-11)


@pytest.mark.parametrize("damping", [0.5, 0.75])
def test_a_pendulum_leans_as_gravity_and_drag_balance(damping):
    """At rest, a step adds h g k downwards and w (1 - k) to the side, where k is what is left."""
    free = {"rotation_lower": (1, 1, 1), "rotation_upper": (-1, -1, -1)}
    bodies = [
        body(mode="follow_bone"),
        body(position=(0, -5, 0), linear_damping=damping, angular_damping=0.9),
    ]
    state = blown(bodies, 30, [joint(0, 1, **free)], iterations=100)
    left = (1 - damping) ** STEP
    lean = 30 * (1 - left) / (98 * STEP * left)
    assert np.isclose(state[1, 0] / -state[1, 1], lean, rtol=2e-3)


def test_additional_damping_brings_bodies_to_rest_in_the_air():
    balls = [body(linear_damping=0.5)]
    breeze = {"gravity": (0, 0, 0), "additional_damping": True, "wind": (0.05, 0, 0)}
    assert np.allclose(blown(balls, 1, **breeze)[0, 7:], [0.05, 0, 0, 0, 0, 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("duplicate", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_keep_the_wind(duplicate):
    chain, swing = chains.load(chains.chain_file()), chains.swing()
    settings = mmdskin.Physics(wind=(40, 5, -3), settle=20)
    simulation = mmdskin.Simulation(chain, swing, settings)
    simulation.pose(10)
    other = duplicate(simulation)
    assert other.physics == settings
    assert same(simulation.pose([60, 20]), other.pose([60, 20]))
    assert same(other.pose(50), chain.pose(swing, 50, physics=settings))
    assert not same(other.pose(50), chain.pose(swing, 50, physics=mmdskin.Physics(settle=20)))


def test_wind_blows_along_the_axes_of_the_world():
    """A quarter turn about y takes x to -z: in the model's space, the wind comes from behind it."""
    file = chains.chain_file((chains.PHYSICS,))
    file.joints = []
    model = chains.load(file)
    calm = {"gravity": (0, 0, 0), "settle": 0, "ground": False}
    turned = [(0, 0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5))]
    physics = mmdskin.Physics(wind=SIDE, **calm)
    (found,) = mmdskin.Simulation([model], [None], physics, transforms=turned).pose(30)
    expected = model.pose(None, 30, physics=physics._replace(wind=(0, 0, 30)))
    assert np.allclose(found.bone_matrices, expected.bone_matrices, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("wind", "error", "words"),
    [
        ((0, float("nan"), 0), ValueError, "wind: nan, expected at most 1e6"),
        ((-1.1e6, 0, 0), ValueError, r"wind: -1.1e\+06, expected at most 1e6"),
        ((0, 0), ValueError, r"wind: shape \(2,\)"),
        (20, ValueError, r"wind: shape \(\), expected \(3,\)"),
        ("east", TypeError, "wind: dtype"),
    ],
)
def test_an_error_names_the_bad_wind(wind, error, words):
    with pytest.raises(error, match=words):
        mmdskin.World([body()], [], wind=wind)
    with pytest.raises(error, match=words):
        mmdskin.Simulation(chains.load(chains.chain_file()), None, mmdskin.Physics(wind=wind))
