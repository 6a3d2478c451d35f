# SPDX-License-Identifier: MIT
"""What a simulation tells of its joints: notes, strain, and the leash that holds what hangs."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import hanging
from physics.dancers import DANCERS, dancer
from physics.hanging import FOLLOWS, PHYSICS


@pytest.fixture(scope="module")
def chain():
    return hanging.load(hanging.chain_file())


@pytest.fixture(scope="module")
def swing():
    return hanging.swing()


def test_notes_name_what_is_odd(swing):
    file = hanging.chain_file()
    file.version = 2.1
    file.joints[1].kind = file.joints[2].kind = 5
    file.joints.append(pmx.Joint("nowhere", body_a=2, body_b=2))
    file.rigid_bodies[3].mass = 0.0
    notes = mmdskin.Simulation(hanging.load(file), swing).notes
    assert notes == (
        'joint 1 "j12" is solved by its limits, as 6dof (and 1 more)',
        'joint 4 "nowhere" does not join two bodies, and does nothing',
        'body 3 "b3" has no mass, so that nothing moves it',
    )


def test_a_sound_model_has_no_notes(chain, swing):
    simulation = mmdskin.Simulation(chain, swing)
    simulation.pose(90)
    assert simulation.notes == ()


def test_strain_is_how_far_joints_stand_beyond_their_limits():
    """A ball in the middle of two roots that go apart by 16 units, locked to both."""
    file = hanging.chain_file((PHYSICS,))
    file.bones.append(pmx.Bone("other", position=(0, 20, 0)))
    file.rigid_bodies.append(hanging.ball(3, (0, 20, 0), FOLLOWS))
    at = file.rigid_bodies[1].position
    file.joints = [hanging.joint(0, 1, at), hanging.joint(2, 1, at)]
    keys = [("root", [0, 30], [(0, 0, 0), (0, 8, 0)]), ("other", [0, 30], [(0, 0, 0), (0, -8, 0)])]
    motion = mmdskin.Motion.from_tracks([(*track, None, None) for track in keys])
    still = mmdskin.Physics(gravity=(0, 0, 0))
    simulation = mmdskin.Simulation(hanging.load(file), motion, still)
    assert simulation.strain.shape == (2, 2)
    simulation.pose(0)
    assert np.allclose(simulation.strain, 0)
    simulation.pose(60)
    # the joint that is solved last has its way: Bullet's sort exchanges two of an island
    assert np.allclose(simulation.strain, [(0, 0), (16, 0)], rtol=0, atol=1e-5)
    # seen twice a second; 10 units apart is the bar
    (note,) = simulation.notes
    assert note.startswith('joint 1 "j21" stands 16.')
    assert note.endswith(" units beyond its limits at frame 30")


def farthest(simulation, last):
    """Units beyond the limits of joints, of each step up to a frame."""
    far = []
    for step in range(2 * last + 1):
        simulation.pose(step / 2)
        far.append(simulation.strain[:, 0].max())
    return np.array(far)


@DANCERS
def test_a_dancer_stays_in_one_piece(name):
    far = farthest(mmdskin.Simulation(*dancer(name)), 600)
    assert far.max() < 3 + 1e-9 and far.max() > 1


def test_what_hangs_comes_along_when_its_bone_leaps(chain):
    leap = [(0, 0, 0), (0, 0, 0), (40, 10, 0)]
    motion = mmdskin.Motion.from_tracks([("root", [0, 10, 11], leap, None, None)])
    simulation = mmdskin.Simulation(chain, motion)
    far = farthest(simulation, 90)
    assert abs(far.max() - 3) < 1e-9
    assert far[:20].max() < 0.5 and far[120:].max() < 0.5
    (note,) = simulation.notes
    assert " is held at 3 units beyond its limits at frame 15" in note
