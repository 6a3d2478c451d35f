# SPDX-License-Identifier: MIT
"""Worlds that no valid file describes: an error that names the value, or a finite result."""

import re
import threading

import mmdskin
import numpy as np
import pytest
from physics.rigs import body, joint

PAIR = [body(), body(position=(0, 2, 0))]


@pytest.mark.parametrize(
    ("bodies", "joints", "text"),
    [
        ([body(mass=np.nan)], [], "body 0: mass is NaN"),
        ([body(), body(size=(1, np.inf, 1))], [], "body 1: size is infinite"),
        ([body(size=(1, 1, 1e300))], [], "body 0: size is infinite"),
        ([body(size=(-1, 1, 1))], [], "body 0: size -1 is negative"),
        ([body(mass=-2)], [], "body 0: mass -2 is negative"),
        ([*PAIR, body(position=(0, -2e6, 0))], [], "body 2: position -2e+06, expected at most 1e6"),
        ([body(group=16)], [], "body 0: group 16 of 16"),
        ([body(group=-1)], [], "bodies[0].group: -1, expected 0 to 255"),
        (
            [body(shape="cone")],
            [],
            'bodies[0].shape: "cone" is unknown, expected "sphere", "box" or "capsule"',
        ),
        ([body(position=(1, 2))], [], "bodies[0].position: length 2, expected 3"),
        (PAIR, [joint(0, 2)], "joint 0: body 2 of 2"),
        (PAIR, [joint(0, -2)], "joint 0: body -2 of 2"),
        (PAIR, [joint(0, 1), joint(0, 1, rotation=(np.nan, 0, 0))], "joint 1: rotation is NaN"),
    ],
)
def test_an_error_names_the_bad_value(bodies, joints, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        mmdskin.World(bodies, joints)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"hz": 0}, "hz: 0, expected 1 to 100000"),
        ({"hz": np.nan}, "hz: nan, expected 1 to 100000"),
        ({"iterations": 0}, "iterations: 0, expected 1 to 1000"),
        ({"iterations": 2**40}, "iterations: 1099511627776, expected 1 to 1000"),
        ({"iterations": -(2**70)}, f"iterations: {-(2**70)}, expected 1 to 1000"),
        ({"gravity": (0, np.inf, 0)}, "gravity: inf"),
        ({"gravity": (0, 1)}, "gravity: shape (2,), expected (3,)"),
        ({"joint_order": [1]}, "joint_order[0]: joint 1 of 1"),
        ({"joint_order": [0, 0]}, "joint_order[1]: joint 0 is listed twice"),
    ],
)
def test_an_error_names_the_bad_setting(settings, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        mmdskin.World(PAIR, [joint(0, 1)], **settings)


@pytest.mark.parametrize("records", [[1], 1, [None], [object()]])
def test_anything_but_records_is_a_type_error(records):
    with pytest.raises(TypeError, match="^bodies"):
        mmdskin.World(records, [])
    with pytest.raises(TypeError, match="^joints"):
        mmdskin.World(PAIR, records)


def test_bad_states_and_transforms_change_nothing():
    world = mmdskin.World([body(mode="follow_bone"), body()], [])
    before = world.state.tobytes()
    bad = np.array(world.state)
    bad[1, 8] = np.nan
    with pytest.raises(ValueError, match=re.escape("state[1, 8]: nan, expected at most 1e6")):
        world.state = bad
    with pytest.raises(ValueError, match=re.escape("state: shape (1, 13), expected (2, 13)")):
        world.state = bad[:1]
    with pytest.raises(ValueError, match=re.escape("transforms[0]: quaternion of zero length")):
        world.step(np.zeros((1, 7)))
    with pytest.raises(ValueError, match=re.escape("transforms: shape (2, 7), expected (1, 7)")):
        world.step(np.ones((2, 7)))
    with pytest.raises(ValueError):
        world.state[0, 0] = 1  # read-only: the whole state has to be assigned
    assert world.state.tobytes() == before


def run(bodies, joints, steps=30, **settings):
    """The final state; every state in between can be written back."""
    world = mmdskin.World(bodies, joints, **settings)
    for _ in range(steps):
        world.step()
        assert np.isfinite(world.state).all()
        assert not np.isnan(world.points).any()
        mmdskin.World(bodies, joints).state = world.state
    return world.state


@pytest.mark.parametrize("shape", ["sphere", "box", "capsule"])
@pytest.mark.parametrize("size", [0, 1e-30, 1e30])
@pytest.mark.parametrize("mass", [0, 1e-30, 1e30])
def test_any_size_and_mass_stays_finite(shape, size, mass):
    odd = {"shape": shape, "size": (size, size, size), "mass": mass}
    bodies = [body(mode="follow_bone"), body(position=(0, -3, 0), **odd), body(position=(0, -6, 0))]
    run(bodies, [joint(0, 1), joint(1, 2, position=(0, -4, 0), rotation_spring=(1e30, 5, 5))])


def test_a_body_without_mass_stays():
    state = run([body(mass=0, position=(0, 5, 0)), body(position=(0, 4, 0))], [joint(0, 1)])
    assert np.array_equal(state[0], [0, 5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])


def test_joints_that_do_not_connect_two_bodies_do_nothing():
    odd = [joint(0, 0), joint(-1, 1), joint(1, -1), joint(-1, -1)]
    assert run(PAIR, odd).tobytes() == run(PAIR, []).tobytes()


def test_a_cycle_of_joints_and_inverted_limits_stay_finite():
    bodies = [body(position=(i, i % 2, 0)) for i in range(6)]
    wild = {"rotation_lower": (3, -3, 9), "rotation_upper": (-3, 3, -9)}
    run(bodies, [joint(i, (i + 1) % 6, **wild) for i in range(6)] * 3)


def test_a_body_that_would_leave_the_range_stops():
    world = mmdskin.World([body()], [], gravity=(1e6, 0, 0), contacts=False)
    state = np.array(world.state)
    state[0, 0], state[0, 7] = 999_999, 900_000
    world.state = state
    world.step()
    assert np.array_equal(world.state[0, [0, 7]], [999_999, 0])


def test_the_velocity_of_a_jumping_kinematic_body_is_clamped():
    world = mmdskin.World([body(mode="follow_bone")], [], hz=65536)
    world.step([[1e6, -1e6, 0.5, 0, 0, 0, 1]])
    assert np.array_equal(world.state[0, 7:10], [1e6, -1e6, 32768])
    world.state = world.state


def test_an_infinite_impulse_affects_only_its_own_body():
    """A capsule of nearly infinite height overlaps a kinematic body with another child."""
    kinematic = body(mode="follow_bone", position=(-0.004507475243870346, 1, -0.9745324444382996))
    infinite = body(
        shape="capsule",
        size=(2.1532179163586935, 3.4e38, 0.6),
        rotation=(-2.2342186946199236, 1.277510326835054, -0.338674151058376),
        mass=1.8859538639189053,
        group=1,
    )
    child = body(position=(0, 30, 0), group=2, mask=0)
    limits = {"translation_lower": (-9, -9, -9), "translation_upper": (9, 9, 9)}
    alone = run([kinematic, child], [joint(0, 1, **limits)])
    beside = run([kinematic, infinite, child], [joint(0, 2, **limits)])
    assert beside[[0, 2]].tobytes() == alone.tobytes()


def test_random_values_stay_finite():
    random = np.random.default_rng(3)
    for _ in range(100):
        scale = 10.0 ** random.uniform(-6, 6, 3)
        bodies = [
            body(
                shape=random.choice(["sphere", "box", "capsule"]),
                mode=random.choice(["follow_bone", "physics", "physics_and_bone"]),
                size=abs(random.normal(size=3)) * scale[0],
                position=np.clip(random.normal(size=3) * scale[1], -1e6, 1e6),
                rotation=random.normal(size=3) * 9,
                mass=random.choice([0, 1, scale[2]]),
                linear_damping=random.normal() * 3,
                angular_damping=random.normal() * 3,
            )
            for _ in range(5)
        ]
        joints = [
            joint(
                *random.integers(-1, 5, 2),
                **{
                    name: random.normal(size=3) * 10.0 ** random.uniform(-6, 6)
                    for name in mmdskin.Joint._fields[5:]
                },
            )
            for _ in range(6)
        ]
        run(bodies, joints, steps=10)


def test_a_worst_case_for_quicksort_does_not_overflow_the_stack():
    """The pivot is always the largest island, so that an unlimited recursion exhausts a small stack."""
    islands = []
    for i in range(20_000):
        islands.append(i)
        middle = i // 2
        islands[middle], islands[i] = islands[i], islands[middle]
    bodies = [body(mode="follow_bone"), *[body()] * len(islands)]
    world = mmdskin.World(bodies, [joint(0, 1 + i) for i in islands], contacts=False)
    usual = threading.stack_size(1 << 18)
    thread = threading.Thread(target=world.step)
    thread.start()
    threading.stack_size(usual)
    thread.join()
    assert world.state[1, 1] < 0 and np.isfinite(world.state).all()


@pytest.mark.parametrize("extent", [0, 3, 300])
def test_thousands_of_bodies_stay_finite(extent):
    """All at one point, in a heap, and spread out."""
    random = np.random.default_rng(4)
    bodies = [
        body(shape=("sphere", "box", "capsule")[i % 3], position=random.normal(size=3) * extent)
        for i in range(5000)
    ]
    joints = [joint(i, (i + 1) % 5000, rotation_upper=(1, 1, 1)) for i in range(5000)]
    run(bodies, joints, steps=2)
