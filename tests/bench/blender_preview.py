# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost per frame of live deformation, relative to the plain Armature modifier, in Blender.

blender -b --factory-startup -P blender_preview.py -- --zip mmdskin.zip [MODEL MOTION]

Of a model that is built for the purpose, or of a model's file with a motion as keyframes.
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

ROUNDS = 9


def frames(first, count=60):
    """Median seconds per frame."""
    import bpy

    times = []
    for frame in range(first, first + count):
        start = time.perf_counter()
        bpy.context.scene.frame_set(frame)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def built_model():
    """An armature, a mesh, and the first frame to measure."""
    import blender_model

    built = blender_model.build()
    return built.armature, built.mesh, 1


def imported_model(model, motion):
    """As `built_model`, of files."""
    import bpy
    import scene

    scene.clear()
    bpy.ops.mmdskin.import_model(filepath=model, look=False)
    bpy.ops.mmdskin.import_motion(filepath=motion)
    kinds = {obj.type: obj for obj in bpy.context.scene.objects}
    return kinds["ARMATURE"], kinds["MESH"], 200  # before, a dance may not have begun


def measured(options):
    import bpy

    armature, mesh, first = (
        imported_model(options.model, options.motion) if options.model else built_model()
    )
    settings = armature.mmdskin
    seen = {False: [], True: []}
    for _ in range(ROUNDS):  # alternating, so that a busy machine slows both
        for live in (False, True):
            settings.preview = live
            bpy.context.scene.frame_set(first + 1)
            seen[live].append(1000 * frames(first))
    # The best round counts: on a shared machine other rounds take up to twice as long.
    plain, live = min(seen[False]), min(seen[True])
    usual = statistics.median(seen[True]) - statistics.median(seen[False])
    call = sys.modules["addon_package"].preview.driver_function.live_of(mesh.data).cost
    return {
        "plain ms": round(plain, 2),
        "live ms": round(live, 2),
        "over plain ms": round(live - plain, 2),
        "over plain ms, median": round(usual, 2),
        "call ms": round(call, 2),
    }


if __name__ == "__main__":
    arguments = blender_script.parser(__doc__)
    arguments.add_argument("model", nargs="?")
    arguments.add_argument("motion", nargs="?")
    blender_script.run(arguments, measured)
