# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost per frame of live deformation, relative to the plain Armature modifier, in Blender.

blender -b --factory-startup -P blender_preview.py -- --zip mmdskin.zip
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

ROUNDS = 9


def frames(count=60):
    """Median seconds per frame."""
    import bpy

    times = []
    for frame in range(1, count + 1):
        start = time.perf_counter()
        bpy.context.scene.frame_set(frame)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measured():
    import blender_model
    import bpy

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
    call = sys.modules["addon_package"].preview.tick.live_of(built.mesh.data).cost
    return {
        "plain ms": round(plain, 2),
        "live ms": round(live, 2),
        "over plain ms": round(live - plain, 2),
        "over plain ms, median": round(usual, 2),
        "call ms": round(call, 2),
    }


if __name__ == "__main__":
    blender_script.run(blender_script.parser(__doc__), lambda options: measured())
