# SPDX-License-Identifier: GPL-3.0-or-later
"""Milliseconds to import models and motions into Blender, compared with mmd_tools if available.

Models are timed by the clock, motions by processor time, which includes work on other cores.

python-with-bpy tests/bench/import_model.py --zip dist/mmdskin-….zip [--mmd-tools mmd_tools.zip] FILE...
blender -b --factory-startup -P tests/bench/import_model.py -- (the same arguments)

Without files: the two published models and dances (docs/CONTRIBUTING.md), each model with each dance. A model
and a motion that follows it are a pair. The last line is the result as JSON.
"""

import os
import pathlib
import sys
import time
from functools import partial

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402
from files import locations  # noqa: E402

MODELS = ("初音ミク.pmx", "巡音ルカ.pmx")
DANCES = ("realize_motion.vmd", "wavefile_v2.vmd")
RUNS = {"model": 5, "motion": 3}
FORMS = {"mmdskin, solved": "SOLVED", "mmdskin, own keys": "ORIGINAL"}  # of motions


def measured(options):
    files = options.files or [
        str(locations.MODELS / name)
        for model in MODELS
        for dance in DANCES
        for name in (model, dance)
    ]
    if options.mmd_tools:
        os.environ["MMDSKIN_MMD_TOOLS"] = options.mmd_tools
    import bpy
    import imported

    tools = imported.MmdTools() if options.mmd_tools else None
    if tools:
        tools.__enter__()
    result = {"import_ms": {}, "import_motion_ms": {}}
    for model, motion in zip(files, [*files[1:], ""], strict=True):
        name = pathlib.Path(model).name
        if model.endswith(".vmd"):
            continue
        if name not in result["import_ms"]:
            result["import_ms"][name] = measure_model(model, tools)
        if motion.endswith(".vmd"):
            dance = f"{pathlib.Path(motion).name}, {name}"
            result["import_motion_ms"][dance] = measure_motion(model, motion, tools)
    for best in result.values():
        for file, times in best.items():
            print(f"Blender {bpy.app.version_string}, import of {file}:", end=" ")
            print(", ".join(f"{name} {ms:.0f} ms" for name, ms in times.items()))
    if tools:
        tools.__exit__()
    return result


def measure_model(path, tools):
    import bpy

    importers = {"mmdskin": bpy.ops.mmdskin.import_model}
    if tools:
        importers["mmd_tools"] = bpy.ops.mmd_tools.import_model
    calls = {name: partial(importer, filepath=path) for name, importer in importers.items()}
    return best_ms(RUNS["model"], {name: lambda: None for name in calls}, calls, time.perf_counter)


def measure_motion(model, motion, tools):
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
        options = {"directory": folder, "files": [{"name": name}]}  # 2.10 has no filepath option
        calls["mmd_tools"] = partial(bpy.ops.mmd_tools.import_vmd, **options)
    return best_ms(RUNS["motion"], before, calls, time.process_time)


def best_ms(runs, before, calls, clock):
    """{name: milliseconds} of alternating calls, each in a scene prepared by `before`."""
    import bpy
    import scene

    best = dict.fromkeys(calls, float("inf"))
    for _ in range(runs):
        for name, call in calls.items():
            scene.clear()
            before[name]()
            bpy.context.view_layer.update()  # otherwise the call would do it
            start = clock()
            call()
            best[name] = min(best[name], 1e3 * (clock() - start))
    scene.clear()
    return best


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("--mmd-tools", help="zip of mmd_tools; its folder before Blender 4.2")
    parser.add_argument("files", nargs="*")
    blender_script.run(parser, measured)
