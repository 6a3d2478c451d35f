# SPDX-License-Identifier: MIT
"""Builds for a Python without the GIL (3.14t), which has no stable interface."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
# What setup.py would do there.
SETUP = """
import json, sys, sysconfig, setuptools
asked = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else asked(name)
def setup(*, ext_modules, options, **others):
    (module,) = ext_modules
    print(json.dumps([module.py_limited_api, module.extra_compile_args, options]))
setuptools.setup = setup
exec(compile(open("setup.py").read(), "setup.py", "exec"))
"""


@pytest.fixture(scope="module")
def build():
    command = [sys.executable, "-c", SETUP]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_stable_interface_is_left_out(build):
    stable, flags, options = build
    assert not stable
    assert not [flag for flag in flags if "Py_LIMITED_API" in flag]
    assert "-DPy_GIL_DISABLED=1" in flags
    assert "py_limited_api" not in options["bdist_wheel"]


def test_the_sources_compile_without_the_stable_interface(build):
    """Against the whole interface of this Python, so with the GIL."""
    flags = [flag for flag in build[1] if not flag.startswith("-DPy_GIL_DISABLED")]
    folders = [f"-isystem{sysconfig.get_path('include')}", f"-isystem{numpy.get_include()}"]
    sources = sorted((ROOT / "csrc/python").glob("*.c"))
    command = ["gcc", "-fsyntax-only", "-Werror", *flags, *folders, *sources]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert sources and not done.returncode, done.stderr
