# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost per frame of live deformation, relative to the plain Armature modifier, in Blender.

blender -b --factory-startup -P blender_preview.py -- --zip mmdskin.zip
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "blender"), str(HERE.parent)]

import addon_profile  # noqa: E402
import blender_model  # noqa: E402
import bpy  # noqa: E402

ROUNDS = 9


def frames(count=60):
    """Median seconds per frame."""
    times = []
    for frame in range(1, count + 1):
        start = time.perf_counter()
        bpy.context.scene.frame_set(frame)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--zip", required=True)
    options = parser.parse_args(arguments)
    package = addon_profile.install(options.zip)
    built = blender_model.build()
    settings = built.armature.mmdskin
    seen = {False: [], True: []}
    for _ in range(ROUNDS):  # alternating, so that a busy machine slows both
        for live in (False, True):
            settings.preview = live
            bpy.context.scene.frame_set(2)
            seen[live].append(1000 * frames())
    # The best round counts: on a shared machine other rounds take up to twice as long.
    plain, live = min(seen[False]), min(seen[True])
    usual = statistics.median(seen[True]) - statistics.median(seen[False])
    call = sys.modules[package].preview.tick.live_of(built.mesh.data).cost
    result = {
        "blender": bpy.app.version_string,
        "plain ms": round(plain, 2),
        "live ms": round(live, 2),
        "over plain ms": round(live - plain, 2),
        "over plain ms, median": round(usual, 2),
        "call ms": round(call, 2),
    }
    print(json.dumps(result))
    addon_profile.uninstall_and_exit(package, 0)


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :])
