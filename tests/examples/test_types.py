# SPDX-License-Identifier: MIT
"""Strict type checkers accept every example: of the README, of docs/*.md and in docs/examples.

They see the libraries that setup.sh installed, and Blender's stubs. What these leave open is left open
in mypy.ini and pyrightconfig.json; all calls of mmdskin are checked.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import examples_python
import mmdskin
import pytest
from module import docs_examples

HERE = Path(__file__).parent
LIBRARIES = r"^ *(import|from) (bpy|dask|jax|pyarrow|pygltflib|pyvista|ray|trimesh|xarray|zarr)\b"
MISTAKE = "mmdskin.skin(mmdskin.load_model('x'), [], normals=False).normals.shape\n"
# The add-on's operators exist once it is enabled. A script always has a scene.
BLENDER = (
    'Module has no attribute "mmdskin"',
    '"mmdskin" is not a known attribute of module "..ops"',
    'Item "None" of "Scene | None" has no attribute "render"',
)


def sources():
    """{name: text} of all examples."""
    printed = {re.sub(r"\W", "_", name): text for name, text in docs_examples.everywhere().items()}
    files = examples_python.EXAMPLES.glob("*.py")
    return printed | {path.stem: path.read_text(encoding="utf-8") for path in files}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the examples in two others, and a mistake in each of these."""
    if examples_python.command() is None:
        pytest.skip("the examples' Python is not here: run make build/examples")
    folder = tmp_path_factory.mktemp("types")
    for name in ("modules", "ours", "libraries"):
        (folder / name).mkdir()
    for name, text in sources().items():
        # those of a data set import each other
        beside = name.startswith("dataset_") or re.search(LIBRARIES, text, re.MULTILINE)
        place = folder / ("libraries" if beside else "ours") / f"{name}.py"
        place.write_text(text, encoding="utf-8")
    (folder / "ours/mistake.py").write_text(f"import mmdskin\n{MISTAKE}")
    (folder / "libraries/other_mistake.py").write_text(f"import mmdskin\nimport zarr\n{MISTAKE}")
    package = Path(mmdskin.__file__).parent
    (folder / "modules/mmdskin").symlink_to(package)
    for stubs in Path(sysconfig.get_path("purelib")).glob("*bpy*-stubs"):
        (folder / "modules" / stubs.name.removesuffix("-stubs")).symlink_to(stubs)
    for name in ("mypy.ini", "pyrightconfig.json"):
        shutil.copy(HERE / name, folder)
    return folder


def check(folder, tool, *options, **environment):
    command = [sys.executable, "-m", tool, *options, examples_python.command()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **environment).stdout


def without_blender(errors):
    """[(file, error)] without what Blender's stubs cannot know."""
    kept = [(file, text) for file, text in errors if not text.startswith(BLENDER)]
    assert len(kept) < len(errors)
    return kept


def test_mypy_accepts_them_and_finds_mistakes(folder, request):
    """Its cache keeps what it knows of the libraries."""
    cache = request.config.cache.mkdir("mypy")
    files = (path.relative_to(folder) for path in folder.glob("[ol]*/*.py"))
    options = ("--cache-dir", cache, "--no-error-summary", *files, "--python-executable")
    said = check(folder, "mypy", *options, env={**os.environ, "MYPYPATH": "modules"})
    errors = re.findall(r"^\w+/(\w+)\.py:\d+: error: (.*)$", said, re.MULTILINE)
    assert sorted(file for file, _ in without_blender(errors)) == ["mistake", "other_mistake"], said


def test_pyright_accepts_them_and_finds_mistakes(folder):
    """By basedpyright, which is pyright in a wheel that needs nothing but PyPI."""
    said = json.loads(check(folder, "basedpyright", "--outputjson", "--pythonpath"))
    found = [
        (Path(one["file"]).stem, one["message"])
        for one in said["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    files = {file for file, _ in without_blender(found)}
    assert files == {"mistake", "other_mistake"}, found
