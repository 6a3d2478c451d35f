# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargeting in Blender: a model that another armature drives live, and a dance keyed on an FK rig.

python-with-bpy tests/bench/blender_retarget.py --zip dist/mmdskin-….zip MODEL MOTION

The last line of the output is the result as JSON.
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

ROUNDS, FRAMES = 100, 1000


def measured(options):
    import bpy
    import humanoids
    import scene

    scene.clear()
    bpy.ops.mmdskin.import_model(filepath=options.model, look=False)
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    bpy.ops.mmdskin.import_motion(filepath=options.motion, mode="FILE")
    rig = humanoids.fk_rig()
    return {"live ms": followed(armature, rig), "keyed s": keyed(armature, rig)}


def keyed(armature, rig):
    """Seconds of Retarget to Armature, with the import's motion file as the source."""
    import bpy
    import scene

    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, FRAMES
    scene.select(rig)
    armature.select_set(True)
    start = time.perf_counter()
    assert bpy.ops.mmdskin.retarget_to_armature() == {"FINISHED"}
    seconds = time.perf_counter() - start
    assert rig.animation_data.action.frame_range[1] >= FRAMES
    return seconds


def followed(armature, rig):
    """Milliseconds in which the model's pose is found in an evaluation."""
    import bpy
    import humanoids
    import numpy as np

    humanoids.pose(rig, 1, degrees=20)
    armature.mmdskin.driving_rig = rig
    addon = sys.modules["addon_package"]
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    pmx = addon.scene.model_file.rig(armature).pmx
    driving = addon.pose.driving_rig.DrivingRig(evaluated, pmx)
    local = np.zeros((len(pmx.bones), 3)), np.zeros((len(pmx.bones), 4))
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        driving.apply(driving.pose(evaluated), *local)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("model")
    parser.add_argument("motion")
    blender_script.run(parser, measured)
