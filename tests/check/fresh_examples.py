# SPDX-License-Identifier: MIT
"""Runs the examples of README and docs as a stranger does: fresh_examples.py WHEEL.

Each has a new virtual environment with what the lines `pip install` above it on its page install, mmdskin
from the wheel, and a folder with what `mmdskin sample` writes. Examples with the same lines share one.
Those of Blender and of docs/scale.md have tests of their own: tests/module/docs_examples.py.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from module import docs_examples  # noqa: E402
from retarget import bodies, bvh_file  # noqa: E402

SHELL_PAGES = ("README.md", "docs/command-line.md")


def examples():
    """{name: (what pip installs, the command that runs it)}, by the page and its number there."""
    for name, example in docs_examples.everywhere().items():
        if "import bpy" not in example and not name.startswith("docs/scale.md"):
            yield name, docs_examples.pip_words(name), ("python", "-c", example)
    for name, example in docs_examples.everywhere("sh").items():
        if name.split()[0] in SHELL_PAGES:
            words = docs_examples.pip_words(name, "sh") or ("mmdskin",)
            yield f"{name} (sh)", words, ("bash", "-ec", example)


def install(folder, wheel, words):
    venv.create(folder, with_pip=True)
    named = [
        f"{wheel}{word.removeprefix('mmdskin')}" for word in words if word.startswith("mmdskin")
    ]
    others = [word for word in words if not word.startswith("mmdskin")]
    pip = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, *named, *others], check=True, cwd=ROOT)


def run(command, environment, folder):
    """Whether it succeeds, in a folder that it finds the files of the pages in."""
    folder.mkdir()
    variables = {"PATH": f"{environment / 'bin'}:/usr/bin:/bin", "HOME": str(folder)}
    run = {"cwd": folder, "env": variables, "stdout": subprocess.DEVNULL}
    subprocess.run([environment / "bin/mmdskin", "sample", "."], check=True, **run)
    bodies.write_tall_dancer(folder)  # a model and a motion of the reader's own
    bvh_file.write_walk(folder)
    return subprocess.run(command, **run).returncode == 0


def main(wheel):
    failed, environments = [], {}
    with tempfile.TemporaryDirectory() as made:
        for number, (name, words, command) in enumerate(examples()):
            if words not in environments:
                environments[words] = Path(made) / f"environment{len(environments)}"
                install(environments[words], Path(wheel).resolve(), words)
            if not run(command, environments[words], Path(made) / str(number)):
                failed.append(f"{name}, after pip install {' '.join(words)}")
    print(f"{number + 1} examples in {len(environments)} fresh environments")
    print(*(f"FAILED: {name}" for name in failed), sep="\n")
    sys.exit(bool(failed))


main(sys.argv[1])
