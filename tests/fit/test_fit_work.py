# SPDX-License-Identifier: MIT
"""Fits take time in proportion to their frames, whatever the values are, and Ctrl-C ends them."""

import ctypes
import signal
import threading
import time
from functools import partial

import mmdskin
import numpy as np
import pytest
from fit import dances
from judges import pose_rigs as rigs
from judges.growth import ratio

TOLERANCE = 0.02


def still(count):
    return np.tile([0, 0, 0, 1.0], (count, 1, 1))


def trembling(count, tremble):
    """One bone that moves evenly to and fro, and trembles about as much as the tolerance allows, as
    simulated bones do."""
    wave = {
        "uniform": np.random.default_rng(0).uniform(-1, 1, count),
        "normal": np.random.default_rng(0).normal(size=count),
        "sine": np.sin(1.7 * np.arange(count)),
    }[tremble[0]]
    moves = np.zeros((count, 1, 3))
    way = np.abs(np.arange(count) % 1000 - 500)
    moves[:, 0, 1] = 0.05 * way + tremble[1] * TOLERANCE * wave
    return moves, still(count), None


def turning(count, degrees):
    """A bone that turns evenly, and trembles."""
    angle = np.radians(2 * np.arange(count))
    angle += np.radians(degrees) * np.random.default_rng(1).uniform(-1, 1, count)
    turns = np.stack([0 * angle, 0 * angle, np.sin(angle / 2), np.cos(angle / 2)], -1)
    return np.zeros((count, 1, 3)), turns[:, None], None


def flickering(count, amplitude):
    """A morph off a constant by turns: no line reaches any frame, but all stay possible."""
    weights = 0.5 + amplitude * (np.arange(count) % 2 * 2 - 1)
    return np.zeros((count, 1, 3)), still(count), weights[:, None]


def model():
    file = dances.puppet_file(["bone"], 1)
    file.morphs = [rigs.morph("m", "vertex", (0, 1, 0, 0))]
    return mmdskin.load_model(dances.pmx.write(file))


def check_work(fit, values, noise):
    """Eight times the frames take about eight times as long, not 64 times, and values that are hard to
    fit up to eight times as long as noise with a key at nearly every frame, not thousands of times."""
    assert ratio(fit(values(8000)), fit(values(1000)), 16) < 16
    assert ratio(fit(values(2000)), fit(noise(2000)), 100) < 100


TREMBLES = [(kind, ratio) for kind in ("uniform", "normal", "sine") for ratio in (0.8, 1, 1.2)]


@pytest.mark.parametrize(
    "values",
    [*((trembling, t) for t in TREMBLES), (turning, 0.5), (turning, 1.2), (flickering, 0.0015)],
    ids=lambda values: f"{values[0].__name__} {values[1]}",
)
def test_a_fit_takes_time_in_proportion_to_its_frames(values):
    made, parameter = values
    check_work(
        lambda given: partial(mmdskin.Motion.from_locals, model(), *given, threads=1),
        lambda count: made(count, parameter),
        lambda count: trembling(count, ("normal", 10)),
    )


def orbit(count, off):
    """A plain orbit whose target is off."""
    angle = 2 * np.pi * np.arange(count) / 400
    target = np.zeros((count, 3))
    target[:, 0] = off * np.random.default_rng(0).uniform(-1, 1, count)
    position = np.stack([30 * np.sin(angle), 10 + 0 * angle, -30 * np.cos(angle)], -1)
    return mmdskin.Camera(position, target, np.tile([0.0, 1, 0], (count, 1)), np.full(count, 30.0))


@pytest.mark.parametrize("off", [0, 0.013, 0.02, 0.03])
def test_the_fit_of_a_camera_takes_time_in_proportion_to_its_frames(off):
    check_work(
        lambda camera: partial(mmdskin.Motion.from_camera, camera),
        lambda count: orbit(count, off),
        lambda count: orbit(count, 10),
    )


def test_a_tremble_within_the_tolerance_takes_no_more_keys_than_it_must():
    """Even motion with a tremble of half the tolerance is one segment a way."""
    motion, report = mmdskin.Motion.from_locals(model(), *trembling(2001, ("uniform", 0.5)))
    assert report.worst <= TOLERANCE
    assert len(motion.bones[0].frames) == 5


def test_values_nearly_within_the_tolerance_are_not_fitted_by_half_of_it():
    """Rounding to float32 puts a vertex off by 1.00003 times the tolerance."""
    _, report = mmdskin.Motion.from_locals(model(), *trembling(1000, ("uniform", 1)))
    assert TOLERANCE / 2 < report.worst <= TOLERANCE


@pytest.mark.parametrize("threads", [1, 2])
def test_the_keys_of_a_trembling_bone_do_not_depend_on_the_number_of_threads(threads):
    values = trembling(2000, ("normal", 1))
    moves, turns = (np.repeat(v, 3, 1) for v in values[:2])
    moves[:, 1] *= 0.5
    puppet = dances.puppet(["a", "b", "c"], 1)
    found = mmdskin.Motion.from_locals(puppet, moves, turns, threads=threads)[0]
    wanted = mmdskin.Motion.from_locals(puppet, moves, turns, threads=3)[0]
    assert repr(found.bones) == repr(wanted.bones)


LONG = pytest.mark.parametrize("work", [
    partial(mmdskin.Motion.from_locals, model(), *trembling(60_000, ("normal", 1)), threads=1),
    partial(mmdskin.Motion.from_camera, orbit(200_000, 0.02)),
], ids=["locals", "camera"])  # fmt: skip


@LONG
def test_a_fit_of_one_track_handles_signals_all_the_time(work, longest_wait):
    assert longest_wait(work, 1 / 6) < 1 / 6


@LONG
def test_ctrl_c_ends_a_fit_of_one_track(work, on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):  # before it ends, after a second or two
        work()


@LONG
def test_an_exception_for_another_thread_ends_its_fit(work):
    """As programs with a window cancel it."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(type(error))

    began = time.process_time()
    work()
    whole = time.process_time() - began
    thread = threading.Thread(target=run)
    began = time.process_time()
    thread.start()
    time.sleep(0.1)
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
    )
    thread.join()
    assert (raised, found) == (1, [KeyboardInterrupt])
    assert time.process_time() - began < 0.7 * whole  # Python raises it by itself after the call


def test_a_fit_ends_within_a_tolerance_that_rounding_exceeds():
    """A vertex 20 units away is rounded to 2e-6: no keys put it nearer, whatever work they take."""
    dancer, dance, _ = mmdskin.sample()
    fit = mmdskin.Fit(
        mmdskin.Motion.from_poses, dancer, dancer.pose(dance, range(20)), tolerance=1e-6
    )
    steps = sum(1 for _ in zip(range(300), fit, strict=False))
    assert steps < 300  # it takes about 15
    assert fit.result()[1].worst < 1e-5
