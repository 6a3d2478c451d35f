# SPDX-License-Identifier: GPL-3.0-or-later
"""The MMD Look and the panel's languages, by mouse: make check-window."""

import numpy as np
from PIL import Image
from test_blender import addon_zip  # noqa: F401
from window_session import (
    BONES,
    DETAILS,
    MESH,
    MORPHS,
    SETTINGS,
    open_panels,
    session,
    show_panel,
    undo,
)

OBJECTS = "sorted(o.name for o in bpy.data.objects)"
NODES = f"[sorted(m.node_tree.nodes.keys()) for m in {MESH}.data.materials]"
SHADING = (
    "[a.spaces.active.shading.type for a in bpy.context.window_manager.windows[0].screen.areas"
    " if a.type == 'VIEW_3D'][0]"
)


MANY_OPTIONS = {
    "deformation": "BULGE_COMPENSATED",
    "source": "MOTION",
    "physics": True,
    "physics_group": "pair",
    "target": "CORRECTIVE",
    "range": "CUSTOM",
}


@session("dancer")
def test_mmd_look(blender, folder):
    """Standard colors, shadows and edges: on, and undone; the look off, and undone."""
    show_panel(blender)
    blender.key("KP_8", "KP_8")  # sees the ground from above
    objects, nodes = blender.ask(OBJECTS), blender.ask(NODES)
    blender.click("mmdskin.standard_colors")
    standard = "bpy.context.scene.view_settings.view_transform == 'Standard'"
    blender.wait_for(standard)
    undo(blender, f"not {standard}")
    blender.click("mmdskin.standard_colors")
    blender.wait_for(standard)
    plain = rendered(blender, "look")
    for name in ("edges_in_renders_only", "self_shadow", "ground_shadow"):
        blender.click(f".mmdskin.{name}")
        blender.wait_for(f"{SETTINGS}.{name}")
        assert differ(rendered(blender, name), plain), name
        undo(blender, f"not {SETTINGS}.{name}")
    assert blender.ask(OBJECTS) == objects
    blender.click("mmdskin.look")
    blender.wait(lambda: blender.ask(NODES) != nodes, "the look is off")
    assert differ(rendered(blender, "off"), plain)
    undo(blender, f"{NODES} == {nodes!r}")
    assert blender.ask(OBJECTS) == objects
    assert not differ(rendered(blender, "on-again"), plain)


@session("dancer")
def test_mmd_light(blender, folder):
    """Moving the light to the other side moves the shading."""
    show_panel(blender)
    before = rendered(blender, "before")
    light = "[o for o in bpy.data.objects if o.type == 'LIGHT'][0]"
    blender.key("shift+alt+z")  # shows it
    start = blender.ask(f"{light}.matrix_world.translation.x")
    x, y = blender.ask(f"on_display({light}.matrix_world.translation)")
    blender.click_at(x, y)
    blender.wait_for(f"bpy.context.view_layer.objects.active == {light}")
    blender.press("g")
    blender.move(x - 240, y + 60)
    blender.fresh(5)
    blender.click_at(x - 240, y + 60)
    blender.wait_for(f"{light}.matrix_world.translation.x < {start} - 0.1")
    blender.key("shift+alt+z")
    assert differ(rendered(blender, "after"), before)


def rendered(blender, name):
    """The picture of the model in EEVEE; not while the mouse looks for buttons, as a frame takes long."""
    blender.key("z", "KP_8")
    blender.wait_for(f"{SHADING} == 'RENDERED'")
    blender.fresh(50)
    before, shown = None, model_shown(blender)
    while before is None or not np.array_equal(before, shown):  # samples are added
        blender.fresh(50)
        before, shown = shown, model_shown(blender)
    blender.picture(name)
    blender.key("z", "KP_6")
    blender.wait_for(f"{SHADING} == 'SOLID'")
    return shown


def model_shown(blender):
    path = blender.folder / "model.png"
    blender.screenshot(path)
    x, y, width, height = blender.region("VIEW_3D", "WINDOW")
    with Image.open(path) as picture:
        box = (x + 150, y + 100, x + width - 320, y + height - 100)
        return np.asarray(picture.convert("RGB").crop(box), int)


def differ(one, other):
    """Whether a hundred pixels are visibly different."""
    return (np.abs(one - other).max(-1) > 16).sum() > 100


@session("dancer")
def test_panel_in_japanese(blender, folder):
    show_in(blender, "ja_JP")


@session("dancer")
def test_panel_in_chinese(blender, folder):
    show_in(blender, "zh_CN" if blender.version == "3.4" else "zh_HANS")


def show_in(blender, language):
    """Pictures to look at: of the panel with few and with many options, and of an import's options."""
    blender.ask(f"setattr(bpy.context.preferences.view, 'language', {language!r})")
    show_panel(blender, BONES, DETAILS)
    blender.click("mmdskin.import_motion")
    blender.wait(lambda: blender.has("FILES"), "the file browser opens")
    x, y, width, height = blender.region("FILES", "WINDOW")
    blender.move(x + width // 2, y + height // 2)
    blender.fresh(50)
    blender.picture("import")
    blender.press("Escape")
    blender.wait(lambda: not blender.has("FILES"), "the file browser closes")
    blender.scroll(30)
    open_panels(blender, MORPHS)
    blender.picture("morphs")
    for name, value in MANY_OPTIONS.items():
        blender.ask(f"setattr({SETTINGS}, {name!r}, {value!r})")
    blender.key("Home")
    blender.fresh(20)
    blender.picture("options")
