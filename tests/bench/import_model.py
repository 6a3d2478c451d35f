# SPDX-License-Identifier: GPL-3.0-or-later
"""Milliseconds to import models into Blender, beside mmd_tools where it is at hand.

python-with-bpy tests/bench/import_model.py --zip dist/mmdskin-….zip [--mmd-tools mmd_tools.zip] FILE...
blender -b --factory-startup -P tests/bench/import_model.py -- (the same arguments)

Without files: the two real models of ../shared. The last line is the result as JSON.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "blender"), str(ROOT / "tests")]

import addon_profile  # noqa: E402

MODELS = ("初音ミク.pmx", "巡音ルカ.pmx")
RUNS = 5


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zip", required=True, help="the add-on")
    parser.add_argument("--mmd-tools", help="zip of mmd_tools; its folder before Blender 4.2")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    files = options.files or [str(ROOT.parent / "shared" / "models" / name) for name in MODELS]

    profile = tempfile.TemporaryDirectory()
    os.environ.update(addon_profile.environment(profile.name))  # in time where bpy is a module
    import bpy
    import imported
    import scene

    importers = {"mmdskin": lambda path: bpy.ops.mmdskin.import_model(filepath=path)}
    package = addon_profile.install(options.zip)
    if options.mmd_tools:
        os.environ["MMDSKIN_MMD_TOOLS"] = options.mmd_tools
    tools = imported.MmdTools() if options.mmd_tools else None
    if tools:
        tools.__enter__()
        importers["mmd_tools"] = lambda path: bpy.ops.mmd_tools.import_model(filepath=path)
    result = {}
    for path in files:
        best = dict.fromkeys(importers, float("inf"))
        for _ in range(RUNS):
            for name, import_model in importers.items():
                scene.clear()
                start = time.perf_counter()
                import_model(path)
                best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
        result[pathlib.Path(path).name] = best
    scene.clear()
    for file, best in result.items():
        print(f"Blender {bpy.app.version_string}, import of {file}:", end=" ")
        print(", ".join(f"{name} {ms:.0f} ms" for name, ms in best.items()))
    print(json.dumps({"blender": bpy.app.version_string, "import_ms": result}, ensure_ascii=False))
    if tools:
        tools.__exit__()
    profile.cleanup()
    addon_profile.uninstall_and_exit(package, 0)


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])
