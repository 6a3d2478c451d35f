# SPDX-License-Identifier: MIT
"""Strict type checkers accept the examples of the README and of docs/*.md."""

import json
import re
import subprocess
import sys

import pytest
from module import docs_examples

TYPED = docs_examples.runnable_here()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a file for each example."""
    folder = tmp_path_factory.mktemp("examples")
    for name, example in TYPED.items():
        path = folder / (re.sub(r"\W", "_", name) + ".py")
        path.write_text(example, encoding="utf-8")
    wrong = (
        "import mmdskin\nmmdskin.skin(mmdskin.load_model('x'), [], normals=False).normals.shape\n"
    )
    (folder / "wrong.py").write_text(wrong)
    return folder


def check(folder, *command):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True
    )


def test_mypy_accepts_them_and_finds_a_mistake(folder):
    done = check(folder, "mypy", "--strict", "--cache-dir", "cache", ".")
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and errors[0].startswith('wrong.py:2: error: "None" has no'), (
        done.stdout
    )


def test_pyright_accepts_them_and_finds_a_mistake(folder):
    """By basedpyright, which is pyright in a wheel that needs nothing but PyPI."""
    settings = {"typeCheckingMode": "strict", "reportUnusedVariable": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = check(folder, "basedpyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [(each["file"].rpartition("/")[2], each["message"]) for each in found]
    assert {file for file, _ in errors} == {"wrong.py"}, errors


def test_mypy_accepts_those_of_libraries_that_are_not_here(tmp_path):
    """Their types are unknown here, ours are checked. Not: recipes with functions, which are untyped for
    short, and Blender's, whose operators have no types."""
    libraries = ("trimesh", "pyvista", "zarr", "xarray")
    for name in libraries:
        (example,) = (
            one for one in docs_examples.everywhere().values() if f"import {name}\n" in one
        )
        (tmp_path / f"with_{name}.py").write_text(example, encoding="utf-8")
    options = ("--strict", "--ignore-missing-imports", "--cache-dir", "cache")
    done = check(tmp_path, "mypy", *options, ".")
    assert done.returncode == 0, done.stdout
