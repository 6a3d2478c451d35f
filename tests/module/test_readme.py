# SPDX-License-Identifier: MIT
"""The examples of the README, its translations and docs/*.md run as printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import gl_reason
from files import pmx_file as pmx
from module import docs_examples
from PIL import Image
from retarget import bodies, bvh_file
from sample.character import dance, model

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("README.*.md")))
}
LANGUAGES = {"README.ja.md": "ja_JP", "README.zh.md": "zh_HANS"}  # the add-on's texts


BUTTONS = (
    "MMD Skinning",
    "Pose Source",
    "Motion File",
    "Simulate",
    "Bake MMD Skin",
    "Clear Bake",
    "Export MMD Skin",
    "Morphs",
    "Switch Names",
    "Deformation",
    "MMD Normals",
    "MMD Model",
)


EXAMPLES = docs_examples.runnable_here()
# After a fence that opens; in braces it is a directive of Sphinx.
_LANGUAGE = r"^```[ ]*([^`\s{][^`\n]*)$"


def test_the_pages_have_examples():
    pages = {name.split()[0] for name in EXAMPLES}
    assert pages >= {"README.md", "docs/methods.md", "docs/fitting.md", "docs/physics-python.md"}


def test_every_example_has_a_test():
    """Those of Python run below, where they can; test_recipes.py follows each of docs/recipes.md."""
    others = docs_examples.everywhere().keys() - EXAMPLES.keys()
    for names, tests in (
        (others, docs_examples.TESTS),
        (docs_examples.everywhere("sh"), docs_examples.SHELL_TESTS),
    ):
        assert {name.split()[0] for name in names} == tests.keys()
        for page, file in tests.items():
            assert Path(page).name in (ROOT / file).read_text(encoding="utf-8")
    languages = {
        language
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for language in re.findall(_LANGUAGE, page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert languages == {"python", "sh", "cmake"}


def test_the_line_that_describes_a_model_runs(tmp_path):
    """For reports, in docs/CONTRIBUTING.md."""
    (line,) = docs_examples.of_page("docs/CONTRIBUTING.md", "sh")
    model.write_character(tmp_path)
    name, *arguments = shlex.split(line)
    assert (name, arguments.pop()) == ("python", "model.pmx")
    command = [sys.executable, *arguments, "dancer.pmx"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    said = subprocess.run(
        command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True, env=environment
    ).stdout
    vertices = len(model.character().deform)
    assert re.match(rf"[\d.]+ 2\.\d {vertices} \d+ \(Backend\(", said), said


def difference(path, other):
    """Mean difference of two pictures on white, in levels of 0 to 255."""
    shown = []
    for one in (path, other):
        image = Image.open(one).convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        shown.append(np.asarray(Image.alpha_composite(white, image), float))
    assert shown[0].shape == shown[1].shape
    return abs(shown[0] - shown[1]).mean()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_as_a_script(name, tmp_path):
    example = EXAMPLES[name]
    if ".render(" in example and gl_reason():
        pytest.skip(f"no OpenGL here: {gl_reason()}")
    model.write_character(tmp_path)
    dance.write_dance(tmp_path)
    if "tall.pmx" in example or "walk.bvh" in example:
        bodies.write_tall_dancer(tmp_path)
        bvh_file.write_walk(tmp_path)
    for package in {"PIL", "av", "scipy"} - docs_examples.installed_above(name):
        (tmp_path / f"{package}.py").write_text("raise ImportError")
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert result.returncode == 0, result.stderr
    promised = re.findall(r"print\(.*# (\d+)%, (\d+)%", example)
    printed = re.findall(r"(\d+)%", result.stdout)
    assert printed == [share for shares in promised for share in shares]
    for shown in (ROOT / "tests/sample/pictures").glob("*.png"):  # below the example
        if (tmp_path / shown.name).is_file():
            assert difference(tmp_path / shown.name, shown) < 2


@pytest.mark.parametrize("name", docs_examples.everywhere())
def test_what_an_example_imports_is_installed_by_a_line_above_it(name):
    example = docs_examples.everywhere()[name]
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", example, re.MULTILINE))
    imported -= sys.stdlib_module_names | {"bpy"}
    assert imported <= docs_examples.installed_above(name)
    page = (ROOT / name.split()[0]).read_text(encoding="utf-8").partition(example)[0]
    if '"dancer.pmx"' in example:
        assert re.search(r"mmdskin sample\b", page)


def test_the_example_of_the_readme_needs_no_other_package(tmp_path, gl):
    """It runs after `pip install mmdskin` alone."""
    for name in ("PIL", "av", "scipy"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    (example,) = docs_examples.of_page("README.md")
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    subprocess.run([sys.executable, "example.py"], cwd=tmp_path, check=True)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"picture.png", "dance.glb"} <= written


@pytest.mark.parametrize("page", LANGUAGES)
def test_translations_show_examples_of_the_readme(page):
    found = set(docs_examples.of_text(PAGES[page]))
    assert found and found <= set(docs_examples.of_page("README.md"))


@pytest.mark.parametrize("page", LANGUAGES)
def test_translations_name_buttons_as_the_panel_does(page):
    texts = (ROOT / "addon/languages" / f"{LANGUAGES[page]}.po").read_text(encoding="utf-8")
    for button in BUTTONS:
        assert button in PAGES["README.md"]
        shown = re.search(rf'^msgid "{button}"\nmsgstr "(.+)"$', texts, re.MULTILINE)
        assert shown and shown[1] in PAGES[page]


def test_the_page_on_speed_knows_how_many_vertices_the_dancer_has():
    deform, page = model.character().deform, (ROOT / "docs/speed.md").read_text(encoding="utf-8")
    assert f"{(deform == pmx.SDEF).sum():,} of {len(deform):,} vertices" in page


@pytest.mark.parametrize("page", PAGES)
def test_pages_stay_short(page):
    assert len(PAGES[page].splitlines()) < 110
    assert len(PAGES[page].split()) <= 900


def test_make_targets_in_the_readme_exist():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert set(re.findall(r"\bmake ([a-z]+)\b(?=`|$| )", PAGES["README.md"])) <= set(
        targets.split()
    )


@pytest.mark.parametrize("page", PAGES)
def test_pictures_exist_and_are_small(page):
    folder = ROOT / "docs" if page in LANGUAGES else ROOT
    names = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGES[page])
    assert len(names) >= 7 if page in LANGUAGES else len(names) == 3  # the tutorial has the steps
    for name in names:
        assert (folder / name).stat().st_size < (1_500_000 if name.endswith(".gif") else 150_000)
