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
