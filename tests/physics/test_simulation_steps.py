# SPDX-License-Identifier: MIT
"""Simulation.step(): poses of the caller, switches, lengths of steps."""

import pickle

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import chains
from physics.chains import FOLLOW_BONE, PHYSICS, bone_positions, same


@pytest.fixture(scope="module")
def chain():
    return chains.load(chains.chain_file())


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


def test_steps_equal_a_motion_with_a_key_at_every_frame(chain):
    """Both interpolate linearly between the frames."""
    frames = np.arange(40)
    translations = np.stack([frames / 9, np.sin(frames / 5), 0 * frames], axis=1)
    motion = mmdskin.Motion.from_tracks([("root", frames, translations, None, None)])
    expected = chain.pose(motion, frames, physics=True)
    simulation = mmdskin.Simulation(chain)
    for frame in frames:
        pose = simulation.step({"root": (translations[frame], None)})
        assert np.allclose(pose.bone_matrices, expected.bone_matrices[frame], rtol=0, atol=1e-3)
        assert np.isclose(simulation.frame, frame)


def test_ik_is_switched_from_step_to_step():
    """As by the keys of a motion; a body on the leg shows what IK does."""
    file = pmx.PMX(
        bones=[
            pmx.Bone("leg", position=(0, 8, 0)),
            pmx.Bone("knee", position=(0, 4, -0.5), parent=0),
            pmx.Bone("foot", position=(0, 0, 0), parent=1),
            pmx.Bone("goal", position=(0, 0, 0), layer=1),
            pmx.Bone("lace", position=(0, 0, 0.5), parent=2),
        ]
    )
    file.bones[3].ik = pmx.IK(2, 20, 1.0, [pmx.IKLink(1), pmx.IKLink(0)])
    file.rigid_bodies = [
        chains.ball(2, (0, 0, 0), FOLLOW_BONE),
        chains.ball(4, (0, -0.5, 0.5), PHYSICS),
    ]
    file.joints = [chains.joint(0, 1, (0, 0, 0.5), **chains.MIDDLE_LIMITS)]
    model = chains.load(file)
    frames = np.arange(12)
    translations = np.stack([0 * frames, frames / 6, frames / 5], axis=1)
    on = np.isin(frames, (0, 1, 2, 7, 8))[:, None]
    motion = mmdskin.Motion.from_tracks(
        [("goal", frames, translations, None, None)], properties=(frames, None, ["goal"], on)
    )
    expected = model.pose(motion, frames, physics=True).bone_matrices
    without = model.pose(motion, frames, physics=True, ik=False).bone_matrices
    assert np.abs(expected - without)[:, 4].max() > 0.1
    simulation = mmdskin.Simulation(model)
    for frame in np.arange(23) / 2:
        translation = np.array([np.interp(frame, frames, translations[:, k]) for k in range(3)])
        switched = [bool(on[int(frame), 0])] * 5 if frame < 6 else bool(on[int(frame), 0])
        pose = simulation.step({"goal": (translation, None)}, seconds=1 / 60, ik=switched)
        if frame == int(frame):
            assert np.allclose(pose.bone_matrices, expected[int(frame)], rtol=0, atol=1e-4)


def switched_chain(chain):
    """A swing of the chain with physics of two links off for a while, and (F, B) where it is on."""
    frames = np.arange(31)
    translations = np.stack([np.sin(frames / 4), np.cos(frames / 5), 0 * frames], axis=1)
    on = np.ones((len(frames), len(chain.bones)), bool)
    on[6:17, 2] = on[:9, 3] = False
    rests, still = np.zeros((len(frames), 3)), np.tile((0.0, 0, 0, 1), (len(frames), 1))
    motion = mmdskin.Motion.from_tracks(
        [
            ("root", frames, translations, None, None),
            ("link2", frames, rests, still, None, on[:, 2]),
            ("link3", frames, rests, still, None, on[:, 3]),
        ]
    )
    return motion, translations, on


def test_physics_is_switched_from_step_to_step(chain):
    motion, translations, on = switched_chain(chain)
    frames = np.arange(len(on))
    expected = chain.pose(motion, frames, physics=True).bone_matrices
    unswitched = chain.pose(
        mmdskin.Motion.from_tracks([("root", frames, translations, None, None)]),
        frames,
        physics=True,
    )
    assert np.abs(expected - unswitched.bone_matrices).max() > 0.1
    simulation = mmdskin.Simulation(chain)
    for frame in np.arange(2 * len(on) - 1) / 2:
        translation = np.array([np.interp(frame, frames, translations[:, k]) for k in range(3)])
        pose = simulation.step(
            {"root": (translation, None)}, seconds=1 / 60, physics=on[int(frame)]
        )
        simulation = pickle.loads(pickle.dumps(simulation))
        if frame == int(frame):
            assert np.allclose(pose.bone_matrices, expected[int(frame)], rtol=0, atol=1e-4)


def test_all_physics_is_switched_off_at_once(chain):
    simulation = mmdskin.Simulation(chain)
    for x in (0, 0.5, 1):
        pose = simulation.step({"root": ((x, 0, 0), None)}, physics=False)
        assert np.allclose(pose.bone_matrices[:, :3, 3], (x, 0, 0), atol=1e-5)


def test_rotations_are_interpolated_along_the_shorter_arc(chain):
    rotation = {"root": (None, (0, 0, -np.sin(0.2), -np.cos(0.2)))}
    negated = {"root": (None, (0, 0, np.sin(0.2), np.cos(0.2)))}
    physics = mmdskin.Physics(hz=240)
    poses = []
    for target in (rotation, negated):
        simulation = mmdskin.Simulation(chain, None, physics)
        simulation.step()
        poses.append(simulation.step(target))
    assert np.allclose(poses[0].bone_matrices, poses[1].bone_matrices, rtol=0, atol=1e-5)


def test_steps_of_any_length_cover_their_time():
    """Free fall without damping covers 1 / 2 g t squared at any rate."""
    file = chains.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = chains.load(file)
    settings = mmdskin.Physics(hz=20000, gravity=(0, -9, 0), settle=0, additional_damping=False)
    for rate in (24, 25, 30, 59.94, 144):
        simulation = mmdskin.Simulation(model, None, settings)
        simulation.step()
        for _ in range(12):
            pose = simulation.step(seconds=1 / rate)
        fall = bone_positions(model, pose)[1, 1] - 20
        assert np.isclose(fall, -4.5 * (12 / rate) ** 2, rtol=5e-3)
        assert np.isclose(simulation.frame, 12 * 30 / rate)


def mean_stretch(model, rate):
    simulation = mmdskin.Simulation(model)
    stretches = []
    for time in np.arange(0, 6, 1 / rate):
        place = (4 * np.sin(2 * time), 0, 2 * np.sin(time))
        simulation.step({"root": (place, None)}, seconds=1 / rate)
        stretches.append(simulation.strain[:, 0].mean())
    return np.mean(stretches)


@pytest.mark.parametrize("rate", [24, 25, 59.94, 120, 144])
def test_joints_stretch_as_much_at_any_frame_rate(chain, rate):
    """Steps are 1 / hz long at any rate: more or shorter steps would make joints stiffer."""
    assert abs(mean_stretch(chain, rate) / mean_stretch(chain, 60) - 1) < 0.01


def test_a_pickle_between_two_steps_of_the_solver_continues_there(chain):
    one = mmdskin.Simulation(chain)
    for k in range(5):
        one.step({"root": ((k / 3, 0, 0), None)}, seconds=1 / 24)
    other = pickle.loads(pickle.dumps(one))
    for k in range(5, 8):
        target = {"root": ((k / 3, 0, 0), None)}
        assert same(one.step(target, seconds=1 / 24), other.step(target, seconds=1 / 24))


def test_a_step_of_zero_seconds_moves_no_body(chain):
    simulation = mmdskin.Simulation(chain)
    first = simulation.step()
    assert same(simulation.step(seconds=0), first)


@pytest.mark.parametrize("seconds", [5e-324, 1e-12, 9e-6])
def test_a_very_short_step_keeps_bodies_in_range(chain, seconds):
    """A kinematic body that moved in so little time would have an enormous velocity."""
    simulation = mmdskin.Simulation(chain)
    simulation.step()
    simulation.step({"root": ((3, 0, 0), None)}, seconds=seconds)
    assert not simulation.notes
    assert np.isclose(simulation.frame, 30 * seconds, rtol=1e-9, atol=0)
    pickle.loads(pickle.dumps(simulation))


def test_rotations_alone_are_a_pose(chain):
    rotations = np.tile(np.float32((0, 0, 0.6, 0.8)), (len(chain.bones), 1))
    one, other = mmdskin.Simulation(chain), mmdskin.Simulation(chain)
    zeros = np.zeros((len(chain.bones), 3), np.float32)
    assert same(one.step(rotations=rotations), other.step(zeros, rotations))


def test_a_reset_restarts_the_steps(chain):
    simulation = mmdskin.Simulation(chain)
    first = simulation.step()
    simulation.step({"root": ((3, 0, 0), None)})
    simulation.reset()
    assert same(simulation.step(), first)
    simulation.step({"root": ((3, 0, 0), None)})
    assert same(simulation.pose(30), chain.pose(None, 30, physics=True))
    assert same(simulation.step(), first)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seconds": -1}, "seconds: -1, expected 0 to 3600"),
        ({"seconds": float("nan")}, "seconds: nan"),
        ({"physics": [True, False]}, r"physics: shape \(2,\), expected \(6,\)"),
        ({"rotations": np.zeros((6, 4)), "translations": np.zeros((6, 3))}, "has zero length"),
        ({"translations": np.zeros((2, 6, 3)), "rotations": np.ones((6, 4))}, "expected one pose"),
    ],
)
def test_a_refused_step_changes_nothing(chain, arguments, words):
    one, other = mmdskin.Simulation(chain), mmdskin.Simulation(chain)
    one.step(), other.step()
    with pytest.raises(ValueError, match=words):
        one.step(**arguments)
    move = {"root": ((1, 0, 0), None)}
    assert same(one.step(move), other.step(move))


def test_a_simulation_of_a_motion_takes_no_steps(chain, swing):
    with pytest.raises(ValueError, match="takes no poses, only frames"):
        mmdskin.Simulation(chain, swing).step()
