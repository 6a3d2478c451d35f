# SPDX-License-Identifier: MIT
"""mmdskin.frames: a dance as a loop, in the memory of a few frames."""

import _thread
import atexit
import gc
import os
import random
import signal
import subprocess
import sys
import time
import timeit

import mmdskin
import numpy as np
import pytest
from sample import model as sample
from sample import motion as sample_motion


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(sample_motion.build_motion())


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = _thread._count()
    yield
    assert ends_at(before)


def soon(condition):
    """Whether it holds within ten seconds: threads end by themselves, and then free what they had."""
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


def ends_at(threads):
    """Whether there are soon no more threads than these."""
    return soon(lambda: _thread._count() <= threads)


def gather(loop):
    """All frame numbers, positions and normals, and the length of each chunk."""
    parts = [(numbers, out.positions.copy(), out.normals.copy()) for numbers, out in loop]
    return (*map(np.concatenate, zip(*parts, strict=True)), [len(part[0]) for part in parts])


@pytest.mark.parametrize("physics", [None, True, mmdskin.Physics(hz=120)])
@pytest.mark.parametrize("chunk, lengths", [(None, [8, 3]), (4, [4, 4, 3]), (11, [11]), (99, [11])])
def test_the_loop_gives_what_one_batch_gives(model, motion, chunk, lengths, physics, monkeypatch):
    monkeypatch.setattr("mmdskin.frame_loop.CACHE_BYTES", 4 * 24 * len(model.positions))
    monkeypatch.setattr("mmdskin.frame_loop.FRAMES_PER_CORE", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    numbers = [5, 0.5, 3, 90, 91, 92, 7, 7, 150, 0, 1]
    found = gather(mmdskin.frames(model, motion, numbers, chunk=chunk, physics=physics))
    wanted = mmdskin.skin(model, model.pose(motion, numbers, physics=physics))
    np.testing.assert_array_equal(found[0], numbers)
    np.testing.assert_array_equal(found[1], wanted.positions)
    np.testing.assert_array_equal(found[2], wanted.normals)
    assert found[3] == lengths


@pytest.mark.parametrize("cores, longest", [(1, 12), (2, 24), (64, 192)])
def test_by_default_every_core_has_enough_frames(model, cores, longest, monkeypatch):
    monkeypatch.setattr("mmdskin.frame_loop.CACHE_BYTES", 4 * 24 * len(model.positions))
    monkeypatch.setattr("mmdskin.frame_loop.FRAMES_PER_CORE", 12)
    monkeypatch.setattr("mmdskin.frame_loop.MOST_FRAMES", 192)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    numbers, _ = next(iter(mmdskin.frames(model, None, np.zeros(1000))))
    assert len(numbers) == max(longest, 4 * cores)


def test_more_threads_than_are_used_take_no_more_memory(model, monkeypatch):
    monkeypatch.setattr("mmdskin.frame_loop.CACHE_BYTES", 4 * 24 * len(model.positions))
    numbers, _ = next(iter(mmdskin.frames(model, None, np.zeros(2000), threads=10**9)))
    assert len(numbers) == 4 * 256


def test_by_default_all_frames_come_in_order(model, motion):
    found = gather(mmdskin.frames(model, motion))
    np.testing.assert_array_equal(found[0], np.arange(153))
    still = mmdskin.Motion.from_tracks([("x", [3, 5], None, None, None)])
    np.testing.assert_array_equal(gather(mmdskin.frames(model, still))[0], [3, 4, 5])
    np.testing.assert_array_equal(gather(mmdskin.frames(model, None))[0], [0])


def test_options_are_those_of_pose_and_skin(model, motion):
    options = {"method": "dual_quaternion", "normals": False, "tangents": True, "backend": "cpu"}
    (numbers, out), = mmdskin.frames(model, motion, [9, 30], ik=False, threads=1, **options)  # fmt: skip
    wanted = mmdskin.skin(model, model.pose(motion, numbers, ik=False), **options)
    np.testing.assert_array_equal(out.positions, wanted.positions)
    np.testing.assert_array_equal(out.tangents, wanted.tangents)
    assert out.normals is None


def test_every_turn_fills_the_same_memory(model, motion):
    places = {out.positions.ctypes.data for _, out in mmdskin.frames(model, motion, chunk=10)}
    assert len(places) == 1


def test_a_late_key_takes_no_memory_before_its_turn(model):
    """The numbers of all frames would take 32 GB."""
    late = mmdskin.Motion.from_tracks([("センター", [0, 2**32 - 1], None, None, None)])
    numbers, out = next(mmdskin.frames(model, late, chunk=3))
    assert numbers.tolist() == [0, 1, 2] and len(out.positions) == 3


def test_no_frames_are_no_turns(model, motion):
    assert list(mmdskin.frames(model, motion, [])) == []


@pytest.mark.parametrize("physics", [None, True])
def test_a_loop_ends_by_break(model, motion, physics):
    for numbers, _ in mmdskin.frames(model, motion, chunk=2, physics=physics):
        if numbers[0] >= 4:
            break
    assert numbers.tolist() == [4, 5]


@pytest.mark.parametrize("physics", [None, True])
def test_a_loop_ends_by_ctrl_c(model, motion, physics, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    turns = 0
    with pytest.raises(KeyboardInterrupt):
        for _ in mmdskin.frames(model, motion, chunk=2, physics=physics):
            turns += 1
            if turns == 3:
                signal.raise_signal(signal.SIGINT)
    assert turns == 3


@pytest.mark.parametrize("begins", [True, False])
def test_a_program_may_end_in_the_middle_of_a_loop(tmp_path, begins):
    """Also before the loop's thread has begun."""
    sample.write_sample(tmp_path)
    script = f"""
import _thread, mmdskin
if not {begins}:
    _thread.start_new_thread = lambda *_: None
loop = mmdskin.frames(mmdskin.load_model({str(next(tmp_path.glob("*.pmx")))!r}), None, [0] * 50, physics=True)
print(len(next(loop)[0]))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and int(done.stdout) > 0


def test_a_thread_that_cannot_start_leaves_nothing_behind(model, monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    handlers = atexit._ncallbacks()
    monkeypatch.setattr(_thread, "start_new_thread", refused)
    loop = mmdskin.frames(model, None, [0, 1], chunk=1, physics=True)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        next(loop)
    assert atexit._ncallbacks() == handlers


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_forked_process_that_continues_a_loop_ends():
    """It has no thread that simulates: an error, or the poses that were ready, but no waiting."""
    script = """
import os, sys, time
import mmdskin
from physics import chains

def child(wait):
    loop = mmdskin.frames(chains.load(chains.chain_file()), chains.swing(), range(4000), chunk=1000, physics=True)
    next(loop)
    time.sleep(wait)
    process = os.fork()
    if process == 0:
        try:
            next(loop)
            print("continued", flush=True)
            loop.close()
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(process, 0)
    loop.close()

child(0)
child(3)
"""
    command = [sys.executable, "-c", script]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == (
        "frames: this process was forked while another thread simulated; begin a new loop"
    )
    assert second == "continued"


def test_interrupts_at_any_moment_leave_no_thread_and_no_simulation(model, motion, on_ctrl_c):
    """Also while the loop starts and ends. The kernel sends the signals, so no other thread does."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timer that sends a signal")

    class Stop(BaseException):
        pass

    def stop(*_):
        raise Stop

    def references():
        """Each Simulation has one to the model."""
        gc.collect()
        return sys.getrefcount(model)

    def loop():
        for _ in mmdskin.frames(model, motion, range(6), chunk=1, physics=True):
            pass

    rng, whole = random.Random(1), min(timeit.repeat(loop, number=1, repeat=5))
    before = signal.signal(signal.SIGALRM, stop)
    threads, alive, interrupted = _thread._count(), references(), 0
    try:
        for _ in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.02, 1.2) * whole)
                loop()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 100
    assert ends_at(threads)
    assert soon(lambda: references() == alive)


def test_an_error_while_posing_ends_the_loop(model, motion):
    loop = mmdskin.frames(model, motion, [0, 1, 2, 2e7], chunk=2, physics=True)
    assert next(loop)[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="frame is 20000000, limit "):
        next(loop)


def test_wrong_arguments_are_errors_at_once(model, motion):
    for arguments, options, error in (
        ((motion, motion), {}, "model: expected a Model"),
        ((model, model), {}, "motion: expected a Motion or None"),
        ((model, motion, 3), {}, r"frames: shape \(\), expected \(F,\)"),
        ((model, motion, slice(3)), {}, "frames: expected numbers, not <class 'slice'>"),
        ((model, motion, [[1], [2, 3]]), {}, "frames: setting an array"),
        ((model, motion, [0, 1, 2, np.nan]), {"chunk": 2}, r"^frames\[3\] is NaN$"),
        ((model, motion, [0, -np.inf]), {"physics": True}, r"^frames\[1\] is infinite$"),
        ((model, motion, [0]), {"chunk": 0}, "chunk: 0, expected at least 1"),
        ((model, motion, [0]), {"chunk": 2.0}, "chunk: expected None or an integer, not <class 'f"),
        ((model, motion, [0]), {"threads": "4"}, "threads: expected None or an integer, not <cl"),
        ((model, motion, [0]), {"threads": -2}, "^threads: -2, expected at least 1$"),
        ((model, motion, [0]), {"out": None}, "unexpected keyword argument 'out'"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            mmdskin.frames(*arguments, **options)
