# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's cases inside Windows' bpy 4.5 under Wine: windows_addon.py ZIP [PART OF A NAME]

All must pass except those that Wine breaks, which are listed here. A listed case that passes is an
error as well, so that the list stays correct.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/windows"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "mmdskin"
# Alembic and USD files that bpy writes under Wine can be neither read nor removed.
BROKEN_BY_WINE = {
    "cases_bake_normals.MeshCache.test_alembic_takes_them_along",
    "cases_bake_normals.MeshCache.test_usd_takes_them_along",
    "cases_chain.Chain.test_mesh_cache_by_alembic",
    "cases_chain.Chain.test_mesh_cache_by_usd",
    "cases_export.Cache.test_alembic",
    "cases_export.Cache.test_usd",
    "cases_export.Corrective.test_driven_by_alembic",
    "cases_export.Corrective.test_keyed_by_alembic",
    "cases_export.Corrective.test_keyed_by_usd",
    "cases_export.Frame.test_alembic",
    "cases_export.Keys.test_alembic",
    "cases_export.Keys.test_usd",
    "cases_export.Live.test_alembic",
    "cases_export.Live.test_usd",
    "cases_export.Moved.test_alembic",
    "cases_export.Moved.test_usd",
    "cases_export.Scenes.test_objects_hidden_in_renders_by_alembic",
}

# -S: without the packages of python.exe, which include the module.
COMMAND = ["bash", "tests/platforms/windows.sh", "run", FOLDER / "python/python.exe", "-S"]


def windows(path):
    return "Z:" + str(path).replace("/", "\\")


def environment(profile):
    """The environment of a Blender with its user files below that folder, a Windows path."""
    bpy = windows(CACHE / "windows/bpy-4.5")
    return os.environ | {"PYTHONPATH": bpy, "BLENDER_USER_RESOURCES": profile}


def main():
    report = FOLDER / "addon.json"
    report.unlink(missing_ok=True)
    command = [*COMMAND, "tests/blender/run.py", "--", "--report", windows(report)]
    command += ["--zip", windows(pathlib.Path(sys.argv[1]).resolve())]
    command += ["--only", *(f"*{part}*" for part in sys.argv[2:])] if sys.argv[2:] else []
    profile = environment(windows(FOLDER / "profile"))
    subprocess.run(command, env=profile, cwd=ROOT, check=False)
    outcomes = json.loads(report.read_text("utf-8"))
    failed = {name: text for name, (outcome, text) in outcomes.items() if outcome == "failed"}
    passed = sum(outcome == "passed" for outcome, _ in outcomes.values())
    for name in sorted(set(failed) - BROKEN_BY_WINE):
        print(f"FAILED {name}\n{failed[name]}")
    fixed = sorted(BROKEN_BY_WINE & set(outcomes) - set(failed))
    for name in fixed:
        print(f"{name} passes: remove it from the list in {pathlib.Path(__file__).name}")
    print(
        f"{passed} passed, {len(failed)} failed, {len(BROKEN_BY_WINE & set(failed))} of them Wine's"
    )
    sys.exit(bool(set(failed) - BROKEN_BY_WINE or fixed))


if __name__ == "__main__":
    main()
