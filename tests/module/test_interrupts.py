# SPDX-License-Identifier: MIT
"""Long calls look at signals between frames, so that Ctrl-C ends them there."""

import _thread
import signal
from functools import partial

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from sample import model as sample
from sample import motion as sample_motion

# Each is some slices of a call; looks at signals are between slices.
SKINNED, POSED, SECONDS = 500, 10_000, 600
SKINNING = {"backend": "cpu", "normals": False}


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(sample_motion.build_motion())


@pytest.fixture(scope="module")
def body():
    file = pmx.PMX(bones=[pmx.Bone("root")], rigid_bodies=[pmx.RigidBody("body", bone=0, mode=1)])
    return mmdskin.load_model(pmx.write(file))


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


def test_ctrl_c_stops_a_simulation_on_its_way(body, on_ctrl_c):
    simulation, frames = mmdskin.Simulation(body), np.arange(POSED)
    assert_stopped(on_ctrl_c, partial(simulation.pose, frames))
    assert 0 < simulation.frame < frames[-1]
    found, wanted = simulation.pose(30), mmdskin.Simulation(body).pose(30)
    assert np.array_equal(found.bone_matrices, wanted.bone_matrices)


def test_ctrl_c_stops_a_step_of_a_simulation_on_its_way(body, on_ctrl_c):
    simulation = mmdskin.Simulation(body)
    simulation.step()
    assert_stopped(on_ctrl_c, partial(simulation.step, seconds=SECONDS))
    assert 0 < simulation.frame < SECONDS * 30
