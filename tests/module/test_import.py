# SPDX-License-Identifier: MIT
"""Importing loads no other module and no graphics library; checked in fresh interpreters."""

import os
import subprocess
import sys
import textwrap

import pytest

MODULES = """
import sys, numpy
before = set(sys.modules)
import mmdskin
print(*sorted(set(sys.modules) - before))
"""
LIBRARIES = """
import mmdskin
print(mmdskin.__file__)
for line in open("/proc/self/maps"):
    print(line.split("/", 1)[-1].strip())
"""


def fresh(script, **environment):
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_no_module_but_numpy():
    """Besides numpy, only itself and what costs next to no time."""
    found = {name.split(".")[0] for name in fresh(MODULES).split()}
    assert found <= {"mmdskin", "atexit", "__future__", "typing"}  # NumPy 1.22 leaves typing out


def test_import_loads_no_graphics_library():
    maps = fresh(LIBRARIES)
    assert not any(name in maps for name in ("libGL", "libEGL", "libX11", "libOpenGL", "dri"))


def test_skinning_on_the_cpu_loads_no_graphics_library():
    skin = (
        "import numpy as np\n"
        "mesh = mmdskin.Mesh(np.zeros((1, 3)), [[0]], [[1]])\n"
        "mmdskin.skin(mesh, [np.eye(4)], backend='cpu')"
    )
    maps = fresh(LIBRARIES.replace("\nfor", f"\n{skin}\nfor", 1))
    assert not any(name in maps for name in ("libGL", "libEGL", "libX11", "libOpenGL"))


def test_import_prints_nothing():
    assert fresh("import mmdskin") == ""


def test_the_package_has_one_file_of_native_code():
    path = fresh("import mmdskin; print(mmdskin._mmdskin.__file__)").strip()
    assert path.endswith(("_mmdskin.abi3.so", "_mmdskin.pyd"))


def test_the_module_can_be_imported_again():
    again = "import mmdskin, sys; del sys.modules['mmdskin']; import mmdskin"
    assert fresh(f"{again}; print(mmdskin.__version__)")


@pytest.mark.skipif(
    sys.platform == "win32",
    reason="under Wine, the first process with a window starts another one, which keeps its pipes open",
)
def test_opengl_ends_after_the_exit_handlers_of_users():
    """Also after that of the package that waits for its threads, and if the package is reloaded."""
    script = """
        import atexit, importlib, mmdskin
        from mmdskin import frame_loop
        class Shown:
            def acquire(self):
                print(mmdskin.backends()[0].reason)
        frame_loop._at_work.add(Shown())
        atexit.register(Shown().acquire)
        importlib.reload(mmdskin)
        """
    assert "the program is ending" not in fresh(textwrap.dedent(script))
