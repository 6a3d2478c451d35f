# SPDX-License-Identifier: GPL-3.0-or-later
"""The tutorial and the README's steps, done with the mouse in a window, with a picture of each.

`make tour` renews the pictures in tests/sample/pictures, of the Blender that TOUR names.
"""

from sample.character import dance, model
from window import ROW

LAST = 30  # frame of the bake
FRAME = 22  # of the pictures, in which hair swings
SIZE = (1280, 800)
BESIDE = 330  # pixels of the viewport


def walk(blender, addon_zip, folder):
    install(blender, addon_zip)
    import_model(blender, folder)
    import_motion(blender, folder)
    play(blender)
    look(blender)
    bake(blender)
    export(blender, folder / "dancer.glb")


def install(blender, addon_zip):
    blender.install(addon_zip, (60, 60, 875, 96))
    blender.key("n")
    blender.open_tab()


def import_model(blender, folder):
    path = model.write_character(folder)
    menu = (30, 282, 440, 323) if blender.version == "3.4" else (30, 296, 480, 266)
    blender.open_entry("i", 3, "import", menu)
    blender.choose_file(path)
    blender.wait(lambda: blender.state()["model"], "the model is there")
    blender.key("KP_1", "Home")
    blender.key(*4 * ["ctrl+KP_4"])  # closer to the panel
    blender.wait_state(preview=True)  # since the import
    panel(blender, "live")


def import_motion(blender, folder):
    path = dance.write_dance(folder)
    blender.click("mmdskin.import_motion")
    blender.choose_file(path)
    blender.wait_state(action=True)
    blender.key("Escape")  # what 5.2 reports keeps the keys until the mouse moves
    blender.key(*(FRAME - 1) * ["Right"])
    blender.wait_state(frame=FRAME)
    panel(blender, "motion")


def play(blender):
    """Hair swings while the animation plays."""
    blender.key("Left", "shift+Left")
    blender.wait_state(frame=1)
    blender.key("space")
    blender.wait(lambda: blender.state()["frame"] >= FRAME, "it plays")
    blender.key("space")
    blender.scroll(6)
    panel(blender, "physics")


def look(blender):
    blender.scroll(30)
    blender.click("mmdskin.standard_colors")
    blender.key("z", "KP_8")  # Rendered
    blender.fresh(100)
    panel(blender, "rendered")
    blender.key("z", "KP_6")


def bake(blender):
    blender.wait_state(range="SCENE")  # since the import of the motion
    blender.set_last_frame(LAST)
    blender.click("mmdskin.bake")
    blender.wait(lambda: f"MMD {LAST:04d}" in blender.state()["keys"], "it is baked")
    panel(blender, "bake")


def export(blender, path):
    x, y = blender.find("mmdskin.export_motion")
    blender.click_at(x, y - ROW)  # the menu of formats has no command that names it
    blender.fresh(20)
    panel(blender, "export")
    blender.press("g")
    blender.choose_file(path)
    blender.wait(path.exists, "the file is there")


def panel(blender, name):
    """A picture of the panel, and of the dancer beside it."""
    x, y, width, height = blender.region("VIEW_3D", "UI")
    blender.fresh(20)
    blender.picture(name, (x - BESIDE, y, width - 24 + BESIDE, height))
