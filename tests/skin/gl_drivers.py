# SPDX-License-Identifier: MIT
"""Fixtures: libraries of OpenGL contexts that fail on demand."""

import ctypes
import os
import shutil
import subprocess
import textwrap
from pathlib import Path

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


def machines_egl():
    """The path of the EGL library that the module loads, of any vendor."""
    name = os.environ.get("MMDSKIN_EGL") or "libEGL.so.1"
    ctypes.CDLL(name)
    maps = Path("/proc/self/maps").read_text().split()
    return next(word for word in maps if Path(word).name.startswith(Path(name).name))


def wrapped(stub, source):
    """A library of tests/skin around the machine's own EGL, and how scripts set and read its variables."""
    egl = machines_egl()
    folder = f"-Wl,-rpath,{Path(egl).parent}"
    library = stub("-Wl,--no-as-needed", egl, folder, source=SOURCES / source)
    before = f"""
        driver = ctypes.CDLL({library!r})

        def told(name):
            return ctypes.c_int.in_dll(driver, name).value

        def tell(name, value):
            ctypes.c_int.in_dll(driver, name).value = value
        """
    return {"before": textwrap.dedent(before), "MMDSKIN_EGL": library}


@pytest.fixture
def wrapper(gl, stub):
    """The machine's own EGL, whose driver misbehaves on demand: see the source."""
    return wrapped(stub, "egl_wrapper.c")


@pytest.fixture
def minimum(gl, stub):
    """The machine's own EGL, whose driver grants just what OpenGL 4.3 guarantees."""
    return wrapped(stub, "egl_minimum.c")
