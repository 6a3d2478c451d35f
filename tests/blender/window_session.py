# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests test_window_*.py share: a window for each Blender, and the ways around the MMD tab.

build/blender/window-VERSION-TEST keeps the pictures. The headers of closed panels are at fixed distances
from the button above them.
"""

import functools
import os
import re

import pytest
import window
import window_display
from test_blender import BUILD

VERSIONS = os.environ.get("MMDSKIN_WINDOWS", "").split()
if not VERSIONS:
    pytest.skip("they take minutes: make check-window has them", allow_module_level=True)
HEADER = 26  # from one closed panel to the next
FIRST = 33  # from the last button of a panel down to the closed one below it
# The button above, and how far down.
BONES = ("mmdskin.switch_names", FIRST)
DETAILS = ("mmdskin.switch_names", FIRST + HEADER)
MORE_PHYSICS = (".mmdskin.physics_hz", FIRST)
MORPHS = ("mmdskin.export_pose", FIRST)
ARMATURE = "[o for o in bpy.data.objects if o.type == 'ARMATURE'][0]"
MESH = "[o for o in bpy.data.objects if o.type == 'MESH' and o.vertex_groups][0]"
SETTINGS = f"{ARMATURE}.mmdskin"


def session(start, size=window_display.SIZE):
    """Runs a test in a window of each version, which shows at first a scene of window_scenes.py."""

    def decorated(test):
        @pytest.mark.parametrize("version", VERSIONS)
        @functools.wraps(test)
        def run(addon_zip, version, tmp_path):
            if reason := window_display.missing(version):
                pytest.skip(reason)
            pictures = BUILD / f"window-{version}-{test.__name__.removeprefix('test_')}"
            options = {"start": start, "version": version, "addon": addon_zip, "size": size}
            with window.Window(tmp_path, pictures, **options) as blender:
                test(blender, tmp_path)
            log = (pictures / "window.log").read_text("utf-8", "replace")
            assert not re.search(r"^(Traceback|Error)|\| ERROR", log, re.MULTILINE), log

        del run.__wrapped__  # pytest reads the fixtures of `run`
        return run

    return decorated


def show_panel(blender, *closed):
    """Open the MMD tab, and these of its closed panels, from above."""
    blender.key("KP_1", "Home", "n")
    blender.open_tab()
    open_panels(blender, *closed)
    blender.picture("panel")


def open_panels(blender, *closed):
    for button, distance in reversed(closed):  # from below: what is above stays
        x, y = blender.find(button)
        blender.click_at(x, y + distance)
        blender.places.clear()
        blender.fresh(30)  # it unfolds


def undo(blender, expression):
    """Until an expression is true."""
    blender.undo_until(lambda: blender.ask(expression), expression)
