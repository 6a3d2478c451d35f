# SPDX-License-Identifier: MIT
"""Long calls handle signals between frames: Ctrl-C ends them there, and other handlers run."""

import _thread
import signal
import threading
import time
from functools import partial

import mmdskin
import numpy as np
import pytest
from physics import hanging
from sample import model as sample
from sample import motion as sample_motion

# Each is some slices of a call; looks at signals are between slices.
SKINNED, POSED, SIMULATED, SETTLE, SECONDS = 1000, 20_000, 6000, 12_000, 200
ATTEMPTS = 60
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


def with_ctrl_c(results, work):
    """Adds what `work` gives; another thread presses Ctrl-C while that is at work, or just after.

    Here C calls C: Python itself gives the other thread its turn neither before nor between.
    """

    def press():
        while not results:
            time.sleep(0)
        _thread.interrupt_main()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        results.extend(map(partial.__call__, [partial(str, "begun"), work]))
    finally:
        thread.join()


def is_stopped(work):
    results = []
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(results, work)
    return results == ["begun"]


def once(attempt):
    """Seen once is proof; the other thread may come too late at times."""
    return any(attempt() for _ in range(ATTEMPTS))


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_skinning_between_frames(model, on_ctrl_c, threads):
    on_ctrl_c(signal.default_int_handler)
    moves = np.tile(sample.bend(20), (SKINNED, 1, 1, 1))
    out = mmdskin.Skinned(np.empty((SKINNED, len(model.positions), 3), "f4"), None, None)
    work = partial(mmdskin.skin, model, moves, out=out, threads=threads, **SKINNING)

    def stops():
        out.positions.fill(np.nan)
        stopped = is_stopped(work)
        return stopped and np.isfinite(out.positions[0]).all() and np.isnan(out.positions[-1]).all()

    assert once(stops)
    assert np.isfinite(work().positions).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_signals_are_handled_between_poses(model, motion, on_ctrl_c, threads):
    """Poses after the handler are of the frames as it left them."""
    frames = np.zeros(POSED)
    on_ctrl_c(lambda *_: frames.fill(20))
    start, end = model.pose(motion, [0, 20]).bone_matrices
    assert not np.array_equal(start, end)

    def changes():
        results = []
        frames.fill(0)
        with_ctrl_c(results, partial(model.pose, motion, frames, threads=threads))
        found = results[1].bone_matrices
        return np.array_equal(found[0], start) and np.array_equal(found[-1], end)

    assert once(changes)


def test_ctrl_c_stops_a_simulation_and_leaves_it_usable(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    swing, frames = hanging.swing(), np.arange(SIMULATED)
    simulation = mmdskin.Simulation(chain, swing)

    def stops():
        simulation.reset()
        return is_stopped(partial(simulation.pose, frames)) and 0 < simulation.frame < frames[-1]

    assert once(stops)
    assert hanging.same(simulation.pose(30), chain.pose(swing, 30, physics=True))


def test_ctrl_c_stops_settling_which_then_goes_on(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    given = chain, hanging.swing(), mmdskin.Physics(settle=SETTLE)
    simulations = (mmdskin.Simulation(*given) for _ in range(ATTEMPTS))
    stopped = next(one for one in simulations if is_stopped(partial(one.pose, 0)))
    assert hanging.same(stopped.pose(0), mmdskin.Simulation(*given).pose(0))


def test_ctrl_c_stops_a_step_of_a_simulation(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    simulation = mmdskin.Simulation(chain)

    def stops():
        simulation.reset()
        simulation.step()
        far = {"root": ((5, 0, 0), None)}
        stopped = is_stopped(partial(simulation.step, far, seconds=SECONDS))
        return stopped and 0 < simulation.frame < SECONDS * 30

    assert once(stops)
    root = simulation.step(seconds=1 / 30).bone_matrices[0]
    assert np.allclose(root, np.eye(4), atol=1e-6)


def test_a_handler_is_told_that_the_simulation_is_at_work(chain, on_ctrl_c):
    simulation = mmdskin.Simulation(chain)
    on_ctrl_c(lambda *_: simulation.pose(0))

    def is_told():
        simulation.reset()
        try:
            with_ctrl_c([], partial(simulation.pose, np.arange(SIMULATED)))
        except RuntimeError as error:
            return "at work in this thread" in str(error)
        return False

    assert once(is_told)
