# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems between a zip and a running module, in real Blenders; zip_problems.py has the steps.

The profile and the zips lie under Japanese names with blanks. MMDSKIN_BLENDERS="windows" runs them in
Windows' bpy 4.5 under Wine, which `make check-windows` sets up.
"""

import pathlib
import re
import subprocess
import zipfile

import addon_profile
import pytest
import test_blender
from platforms import windows_addon

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERSION = re.search('version = "(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"))[1]
OLDER = "0.0.9"


def older(path, folder):
    """The zip as an older version, with an older module."""
    output = folder / path.name.replace(VERSION, OLDER)
    tuples = [", ".join(version.split(".")).encode() for version in (VERSION, OLDER)]

    def rewritten(data, name):
        if name.endswith(".whl"):
            (folder / "wheel").write_bytes(data)
            rewrite(folder / "wheel", folder / "older wheel")
            return (folder / "older wheel").read_bytes()
        return data.replace(VERSION.encode(), OLDER.encode()).replace(*tuples)

    def rewrite(source, target):
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            for name in old.namelist():
                new.writestr(name.replace(VERSION, OLDER), rewritten(old.read(name), name))

    rewrite(path, output)
    return output


class Blender:
    """One of those on this machine, or Windows' bpy, always with the same profile."""

    def __init__(self, version, folder):
        self.version, self.folder = version, folder
        self.windows = version == "windows"

    def path(self, path):
        return windows_addon.windows(path) if self.windows else str(path)

    def command(self):
        return (
            windows_addon.COMMAND if self.windows else addon_profile.blender_command(self.version)
        )

    def environment(self):
        profile = self.path(self.folder / "profile")
        if self.windows:
            return windows_addon.environment(profile)
        return addon_profile.environment(profile)

    def step(self, name, new, old):
        arguments = [HERE / "zip_problems.py", "--", name, *map(self.path, (new, old, self.folder))]
        done = subprocess.run(
            [*self.command(), *arguments],
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=900,
        )
        said = done.stdout.decode("utf-8", "replace")
        assert "the step has ended" in said, said[-4000:]


def zip_for(version, request):
    if version != "windows":
        return request.getfixturevalue("addon_zip")
    return windows_addon.FOLDER / f"zip/mmdskin-{VERSION}.zip"


addon_zip = test_blender.addon_zip


# A classic add-on, an extension, and Windows', where asked for.
CHOSEN = [v for v in test_blender.VERSIONS if v in ("3.4", "windows")]
CHOSEN += [v for v in test_blender.EXTENSIONS if v != "windows"][-1:]


@pytest.fixture(params=CHOSEN)
def run(request, tmp_path):
    """Runs the steps one after another, each in its own Blender."""
    folder = tmp_path / "新しい フォルダー (2)"
    folder.mkdir()
    blender = Blender(request.param, folder)
    if not blender.windows:
        test_blender.need(request.param)
    given = zip_for(request.param, request)
    new = folder / given.name
    new.write_bytes(given.read_bytes())
    old = older(new, folder)

    def steps(*names):
        for name in names:
            blender.step(name, new, old)

    return steps


def test_a_virus_scanner_removes_the_module(run):
    run("first_bake", "after_the_scanner", "after_a_thorough_scanner")


def test_all_works_while_the_files_of_the_loaded_module_are_gone(run):
    run("removed_while_loaded")


def test_an_update_while_the_module_is_loaded(run):
    run("update_while_loaded", "after_the_restart")


def test_an_older_version_lies_beside(run):
    run("beside_an_older_one")
