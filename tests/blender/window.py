# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender in a window of a virtual display, driven by the mouse and the keyboard.

Buttons are found by what they do, not by where they are: the mouse goes down a region, and Blender
tells the operator or the property of the button under it.
"""

import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import time

import addon_profile
import window_display

HERE = pathlib.Path(__file__).resolve().parent
EDIT_MENU = (82, 13)  # of the factory settings
FILE_MENU = (46, 13)
CORNER = (60, 60)  # of windows beside the first one
# Seconds for what an idle machine does at once: only what never comes takes them all.
PATIENCE = 120
TAB = 12  # from the right edge of the sidebar to the middle of its tabs
ROW = 20  # the height of a button
COLUMNS = (0.5, 0.25, 0.75, 0.9)  # where to look for buttons, in widths of the region


def busy():
    """How many programs want each processor, at least one: so much longer everything takes."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


class Window:
    """A context manager: starts display and Blender, ends both, and lays out the pictures.

    Blender shows a moving sample; with `start="empty"` nothing, in good quality; or else what
    window_scenes.py makes with the add-on of the zip `addon`.
    """

    def __init__(
        self, folder, pictures, start="sample", version="3.4", addon=None, size=window_display.SIZE
    ):
        self.folder, self.pictures, self.start = folder, pictures, start
        self.version, self.addon, self.size = version, addon, size
        self.asked = 0
        self.report, self.probe = folder / "report.json", folder / "probe"
        self.processes = []
        self.places = {}  # (area, kind of region): {button: place from the region's top left}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, kind=None, *_):
        if kind:
            self.picture("failed")
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._lay_out_pictures()

    def _start(self):
        self.pictures.mkdir(parents=True, exist_ok=True)
        for path in self.pictures.glob("*.png"):
            path.unlink()
        self.environment = addon_profile.environment(self.folder)
        server, self.environment["DISPLAY"] = window_display.start(self.size)
        self.processes.append(server)
        blender = [
            *window_display.command(self.version),
            "--factory-startup",
            "--window-geometry",
            "0",
            "0",
            *map(str, self.size),
            "--python-exit-code",
            "1",
            "--python",
            HERE / "window_inside.py",
            "--",
            self.folder,
            self.start,
            *([self.addon] if self.addon else []),
        ]
        with (self.pictures / "window.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    blender, env=self.environment, stdout=log, stderr=subprocess.STDOUT
                )
            )
        self.wait(self.report.exists, "Blender reports")

    # What Blender tells

    def state(self):
        return json.loads(self.report.read_text("utf-8"))

    def wait(self, condition, what):
        """Wait until `condition()` is true; TimeoutError names `what` was expected."""
        start = time.monotonic()
        while not condition():
            if self.processes[-1].poll() is not None:
                log = (self.pictures / "window.log").read_text("utf-8", "replace")
                raise RuntimeError(f"Blender ended:\n{log[-2000:]}")
            waited = time.monotonic() - start
            if waited > PATIENCE * busy():
                raise TimeoutError(f"waited {waited:.0f} s until {what}")
            time.sleep(0.02)

    def wait_state(self, **expected):
        """Wait until the report holds all of the values."""
        self.wait(lambda: expected.items() <= self.state().items(), f"it is {expected}")

    def fresh(self, ticks=2):
        """A report that is newer than this call."""
        start = self.state()["tick"]
        self.wait(lambda: self.state()["tick"] >= start + ticks, "Blender reports again")
        return self.state()

    def ask(self, expression):
        """The value of a Python expression in Blender, of the kinds that JSON knows."""
        self.asked += 1
        part = self.folder / "question.part"
        part.write_text(json.dumps([self.asked, expression]), "utf-8")
        part.rename(self.folder / "question")
        self.wait(lambda: self.state()["answer"][0] == self.asked, "Blender answers")
        _, value, error = self.state()["answer"]
        if error:
            raise RuntimeError(f"{expression}: {error}")
        return value

    def wait_for(self, expression):
        """Wait until a Python expression is true in Blender."""
        self.wait(lambda: self.ask(expression), expression)

    def region(self, area, kind):
        """(x, y from the top, width, height) on the display."""
        places = self._regions(area)
        if kind not in places:
            raise LookupError(f"there is no {area} {kind} on the screen")
        return places[kind]

    def _regions(self, area):
        """The rectangle of each kind of region of an area."""
        return {
            one["kind"]: (
                one["x"],
                self.size[1] - one["bottom"] - one["height"],
                one["width"],
                one["height"],
            )
            for one in self.state()["regions"]
            if one["area"] == area
        }

    def has(self, area):
        return bool(self._regions(area))

    def wait_window(self, area, title):
        """Wait for a new window and move it where it is completely visible."""
        self.wait(lambda: self.has(area), f"{area} opens")
        self.xdotool("search", "--onlyvisible", "--name", title, "windowmove", *CORNER)

        def corner():
            places = self._regions(area).values()
            return min(x for x, *_ in places), min(y for _, y, *_ in places)

        self.wait(lambda: corner() == CORNER, f"{area} has moved")
        self.fresh(10)  # its regions are laid out

    # What a hand does

    def xdotool(self, *words):
        subprocess.run(["xdotool", *map(str, words)], env=self.environment, check=True, timeout=60)

    def move(self, x, y):
        self.xdotool("mousemove", int(x), int(y))

    def press(self, *keys):
        """Press keys one after another at the mouse position."""
        for key in keys:
            self.xdotool("sleep", 0.1, "key", key)
        self.fresh()

    def key(self, *keys):
        """Press keys with the mouse over the middle of the 3D view."""
        x, y, _, height = self.region("VIEW_3D", "WINDOW")
        self.move(x + 300, y + height // 2)
        self.press(*keys)

    def undo_until(self, condition, what):
        """Press Ctrl+Z until `condition()` is true: changes of the frame are steps, too."""
        for _ in range(4):
            self.key("ctrl+z")
            self.fresh(5)
            if condition():
                return
        raise AssertionError(f"four steps of undo do not bring back {what}")

    def click_at(self, x, y):
        self.move(x, y)
        self.fresh(5)  # only what Blender has seen the mouse over takes a click
        self.xdotool("click", 1)
        self.fresh()

    def drag(self, start, end, steps=10):
        """Press the button at `start`, (x, y) on the display, move to `end` and let go."""
        self.move(*start)
        self.xdotool("sleep", 0.1, "mousedown", 1, "sleep", 0.1)
        for i in range(1, steps + 1):
            self.move(*(a + (b - a) * i / steps for a, b in zip(start, end, strict=True)))
            time.sleep(0.05)
        self.xdotool("mouseup", 1)
        self.fresh()

    def drop(self, place, *paths):
        """Drag files from another program's window to a position of the display, as a user does."""
        source = [window_display.SYSTEM_PYTHON, HERE / "drag_source.py", *paths]
        with subprocess.Popen(source, env=self.environment, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            self.drag((20, 20), place)
            program.wait(PATIENCE * busy())

    def scrub(self, steps=10):
        """Drag over the timeline, from a tenth of its width to nine tenths."""
        x, y, width, _ = self.region("TIMELINE", "WINDOW")
        self.drag((x + 0.1 * width, y + 10), (x + 0.9 * width, y + 10), steps)

    def click(self, button, area="VIEW_3D", kind="UI", columns=COLUMNS):
        """Click on the button whose Python command or data path contains `button`."""
        self.click_at(*self.find(button, area, kind, columns))

    def choose(self, button, letter):
        """Open a menu of the sidebar and choose the entry with the underlined letter."""
        self.click(button)
        self.press(letter)

    def enter(self, button, text, area, kind, columns=COLUMNS):
        """Type into a field."""
        self.click(button, area, kind, columns)
        self.write(text)

    def write(self, text):
        """Type into a field that has just been clicked on."""
        self.press("ctrl+a")
        self.type(text)
        self.press("Return")

    def type(self, text):
        self.xdotool("type", "--delay", 20, text)
        self.fresh(5)

    def slide(self, button, share):
        """Drag a slider of the sidebar by a multiple of the region's width."""
        self.find(button, columns=[0.5])
        width = self.region("VIEW_3D", "UI")[2]
        self.xdotool("mousedown", 1)
        self.fresh()
        # Blender takes the mouse back to where it was after each move.
        for _ in range(10):
            self.xdotool("mousemove_relative", "--", int(share * width / 10), 0)
            self.fresh()
        self.xdotool("mouseup", 1)
        self.fresh(10)

    def scroll(self, steps, area="VIEW_3D", kind="UI"):
        """Scroll a region by this many steps down, or up if negative."""
        x, y, width, height = self.region(area, kind)
        self.move(x + width // 3, y + height // 2)
        wheel = 5 if steps > 0 else 4
        self.xdotool("click", "--repeat", abs(steps), "--delay", 50, wheel)
        self.places.clear()
        self.fresh(20)

    def search(self, text):
        """Find an operator by Blender's own search and call it."""
        self.key("F3")
        self.type(text)
        self.press("Return")

    # Where things are

    def find(self, button, area="VIEW_3D", kind="UI", columns=COLUMNS):
        """The position of a button on the display, after moving the mouse there; searches if it moved."""
        with self._probing(area, kind):
            known = self.places.setdefault((area, kind), {})
            place = self._remembered(button, area, kind, known)
            if place:
                return place
            _, _, width, height = self.region(area, kind)
            # A name counts where it is new, as Blender keeps the last one until the mouse meets
            # another button; so the way back may find what the way there did not.
            last = self._named(area, kind)
            for step, part in itertools.product((1, -1), columns):
                x = int(part * width)
                for y in range(ROW // 4, height, ROW // 2)[::step]:
                    name = self._button(area, kind, x, y)
                    if name and name != last:
                        known[name] = (x, y)
                        if button in name:
                            left, top, _, _ = self.region(area, kind)
                            return left + x, top + y
                    last = name
        raise LookupError(f"there is no button {button!r} in {area} {kind}")

    def _remembered(self, button, area, kind, known):
        name = next((name for name in known if button in name), None)
        other = next((other for other in known if other != name), None)
        # From one button to the other, so that the answer cannot be an old one.
        if not (name and other) or self._button(area, kind, *known[other]) == name:
            return None
        if self._button(area, kind, *known[name]) != name:
            return None
        x, y, _, _ = self.region(area, kind)
        return x + known[name][0], y + known[name][1]

    def _button(self, area, kind, x, y):
        """The button of a region at a position from its top left."""
        left, top, _, _ = self.region(area, kind)
        self.move(left + x, top + y)
        return self._named(area, kind)

    def _named(self, area, kind):
        for one in self.fresh()["regions"]:
            if (one["area"], one["kind"]) == (area, kind):
                return one["button"]
        return None

    @contextlib.contextmanager
    def _probing(self, area, kind):
        self.probe.write_text(f"{area} {kind}", "utf-8")
        try:
            yield
        finally:
            self.probe.unlink()

    def open_tab(self):
        """Click down the tabs of the sidebar until the add-on's panels are drawn."""
        x, top, width, height = self.region("VIEW_3D", "UI")
        for y in range(top + 15, top + height, 2 * ROW):
            before = self.fresh()["drawn"]
            self.click_at(x + width - TAB, y)
            if self.fresh()["drawn"] > before:
                return
        raise LookupError("no tab of the sidebar shows a panel of the add-on")

    def set_last_frame(self, frame):
        # Past the field of the first frame, so that the name of the last one is new.
        self.enter("frame_end", str(frame), "TIMELINE", "HEADER", [0.87, 0.955])
        self.wait_state(end=frame)

    def open_preferences(self):
        """Edit > Preferences > Add-ons."""
        self.click_at(*EDIT_MENU)
        self.press("p")
        self.wait_window("PREFERENCES", "Preferences")
        places = self._regions("PREFERENCES")
        x, top, width, height = places.get("NAVIGATION_BAR") or places["UI"]
        for y in range(top + ROW // 2, top + height, ROW):
            if self.fresh()["section"] == "ADDONS":
                break
            self.click_at(x + width // 2, y)

    def install(self, path, box=None):
        """Preferences > Add-ons > Install from Disk, the file, the check box; pictures of each."""
        self.open_preferences()
        if self.version == "3.4":
            self.click("preferences.addon_install", "PREFERENCES", "WINDOW", [0.7])
        else:
            x, y, width, _ = self.region("PREFERENCES", "WINDOW")
            self.click_at(x + width - ROW, y + ROW)
            self.picture("install-menu")
            self.press("i")
        self.choose_file(path, "install-file")
        if self.version == "3.4":
            self.click("preferences.addon_enable", "PREFERENCES", "WINDOW", [0.08])
        self.wait(self.has_addon, "the add-on is on")
        if self.version != "3.4":  # which shows only what it has installed
            self.enter("addon_search", "MMD", "PREFERENCES", "WINDOW", [0.25])
        self.fresh(20)  # it is drawn, too
        self.picture("install", box)
        # Its border has no close button, as the display has no window manager.
        (self.folder / "close").touch()
        self.wait(lambda: not self.has("PREFERENCES"), "the preferences close")

    def has_addon(self):
        return any("mmdskin" in name for name in self.state()["addons"])

    def open_entry(self, letter, up, *picture):
        """File > Import or Export by its letter, the entry counted from below; its picture on the way."""
        if letter == "i" and self.version != "3.4":
            letter = "m"  # as the i is that of Save Incremental
        self._open_browser(letter, *["Up"] * up, "Return", picture=picture)

    def open_link(self):
        """File > Link."""
        self._open_browser("l")

    def _open_browser(self, *keys, picture=()):
        """By the File menu; again where a busy Blender has not taken the click."""
        for _ in range(3):
            self.click_at(*FILE_MENU)
            self.press(*keys[:-1])
            path = self.picture(*picture) if picture else None
            self.press(keys[-1])
            self.fresh(100)
            if self.has("FILES"):
                return
            if path:
                path.unlink()
            self.key("Escape", "Escape")
        raise LookupError("the File menu opens no file browser")

    def wait_browser(self):
        self.wait_window("FILES", "File View")

    def choose_file(self, path, picture=None):
        """Name a file in the file browser that opens, and confirm."""
        self.wait_browser()
        for kind, part, text in (("UI", 0.5, f"{path.parent}/"), ("EXECUTE", 0.25, path.name)):
            x, y, width, height = self.region("FILES", kind)
            for _ in range(2):  # in Blender 5.2 the first may open it for a moment only
                self.click_at(x + part * width, y + height // 2)
                self.fresh(10)
            self.write(text)
        self.wait_state(file=str(path))
        if picture:
            self.picture(picture)
        self.click("file.execute", "FILES", "EXECUTE")
        self.wait(lambda: not self.has("FILES"), "the file browser closes")

    def picture(self, name, box=None):
        """Take a screenshot, or one of a box (x, y, width, height); they are numbered in order."""
        number = len(list(self.pictures.glob("*.png"))) + 1
        return self.screenshot(self.pictures / f"{number:02d}-{name}.png", box)

    def screenshot(self, path, box=None):
        command = ["import", "-window", "root"]
        if box:
            x, y, width, height = map(int, box)
            command += [
                "-crop",
                f"{width}x{height}+{x}+{y}",
                "+repage",
                "-dither",
                "None",
                "-colors",
                "96",
            ]
        subprocess.run([*command, path], env=self.environment, check=True, timeout=30)
        return path

    def _lay_out_pictures(self):
        paths = sorted(self.pictures.glob("[0-9]*.png"))
        if paths:
            command = ["montage", *paths, "-tile", "3x", "-geometry", "640x>+4+4"]
            subprocess.run([*command, self.pictures / "contact.png"], check=True, timeout=60)
