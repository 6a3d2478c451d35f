# SPDX-License-Identifier: GPL-3.0-or-later
"""Live physics by mouse: make check-window."""

import time

import numpy as np
import window
from PIL import Image
from test_blender import addon_zip  # noqa: F401
from window_session import ARMATURE, SETTINGS, session

POSE = f"[b.matrix_basis[i][j] for b in {ARMATURE}.pose.bones for i in range(3) for j in range(4)]"
COUNTED = "dict(__import__('window_scenes').counted)"
WORKED = f"[{COUNTED}['drawn'], __import__('time').process_time()]"
LIVE = f"__import__('addon_package').physics.live.of_armature({ARMATURE})[0]"
STRAIN = f"float({LIVE}._simulation.strain[0][:, 0].max())"
SIZE = (640, 480)  # the processor draws


@session("live_dancer", SIZE)
def test_hair_swings_while_a_bone_is_dragged(blender, folder):
    blender.key("KP_1", "Home")
    rest(blender)
    for key, bone in (("r", "頭"), ("g", "センター")):
        blender.ask(f"__import__('window_scenes').select_bone({bone!r})")
        before = blender.ask(POSE)
        costs = {}
        for live in (False, True):
            blender.ask(f"setattr({SETTINGS}, 'physics_live', {live})")
            rest(blender)
            costs[live] = drag(blender, key)
            time.sleep(0.5)  # the last moves of the mouse are drawn
            held, pictures = hold(blender, f"{key}-{live}")
            changed = int((np.ptp(pictures, axis=0).max(axis=2) > 8).sum())
            assert bool(changed > 50) is live, changed
            assert not live or held["evaluated"] >= 8 / window.busy(), held
            blender.key("Escape")
            blender.wait(lambda before=before: blender.ask(POSE) == before, "the pose is restored")
        print(f"{key}: {costs} seconds of processor time a draw; {held} in 2 seconds held")
        assert costs[True] <= costs[False] / 0.75, costs


@session("live_dancer", SIZE)
def test_at_rest_nothing_is_evaluated_or_drawn(blender, folder):
    rest(blender)
    blender.ask("list(bpy.ops.wm.save_mainfile())")
    blender.key("r")
    x, y, width, height = blender.region("VIEW_3D", "WINDOW")
    blender.click_at(x + width // 2 + 40, y + height // 2 + 20)
    time.sleep(5)
    before = blender.ask(COUNTED)
    time.sleep(3)
    assert blender.ask(COUNTED) == before
    blender.ask("list(bpy.ops.wm.save_mainfile())")
    blender.ask("list(bpy.ops.mmdskin.settle())")
    rest(blender)
    assert not blender.ask("bpy.data.is_dirty")


@session("live_dancer")
def test_scrubbing_there_and_back_swings_hair_and_a_far_jump_settles_it(blender, folder):
    rest(blender)
    blender.ask("setattr(bpy.context.scene, 'frame_end', 240)")
    x, y, width, _ = blender.region("TIMELINE", "WINDOW")
    blender.drag((x + 0.3 * width, y + 10), (x + 0.4 * width, y + 10), 15)
    assert blender.ask("bpy.context.scene.frame_current") > 1
    frames = blender.ask("bpy.context.scene.frame_current")
    blender.drag((x + 0.4 * width, y + 10), (x + 0.3 * width, y + 10), 15)
    assert not blender.ask(f"{LIVE}._settled"), frames
    assert blender.ask(STRAIN) < 1.5
    blender.ask("bpy.context.scene.frame_set(200)")
    blender.wait_for(f"{LIVE}._frame == 200")
    assert blender.ask(STRAIN) < 1
    assert blender.ask(f"str({LIVE}.problem)") == ""
    blender.key("space")
    blender.wait_for(f"{LIVE}.playing and bpy.context.scene.frame_current > 215")
    blender.picture("plays")
    blender.key("space")


def rest(blender):
    blender.wait_for("not __import__('addon_package').physics.live.is_running")


def drag(blender, key):
    """Processor time of a draw while the mouse moves, which goes on holding the bone."""
    x, y, width, height = blender.region("VIEW_3D", "WINDOW")
    blender.move(x + width // 2, y + height // 2)
    blender.press(key)
    drawn, worked = blender.ask(WORKED)
    for step in range(40):
        blender.move(x + width // 2 + 3 * step, y + height // 2 - step)
        time.sleep(0.05)
    drawn, worked = np.subtract(blender.ask(WORKED), (drawn, worked))
    return float(worked / drawn)


def hold(blender, name):
    """What was counted, in each two seconds, and pictures meanwhile."""
    before, start, pictures = blender.ask(COUNTED), time.monotonic(), []
    for number in range(5):
        pictures.append(view(blender, f"{name}-{number}"))
        time.sleep(0.4)
    counted, seconds = blender.ask(COUNTED), time.monotonic() - start
    return {name: 2 * (counted[name] - before[name]) / seconds for name in counted}, pictures


def view(blender, name):
    """(H, W, 3) of the 3D view."""
    x, y, width, height = blender.region("VIEW_3D", "WINDOW")
    picture = np.asarray(Image.open(blender.picture(name)).convert("RGB"), int)
    return picture[y + 60 : y + height - 30, x + 60 : x + width - 60]
