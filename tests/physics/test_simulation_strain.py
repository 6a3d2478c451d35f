# SPDX-License-Identifier: MIT
"""What a simulation reports about joints: notes and strain; the joint stretch limit."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import chains
from physics.chains import FOLLOW_BONE, PHYSICS
from physics.dancers import DANCERS, dancer


@pytest.fixture(scope="module")
def chain():
    return chains.load(chains.chain_file())


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


def test_notes_name_the_peculiarities_of_a_model(swing):
    file = chains.chain_file()
    file.version = 2.1
    file.joints[1].kind = file.joints[2].kind = 5
    file.joints.append(pmx.Joint("nowhere", body_a=2, body_b=2))
    file.rigid_bodies[3].mass = 0.0
    notes = mmdskin.Simulation(chains.load(file), swing).notes
    assert notes == (
        'joint 1 "j12" is simulated as a 6dof joint with its limits (and 1 more)',
        'joint 4 "nowhere" does not connect two bodies and is ignored',
        'body 3 "b3" has no mass and does not move',
    )


def test_a_usual_model_has_no_notes(chain, swing):
    simulation = mmdskin.Simulation(chain, swing)
    simulation.pose(90)
    assert simulation.notes == ()


def test_strain_is_how_far_joints_are_beyond_their_limits():
    """A ball locked to two roots that move 16 units apart."""
    file = chains.chain_file((PHYSICS,))
    file.bones.append(pmx.Bone("other", position=(0, 20, 0)))
    file.rigid_bodies.append(chains.ball(3, (0, 20, 0), FOLLOW_BONE))
    at = file.rigid_bodies[1].position
    file.joints = [chains.joint(0, 1, at), chains.joint(2, 1, at)]
    keys = [("root", [0, 30], [(0, 0, 0), (0, 8, 0)]), ("other", [0, 30], [(0, 0, 0), (0, -8, 0)])]
    motion = mmdskin.Motion.from_tracks([(*track, None, None) for track in keys])
    still = mmdskin.Physics(gravity=(0, 0, 0))
    simulation = mmdskin.Simulation(chains.load(file), motion, still)
    assert simulation.strain.shape == (2, 2)
    simulation.pose(0)
    assert np.allclose(simulation.strain, 0)
    simulation.pose(60)
    # the joint that is solved last wins: Bullet's sort exchanges two joints of one island
    assert np.allclose(simulation.strain, [(0, 0), (16, 0)], rtol=0, atol=1e-5)
    # they move apart by 16 / 30 units a frame, and are noted beyond 10
    held, pulled = simulation.notes
    assert " was held at 3 units beyond its limits at frame " in held
    assert pulled.startswith('joint 1 "j21" was 10.')
    assert pulled.endswith(" units beyond its limits at frame 19")


@pytest.mark.parametrize("balls", [30, 60])
def test_notes_tell_of_pairs_that_do_not_collide(balls):
    """Balls at one place touch each other and the ground; there is room for 8 pairs a body, 64 more,
    and one with the ground for each. 60 are also more close pairs than 16 a body and 64 more."""
    file = chains.chain_file((PHYSICS,) * (balls - 1))
    file.joints = []
    for body in file.rigid_bodies:
        body.position, body.mask, body.mode = (0, 0, 0), 0xFFFF, PHYSICS
    settings = mmdskin.Physics(settle=0, start=3)
    simulation = mmdskin.Simulation(chains.load(file), None, settings)
    assert not simulation.notes
    simulation.pose(3.5)
    pairs = balls + balls * (balls - 1) // 2 - (balls * 8 + 64 + balls)
    assert simulation.notes == (
        f"{pairs} pairs of close bodies, of too many, did not collide at frame 3.5",
    )


def largest_strains(simulation, last):
    """The largest linear strain (units) of each step up to a frame."""
    strains = []
    for step in range(2 * last + 1):
        simulation.pose(step / 2)
        strains.append(simulation.strain[:, 0].max())
    return np.array(strains)


@DANCERS
def test_no_joint_of_a_dancer_exceeds_the_stretch_limit(name):
    strains = largest_strains(mmdskin.Simulation(*dancer(name)), 600)
    assert strains.max() < 3 + 1e-9 and strains.max() > 1


def test_bodies_follow_when_their_bone_jumps(chain):
    jump = [(0, 0, 0), (0, 0, 0), (40, 10, 0)]
    motion = mmdskin.Motion.from_tracks([("root", [0, 10, 11], jump, None, None)])
    simulation = mmdskin.Simulation(chain, motion)
    strains = largest_strains(simulation, 150)
    assert abs(strains.max() - 3) < 1e-9
    assert strains[:20].max() < 0.5 and strains[240:].max() < 0.5
    (note,) = simulation.notes
    assert " was held at 3 units beyond its limits at frame 10.5" in note
