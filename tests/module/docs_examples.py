# SPDX-License-Identifier: MIT
"""The python examples of the README, its translations and docs/*.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def of_text(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def of_page(page):
    return of_text((ROOT / page).read_text(encoding="utf-8"))


def everywhere():
    """{name: example} of all pages; a name is the page and the number of the example on it."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = (path.relative_to(ROOT).as_posix() for path in pages if ".ja." not in path.name)
    return {
        f"{page} {number}": example
        for page in names
        if ".zh." not in page
        for number, example in enumerate(of_page(page), 1)
    }


# What runs in tests/blender and tests/examples, where these are installed.
ELSEWHERE = "import (bpy|jax|pygltflib|pyvista|trimesh|xarray|zarr)"


def runnable_here():
    return {
        name: example for name, example in everywhere().items() if not re.search(ELSEWHERE, example)
    }
