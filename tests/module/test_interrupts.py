# SPDX-License-Identifier: MIT
"""Long calls handle signals between frames: Ctrl-C stops them, other handlers run."""

import _thread
import ctypes
import os
import signal
import threading
import time
from functools import partial

import mmdskin
import numpy as np
import pytest
from mmdskin import errors, physics_arguments
from physics import chains
from sample import model as sample
from sample import motion as sample_motion

# Each takes several chunks; signals are checked between chunks.
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
    return chains.load(chains.chain_file())


def with_ctrl_c(results, work):
    """Append the result of `work`; another thread presses Ctrl-C during the call or just after it.

    `extend` and `map` call C from C, so that Python does not switch threads before `work` or
    between the two calls.
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


def succeeds_once(attempt):
    """One success is enough: sometimes the other thread is too late."""
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

    assert succeeds_once(stops)
    assert np.isfinite(work().positions).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_signals_are_handled_between_poses(model, motion, on_ctrl_c, threads):
    """Frames that the handler changes are posed as changed."""
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

    assert succeeds_once(changes)


def test_ctrl_c_stops_a_simulation_and_leaves_it_usable(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    swing, frames = chains.swing(), np.arange(SIMULATED)
    simulation = mmdskin.Simulation(chain, swing)

    def stops():
        simulation.reset()
        return is_stopped(partial(simulation.pose, frames)) and 0 < simulation.frame < frames[-1]

    assert succeeds_once(stops)
    assert chains.same(simulation.pose(30), chain.pose(swing, 30, physics=True))


def test_ctrl_c_stops_a_simulation_of_several_models(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    swing, frames = chains.swing(), np.arange(SIMULATED)
    simulation = mmdskin.Simulation([chain, chain], [swing, None])

    def stops():
        simulation.reset()
        return is_stopped(partial(simulation.pose, frames)) and 0 < simulation.frame < frames[-1]

    assert succeeds_once(stops)
    fresh = mmdskin.Simulation([chain, chain], [swing, None])
    assert all(map(chains.same, simulation.pose(30), fresh.pose(30)))


def test_ctrl_c_stops_settling_which_can_continue(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    # the bodies rest no earlier than after half a second: 25,000 steps
    arguments = chain, chains.swing(), mmdskin.Physics(hz=50_000, settle=SETTLE)
    simulations = (mmdskin.Simulation(*arguments) for _ in range(ATTEMPTS))
    stopped = next(one for one in simulations if is_stopped(partial(one.pose, 0)))
    assert chains.same(stopped.pose(0), mmdskin.Simulation(*arguments).pose(0))


def test_ctrl_c_stops_a_step_of_a_simulation(chain, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    simulation = mmdskin.Simulation(chain)

    def stops():
        simulation.reset()
        simulation.step()
        far = {"root": ((5, 0, 0), None)}
        stopped = is_stopped(partial(simulation.step, far, seconds=SECONDS))
        return stopped and 0 < simulation.frame < SECONDS * 30

    assert succeeds_once(stops)
    root = simulation.step(seconds=1 / 30).bone_matrices[0]
    assert np.allclose(root, np.eye(4), atol=1e-6)


@pytest.mark.parametrize("track", ["camera_at", "light_at", "shadow_at"])
def test_ctrl_c_stops_the_sampling_of_tracks(motion, on_ctrl_c, track):
    on_ctrl_c(signal.default_int_handler)
    frames = np.linspace(0, 100, 1_500_000)
    assert succeeds_once(lambda: is_stopped(partial(getattr(motion, track), frames)))


def test_long_calls_handle_signals_all_the_time(model, motion, longest_wait):
    """But not while ten million frames are checked, which is a quarter of the call for shadows."""
    frames = np.linspace(0, 100, 10_000_000)
    poses = model.pose(motion, np.linspace(0, 100, 200_000))
    weights = np.zeros((3000, len(model.morphs)))
    vertices = np.zeros((20_000, 1000, 3), "f4")
    slow = {
        name: waited
        for name, work in {
            "camera_at": partial(motion.camera_at, frames),
            "light_at": partial(motion.light_at, frames),
            "shadow_at": partial(motion.shadow_at, frames),
            "transforms": partial(model.transforms, poses),
            "locals_of": partial(model.locals_of, poses),
            "uvs_at": partial(model.uvs_at, weights),
            "convert": partial(mmdskin.convert, vertices, "positions", to="gltf"),
        }.items()
        if (waited := longest_wait(work, 1 / 2)) > 1 / 2
    }
    assert not slow


def seconds_after_ctrl_c(work, delay):
    """How long a call works on that is interrupted after a delay; None if it has ended before.

    Processor time of all threads, the renderer's, too: other programs do not count.
    """
    pressed = []

    def press():
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, press)
    try:
        timer.start()
        work()
        timer.join()
    except KeyboardInterrupt:
        return time.process_time() - pressed[0]
    finally:
        timer.cancel()
    return None


@pytest.mark.parametrize("want", [("image",), ("depth", "normals", "triangles")])
def test_ctrl_c_stops_a_large_picture(gl, model, on_ctrl_c, want):
    """The call ends early, also where a renderer without a card takes seconds for one picture."""
    on_ctrl_c(signal.default_int_handler)
    skinned = mmdskin.skin(model, sample.bend(20))
    side, samples = (2048, 3) if "image" in want else (4096, 1)
    work = partial(
        mmdskin.render, model, skinned, size=(side, side), samples=samples, textures={}, want=want
    )
    work()  # the first picture of a process takes longer

    def stops():
        """Most of the calls that are interrupted after a tenth, …, seven tenths of their time."""
        began, worked = time.perf_counter(), time.process_time()
        work()
        whole, worked = time.perf_counter() - began, time.process_time() - worked
        waits = [seconds_after_ctrl_c(work, whole * part / 10) for part in range(1, 8)]
        if whole < 0.1:  # by a card
            return True
        return sum(wait is not None and wait < worked / 3 for wait in waits) >= 5

    assert any(stops() for _ in range(3))


def test_ctrl_c_stops_the_computation_of_centers(on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    r = np.random.default_rng(0)
    count = 20_000
    mesh = mmdskin.Mesh(
        r.normal(size=(count, 3)),
        r.integers(0, 20, (count, 4)),
        r.uniform(0, 1, (count, 4)),
        triangles=r.integers(0, count, (2 * count, 3)),
    )
    assert is_stopped(lambda: mesh.centers_of_rotation)


def test_an_exception_for_another_thread_stops_its_simulation(chain):
    """As programs with a window cancel it."""
    simulation, found = mmdskin.Simulation(chain), []

    def run():
        try:
            simulation.pose(np.arange(5 * SIMULATED))
        except KeyboardInterrupt:
            found.append("stopped")

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
    )
    thread.join()
    assert found == ["stopped"] and simulation.frame < 5 * SIMULATED - 1


def test_a_handler_cannot_use_the_simulation_that_is_running(chain, on_ctrl_c):
    simulation = mmdskin.Simulation(chain)
    on_ctrl_c(lambda *_: simulation.pose(0))

    def is_refused():
        simulation.reset()
        try:
            with_ctrl_c([], partial(simulation.pose, np.arange(SIMULATED)))
        except RuntimeError as error:
            return "this thread is already using" in str(error)
        return False

    assert succeeds_once(is_refused)


REFUSED = [  # by the core, whose errors Python code turns into exceptions
    lambda world, _: setattr(world, "state", world.state * np.nan),
    lambda world, _: world.step(np.full((1, 7), np.nan)),
    lambda world, _: world.apply_impulse(0, (np.nan, 0, 0)),
    lambda world, _: world.__setstate__(b""),
    lambda _, simulation: simulation.__setstate__(b""),
]


@pytest.mark.parametrize("call", REFUSED)
def test_a_handler_can_use_what_has_refused_a_call(chain, monkeypatch, call):
    world = mmdskin.World(chain.rigid_bodies[:1], [])
    simulation = mmdskin.Simulation(chain)
    make, seen = errors.value_error, []

    def interrupted(text):
        seen.append((world.state, simulation.frame))
        return make(text)

    monkeypatch.setattr(errors, "value_error", interrupted)
    with pytest.raises(ValueError):
        call(world, simulation)
    assert seen


def test_a_handler_can_use_a_simulation_whose_strain_is_read(chain, monkeypatch):
    simulation = mmdskin.Simulation([chain, chain])
    split, seen = physics_arguments.split_strain, []

    def interrupted(*arguments):
        seen.append(simulation.frame)
        return split(*arguments)

    monkeypatch.setattr(physics_arguments, "split_strain", interrupted)
    assert len(simulation.strain) == 2
    assert seen
