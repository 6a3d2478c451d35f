# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender 3.4 in a window of a virtual display, driven by the mouse and the keyboard."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import addon_profile

HERE = pathlib.Path(__file__).resolve().parent
SIZE = (1280, 800)
# Places in the sidebar: distance from its right edge and from its top, in the factory settings.
PLACES = {"tab MMD": (13, 160), "Bake MMD Skin": (110, 121), "Clear Bake": (110, 142)}


def missing():
    """The first program that is not installed, or None."""
    programs = ("blender", "Xvfb", "xdotool", "import")
    return next((name for name in programs if not shutil.which(name)), None)


class Window:
    """A context: starts display and Blender with the add-on and a posed sample, ends both."""

    def __init__(self, addon_zip, folder, pictures):
        self.zip, self.folder, self.pictures = addon_zip, folder, pictures
        self.report = folder / "report.json"
        self.processes = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self):
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.environment = addon_profile.environment(self.folder)
        reading, writing = os.pipe()
        screen = f"{SIZE[0]}x{SIZE[1]}x24"
        # The server finds a free display itself and tells its number.
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", screen, "-nolisten", "tcp"]
        self.processes.append(
            subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            self.environment["DISPLAY"] = f":{pipe.readline().strip()}"
        with (self.pictures / "window.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [
                        "blender",
                        "--factory-startup",
                        "--window-geometry",
                        "0",
                        "0",
                        *map(str, SIZE),
                        "--python",
                        HERE / "window_inside.py",
                        "--",
                        self.zip,
                        self.report,
                    ],
                    env=self.environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
        self.wait(self.report.exists, 120, "Blender reports")

    def state(self):
        return json.loads(self.report.read_text("utf-8"))

    def wait(self, condition, seconds, what):
        """Wait until `condition()` holds; TimeoutError names `what` was awaited."""
        end = time.monotonic() + seconds
        while not condition():
            if self.processes[-1].poll() is not None:
                log = (self.pictures / "window.log").read_text("utf-8", "replace")
                raise RuntimeError(f"Blender ended:\n{log[-2000:]}")
            if time.monotonic() > end:
                raise TimeoutError(f"waited {seconds} s until {what}")
            time.sleep(0.1)

    def wait_keys(self, keys):
        self.wait(lambda: self.state()["keys"] == keys, 20, f"the shape keys are {keys}")

    def wait_mesh(self, digest):
        self.wait(lambda: self.state()["mesh"] == digest, 20, "the mesh is as before")

    def xdotool(self, *words):
        subprocess.run(["xdotool", *map(str, words)], env=self.environment, check=True, timeout=30)

    def click(self, place):
        """Click on a named place of the sidebar as a user does: move there, then press."""
        x, y, width, _ = self.state()["regions"]["UI"]
        right, top = PLACES[place]
        self.xdotool("mousemove", x + width - right, y + top, "sleep", 0.4, "click", 1)
        time.sleep(0.6)

    def key(self, name):
        """Press a key with the mouse over the middle of the 3D view."""
        x, y, _, height = self.state()["regions"]["WINDOW"]
        self.xdotool("mousemove", x + 300, y + height // 2, "sleep", 0.3, "key", name)
        time.sleep(0.6)

    def picture(self, name):
        path = self.pictures / f"{name}.png"
        subprocess.run(
            ["import", "-window", "root", path], env=self.environment, check=True, timeout=30
        )
        return path
