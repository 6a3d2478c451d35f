# SPDX-License-Identifier: MIT
"""Simulation.step(): poses of one's own, switches, lengths of steps."""

import pickle

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import hanging
from physics.hanging import FOLLOWS, PHYSICS, heads, same


@pytest.fixture(scope="module")
def chain():
    return hanging.load(hanging.chain_file())


@pytest.fixture(scope="module")
def swing():
    return hanging.swing()


def test_steps_go_where_a_motion_goes(chain):
    """Keys at every frame on straight lines are what step() makes of poses."""
    frames = np.arange(40)
    moves = np.stack([frames / 9, np.sin(frames / 5), 0 * frames], axis=1)
    motion = mmdskin.Motion.from_tracks([("root", frames, moves, None, None)])
    wanted = chain.pose(motion, frames, physics=True)
    simulation = mmdskin.Simulation(chain)
    for frame in frames:
        pose = simulation.step({"root": (moves[frame], None)})
        assert np.allclose(pose.bone_matrices, wanted.bone_matrices[frame], rtol=0, atol=1e-3)
        assert np.isclose(simulation.frame, frame)


def test_ik_is_switched_from_step_to_step():
    """As by the keys of a motion: a hanging body shows where IK has its leg."""
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
        hanging.ball(2, (0, 0, 0), FOLLOWS),
        hanging.ball(4, (0, -0.5, 0.5), PHYSICS),
    ]
    file.joints = [hanging.joint(0, 1, (0, 0, 0.5), **hanging.MIDDLE_LIMITS)]
    model = hanging.load(file)
    frames = np.arange(12)
    moves = np.stack([0 * frames, frames / 6, frames / 5], axis=1)
    on = np.isin(frames, (0, 1, 2, 7, 8))[:, None]
    motion = mmdskin.Motion.from_tracks(
        [("goal", frames, moves, None, None)], properties=(frames, None, ["goal"], on)
    )
    wanted = model.pose(motion, frames, physics=True).bone_matrices
    without = model.pose(motion, frames, physics=True, ik=False).bone_matrices
    assert np.abs(wanted - without)[:, 4].max() > 0.1
    simulation = mmdskin.Simulation(model)
    for frame in np.arange(23) / 2:
        place = np.array([np.interp(frame, frames, moves[:, k]) for k in range(3)])
        switched = [bool(on[int(frame), 0])] * 5 if frame < 6 else bool(on[int(frame), 0])
        pose = simulation.step({"goal": (place, None)}, seconds=1 / 60, ik=switched)
        if frame == int(frame):
            assert np.allclose(pose.bone_matrices, wanted[int(frame)], rtol=0, atol=1e-4)


def switched_chain(chain):
    """The chain's swing with two links that are off for a while, and (F, B) what is on."""
    frames = np.arange(31)
    moves = np.stack([np.sin(frames / 4), np.cos(frames / 5), 0 * frames], axis=1)
    on = np.ones((len(frames), len(chain.bones)), bool)
    on[6:17, 2] = on[:9, 3] = False
    rests, still = np.zeros((len(frames), 3)), np.tile((0.0, 0, 0, 1), (len(frames), 1))
    motion = mmdskin.Motion.from_tracks(
        [
            ("root", frames, moves, None, None),
            ("link2", frames, rests, still, None, on[:, 2]),
            ("link3", frames, rests, still, None, on[:, 3]),
        ]
    )
    return motion, moves, on


def test_physics_is_switched_from_step_to_step(chain):
    motion, moves, on = switched_chain(chain)
    frames = np.arange(len(on))
    wanted = chain.pose(motion, frames, physics=True).bone_matrices
    unswitched = chain.pose(
        mmdskin.Motion.from_tracks([("root", frames, moves, None, None)]), frames, physics=True
    )
    assert np.abs(wanted - unswitched.bone_matrices).max() > 0.1
    simulation = mmdskin.Simulation(chain)
    for frame in np.arange(2 * len(on) - 1) / 2:
        place = np.array([np.interp(frame, frames, moves[:, k]) for k in range(3)])
        given = {"root": (place, None)}
        pose = simulation.step(given, seconds=1 / 60, physics=on[int(frame)])
        simulation = pickle.loads(pickle.dumps(simulation))
        if frame == int(frame):
            assert np.allclose(pose.bone_matrices, wanted[int(frame)], rtol=0, atol=1e-4)


def test_all_physics_is_switched_off_at_once(chain):
    simulation = mmdskin.Simulation(chain)
    for x in (0, 0.5, 1):
        pose = simulation.step({"root": ((x, 0, 0), None)}, physics=False)
        assert np.allclose(pose.bone_matrices[:, :3, 3], (x, 0, 0), atol=1e-5)


def test_bones_turn_the_short_way_in_a_step(chain):
    turn = {"root": (None, (0, 0, -np.sin(0.2), -np.cos(0.2)))}
    other = {"root": (None, (0, 0, np.sin(0.2), np.cos(0.2)))}
    physics = mmdskin.Physics(hz=240)
    ways = []
    for given in (turn, other):
        simulation = mmdskin.Simulation(chain, None, physics)
        simulation.step()
        ways.append(simulation.step(given))
    assert np.allclose(ways[0].bone_matrices, ways[1].bone_matrices, rtol=0, atol=1e-5)


def test_any_length_of_step_takes_its_time():
    """Free fall without damping in time t, whatever the rate: 1 / 2 g t squared."""
    file = hanging.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = hanging.load(file)
    settings = mmdskin.Physics(hz=20000, gravity=(0, -9, 0), settle=0, damping_extra=False)
    for rate in (24, 25, 30, 59.94, 144):
        simulation = mmdskin.Simulation(model, None, settings)
        simulation.step()
        for _ in range(12):
            pose = simulation.step(seconds=1 / rate)
        fall = heads(model, pose)[1, 1] - 20
        assert np.isclose(fall, -4.5 * (12 / rate) ** 2, rtol=5e-3)
        assert np.isclose(simulation.frame, 12 * 30 / rate)


def test_a_step_of_no_time_moves_no_body(chain):
    simulation = mmdskin.Simulation(chain)
    first = simulation.step()
    assert same(simulation.step(seconds=0), first)


@pytest.mark.parametrize("seconds", [5e-324, 1e-12, 9e-6])
def test_a_step_of_next_to_no_time_loses_no_body(chain, seconds):
    """A body that must be elsewhere at once would have a speed out of all bounds."""
    simulation = mmdskin.Simulation(chain)
    simulation.step()
    simulation.step({"root": ((3, 0, 0), None)}, seconds=seconds)
    assert not simulation.notes
    assert np.isclose(simulation.frame, 30 * seconds, rtol=1e-9, atol=0)
    pickle.loads(pickle.dumps(simulation))


def test_rotations_alone_are_a_pose(chain):
    turned = np.tile(np.float32((0, 0, 0.6, 0.8)), (len(chain.bones), 1))
    one, other = mmdskin.Simulation(chain), mmdskin.Simulation(chain)
    still = np.zeros((len(chain.bones), 3), np.float32)
    assert same(one.step(rotations=turned), other.step(still, turned))


def test_after_a_reset_steps_begin_anew(chain):
    simulation = mmdskin.Simulation(chain)
    first = simulation.step()
    simulation.step({"root": ((3, 0, 0), None)})
    simulation.reset()
    assert same(simulation.step(), first)
    simulation.step({"root": ((3, 0, 0), None)})
    assert same(simulation.pose(30), chain.pose(None, 30, physics=True))
    assert same(simulation.step(), first)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seconds": -1}, "seconds: -1, expected 0 to 3600"),
        ({"seconds": float("nan")}, "seconds: nan"),
        ({"physics": [True, False]}, r"physics: shape \(2,\), expected \(6,\)"),
        ({"rotations": np.zeros((6, 4)), "translations": np.zeros((6, 3))}, "has no length"),
        ({"translations": np.zeros((2, 6, 3)), "rotations": np.ones((6, 4))}, "expected one pose"),
    ],
)
def test_a_refused_step_changes_nothing(chain, given, words):
    one, other = mmdskin.Simulation(chain), mmdskin.Simulation(chain)
    one.step(), other.step()
    with pytest.raises(ValueError, match=words):
        one.step(**given)
    move = {"root": ((1, 0, 0), None)}
    assert same(one.step(move), other.step(move))


def test_a_simulation_of_a_motion_is_not_stepped(chain, swing):
    with pytest.raises(ValueError, match="posed by its frames"):
        mmdskin.Simulation(chain, swing).step()
