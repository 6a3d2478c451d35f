# SPDX-License-Identifier: MIT
"""What the wheel holds and what the module needs from a machine."""

import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path

import mmdskin
import pytest
import tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel():
    found = list(ROOT.glob(f"dist/mmdskin-{PROJECT['version']}-*.whl"))
    if not found:
        pytest.skip("no wheel in dist; `make wheel` makes it")
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def wheel_names(wheel):
    return zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def module_file():
    return Path(mmdskin.__file__)


def read(wheel, name):
    archive = zipfile.ZipFile(wheel)
    (full,) = [entry for entry in archive.namelist() if entry.endswith(name)]
    return archive.read(full).decode("utf-8")


def symbols(module_file, *options):
    listing = subprocess.run(
        ["nm", "-D", *options, module_file], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


def type_check(tmp_path, program):
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", path]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_tests_run_against_the_installed_module(module_file):
    assert "site-packages" in module_file.parts


def test_one_wheel_serves_every_python_from_3_11_on(wheel):
    assert "-cp311-abi3-" in wheel.name
    assert "Tag: cp311-abi3-" in read(wheel, "dist-info/WHEEL")


def test_wheel_holds_the_module_its_types_and_nothing_else(wheel_names):
    outside = {name for name in wheel_names if ".dist-info/" not in name}
    assert outside == {"mmdskin.abi3.so", "mmdskin-stubs/__init__.pyi"}


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("licenses/LICENSE", "mmdskin contributors"),
        ("GLEW.txt", "The OpenGL Extension Wrangler Library"),
        ("cglm.txt", "Recep Aslantas"),
    ],
)
def test_wheel_holds_the_licence_of_everything_in_it(wheel, name, phrase):
    assert phrase in read(wheel, name)


def test_numpy_is_the_only_requirement(wheel):
    lines = read(wheel, "dist-info/METADATA").splitlines()
    assert [line for line in lines if line.startswith("Requires-Dist")] == [
        "Requires-Dist: numpy>=1.22"
    ]


def test_version_is_the_same_everywhere():
    installed = importlib.metadata.version("mmdskin")
    assert mmdskin.__version__ == installed == PROJECT["version"]


def test_module_exports_its_init_function_only(module_file):
    assert symbols(module_file, "--defined-only") == {"PyInit_mmdskin"}


def test_module_takes_nothing_from_opengl_at_load_time(module_file):
    wanted = symbols(module_file, "--undefined-only")
    assert not [name for name in wanted if name.startswith(("gl", "egl", "X"))]


def test_module_needs_the_c_library_only(module_file):
    listing = subprocess.run(["ldd", module_file], capture_output=True, text=True).stdout
    needed = {Path(line.split()[0]).name for line in listing.splitlines()}
    needed = {name for name in needed if not name.startswith(("linux-vdso", "ld-linux"))}
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}


def test_module_uses_the_stable_python_interface_only(module_file):
    private = {name for name in symbols(module_file, "--undefined-only") if name.startswith("_Py")}
    # What the macros of the limited interface stand for: Py_DECREF, Py_None, "#" in formats, …
    assert {name for name in private if not name.endswith("_SizeT")} <= {
        "_Py_Dealloc",
        "_Py_FalseStruct",
        "_Py_NoneStruct",
        "_Py_NotImplementedStruct",
        "_Py_TrueStruct",
        "_PyObject_GC_New",
        "_PyObject_GC_NewVar",
        "_PyObject_New",
    }


def test_type_checker_accepts_a_typed_program(tmp_path):
    result = type_check(
        tmp_path,
        "import mmdskin\n"
        "import numpy as np\n"
        "model = mmdskin.load_model('model.pmx')\n"
        "matrices = np.tile(np.eye(4, dtype=np.float32), (len(model.bones), 1, 1))\n"
        "skinned = mmdskin.skin(model, matrices, method='linear', tangents=False)\n"
        "print(skinned.positions.shape, model.bones[0].name.upper())\n"
        "motion = mmdskin.load_motion('dance.vmd')\n"
        "pose = model.pose(motion, np.arange(motion.frame_range[1] + 1), ik=False)\n"
        "skinned = mmdskin.skin(model, pose)\n"
        "print(motion.unmatched(model).bones, motion.bones[0].rotations.dtype)\n",
    )
    assert result.returncode == 0, result.stdout


def test_type_checker_finds_a_mistake(tmp_path):
    result = type_check(tmp_path, "import mmdskin\nmmdskin.load_model(12)\n")
    assert result.returncode == 1
    assert "load_model" in result.stdout


def test_types_describe_the_module_as_it_is(tmp_path):
    command = [sys.executable, "-m", "mypy.stubtest", "mmdskin", "--concise"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
