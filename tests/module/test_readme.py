# SPDX-License-Identifier: MIT
"""What the README shows works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sample import model as sample
from sample import motion as sample_motion

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = [
    example
    for example in re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    if "import bpy" not in example  # test_blender.py runs those
]


def test_readme_has_examples():
    assert EXAMPLES


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs_as_a_script(number, tmp_path):
    sample.write_sample(tmp_path)
    sample_motion.write_motion(tmp_path)
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[number], encoding="utf-8")
    result = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert result.returncode == 0, result.stderr


def test_make_targets_in_the_readme_exist():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert set(re.findall(r"\bmake ([a-z]+)\b(?=`|$| )", README)) <= set(targets.split())


def test_pictures_in_the_readme_exist_and_are_small():
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / name).stat().st_size < (1_500_000 if name.endswith(".gif") else 300_000)
