# SPDX-License-Identifier: MIT
"""Scripts that use OpenGL, each in its own interpreter, whose environment variables choose the driver."""

import ctypes
import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import ctypes, os, sys, threading
import mmdskin
import numpy as np

POINTS = np.arange(3000, dtype="f4").reshape(-1, 3) / 1000
SHIFT = np.eye(4, dtype="f4")[None] + np.eye(4, k=3, dtype="f4")


def make():
    return mmdskin.Mesh(POINTS, np.zeros((1000, 1), "i4"), np.ones((1000, 1), "f4"))


def check(mesh, backend):
    out = mmdskin.skin(mesh, SHIFT, backend=backend).positions
    assert abs(out - POINTS - [1, 0, 0]).max() <= 1e-6


def failure():
    try:
        mmdskin.skin(mesh, SHIFT, backend="gl")
    except mmdskin.BackendError as error:
        return str(error)
    raise AssertionError("no BackendError")


def described():
    return next(backend for backend in mmdskin.backends() if backend.name == "gl")


mesh = make()
"""

# What must hold if OpenGL cannot be used, for any reason.
WITHOUT_GL = """
check(mesh, "auto")
check(mesh, "cpu")
reason = failure()
assert failure() == reason
assert not described().available and described().reason == reason
mmdskin.shutdown()
assert failure() == reason
check(mesh, "auto")
print(reason)
"""


def python(script, before="", timeout=300, **changes):
    """Standard output of the script in a new interpreter, without a display if EGL needs none."""
    hidden = () if WINDOWS else ("DISPLAY", "WAYLAND_DISPLAY")
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + before + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env=environment | changes,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


WINDOWS = sys.platform == "win32"
# The variable that names the library of contexts.
LIBRARY = "MMDSKIN_OPENGL32" if WINDOWS else "MMDSKIN_EGL"


def has_surfaceless():
    """Whether this machine's EGL has Mesa's displays without a device."""
    try:
        egl = ctypes.CDLL(os.environ.get("MMDSKIN_EGL") or "libEGL.so.1")
    except OSError:
        return False
    egl.eglQueryString.restype = ctypes.c_char_p
    platforms = egl.eglQueryString(None, 0x3055)  # EGL_EXTENSIONS
    return b"EGL_MESA_platform_surfaceless" in (platforms or b"")


needs_egl = pytest.mark.skipif(WINDOWS, reason="Windows has WGL in place of EGL")
needs_surfaceless = pytest.mark.skipif(
    WINDOWS or not has_surfaceless(), reason="this machine's EGL is not Mesa's"
)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
