# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual display, and which Blenders can be opened on it here."""

import os
import shutil
import subprocess

import addon_profile

SIZE = (1280, 1300)  # so tall that the whole panel is visible
SYSTEM_PYTHON = "/usr/bin/python3"  # which has Debian's GTK


def missing(version="3.4"):
    """Why no window of that Blender can be opened here, or None."""
    programs = ("blender", "Xvfb", "xdotool", "import", "montage")
    name = next((name for name in programs if not shutil.which(name)), None)
    if name:
        return f"{name} is not installed: run tests/blender/setup.sh 3.4"
    if version != "3.4" and not (addon_profile.CACHE / f"window-{version}/ready").exists():
        return f"Blender {version} with a window is not here: run tests/blender/window.sh {version}"
    return None


def drags_missing():
    """Why no file can be dragged here, or None."""
    probe = "import gi; gi.require_version('Gtk', '3.0')"
    if subprocess.run([SYSTEM_PYTHON, "-c", probe], stderr=subprocess.DEVNULL).returncode:
        return "no program to drag files from: apt-get install python3-gi gir1.2-gtk-3.0"
    return None


def command(version):
    """The command that runs a Blender with a window."""
    if version == "3.4":
        return ["blender"]
    return [addon_profile.CACHE / f"window-{version}/blender", "/usr/bin/blender"]


def start(size=SIZE):
    """(process, name) of a virtual display."""
    reading, writing = os.pipe()
    screen = f"{size[0]}x{size[1]}x24"
    # The server finds a free display itself and tells its number.
    server = ["Xvfb", "-displayfd", str(writing), "-screen", "0", screen, "-nolisten", "tcp"]
    process = subprocess.Popen(server, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return process, f":{pipe.readline().strip()}"
