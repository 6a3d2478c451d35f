# SPDX-License-Identifier: MIT
"""A model of a group that jumps or becomes unstable restarts; the others do not notice."""

import mmdskin
import numpy as np
import pytest
from physics import chains
from physics.chains import FOLLOW_BONE, PHYSICS, balls_file, bone_positions


@pytest.fixture(scope="module")
def chain():
    return chains.load(chains.chain_file())


def test_a_model_that_jumps_restarts_alone(chain):
    jump = mmdskin.Motion.from_tracks(
        [("root", [0, 20, 21], [(0, 0, 0), (0, 0, 0), (90, 0, 0)], None, None)]
    )
    physics = mmdskin.Physics(teleport=30)
    group = mmdskin.Simulation([chain, chain], [chains.swing(), jump], physics)
    _, pose = group.pose(21)
    (note,) = group.notes
    assert note.startswith('model 1 "')
    assert "where the model jumped" in note
    rest = bone_positions(chain, chain.pose())
    assert np.allclose(bone_positions(chain, pose), rest + (90, 0, 0), rtol=0, atol=0.1)


@pytest.fixture
def lying():
    """A box on the ground: the contacts of its corners start with the impulses of the last step."""
    box = {"shape": 1, "size": (2, 0.5, 1)}
    return chains.load(balls_file(((0, 9, 0), FOLLOW_BONE, {}), ((20, 1, 0), PHYSICS, box)))


def test_a_model_that_jumps_leaves_the_contacts_of_others_alone(lying, chain):
    physics = mmdskin.Physics(teleport=30, settle=0)

    def lies(distance):
        moves = [(0, 0, 0), (0, 0, 0), (distance, 0, 0)]
        motion = mmdskin.Motion.from_tracks([("root", [0, 20, 21], moves, None, None)])
        group = mmdskin.Simulation([lying, chain], [None, motion], physics)
        matrices = group.pose(range(30))[0].bone_matrices
        return matrices, group.notes

    still, no_notes = lies(0)
    beside, notes = lies(90)
    assert no_notes == ()
    assert "where the model jumped" in notes[0]
    np.testing.assert_array_equal(beside, still)


def test_a_model_that_becomes_unstable_leaves_the_contacts_of_others_alone(lying, chain):
    def lies(other):
        motions = [None, chains.swing()]
        group = mmdskin.Simulation([lying, other], motions, mmdskin.Physics(settle=0))
        matrices = group.pose(range(30))[0].bone_matrices
        return matrices, group.notes

    stable, no_notes = lies(chain)
    beside, notes = lies(chains.load(chains.unstable_file()))
    assert no_notes == ()
    assert any("unstable" in note for note in notes)
    np.testing.assert_array_equal(beside, stable)
