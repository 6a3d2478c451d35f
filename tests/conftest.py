# SPDX-License-Identifier: MIT
"""Where tests find the shared models, and the backends that one test body runs over.

A test that asks for `kernel`, `backend` or `model_path` runs once for each of them.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("MMDSKIN_SHARED", ROOT.parent / "shared"))
CPU_KERNELS = ["scalar", "sse2", "avx2", "avx512", "neon"]


def model_paths():
    """Every real PMX file at hand, the small fixtures included."""
    return sorted(SHARED.glob("models/**/*.pmx"))


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
        paths = model_paths() or [None]
        ids = [path.stem if path else "none" for path in paths]
        metafunc.parametrize("model_path", paths, ids=ids, indirect=True, scope="session")


@pytest.fixture(scope="session")
def shared():
    if not SHARED.is_dir():
        pytest.skip(f"the shared test models are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def kernels():
    return cpu_kernels()


@pytest.fixture(scope="session")
def gl():
    reason = gl_reason()
    if reason:
        pytest.skip(f"no OpenGL here: {reason}")
    return "gl"


@pytest.fixture(scope="session")
def backend(request):
    return request.getfixturevalue("gl") if request.param == "gl" else request.param


@pytest.fixture(scope="session")
def model_path(request):
    if request.param is None:
        pytest.skip(f"the shared test models are not at {SHARED}")
    return request.param
