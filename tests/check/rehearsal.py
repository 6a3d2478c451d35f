# SPDX-License-Identifier: MIT
"""Checks what a release uploads as those who get it do, and says what is missing: make rehearsal.

It writes dist/recipe.yaml, the recipe for conda-forge with the hash of the source distribution.

PyPI: twine, check-wheel-contents, abi3audit, validate-pyproject, pyroma. Citations: cffconvert.
conda-forge: rattler-build renders the recipe; `make check-sdist` builds as it does, without a network.
extensions.blender.org: Blender's own validator, by tests/blender/test_zips.py. Users: the examples of
README and docs run in fresh environments (fresh_examples.py), and Khronos' validator accepts glTF files
(gltf_files.py). All of this needs no account and uploads
nothing.
"""

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
VARIANTS = "python_min: ['3.10']\nc_stdlib: [sysroot]\nc_stdlib_version: ['2.17']\n"


def write_recipe(version, sdist):
    """Raises what rattler-build finds wrong."""
    path = ROOT / "dist/recipe.yaml"
    text = (ROOT / "csrc/platforms/conda/recipe.yaml").read_text("utf-8")
    path.write_text(text.replace("0" * 64, hashlib.sha256(sdist.read_bytes()).hexdigest()), "utf-8")
    (rendered,) = Stage0Recipe.from_file(path).render(VariantConfig.from_yaml(VARIANTS))
    found = rendered.recipe.to_dict()["package"]["version"]
    if found != version:
        raise ValueError(f"it is for version {found}")


def changed_wheels(zips):
    """Wheels in zips that are not those for PyPI, byte for byte."""
    for path in zips:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                wheel = path.parent / Path(name).name
                if name.endswith(".whl") and archive.read(name) != wheel.read_bytes():
                    yield f"{path.name}: {wheel.name} is not that in dist"


def main():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1]
    wheels = sorted((ROOT / "dist").glob(f"mmdskin-{version}-*-m*.whl"))  # manylinux, macosx
    wheels += sorted((ROOT / "dist").glob(f"mmdskin-{version}-*-win*.whl"))
    sdist = ROOT / f"dist/mmdskin-{version}.tar.gz"
    (own,) = (ROOT / "build/wheels/linux-x64").glob("*.whl")
    commands = [
        [TOOLS / "twine", "check", "--strict", *wheels, sdist],
        [TOOLS / "check-wheel-contents", *wheels],
        [TOOLS / "abi3audit", "--strict", *wheels],
        [TOOLS / "validate-pyproject", "pyproject.toml"],
        [TOOLS / "pyroma", "--min", "8", sdist],  # it asks for an address of the authors
        [TOOLS / "cffconvert", "--validate"],
        [
            ROOT / ".venv/bin/python",
            "-m",
            "pytest",
            "-q",
            "tests/platforms",
            "tests/blender/test_zips.py",
        ],
        [ROOT / ".venv/bin/python", "tests/check/fresh_examples.py", own],
        [ROOT / ".venv/bin/python", "tests/check/gltf_files.py", ROOT / "build/rehearsal"],
    ]
    missing = [*changed_wheels((ROOT / "dist").glob(f"mmdskin-{version}*.zip"))]
    for command in commands:
        name = " ".join(Path(word).name for word in command if word not in (*wheels, sdist, own))
        print(f"== {name}", flush=True)
        if subprocess.run(command, cwd=ROOT).returncode:
            missing.append(name)
    try:
        write_recipe(version, sdist)
    except Exception as error:  # rattler-build's have no common class but this
        missing.append(f"the conda recipe: {error}")
    heading = (ROOT / "docs/CHANGELOG.md").read_text("utf-8").split("\n## ")[1].splitlines()[0]
    if not heading.startswith(version):
        missing.append(
            f"CHANGELOG: its first section is {heading!r}, not that of {version} with a date"
        )
    texts = subprocess.run(
        ["tar", "xzfO", sdist, "--wildcards", "mmdskin-*/PKG-INFO"], capture_output=True
    )
    if b"Project-URL" not in texts.stdout:
        missing.append("WEBSITE: the package has no links; make rehearsal WEBSITE=https://…")
    print(
        f"{len(wheels)} wheels and {sdist.name}",
        *(f"MISSING: {what}" for what in missing),
        sep="\n",
    )
    sys.exit(bool(missing))


main()
