# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests test_window_*.py share: a window for each Blender, and the ways around the MMD tab.

build/blender/window-VERSION-TEST keeps the pictures. The window is so tall that the whole panel is
visible; the headers of its closed panels are at fixed distances from the button above them.
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
SIZE = (1280, 1200)
HEADER = 26  # from one closed panel to the next
FIRST = 33  # from Use Standard Colors down to the first of them
MORPHS, BONES, FILES, DETAILS = range(4)
ARMATURE = "[o for o in bpy.data.objects if o.type == 'ARMATURE'][0]"
MESH = "[o for o in bpy.data.objects if o.type == 'MESH' and o.vertex_groups][0]"
SETTINGS = f"{ARMATURE}.mmdskin"


def session(start, size=SIZE):
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
    """Open the MMD tab, and of its closed panels those with these places, counted from the first."""
    blender.key("KP_1", "Home", "n")
    blender.open_tab()
    open_panels(blender, *closed)
    blender.picture("panel")


def open_panels(blender, *closed):
    if closed:
        x, y = blender.find("mmdskin.standard_colors")
        for place in sorted(closed, reverse=True):  # from below: what is above stays
            blender.click_at(x - 60, y + FIRST + place * HEADER)
        blender.places.clear()
        blender.fresh(30)  # they unfold


def undo(blender, expression):
    """Until an expression is true."""
    blender.undo_until(lambda: blender.ask(expression), expression)
