# SPDX-License-Identifier: MIT
"""Long calls handle signals between frames: Ctrl-C ends them there, and other handlers run."""

import _thread
import signal
from functools import partial

import mmdskin
import numpy as np
import pytest
from physics import hanging
from sample import model as sample
from sample import motion as sample_motion

# Each is some slices of a call; looks at signals are between slices.
SKINNED, POSED, SECONDS = 500, 10_000, 300
SKINNING = {"backend": "cpu", "normals": False}


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(sample_motion.build_motion())


@pytest.fixture(scope="module")
def chain():
    return hanging.load(hanging.chain_file())


@pytest.fixture
def on_ctrl_c():
    """Sets what Ctrl-C does; a shell in the background has it ignored."""
    before = signal.getsignal(signal.SIGINT)
    yield partial(signal.signal, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def with_ctrl_c_before(results, work):
    """Adds to results what `work` gives, with Ctrl-C waiting from before its beginning.

    C calls the two, one after the other: Python itself does not look at signals before it has both.
    """
    calls = [partial(_thread.interrupt_main, signal.SIGINT), work]
    results.extend(map(partial.__call__, calls))


def assert_stopped(on_ctrl_c, work):
    on_ctrl_c(signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c_before([], work)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_skinning_between_frames(model, on_ctrl_c, threads):
    moves = np.tile(sample.bend(20), (SKINNED, 1, 1, 1))
    out = mmdskin.Skinned(np.full((SKINNED, len(model.positions), 3), np.nan, "f4"), None, None)
    work = partial(mmdskin.skin, model, moves, out=out, threads=threads, **SKINNING)
    assert_stopped(on_ctrl_c, work)
    assert np.isfinite(out.positions[0]).all()
    assert np.isnan(out.positions[-1]).all()
    assert np.isfinite(work().positions).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_signals_are_handled_between_poses(model, motion, on_ctrl_c, threads):
    """Poses after the handler are of the frames as it left them."""
    frames = np.zeros(POSED)
    on_ctrl_c(lambda *_: frames.fill(20))
    results = []
    with_ctrl_c_before(results, partial(model.pose, motion, frames, threads=threads))
    first, last = results[1].bone_matrices[[0, -1]]
    wanted = model.pose(motion, [0, 20]).bone_matrices
    assert np.array_equal([first, last], wanted)
    assert not np.array_equal(*wanted)


def test_ctrl_c_stops_a_simulation_and_leaves_it_usable(chain, on_ctrl_c):
    swing = hanging.swing()
    simulation = mmdskin.Simulation(chain, swing)
    assert_stopped(on_ctrl_c, partial(simulation.pose, np.arange(POSED)))
    assert 0 < simulation.frame < POSED - 1
    assert hanging.same(simulation.pose(30), chain.pose(swing, 30, physics=True))


def test_ctrl_c_stops_a_step_of_a_simulation(chain, on_ctrl_c):
    simulation = mmdskin.Simulation(chain)
    simulation.step()
    assert_stopped(on_ctrl_c, partial(simulation.step, seconds=SECONDS))
    assert 0 < simulation.frame < SECONDS * 30


def test_a_handler_is_told_that_the_simulation_is_at_work(chain, on_ctrl_c):
    simulation = mmdskin.Simulation(chain)
    on_ctrl_c(lambda *_: simulation.pose(0))
    with pytest.raises(RuntimeError, match="at work in this thread"):
        with_ctrl_c_before([], partial(simulation.pose, np.arange(POSED)))
