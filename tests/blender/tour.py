# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's five steps, done with the mouse in a window, with a picture of each."""

from sample.character import dance, model

PANEL_HEIGHTS = {"live": 576, "motion": 612, "bake": 608}  # without what is cut at the bottom
LAST = 30  # frame of the bake


def walk(blender, addon_zip, folder):
    install(blender, addon_zip)
    import_model(blender, folder)
    show_live(blender)
    follow_motion(blender, folder)
    bake(blender)


def install(blender, addon_zip):
    blender.install(addon_zip, (60, 60, 688, 96))
    blender.key("n")
    blender.open_tab()


def import_model(blender, folder):
    path = model.write_character(folder)
    blender.open_entry("i", 3, "import", (30, 282, 440, 323))
    blender.choose_file(path)
    blender.wait(lambda: blender.state()["model"], "the model is there")
    blender.key("KP_1", "Home")
    blender.key(*4 * ["ctrl+KP_4"])  # closer to the panel


def show_live(blender):
    blender.wait_state(preview=True)  # since the import
    panel(blender, "live")


def follow_motion(blender, folder):
    path = dance.write_dance(folder)
    blender.choose(".mmdskin.source", "f")  # Motion File: the m is that of MMD's IK
    blender.wait_state(source="MOTION")
    blender.enter(".mmdskin.motion_path", f"//{path.name}", "VIEW_3D", "UI")
    blender.wait_state(motion_path=f"//{path.name}")
    blender.enter(".mmdskin.model_path", "//dancer.pmx", "VIEW_3D", "UI")
    panel(blender, "motion")


def bake(blender):
    blender.choose(".mmdskin.range", "s")
    blender.wait_state(range="SCENE")
    blender.set_last_frame(LAST)
    blender.scroll(30)
    blender.click("mmdskin.bake")
    blender.wait(lambda: f"MMD {LAST:04d}" in blender.state()["keys"], "it is baked")
    panel(blender, "bake", beside=330)


def panel(blender, name, beside=0):
    """A picture of the panel, and of some pixels of the viewport beside it."""
    x, y, width, _ = blender.region("VIEW_3D", "UI")
    blender.move(x - 300, y + 300)
    blender.fresh()
    blender.picture(name, (x - beside, y, width - 24 + beside, PANEL_HEIGHTS[name]))
