# SPDX-License-Identifier: MIT
"""Fixtures: libraries of OpenGL contexts that fail on demand."""

import shutil
import subprocess
import textwrap

import pytest
from files import locations
from skin.gl_scripts import WINDOWS

SOURCES = locations.ROOT / "tests" / "skin"


@pytest.fixture
def stub(tmp_path):
    """Builds an EGL library from tests/skin/egl_stub.c, or from other source."""
    if WINDOWS:
        pytest.skip("Windows has WGL in place of EGL")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler to build an EGL library with")

    def build(*defines, source=SOURCES / "egl_stub.c"):
        library = tmp_path / "libEGL-stub.so"
        command = [compiler, "-shared", "-fPIC", "-w", *defines, str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        return str(library)

    return build


@pytest.fixture
def wrapper(gl, stub):
    """The machine's own EGL, whose driver misbehaves on demand: see the source."""
    library = stub(
        "-Wl,--no-as-needed",
        "-l:libEGL.so.1",
        source=SOURCES / "egl_wrapper.c",
    )
    before = f"""
        driver = ctypes.CDLL({library!r})

        def tell(name, value):
            ctypes.c_int.in_dll(driver, name).value = value
        """
    return {"before": textwrap.dedent(before), "MMDSKIN_EGL": library}
