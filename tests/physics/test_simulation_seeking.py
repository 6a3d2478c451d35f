# SPDX-License-Identifier: MIT
"""A frame is the same however it is come to: dressed models that touch themselves and the ground."""

import pickle

import mmdskin
import numpy as np
import pytest
from physics import hanging
from physics.dancers import dancer
from physics.hanging import same

REMEMBERED = 600  # the step after the start at which a simulation first keeps a place


def frame_of(pose, index):
    return [array[index] for array in pose]


@pytest.mark.parametrize(
    ("name", "hz"), [("初音ミク.pmx", 30), ("巡音ルカ.pmx", 65), ("miku_v2.pmd", 120)]
)
def test_to_and_fro_about_a_remembered_place(name, hz):
    """On steps and between them, in a simulation, its pickle, and after a reset."""
    model, motion = dancer(name)
    physics = mmdskin.Physics(hz=hz)
    middle = REMEMBERED * 30 / hz
    frames = np.array(
        [0, 90, *(middle + np.arange(-3, 4)), middle - 0.25, middle + 0.1, middle + 9]
    )
    wanted = model.pose(motion, frames, physics=physics)
    assert same(model.pose(motion, 90, physics=physics), frame_of(wanted, 1))
    simulation = mmdskin.Simulation(model, motion, physics)
    rng = np.random.default_rng(1)
    for turn in range(3):
        for number in rng.integers(len(frames), size=6):
            found = simulation.pose(frames[number])
            assert same(found, frame_of(wanted, number)), (turn, frames[number])
        simulation = pickle.loads(pickle.dumps(simulation))
        if turn:
            simulation.reset()


def test_frames_in_one_call_may_be_any_and_come_twice():
    model, swing = hanging.load(hanging.chain_file()), hanging.swing()
    frames = [5, 5, -3, 0.25, 60, -1e9, 2.5, 5, 0]
    mixed = model.pose(swing, frames, physics=True)
    for number, frame in enumerate(frames):
        assert same(frame_of(mixed, number), model.pose(swing, frame, physics=True)), frame
    assert same(frame_of(mixed, 2), model.pose(swing, -3))


@pytest.mark.parametrize("start", [0, -0.5, 4e9])
def test_the_last_frame_is_named_to_its_digit(start):
    simulation = mmdskin.Simulation(
        hanging.load(hanging.chain_file()), None, mmdskin.Physics(start=start)
    )
    last = start + 10_000_000
    with pytest.raises(ValueError, match=f"frame: number 0 is {last + 1:.12g}, limit {last:.12g} "):
        simulation.pose(last + 1)
