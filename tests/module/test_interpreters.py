# SPDX-License-Identifier: MIT
"""Forked children and subinterpreters; each in a process of its own."""

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
    """What the script prints."""
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
def test_a_forked_child_poses_and_skins_what_its_parent_loaded():
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
        wanted = points()
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                os._exit(0 if (points() == wanted).all() else 1)
            children.append(child)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        assert (points() == wanted).all()
        """
    )


@needs_fork
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_no_thread_of_a_call_is_there_when_a_process_forks():
    """Python warns of forks beside threads, and what those are amid stays so in the child."""
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
            alone += count() <= before  # who has ended may still be seen for a moment
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
    """Whatever numpy allows: no crash, then or at the end."""
    try:
        python(SUBINTERPRETER + "run('try: import numpy\\nexcept ImportError: pass')", timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("numpy itself hangs in a subinterpreter of this system")
    assert python(SUBINTERPRETER + "run()\n") == "worked header\n"
    after_main = "import mmdskin\n" + SUBINTERPRETER + "run()\nrun()\nmmdskin.backends()\n"
    assert set(python(after_main).split("\n")) <= {"refused", "worked header", ""}
