# SPDX-License-Identifier: MIT
"""The installed package: its version, its type stubs and its source distribution."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mmdskin
import pytest
import tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def type_check(tmp_path, program):
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", path]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_tests_run_against_the_installed_module():
    assert "site-packages" in Path(mmdskin.__file__).parts


def test_version_is_the_same_everywhere():
    installed = importlib.metadata.version("mmdskin")
    assert mmdskin.__version__ == installed == PROJECT["version"]


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


def test_the_stub_matches_the_module(tmp_path):
    command = [sys.executable, "-m", "mypy.stubtest", "mmdskin", "--concise"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout


def test_a_source_distribution_contains_what_its_build_reads(tmp_path):
    for name in ("csrc", "shaders", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)

    def setup(folder, *words):
        command = [sys.executable, "setup.py", "--quiet", *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    setup(tmp_path, "sdist")
    (packed,) = tmp_path.glob("dist/*.tar.gz")
    once = packed.read_bytes()
    for path in tmp_path.glob("docs/*"):  # a later checkout
        os.utime(path, (2e9, 2e9))
    setup(tmp_path, "sdist")
    assert packed.read_bytes() == once
    shutil.unpack_archive(packed, tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    setup(unpacked, "embed_texts")
    packed_names = {path.name for path in unpacked.rglob("*")}
    assert {path.name for path in (ROOT / "csrc/core").rglob("*.[ch]")} <= packed_names
    assert (unpacked / "tests/module/test_package.py").is_file()
    assert (unpacked / "docs/api.md").is_file()
    assert not (unpacked / "tests/blender").exists()
    # What it is compiled with comes along: no network, no other folder.
    command = [sys.executable, "csrc/platforms/third_party.py"]
    environment = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "empty")}
    subprocess.run(command, cwd=unpacked, env=environment, check=True)
    gathered = unpacked / "build/third_party"
    for name in ("glew/src/glew.c", "include/GL/glew.h", "include/cglm/cglm.h"):
        assert (gathered / name).is_file()


def test_with_the_packages_installed_only_glew_s_source_is_fetched(tmp_path):
    """Its source becomes part of the module, and no package has it."""
    script = (
        "import third_party\n"
        "third_party.Archive.members = lambda archive, mirrors: print(archive.path) or ()\n"
        "third_party.gather()\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "csrc/platforms")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert re.fullmatch(r"pool/main/g/glew/\S+\n", done.stdout), done.stdout + done.stderr
    for name in ("cglm/cglm.h", "EGL/eglext.h", "KHR/khrplatform.h"):
        assert (tmp_path / "build/third_party/include" / name).is_file()


def test_links_of_the_package_s_page_are_absolute(tmp_path):
    """Package indexes show the README by itself, beside none of the files that it links to."""
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", tmp_path]
    website = "https://example.org/mmdskin"
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"WEBSITE": website})
    metadata = (tmp_path / "mmdskin.egg-info/PKG-INFO").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "Project-URL: Homepage, https://example.org/mmdskin\n" in metadata
    pictures = re.findall(rf"!\[[^\]]+\]\({website}/raw/v{mmdskin.__version__}/([^)]+)\)", metadata)
    assert pictures and all((ROOT / picture).is_file() for picture in pictures)


MAJOR, MINOR, PATCH = PROJECT["version"].split(".")
VERSIONED = {
    "CITATION.cff": ["version: {}"],
    "csrc/platforms/conda/recipe.yaml": ['  version: "{}"'],
    "csrc/mmdskin.h": [
        '#define MMDSKIN_VERSION "{}"',
        f"#define MMDSKIN_VERSION_MAJOR {MAJOR}",
        f"#define MMDSKIN_VERSION_MINOR {MINOR}",
        f"#define MMDSKIN_VERSION_PATCH {PATCH}",
        f"   the shared library (libmmdskin.so.{MAJOR}.{MINOR}) sees to that. */",
    ],
    "docs/c-library.md": [f"find_package(mmdskin {MAJOR}.{MINOR} REQUIRED)"],
    "docs/examples/c/CMakeLists.txt": [f"find_package(mmdskin {MAJOR}.{MINOR} REQUIRED)"],
}


@pytest.mark.parametrize("path", VERSIONED)
def test_it_names_this_version(path):
    lines = (ROOT / path).read_text("utf-8").splitlines()
    for line in VERSIONED[path]:
        assert line.format(PROJECT["version"]) in lines


def test_what_wheels_are_built_with_is_pinned_by_hash():
    lines = (ROOT / "csrc/platforms/requirements.txt").read_text("utf-8").replace("\\\n", "")
    wanted = [line for line in lines.splitlines() if not line.startswith("#")]
    assert wanted and all("==" in line and "--hash=sha256:" in line for line in wanted)


def test_actions_of_workflows_are_pinned_by_commit():
    texts = [path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")]
    used = re.findall(r"uses: (\S+)", "\n".join(texts))
    assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used), used
