# SPDX-License-Identifier: MIT
"""Models for the tests, the backends that one test body runs over, and Ctrl-C.

A test that asks for `kernel`, `backend` or `model_path` runs once for each of them.
"""

import itertools
import signal
import time
from functools import partial

import pytest
from files import locations

pytest_plugins = ["skin.gl_drivers"]

ROOT = locations.ROOT
CPU_KERNELS = ["scalar", "sse2", "avx2", "avx512", "neon"]


def published_file(name):
    """The path of a published model or motion; without it the test is skipped."""
    path = locations.find(name)
    if path is None:
        pytest.skip(locations.not_shipped(name))
    return path


def recorded_file(name):
    """The path of numbers below the reference folder; without them the test is skipped."""
    for folder in (locations.REFERENCE, locations.SHARED / "reference"):
        if (folder / name).is_file():
            return folder / name
    return pytest.skip(f"{name} was recorded from a model that may not be shipped")


def cpu_kernels():
    """The CPU kernels that this machine can run: "cpu:scalar", …"""
    import mmdskin
    import numpy as np

    mesh = mmdskin.Mesh(np.zeros((1, 3), "f4"), np.zeros((1, 1), "i4"), np.ones((1, 1), "f4"))
    found = []
    for name in CPU_KERNELS:
        try:
            mmdskin.skin(mesh, np.eye(4, dtype="f4")[None], backend=f"cpu:{name}")
        except mmdskin.BackendError:
            continue
        found.append(f"cpu:{name}")
    return found


def gl_reason():
    """Why OpenGL cannot be used here, or None."""
    import mmdskin

    gl = next(backend for backend in mmdskin.backends() if backend.name == "gl")
    return None if gl.available else gl.reason


def pytest_generate_tests(metafunc):
    names = metafunc.fixturenames
    if "kernel" in names:
        metafunc.parametrize("kernel", cpu_kernels(), scope="session")
    if "backend" in names:
        metafunc.parametrize("backend", [*cpu_kernels(), "gl"], indirect=True, scope="session")
    if "model_path" in names:
        paths = locations.at_hand("pmx")
        ids = [path.stem for path in paths]
        metafunc.parametrize("model_path", paths, ids=ids, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Tests that wait for a Blender in the background come last: the others run meanwhile."""
    items.sort(key=lambda item: "outcomes" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def kernels():
    return cpu_kernels()


@pytest.fixture(scope="session")
def gl():
    """A machine without OpenGL 4.3 skips its tests; a driver that refuses our programs fails them."""
    reason = gl_reason()
    assert not reason or "does not" not in reason, reason
    if reason:
        pytest.skip(f"no OpenGL here: {reason}")
    return "gl"


@pytest.fixture(scope="session")
def backend(request):
    return request.getfixturevalue("gl") if request.param == "gl" else request.param


@pytest.fixture
def on_ctrl_c():
    """Sets the handler of Ctrl-C, which background jobs of a shell ignore by default."""
    before = signal.getsignal(signal.SIGINT)
    yield partial(signal.signal, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def longest_wait():
    """Calls a function and returns the longest time for which signals were not handled meanwhile, as a
    share of the time of the call: of processor time, because other programs do not count, and a slow
    machine makes both longer. The best of three counts where the first is not below `most`."""
    before = signal.getsignal(signal.SIGALRM)

    def measure_once(work):
        times = []
        signal.signal(signal.SIGALRM, lambda *_: times.append(time.process_time()))
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        try:
            times.append(time.process_time())
            work()
            times.append(time.process_time())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return max(end - begin for begin, end in itertools.pairwise(times)) / (times[-1] - times[0])

    def measure(work, most):
        first = measure_once(work)
        return first if first < most else min(first, *(measure_once(work) for _ in range(2)))

    yield measure
    signal.signal(signal.SIGALRM, before)
