# SPDX-License-Identifier: MIT
"""Absurd models and motions: a clear error, or finite poses in bounded time."""

import itertools
import pickle
import struct
from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from judges.growth import within
from physics import chains
from physics.chains import FOLLOW_BONE, PHYSICS, PHYSICS_AND_BONE, chain_file, load, same

RUN = np.arange(20)
HUGE = 3e38


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


def with_body(**fields):
    file = chain_file()
    for name, value in fields.items():
        setattr(file.rigid_bodies[2], name, value)
    return load(file)


def with_joint(**fields):
    file = chain_file()
    for name, value in fields.items():
        setattr(file.joints[1], name, value)
    return load(file)


def assert_valid(model, motion, **settings):
    pose = model.pose(motion, RUN, physics=mmdskin.Physics(**settings))
    assert np.isfinite(pose.bone_matrices).all()
    rotations = pose.bone_matrices[..., :3, :3].astype(float)
    assert np.allclose(rotations @ np.swapaxes(rotations, -1, -2), np.eye(3), atol=1e-5)
    return pose


@pytest.mark.parametrize(
    "fields",
    [
        {"size": (0, 0, 0)},
        {"size": (HUGE, HUGE, HUGE), "mask": 0xFFFF},
        {"mass": 0.0},
        {"mass": 1e-45},
        {"mass": HUGE},
        {"linear_damping": -5.0, "angular_damping": 7.0},
        {"linear_damping": HUGE, "angular_damping": -HUGE},
        {"restitution": HUGE, "friction": HUGE, "mask": 0xFFFF},
        {"rotation": (HUGE, -HUGE, 1e10)},
    ],
)
@pytest.mark.parametrize("shape", [0, 1, 2])
def test_bodies_with_extreme_values(swing, fields, shape):
    assert_valid(with_body(shape=shape, **fields), swing)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"size": (1, -1, 1), "shape": 1}, "body 2: size -1 is negative"),
        ({"mass": -2.0}, "body 2: mass -2 is negative"),
        ({"position": (0, 2e6, 0)}, "body 2: position 2e\\+06, expected at most 1e6"),
    ],
)
def test_an_error_names_the_bad_body(fields, words):
    with pytest.raises(ValueError, match=words):
        mmdskin.Simulation(with_body(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"translation_lower": (1, 1, 1), "translation_upper": (-1, -1, -1)},
        {"translation_lower": (-HUGE,) * 3, "translation_upper": (HUGE,) * 3},
        {"rotation_lower": (HUGE,) * 3, "rotation_upper": (-HUGE,) * 3},
        {"rotation_lower": (-7, -7, -7), "rotation_upper": (-6, -6, -6)},
        {"translation_spring": (HUGE,) * 3, "translation_upper": (9, 9, 9)},
        {"rotation_spring": (-HUGE,) * 3},
        {"body_a": 2, "body_b": 2},
        {"body_a": -1},
        {"body_a": 99, "body_b": -1},
        {"position": (HUGE, 0, -HUGE)},
        {"rotation": (HUGE, HUGE, HUGE)},
    ],
)
def test_joints_with_extreme_values(swing, fields):
    assert_valid(with_joint(**fields), swing)


def test_every_body_may_be_joined_to_every_other(swing):
    file = chain_file()
    pairs = itertools.product(range(5), range(5))
    file.joints = [chains.joint(a, b, (a, 20 - b, 0)) for a, b in pairs]
    assert_valid(load(file), swing)


def test_five_thousand_bodies_take_bounded_time():
    """A heap of bodies that collide, each on its own bone, all joined in a ring."""
    file = pmx.PMX(bones=[pmx.Bone("root")])
    count = 5000
    positions = np.random.default_rng(1).uniform(0, 40, (count, 3))
    for i, position in enumerate(positions):
        file.bones.append(pmx.Bone(f"b{i}", position=tuple(position), parent=max(0, i - 1)))
        file.rigid_bodies.append(
            pmx.RigidBody("", bone=i + 1, position=tuple(position), mode=PHYSICS)
        )
        file.joints.append(chains.joint(i, (i + 1) % count, tuple(position)))
    model = load(file)
    with within(60):
        pose = model.pose(None, [0, 2], physics=mmdskin.Physics(settle=1))
    assert np.isfinite(pose.bone_matrices).all()


def test_a_motion_beyond_the_range_of_positions():
    frames = [0, 5, 6, 12]
    far = 1e10  # the limit of numbers
    moves = [(0, 0, 0), (far, -far, far), (-far, 0, 0), (0, 0, 0)]
    motion = mmdskin.Motion.from_tracks([("root", frames, moves, None, None)])
    simulation = mmdskin.Simulation(load(chain_file()), motion)
    pose = simulation.pose(RUN)
    assert np.isfinite(pose.bone_matrices).all()
    assert any("beyond 1e6 units" in note for note in simulation.notes)


@pytest.mark.parametrize("seed", range(40))
def test_random_models_stay_finite(seed, swing):
    """With random limits, masks, modes and shapes a single frame equals that of the run, and physics
    does not move the root."""
    rng = np.random.default_rng(seed)
    modes = rng.choice([FOLLOW_BONE, PHYSICS, PHYSICS_AND_BONE], 5)
    file = chain_file(tuple(int(mode) for mode in modes), height=float(rng.uniform(1, 20)))
    for body in file.rigid_bodies:
        body.shape, body.mask = int(rng.integers(3)), int(rng.integers(2)) * 0xFFFF
        body.size, body.mass = tuple(rng.uniform(0.05, 1, 3)), float(rng.uniform(0.1, 5))
    for joint in file.joints:
        joint.kind = int(rng.integers(6))
        for name in ("translation_lower", "translation_upper", "rotation_lower", "rotation_upper"):
            setattr(joint, name, tuple(rng.uniform(-1, 1, 3) * rng.integers(2, size=3)))
        joint.rotation_spring = tuple(rng.uniform(0, 100, 3))
    file.version = 2.1
    model = load(file)
    pose = assert_valid(model, swing)
    assert same(model.pose(swing, 13, physics=True), [array[13] for array in pose])
    assert same([pose.bone_matrices[:, 0]], [model.pose(swing, RUN).bone_matrices[:, 0]])


# Threads and pickles


def test_threads_share_one_simulation_or_have_their_own(swing):
    model = load(chain_file())
    expected = model.pose(swing, RUN, physics=True)
    shared = mmdskin.Simulation(model, swing)

    def work(number):
        own = mmdskin.Simulation(model, swing)
        for frame in np.random.default_rng(number).permutation(RUN)[:8]:
            pose = [array[frame] for array in expected]
            if not same(own.pose(frame), pose) or not same(shared.pose(frame), pose):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_a_pickled_simulation_has_the_same_frames(swing):
    simulation = mmdskin.Simulation(load(chain_file()), swing, mmdskin.Physics(hz=120), ik=False)
    simulation.pose(10)
    copy = pickle.loads(pickle.dumps(simulation))
    assert copy.physics == simulation.physics
    assert (copy.frame, copy.strain.tolist()) == (10, simulation.strain.tolist())
    assert same(copy.pose(RUN), simulation.pose(RUN))


def test_a_pickled_simulation_continues_with_the_same_steps():
    file = chain_file(height=4.0)
    for body in file.rigid_bodies:
        body.mask = 0xFFFF
    simulation = mmdskin.Simulation(load(file))
    for x in range(20):
        simulation.step({"root": ((x / 4, 0, 0), None)})
    copy = pickle.loads(pickle.dumps(simulation))
    for x in range(20, 40):
        move = {"root": ((x / 4, 0, 0), None)}
        assert same(copy.step(move), simulation.step(move))


def test_invalid_saved_states_are_refused(swing):
    simulation = mmdskin.Simulation(load(chain_file(height=2.0)), swing)
    simulation.pose(60)
    state = simulation.__getstate__()
    rng = np.random.default_rng(1)
    for cut in (0, 10, 40, len(state) - 1):
        with pytest.raises(ValueError, match="not valid for this simulation"):
            simulation.__setstate__(state[:cut])
    refused = 0
    for _ in range(300):
        bad = bytearray(state)
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        try:
            simulation.__setstate__(bytes(bad))
        except ValueError:
            refused += 1
        assert np.isfinite(simulation.pose([60, 61]).bone_matrices).all()
    assert refused > 10
    with pytest.raises(TypeError):
        simulation.__setstate__("x")


def test_runs_from_many_saved_states_are_remembered_in_bounded_memory():
    """Each passes a step that is a multiple of all intervals at which states are kept."""
    simulation, simulated = mmdskin.Simulation(load(chain_file())), struct.Struct("=d")
    simulation.pose(0)
    state = bytearray(simulation.__getstate__())
    assert simulated.unpack_from(state, 24) == (0,)  # steps, of which a frame is two
    for step in range(256, 100 * 256, 256):
        simulated.pack_into(state, 24, 600 * step - 1)
        simulation.__setstate__(bytes(state))
        assert np.isfinite(simulation.pose(300 * step).bone_matrices).all()


def test_bodies_that_start_out_of_range_start_at_rest_each_time():
    moves = [(3e6, 0, 0), (0, 0, 0)]
    motion = mmdskin.Motion.from_tracks([("root", [0, 5], moves, None, None)])
    simulation = mmdskin.Simulation(load(chain_file()), motion)
    first = simulation.pose(8)
    simulation.pose(60)
    simulation.reset()
    assert same(simulation.pose(8), first)
