# SPDX-License-Identifier: GPL-3.0-or-later
"""Milliseconds to import models and motions into Blender, beside mmd_tools where it is at hand.

Models by the clock, motions by processor time: what libraries leave to other cores counts, too.

python-with-bpy tests/bench/import_model.py --zip dist/mmdskin-….zip [--mmd-tools mmd_tools.zip] FILE...
blender -b --factory-startup -P tests/bench/import_model.py -- (the same arguments)

Without files: the two real models and the dances of ../shared, each model with each dance. A model
and a motion that follows it are a pair. The last line is the result as JSON.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time
from functools import partial

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "blender"), str(ROOT / "tests")]

import addon_profile  # noqa: E402

SHARED = ROOT.parent / "shared" / "models"
MODELS = ("初音ミク.pmx", "巡音ルカ.pmx")
DANCES = ("realize_motion.vmd", "wavefile_v2.vmd")
RUNS = {"model": 5, "motion": 3}
FORMS = {"mmdskin, solved": "BAKED", "mmdskin, own keys": "KEYS"}  # of motions


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zip", required=True, help="the add-on")
    parser.add_argument("--mmd-tools", help="zip of mmd_tools; its folder before Blender 4.2")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    files = options.files or [
        str(SHARED / name) for model in MODELS for dance in DANCES for name in (model, dance)
    ]

    profile = tempfile.TemporaryDirectory()
    os.environ.update(addon_profile.environment(profile.name))  # in time where bpy is a module
    import bpy
    import imported

    package = addon_profile.install(options.zip)
    if options.mmd_tools:
        os.environ["MMDSKIN_MMD_TOOLS"] = options.mmd_tools
    tools = imported.MmdTools() if options.mmd_tools else None
    if tools:
        tools.__enter__()
    result = {"import_ms": {}, "import_motion_ms": {}}
    for model, motion in zip(files, [*files[1:], ""], strict=True):
        name = pathlib.Path(model).name
        if model.endswith(".vmd"):
            continue
        if name not in result["import_ms"]:
            result["import_ms"][name] = of_model(model, tools)
        if motion.endswith(".vmd"):
            dance = f"{pathlib.Path(motion).name}, {name}"
            result["import_motion_ms"][dance] = of_motion(model, motion, tools)
    for best in result.values():
        for file, times in best.items():
            print(f"Blender {bpy.app.version_string}, import of {file}:", end=" ")
            print(", ".join(f"{name} {ms:.0f} ms" for name, ms in times.items()))
    print(json.dumps({"blender": bpy.app.version_string, **result}, ensure_ascii=False))
    if tools:
        tools.__exit__()
    profile.cleanup()
    addon_profile.uninstall_and_exit(package, 0)


def of_model(path, tools):
    import bpy

    ways = {"mmdskin": bpy.ops.mmdskin.import_model}
    if tools:
        ways["mmd_tools"] = bpy.ops.mmd_tools.import_model
    calls = {name: partial(way, filepath=path) for name, way in ways.items()}
    return best_ms(RUNS["model"], {name: lambda: None for name in calls}, calls, time.perf_counter)


def of_motion(model, motion, tools):
    import bpy

    calls, before = {}, {}
    for name, mode in FORMS.items():
        before[name] = partial(bpy.ops.mmdskin.import_model, filepath=model)
        calls[name] = partial(bpy.ops.mmdskin.import_motion, filepath=motion, mode=mode)
    if tools:

        def select():
            bpy.ops.mmd_tools.import_model(filepath=model)
            bpy.ops.object.select_all(action="SELECT")

        before["mmd_tools"] = select
        folder, name = os.path.split(os.path.abspath(motion))
        given = {"directory": folder, "files": [{"name": name}]}  # 2.10 takes no filepath
        calls["mmd_tools"] = partial(bpy.ops.mmd_tools.import_vmd, **given)
    return best_ms(RUNS["motion"], before, calls, time.process_time)


def best_ms(runs, before, calls, clock):
    """{name: milliseconds} of calls that take turns, each in a scene that `before` has made."""
    import bpy
    import scene

    best = dict.fromkeys(calls, float("inf"))
    for _ in range(runs):
        for name, call in calls.items():
            scene.clear()
            before[name]()
            bpy.context.view_layer.update()  # else the call would have to
            start = clock()
            call()
            best[name] = min(best[name], 1e3 * (clock() - start))
    scene.clear()
    return best


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])
