# SPDX-License-Identifier: MIT
"""A frame does not depend on how it is reached: whole models with contacts."""

import pickle

import mmdskin
import numpy as np
import pytest
from physics import chains
from physics.chains import same
from physics.dancers import dancer

FIRST_CHECKPOINT = 600  # steps after the start


def frame_of(pose, index):
    return [array[index] for array in pose]


@pytest.mark.parametrize(
    ("name", "hz"), [("初音ミク.pmx", 30), ("巡音ルカ.pmx", 65), ("miku_v2.pmd", 120)]
)
def test_seeking_back_and_forth_around_a_checkpoint(name, hz):
    """Frames at steps and between them, in a simulation, its pickle, and after a reset."""
    model, motion = dancer(name)
    physics = mmdskin.Physics(hz=hz)
    middle = FIRST_CHECKPOINT * 30 / hz
    frames = np.array(
        [0, 90, *(middle + np.arange(-3, 4)), middle - 0.25, middle + 0.1, middle + 9]
    )
    expected = model.pose(motion, frames, physics=physics)
    assert same(model.pose(motion, 90, physics=physics), frame_of(expected, 1))
    simulation = mmdskin.Simulation(model, motion, physics)
    rng = np.random.default_rng(1)
    for repetition in range(3):
        for index in rng.integers(len(frames), size=6):
            found = simulation.pose(frames[index])
            assert same(found, frame_of(expected, index)), (repetition, frames[index])
        simulation = pickle.loads(pickle.dumps(simulation))
        if repetition:
            simulation.reset()


def test_one_call_may_have_any_frames_also_twice():
    model, swing = chains.load(chains.chain_file()), chains.swing()
    frames = [5, 5, -3, 0.25, 60, -1e9, 2.5, 5, 0]
    mixed = model.pose(swing, frames, physics=True)
    for index, frame in enumerate(frames):
        assert same(frame_of(mixed, index), model.pose(swing, frame, physics=True)), frame
    assert same(frame_of(mixed, 2), model.pose(swing, -3))


@pytest.mark.parametrize("start", [0, -0.5, 4e9])
def test_the_error_shows_the_last_frame_exactly(start):
    simulation = mmdskin.Simulation(
        chains.load(chains.chain_file()), None, mmdskin.Physics(start=start)
    )
    last = start + 10_000_000
    with pytest.raises(ValueError, match=rf"^frame is {last + 1:.12g}, limit {last:.12g} "):
        simulation.pose(last + 1)
