# SPDX-License-Identifier: MIT
"""A simulation that is saved and restored after any operation continues with the same bytes."""

import copy
import pickle

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import chains
from physics.rigs import body, joint

FRAMES = 30


@pytest.fixture(scope="module")
def colliding():
    """A chain that hits itself and the ground, and reports that."""
    file = chains.chain_file(height=4.0)
    for one in file.rigid_bodies:
        one.mask = 0xFFFF
    file.rigid_bodies[2].mode = chains.PHYSICS_AND_BONE
    file.joints.append(pmx.Joint("loose", body_a=1, body_b=-1))
    kick = np.float32([(0, 0, 3, 1, 0, 0, 0)])
    file.morphs.append(pmx.Morph("kick", kind=10, indices=np.int32([3]), values=kick))
    file.version = 2.1
    return chains.load(file)


def settings(rng):
    return mmdskin.Physics(
        hz=float(rng.choice([60, 45, 120])),
        gravity=rng.normal(0, 60, (FRAMES, 3)) if rng.random() < 0.5 else (0, -98, 0),
        gravity_noise=2.0 * rng.integers(2),
        wind=(20, 0, 5) if rng.random() < 0.5 else (0, 0, 0),
        settle=int(rng.choice([0, 3, 40])),
        teleport=float(rng.choice([0, 2])),
    )


def target(rng, bones):
    """Arguments of step(): a move, now and then a jump, with switches."""
    move = rng.normal(0, 40 if rng.random() < 0.2 else 0.5, 3)
    rotation = rng.normal(0, 1, 4)
    return {
        "translations": {"root": (move, rotation / np.linalg.norm(rotation))},
        "morph_weights": [rng.random()] if rng.random() < 0.5 else None,
        "physics": bool(rng.random() < 0.9) if rng.random() < 0.4 else rng.random(bones) < 0.7,
        "ik": bool(rng.random() < 0.5),
        "seconds": float(rng.choice([0, 1e-9, 1 / 300, 1 / 70, 1 / 30, 0.11])),
        "gravity": tuple(rng.normal(0, 60, 3)) if rng.random() < 0.5 else None,
    }


def for_all(simulation, arguments):
    """The same for a list of models, of which the last one has a motion."""
    if not isinstance(simulation.model, tuple):
        return arguments
    return {
        name: value
        if name in ("seconds", "gravity") or isinstance(value, bool)
        else [value, None if name != "physics" else True]
        for name, value in arguments.items()
    }


def operations(rng, simulation):
    """Closures that act on a simulation like this one and return its pose."""
    takes_steps = (
        None in simulation.motion if isinstance(simulation.model, tuple) else not simulation.motion
    )
    bones = len(
        (simulation.model if isinstance(simulation.model, tuple) else [simulation.model])[0].bones
    )
    for _ in range(7):
        kind = rng.random()
        if takes_steps and kind < 0.75:
            arguments = for_all(simulation, target(rng, bones))
            yield lambda one, arguments=arguments: one.step(**arguments)
        elif kind < 0.8:
            yield lambda one: one.reset()
        else:
            frame = float(rng.choice([0, 0.3, 2, 7.25, 20, 310]))  # 600 steps are a checkpoint
            yield lambda one, frame=frame: one.pose(frame)


def observed(simulation, pose):
    """All that a caller can see."""
    poses = pose if isinstance(simulation.model, tuple) and pose else [pose or ()]
    strain = simulation.strain if isinstance(simulation.strain, tuple) else [simulation.strain]
    arrays = [array.tobytes() for one in [*poses, strain] for array in one]
    return arrays, simulation.frame, simulation.notes


def runs(model, seed):
    rng = np.random.default_rng(seed)
    motion = chains.swing(FRAMES) if seed % 3 == 0 else None
    if seed % 4 == 1:
        return rng, mmdskin.Simulation(
            [model, model],
            [None, chains.swing(FRAMES)],
            settings(rng),
            transforms=[(0,) * 6 + (1,), (1, 0, 0, 0, 0, 0.6, 0.8)],
        )
    return rng, mmdskin.Simulation(model, motion, settings(rng))


@pytest.mark.parametrize("seed", range(40))
def test_a_simulation_continues_with_the_same_bytes_from_a_save_after_any_operation(
    colliding, seed
):
    rng, simulation = runs(colliding, seed)
    copies = [pickle.loads(pickle.dumps(simulation))]
    for act in operations(rng, simulation):
        expected = observed(simulation, act(simulation))
        for other in copies:
            assert observed(other, act(other)) == expected
        copies.append(pickle.loads(pickle.dumps(simulation)))
        assert observed(copies[-1], None)[1:] == expected[1:]
        assert pickle.dumps(copies[-1]) == pickle.dumps(simulation)


def test_a_copy_of_a_simulation_has_its_notes(colliding):
    simulation = mmdskin.Simulation(colliding, None, mmdskin.Physics(teleport=1))
    for x in (0, 9):
        simulation.step({"root": ((x, 0, 0), None)})
    assert len(simulation.notes) >= 2  # of the model, and of the run
    assert copy.copy(simulation).notes == simulation.notes


def test_a_state_of_an_older_version_is_refused_with_its_reason(colliding):
    """Version 0.2 saved 48 bytes, in its fifth layout, before pose and world."""
    simulation = mmdskin.Simulation(colliding)
    expected = simulation.pose(3)
    old = np.uint64((48 << 32) + 5).tobytes() + bytes(5000)
    with pytest.raises(ValueError, match="state: saved by another version of mmdskin"):
        simulation.__setstate__(old)
    assert chains.same(simulation.pose(3), expected)


def act_on_world(rng, world):
    """A random operation of a World, to be repeated."""
    kind, count = rng.integers(5), len(world.state)
    if kind == 0:
        arguments = (int(rng.integers(count)), rng.normal(0, 5, 3), rng.normal(0, 5, 3))
        return lambda one: one.apply_impulse(*arguments)
    if kind == 1:
        state = world.state + rng.normal(0, 0.1, world.state.shape)
        return lambda one: setattr(one, "state", state)
    transforms = None if kind == 2 else [(*rng.normal((0, 8, 0), 0.1), 0, 0, 0, 1)]
    return lambda one: [one.step(transforms) for _ in range(3)]


@pytest.mark.parametrize("seed", range(10))
def test_a_world_continues_with_the_same_bytes_from_a_save_after_any_operation(seed):
    rng = np.random.default_rng(seed)
    bodies = [body(shape="box", mode="follow_bone", position=(0, 8, 0))]
    bodies += [
        body(
            shape=("sphere", "box", "capsule")[i % 3],
            size=(0.7, 0.8, 0.6),
            position=(0.3 * i, 8 - 1.5 * i, 0),
        )
        for i in range(1, 6)
    ]
    world = mmdskin.World(
        bodies, [joint(0, 1, position=(0, 7, 0)), joint(1, 2, position=(0.4, 5.5, 0.1))]
    )
    copies = []
    for _ in range(12):
        act = act_on_world(rng, world)
        act(world)
        for other in copies:
            act(other)
            assert pickle.dumps(other) == pickle.dumps(world)
            assert other.points.tobytes() == world.points.tobytes()
        copies.append(pickle.loads(pickle.dumps(world)))
