# SPDX-License-Identifier: GPL-3.0-or-later
"""Ticks in Blender: a head is turned and the scene evaluated, with live physics, and with the look's edges.

python-with-bpy tests/bench/blender_ticks.py --zip dist/mmdskin-….zip MODEL

The last line of the output is the result as JSON.
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

TICKS, ROUNDS, RATE = 30, 6, 60


def measured(options):
    import scene

    scene.clear()
    alone = [imported(options.model, look=False)]
    # Alternating, so that a busy machine slows both.
    over = [-ticks(alone, False) + ticks(alone, True) for _ in range(ROUNDS)]
    scene.clear()
    looking = [imported(options.model, look=True)]
    one = min(ticks(looking, False) for _ in range(ROUNDS))
    looking += [imported(options.model, look=True) for _ in range(2)]
    three = min(ticks(looking, False) for _ in range(ROUNDS))
    return {
        "live physics over plain": statistics.median(over),
        "with look and edges": one,
        "three with look and edges": three,
    }


def imported(model, look):
    import bpy

    before = set(bpy.data.objects)
    bpy.ops.mmdskin.import_model(filepath=model, look=look)
    new = set(bpy.data.objects) - before
    return next(obj for obj in new if obj.type == "ARMATURE")


def head_of(armature):
    head = next(bone for bone in armature.pose.bones if bone.get("mmd_name_j") == "頭")
    head.rotation_mode = "XYZ"
    return head


def ticks(armatures, physics):
    """Milliseconds of a tick: a tenth of them are faster; other programs slow the others."""
    import bpy

    addon = sys.modules["addon_package"]
    for armature in armatures:
        armature.mmdskin.preview = True
        armature.mmdskin.physics = armature.mmdskin.physics_live = physics
    bpy.context.view_layer.update()
    live = addon.physics.live
    heads = [head_of(armature) for armature in armatures]
    seen, now = live.clock, live.clock()
    live.clock = lambda: now
    times = []
    try:
        for number in range(TICKS):
            now += 1 / RATE
            start = time.perf_counter()
            for head in heads:
                head.rotation_euler.y = 0.01 * (number % 30)  # tags what turning it by hand does
            addon.preview.live_timer._advance()
            bpy.context.view_layer.update()
            times.append(time.perf_counter() - start)
    finally:
        live.clock = seen
    assert not physics or len(live.all_of()) == len(armatures)
    return 1000 * statistics.quantiles(times, n=10)[0]


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("model")
    blender_script.run(parser, measured)
