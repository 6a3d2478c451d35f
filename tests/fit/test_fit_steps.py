# SPDX-License-Identifier: MIT
"""Fit: the fits of Motion in steps, as programs with a window run them."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import mmdskin
import numpy as np
import pytest
from fit import dances
from fit.test_fit_work import model, orbit, trembling

FRAMES = 6000
METHODS = ("from_locals", "from_poses", "from_camera", "from_skeleton")


def values(count=FRAMES):
    return (model(), *trembling(count, ("normal", 1)))


def walk(count):
    dancer, motion, _ = mmdskin.sample()
    return dancer, dancer.skeleton, dancer.pose(motion, np.arange(count) % 60)


def arguments(name):
    puppet, moves, turns, _ = values()
    if name == "from_poses":
        return puppet, puppet.pose_from(moves, turns)
    if name == "from_camera":
        return (orbit(20_000, 0.02),)
    return walk(60) if name == "from_skeleton" else (puppet, moves, turns)


@pytest.mark.parametrize("name", METHODS)
def test_steps_give_what_the_method_gives(name):
    method, given = getattr(mmdskin.Motion, name), arguments(name)
    fit = mmdskin.Fit(method, *given)
    shares = list(fit)
    assert fit.result() == method(*given)
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert shares
    assert next(fit, None) is None


def test_a_result_runs_the_steps_that_are_left():
    fit = mmdskin.Fit(mmdskin.Motion.from_locals, *values(), threads=1)
    next(fit)
    assert fit.result() == mmdskin.Motion.from_locals(*values(), threads=1)


@pytest.mark.parametrize("name", ["from_locals", "from_camera"])
def test_each_step_is_short_and_makes_progress(name):
    if name == "from_locals":
        fit = mmdskin.Fit(mmdskin.Motion.from_locals, *values(30_000), threads=1)
    else:
        fit = mmdskin.Fit(mmdskin.Motion.from_camera, orbit(180_000, 0.02))
    times, shares = [time.process_time()], []
    for share in fit:
        times.append(time.process_time())
        shares.append(share)
    assert len(shares) > 5
    assert max(np.diff(times)) < (times[-1] - times[0]) / 3
    assert len(set(shares)) > len(shares) / 2


def test_a_dropped_fit_frees_its_arguments():
    class Numbers(np.ndarray):
        pass

    puppet, moves, turns, _ = values()
    pose = puppet.pose_from(moves, turns).bone_matrices.view(Numbers)
    alive = weakref.ref(pose)
    fit = mmdskin.Fit(mmdskin.Motion.from_poses, puppet, pose)
    next(fit)
    del pose, fit
    gc.collect()
    assert alive() is None


def test_arguments_that_change_between_steps_break_nothing():
    puppet, moves, turns, _ = values()
    matrices = puppet.pose_from(moves, turns).bone_matrices
    fit = mmdskin.Fit(mmdskin.Motion.from_poses, puppet, matrices)
    next(fit)
    matrices[:] = np.nan
    del puppet, matrices
    motion, _ = fit.result()
    assert np.isfinite(motion.bones[0].translations).all()


def test_ctrl_c_in_a_step_leaves_a_fit_that_goes_on(on_ctrl_c):
    on_ctrl_c(signal.default_int_handler)
    fit = mmdskin.Fit(mmdskin.Motion.from_locals, *values(), threads=1)
    next(fit)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        fit.result()
    assert fit.result() == mmdskin.Motion.from_locals(*values(), threads=1)


def test_threads_share_a_fit():
    fit, found = mmdskin.Fit(mmdskin.Motion.from_locals, *values()), []
    threads = [threading.Thread(target=lambda: found.extend(fit)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) > 3
    assert fit.result() == mmdskin.Motion.from_locals(*values())


def test_threads_share_the_step_that_retargets():
    """It takes long enough that the others begin meanwhile."""
    given = walk(600)
    fit, found = mmdskin.Fit(mmdskin.Motion.from_skeleton, *given), []
    threads = [threading.Thread(target=lambda: found.append(fit.result())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [mmdskin.Motion.from_skeleton(*given)] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_both_processes_of_a_fork_finish_a_fit():
    script = """
import os, mmdskin, numpy as np
from fit.test_fit_steps import values
fit = mmdskin.Fit(mmdskin.Motion.from_locals, *values(), threads=2)
next(fit)
child = os.fork()
keys = fit.result()[1].keys
if child:
    assert os.waitpid(child, 0)[1] == 0
print(keys, flush=True)
os._exit(0)
"""
    first, second = run(script).split()
    assert first == second == str(mmdskin.Motion.from_locals(*values())[1].keys)


def test_a_program_may_end_in_the_middle_of_a_fit():
    script = """
import mmdskin
from fit.test_fit_steps import values
fit = mmdskin.Fit(mmdskin.Motion.from_locals, *values(), threads=2)
print(next(fit) < 1)
"""
    assert run(script) == "True\n"


def run(script):
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=os.environ | {"PYTHONPATH": path}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_wrong_arguments_are_refused_as_by_the_method():
    puppet = dances.puppet(["a"], 1)
    with pytest.raises(ValueError, match="tolerance"):
        mmdskin.Fit(mmdskin.Motion.from_locals, puppet, None, tolerance=-1)
    with pytest.raises(TypeError, match="from_camera"):
        mmdskin.Fit(mmdskin.Motion.from_camera)
    with pytest.raises(TypeError, match=r"function: expected Motion.from_poses, .*, not <built-in"):
        mmdskin.Fit(mmdskin.Motion.from_tracks)
    with pytest.raises(TypeError, match="not 3"):
        mmdskin.Fit(3)


def test_an_error_in_a_step_ends_a_fit():
    fit = mmdskin.Fit(mmdskin.Motion.from_skeleton, *walk(60)[:2], np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="poses"):
        next(fit)
    with pytest.raises(RuntimeError, match="fit: an earlier exception has ended it"):
        fit.result()
