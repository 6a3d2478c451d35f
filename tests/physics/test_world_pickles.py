# SPDX-License-Identifier: MIT
"""Worlds can be pickled and copied between any two steps."""

import copy
import pickle

import mmdskin
import numpy as np
import pytest
from physics.rigs import body, joint


def heap(**settings):
    """A kinematic box that a chain hangs on, and things that fall onto each other and the ground."""
    bodies = [body(shape="box", mode="follow_bone", position=(0, 8, 0))]
    for i in range(1, 6):
        shape = ("sphere", "box", "capsule")[i % 3]
        place = (0.3 * i, 8 - 1.5 * i, 0.1 * i)
        bodies.append(body(shape=shape, size=(0.7, 0.8, 0.6), position=place, restitution=0.3))
    joints = [joint(0, 1, position=(0, 7, 0)), joint(1, 2, position=(0.4, 5.5, 0.1))]
    return mmdskin.World(bodies, joints, **settings)


def step(world, times, first=0):
    for i in range(first, first + times):
        world.step([(np.sin(i / 5), 8, 0, 0, 0, 0, 1)])


def same(a, b):
    return a.state.tobytes() == b.state.tobytes() and a.points.tobytes() == b.points.tobytes()


SETTINGS = [
    {},
    {
        "gravity": (1, -50, 0),
        "hz": 120,
        "iterations": 4,
        "ground": 0.5,
        "additional_damping": False,
        "wind": (9, 2, -30),
    },
    {"ground": False, "contacts": False, "collide_connected": False, "joint_order": [1, 0]},
]
COPIES = [copy.copy, copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("duplicate", COPIES)
def test_a_copy_has_the_contacts_and_continues_with_the_same_bits(duplicate, settings):
    world = heap(**settings)
    step(world, 40)
    other = duplicate(world)
    assert len(world.points) > 0 or not settings.get("contacts", True)
    assert same(world, other) and world.strain.tobytes() == other.strain.tobytes()
    step(other, 30, first=40)
    assert not same(world, other)
    step(world, 30, first=40)
    assert same(world, other)


def test_the_contacts_of_a_pickle_matter():
    world, without = heap(), heap()
    step(world, 40)
    without.state = world.state  # clears the contacts
    step(world, 1, first=40), step(without, 1, first=40)
    assert not same(world, without)


def test_the_bytes_of_a_pickle_depend_on_the_steps_alone():
    """Whatever was in memory before: contacts come and go between the two."""
    one, other = heap(), heap()
    for _ in range(7):
        other.step([(0, 4, 0, 0, 0, 0, 1)])
    other.state = one.state
    step(one, 40), step(other, 40)
    assert pickle.dumps(one) == pickle.dumps(other)
    assert pickle.dumps(pickle.loads(pickle.dumps(one))) == pickle.dumps(one)


def test_a_world_of_nothing_can_be_pickled():
    world = pickle.loads(pickle.dumps(mmdskin.World([], [], joint_order=[])))
    world.step()
    assert world.state.shape == (0, 13)


def damaged(state):
    yield b""
    yield state[:-1]
    yield state + b"\0"
    yield b"\xff" + state[1:]  # the layout
    for number in (np.nan, np.inf):
        yield state[:8] + np.float64(number).tobytes() + state[16:]  # a position
        yield state[:-16] + np.float64(number).tobytes() + state[-8:]  # an impulse
    yield state[:-8] + np.float64(-1).tobytes()  # the age of a contact
    yield state[:-8] + np.float64(1e10).tobytes()


def test_damaged_states_are_refused():
    world = heap()
    step(world, 40)
    state, before = world.__getstate__(), world.state
    for bad in damaged(state):
        with pytest.raises(ValueError, match="state: not valid for this world"):
            world.__setstate__(bad)
        assert world.state.tobytes() == before.tobytes()
    with pytest.raises(ValueError, match="not valid"):
        mmdskin.World([body()], []).__setstate__(state)
    with pytest.raises(TypeError):
        world.__setstate__(3)
