# SPDX-License-Identifier: MIT
"""The examples of the README, its translations and docs/*.md, in Python or for a shell."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def of_text(text, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def of_page(page, language="python"):
    return of_text((ROOT / page).read_text(encoding="utf-8"), language)


def everywhere(language="python"):
    """{name: example} of all pages; a name is the page and the number of the example on it."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = (path.relative_to(ROOT).as_posix() for path in pages if ".ja." not in path.name)
    return {
        f"{page} {number}": example
        for page in names
        if ".zh." not in page
        for number, example in enumerate(of_page(page, language), 1)
    }


# What runs where these are installed, and the tests that run it.
ELSEWHERE = "import (bpy|jax|pyvista|trimesh|xarray|zarr)"

TESTS = {
    "docs/python.md": "tests/blender/test_blender.py",
    "docs/recipes.md": "tests/examples/test_recipes.py",
    "docs/scale.md": "tests/examples/test_dataset.py",
}
SHELL_TESTS = {
    "README.md": "tests/module/test_command_line.py",
    "docs/CONTRIBUTING.md": "tests/module/test_readme.py",
    "docs/c-library.md": "tests/check/c_library.py",
    "docs/command-line.md": "tests/module/test_command_line.py",
    "docs/scale.md": "tests/examples/test_dataset.py",
}


EXTRAS = {"pictures": {"PIL"}, "video": {"PIL", "av"}, "gltf": {"PIL"}}


def pip_words(name, language="python"):
    """What the lines `pip install` above an example on its page install."""
    page, number = name.split()
    text = (ROOT / page).read_text(encoding="utf-8")
    opening = [match.start() for match in re.finditer(rf"^```{language}$", text, re.MULTILINE)]
    lines = re.findall(r"\bpip install ([^`\n]+)", text[: opening[int(number) - 1]])
    return tuple(dict.fromkeys(" ".join(lines).replace('"', "").split()))


def installed_above(name):
    """The packages that an example may import: those of the lines `pip install` above it on its page."""
    found = set()
    for word in pip_words(name):
        wanted, _, extra = word.rstrip("]").partition("[")
        found |= {wanted.partition("-")[0]} | EXTRAS.get(extra, set())
        if word.endswith(".txt"):
            lines = (ROOT / word).read_text(encoding="utf-8").splitlines()
            found |= {re.match(r"\w*", line)[0] for line in lines}
    return found | {"numpy"} if "mmdskin" in found else found


def runnable_here():
    return {
        name: example for name, example in everywhere().items() if not re.search(ELSEWHERE, example)
    }
