# SPDX-License-Identifier: MIT
"""Forked processes and subinterpreters, each test in a new process."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def python(script, timeout=300, **environment):
    """The output of a script."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": str(TESTS), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fork
def test_a_forked_process_can_pose_and_skin_what_its_parent_loaded():
    python(
        """
        import os
        import mmdskin
        from sample import model as sample
        from sample import motion as sample_motion

        model = mmdskin.load_model(sample.build_sample())
        motion = mmdskin.load_motion(sample_motion.build_motion())
        def points():
            pose = model.pose(motion, [3.5, 40, 2, 1], threads=3)
            return mmdskin.skin(model, pose, backend="cpu", threads=3).positions
        expected = points()
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                os._exit(0 if (points() == expected).all() else 1)
            children.append(child)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        assert (points() == expected).all()
        """
    )


@needs_fork
def test_what_another_thread_used_at_a_fork_is_refused_in_the_child():
    """Its lock stays locked there: waiting for it would take forever."""
    python(
        """
        import os, signal, threading, time
        import mmdskin
        from physics import chains

        simulation = mmdskin.Simulation(chains.load(chains.chain_file()), chains.swing())
        threading.Thread(target=simulation.pose, args=(500000,), daemon=True).start()
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                simulation.pose(0)
            except RuntimeError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        status = os.waitpid(child, 0)[1]
        os._exit(os.waitstatus_to_exitcode(status) and 1)
        """
    )


@needs_fork
@pytest.mark.skipif(
    not os.path.isdir("/proc/self/task"), reason="this system has no /proc to count threads"
)
def test_no_worker_thread_is_running_during_a_fork():
    """Python warns of a fork with threads, whose locks the child would inherit locked."""
    python(
        """
        import os
        import threading
        import mmdskin
        from sample import model as sample
        from sample import motion as sample_motion

        model = mmdskin.load_model(sample.build_sample())
        motion = mmdskin.load_motion(sample_motion.build_motion())
        count = lambda: len(os.listdir("/proc/self/task"))
        def pose(times=1):
            for _ in range(times):
                model.pose(motion, range(50), threads=4)
        before, alone = count(), 0
        for _ in range(20):
            pose()
            child = os.fork()
            if child == 0:
                pose()
                os._exit(0)
            alone += count() <= before  # a thread that has ended may be listed a little longer
            assert os.waitpid(child, 0)[1] == 0
        assert alone > 10
        other = threading.Thread(target=pose, args=(400,))
        other.start()
        while other.is_alive():
            child = os.fork()
            if child == 0:
                pose()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
    )


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

WORK = '''
import warnings
warnings.simplefilter("ignore")
try:
    import mmdskin
except ImportError as error:  # numpy allows one interpreter of a process only
    assert "more than once" in str(error) or "subinterpreter" in str(error), error
    print("refused")
else:
    mesh = mmdskin.Mesh([[1, 2, 3]], [[0]], [[1]])
    matrix = [[[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]]
    assert mmdskin.skin(mesh, matrix, backend="cpu").positions.tolist() == [[2, 2, 3]]
    many = mmdskin.skin(mesh, [matrix] * 5, backend="cpu", threads=3)
    assert many.positions.tolist() == [[[2, 2, 3]]] * 5
    for _ in range(3):  # in memory that is kept for the next result
        assert (mmdskin.skin(mesh, [matrix] * 20000).positions == [2, 2, 3]).all()
    try:
        mmdskin.load_model(b"")
    except mmdskin.FormatError as error:
        print("worked", error.section)
'''

def run(work=WORK):
    interpreter = interpreters.create()
    failed = interpreters.run_string(interpreter, work)
    assert failed is None, failed
    interpreters.destroy(interpreter)
"""


def has_subinterpreters():
    names = ("_interpreters", "_xxsubinterpreters")
    return any(importlib.util.find_spec(name) for name in names)


@pytest.mark.skipif(
    not has_subinterpreters(), reason="this Python has no module for subinterpreters"
)
def test_a_subinterpreter_works_or_is_refused():
    """Depending on numpy; it must not crash, neither then nor at exit."""
    try:
        python(SUBINTERPRETER + "run('try: import numpy\\nexcept ImportError: pass')", timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("numpy itself hangs in a subinterpreter of this system")
    assert python(SUBINTERPRETER + "run()\n") == "worked header\n"
    after_main = "import mmdskin\n" + SUBINTERPRETER + "run()\nrun()\nmmdskin.backends()\n"
    assert set(python(after_main).split("\n")) <= {"refused", "worked header", ""}
