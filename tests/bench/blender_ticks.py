# SPDX-License-Identifier: GPL-3.0-or-later
"""Ticks in Blender: live meshes are evaluated again, with live physics, and with the look's edges; and frames
in which heads are turned, too.

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
    over = {
        turning: statistics.median(
            -ticks(alone, turning, False) + ticks(alone, turning, True) for _ in range(ROUNDS)
        )
        for turning in (False, True)
    }
    scene.clear()
    found = {"live physics": over[False], "live physics, head turned": over[True]}
    looking = []
    for count, name in ((1, "one"), (3, "three")):
        looking += [imported(options.model, look=True) for _ in range(count - len(looking))]
        for turning, turned in ((False, ""), (True, ", head turned")):
            best = min(ticks(looking, turning, False) for _ in range(ROUNDS))
            found[f"{name} with edges{turned}"] = best
    return found


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


def ticks(armatures, turning, physics):
    """Milliseconds of a tick of the timer of live physics, or of a frame in which heads are turned.

    A tenth of them are faster; other programs slow the others.
    """
    import bpy

    addon = sys.modules["addon_package"]
    for armature in armatures:
        armature.mmdskin.preview = True
        armature.mmdskin.physics = armature.mmdskin.physics_live = physics
    bpy.context.view_layer.update()
    live, timer = addon.physics.live, addon.preview.live_timer
    names = {armature.name_full for armature in armatures}
    heads = [head_of(armature) for armature in armatures]
    seen, now = live.clock, live.clock()
    live.clock = lambda: now
    times = []
    try:
        for one in live.every():
            one.settle()
        for number in range(TICKS):
            now += 1 / RATE
            start = time.perf_counter()
            if turning:
                for head in heads:
                    head.rotation_euler.y = 0.01 * (number % 30)  # tags what a user's turn does
            if physics:
                timer._advance()
            elif not turning:
                timer._tag(names)
            bpy.context.view_layer.update()
            times.append(time.perf_counter() - start)
        moving = [one for one in live.every() if one.ticks >= TICKS]
    finally:
        live.clock = seen
    assert not physics or len(moving) == len(armatures)
    return 1000 * statistics.quantiles(times, n=10)[0]


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("model")
    blender_script.run(parser, measured)
