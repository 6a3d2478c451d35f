# SPDX-License-Identifier: GPL-3.0-or-later
"""The zips of a release: one per system, and one for all systems.

`make addon` makes them in dist; without it there are the two of the wheel that is installed here.
"""

import re
import subprocess
import sys
import zipfile

import addon_profile
import link_addon
import pytest
import test_blender
import test_zip_problems
import tomllib

WEBSITE = "https://example.org/mmdskin"
ENABLE = """
import os, bpy
bpy.ops.preferences.addon_enable(module="mmdskin_addon")
from mmdskin_addon.blender import native
assert native.load().backends()
print("loaded from a link", flush=True)
bpy.ops.preferences.addon_disable(module="mmdskin_addon")
os._exit(0)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Both zips for the installed wheel, with the address of a website."""
    wheel = test_blender.installed_wheel()
    if wheel is None:
        pytest.skip("the wheel that is installed here is not in dist/: run make build")
    folder = tmp_path_factory.mktemp("zips")
    command = [sys.executable, test_blender.ROOT / "addon/package.py", "--split"]
    command += ["--website", WEBSITE, "--wheel", wheel, "--output", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("*.zip"))


def extension():
    """The newest of the requested Blenders."""
    if not test_blender.EXTENSIONS:
        pytest.skip("MMDSKIN_BLENDERS has none that knows extensions")
    test_blender.need(test_blender.EXTENSIONS[-1])
    return test_blender.EXTENSIONS[-1]


def manifest(path):
    with zipfile.ZipFile(path) as archive:
        return tomllib.loads(archive.read("mmdskin_addon/blender_manifest.toml").decode("utf-8"))


def test_the_zips_of_all_systems_are_valid(made):
    version = extension()
    tool = test_blender.extension_tool(version)
    zips = sorted((test_blender.ROOT / "dist").glob(f"mmdskin-{test_zip_problems.VERSION}*.zip"))
    for path in (*made, *zips):
        done = subprocess.run(
            [*addon_profile.blender_command(version), tool, "validate", path],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{path.name}: {done.stdout}{done.stderr}"


def test_a_zip_of_one_system_installs_and_bakes(made, tmp_path):
    (split,) = (path for path in made if path.stem.count("-") == 2)
    test_zip_problems.Blender(extension(), tmp_path).step("first_bake", split, split)


def test_a_zip_of_one_system_holds_its_wheel_only(made):
    for path in made:
        found = manifest(path)
        assert len(found["platforms"]) == len(found["wheels"]) == 1
        with zipfile.ZipFile(path) as archive:
            wheels = [name for name in archive.namelist() if name.endswith(".whl")]
        assert wheels == [f"mmdskin_addon/{found['wheels'][0][2:]}"]


def test_a_zip_of_one_system_leaves_python_s_modules_and_threads_to_blender(made):
    """Blender installs an extension's wheel, forgets its modules, and is not safe from other threads."""
    (split,) = (path for path in made if path.stem.count("-") == 2)
    unwanted = (
        rb"sys\.(path|modules)\b|threading\.(Thread|Timer)\b|concurrent\.futures|multiprocessing"
    )
    with zipfile.ZipFile(split) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                assert not re.search(unwanted, archive.read(name)), name


def test_a_linked_add_on_runs_from_the_checkout(tmp_path):
    """`make addon-dev`, in the oldest Blender that is asked for."""
    version = test_blender.VERSIONS[0]
    command = test_blender.need(version)
    wheel = test_blender.installed_wheel()
    if wheel is None:
        pytest.skip("the wheel that is installed here is not in dist/: run make build")
    folder = link_addon.link(wheel, tmp_path)
    assert (folder / "__init__.py").resolve() == test_blender.ROOT / "addon/__init__.py"
    script = tmp_path / "enable.py"
    script.write_text(ENABLE, "utf-8")
    environment = addon_profile.environment(tmp_path / "profile")
    environment["BLENDER_USER_SCRIPTS"] = str(tmp_path / "scripts")
    done = subprocess.run(
        [*command, script], env=environment, capture_output=True, text=True, timeout=600
    )
    assert "loaded from a link" in done.stdout, done.stdout + done.stderr


def test_the_manifest_meets_the_rules_of_extensions_blender_org(made):
    """Its guidelines: website, tags from its list, a reason of at most 64 characters, no full stop."""
    found = manifest(made[0])
    assert found["website"] == WEBSITE
    assert set(found["tags"]) == {"Animation", "Import-Export", "Mesh"}
    assert set(found["permissions"]) == {"clipboard", "files"}
    for text in (*found["permissions"].values(), found["tagline"]):
        assert len(text) <= 64 and text[-1].isalnum()
    assert found["license"] == ["SPDX:GPL-3.0-or-later"]
    assert found["blender_version_min"] == "4.2.0"
