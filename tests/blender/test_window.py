# SPDX-License-Identifier: GPL-3.0-or-later
"""An artist's session in a window: make check-window.

MMDSKIN_WINDOWS="3.4 4.3 5.2" chooses the versions; build/blender/window-* keeps the pictures.
The zip comes by Install from Disk, in 4.3 by a drop. From 4.1 on, the first Blender that takes such drops,
models and motions are dropped as from a file manager; before, they come by File > Import.
"""

import copy
import os

import mmdskin
import numpy as np
import pytest
import window
import window_display
from files import pmx_file
from sample.character import dance, model
from test_blender import BUILD, addon_zip  # noqa: F401

VERSIONS = os.environ.get("MMDSKIN_WINDOWS", "").split()
VIEW = (400, 400)  # a place in the 3D view of the factory settings
AS_DROPPED = (318, 504)  # a menu of the dialog that a motion brings there
AS_IMPORTED = (1083, 214)  # the same menu in the file browser
SKIRT = [name for name, *_ in model.MATERIALS].index("スカート")
MORPHS = 33  # from Export MMD Pose down to the panel, which is closed


@pytest.mark.parametrize("version", VERSIONS or [None])
def test_an_artists_session(addon_zip, version, tmp_path):  # noqa: F811
    if version is None:
        pytest.skip(
            "it takes minutes, and newer Blenders are large downloads: make check-window has it"
        )
    drops = version != "3.4"
    reason = window_display.missing(version) or (drops and window_display.drags_missing())
    if reason:
        pytest.skip(reason)
    pictures = BUILD / f"window-{version}"
    with window.Window(tmp_path, pictures, start="empty", version=version) as blender:
        install(blender, addon_zip)
        import_model(blender, write_model(tmp_path))
        import_motion(blender, dance.write_dance(tmp_path))
        show_live(blender)
        export_motion(blender, tmp_path / "written.vmd")
        pose_foot(blender)
        look_at_armature(blender)
        show_ground_shadow(blender)
        move_sliders(blender)
        bake(blender)
        export(blender, tmp_path / "dancer.fbx")
        clear_bake(blender)
        find_by_search(blender)
        copy_report(blender)


def write_model(folder):
    """The dancer with a bone morph and a material morph; returns the path."""
    path = model.write_character(folder)
    pmx = copy.deepcopy(model.character())
    change = [0, 1, 0.2, 0.2, *[1.0] * 25]  # multiplies the diffuse color
    head = [bone.name for bone in pmx.bones].index("頭")
    for name, kind, index, values in (
        ("首かしげ", "bone", head, [0, 0, 0, 0, 0, 0.38, 0.92]),
        ("赤くなる", "material", SKIRT, change),
    ):
        number = pmx_file.MORPH_KINDS.index(kind)
        rows = np.array([values], np.float32)
        pmx.morphs.append(pmx_file.Morph(name, "", 4, number, np.array([index]), rows))
    path.write_bytes(pmx_file.write(pmx))
    return path


def install(blender, addon_zip):  # noqa: F811
    if blender.version == "4.3":
        drop(blender, addon_zip, "extension", blender.has_addon)
    else:
        blender.install(addon_zip)


def import_model(blender, path):
    def has_come():
        return blender.state()["model"]

    if blender.version == "3.4":
        blender.open_entry("i", 3, "import")
        blender.choose_file(path, "model")
        blender.wait(has_come, "the model has come")
    else:
        drop(blender, path, "model", has_come)
    blender.key("KP_1", "Home", "n")
    blender.open_tab()


def import_motion(blender, path):
    """As keys to be edited."""

    def has_come():
        return blender.state()["action"]

    if blender.version == "3.4":
        blender.open_entry("i", 2, "import")
        blender.wait_browser()
        choose_own_keys(blender, AS_IMPORTED)
        blender.choose_file(path, "motion")
        blender.wait(has_come, "the motion has come")
    else:
        drop(blender, path, "motion", has_come, lambda: choose_own_keys(blender, AS_DROPPED))
    blender.picture("dance")


def choose_own_keys(blender, place):
    blender.click_at(*place)
    blender.press("o")


def drop(blender, path, name, has_come, choose=lambda: None):
    """With a picture of the dialog, which Return confirms as soon as it appears."""
    blender.drop(VIEW, path)
    blender.fresh(50)
    choose()
    blender.picture(name)

    def confirm():
        blender.press("Return")
        return has_come()

    blender.wait(confirm, f"{path.name} has come")


def show_live(blender):
    blender.wait_state(preview=True)  # since the import
    blender.scrub()
    assert blender.state()["frame"] > 100
    blender.choose(".mmdskin.source", "m")
    blender.wait_state(source="IK")
    blender.picture("live")


def pose_foot(blender):
    """Grab the box of the IK bone with G and move it 60 pixels up and aside: the foot follows."""
    blender.key("shift+alt+z")  # the overlays, which the pictures before are better without
    before = blender.fresh(10)
    blender.click_at(*on_square(before))
    blender.press("ctrl+Tab")
    blender.wait_state(mode="POSE")
    blender.click_at(*on_square(blender.fresh(10)))
    blender.wait_state(active="足ＩＫ.L")
    x, y = on_square(blender.state())
    blender.press("g")
    for step in range(0, 70, 10):
        blender.move(x + step, y - step)
        blender.fresh()
    blender.click_at(x + 60, y - 60)
    after = blender.fresh(10)
    blender.picture("foot")
    moved = np.subtract(after["foot"], before["foot"])
    grip = np.subtract(after["grip"], before["grip"])
    assert np.abs(grip - (60, -60)).max() < 3, grip
    assert moved[0] > 0.15, moved
    assert moved[2] > 0.15, moved


def look_at_armature(blender):
    """Then back to MMD's IK: changes of drivers do not affect a pose without keyframes."""
    foot = blender.state()["foot"]
    for letter, source in (("a", "ARMATURE"), ("m", "IK")):
        blender.choose(".mmdskin.source", letter)
        blender.wait_state(source=source)
    assert np.allclose(blender.fresh(10)["foot"], foot, atol=1e-4)


def show_ground_shadow(blender):
    """Nor does another object with drivers."""
    foot = blender.state()["foot"]
    blender.click(".mmdskin.ground_shadow")
    assert np.allclose(blender.fresh(20)["foot"], foot, atol=1e-4)
    blender.click(".mmdskin.ground_shadow")


def on_square(state):
    """On the right edge of the IK bone's shape."""
    x, y = state["grip"]
    return x + 9, y + 3


def move_sliders(blender):
    blender.scroll(30)
    x, y = blender.find("mmdskin.export_pose")
    blender.click_at(x - 60, y + MORPHS)
    blender.scroll(12)
    blender.slide('["い"].value', 0.2)
    blender.scroll(30)
    blender.slide('["首かしげ"]', 0.2)
    before = blender.fresh()["colors"]
    blender.slide('["赤くなる"]', 0.4)  # less is still as light as can be
    after = blender.fresh(10)
    blender.picture("sliders")
    weights = after["weights"]["い"], *after["sliders"].values()
    assert all(0.1 < weight < 0.5 for weight in weights), weights
    changed = [
        i
        for i, colors in enumerate(zip(before, after["colors"], strict=True))
        if colors[0] != colors[1]
    ]
    assert changed == [SKIRT]


def bake(blender):
    """The panel is scrolled down: it is taller than the window while physics has a sentence to say."""
    keys, frame = blender.state()["keys"], blender.state()["frame"]
    foot = blender.state()["foot"]
    blender.choose(".mmdskin.range", "c")  # the motion has made it the scene's
    blender.wait_state(range="CURRENT")
    blender.fresh(30)
    blender.click("mmdskin.bake")
    blender.wait_state(keys=[*keys, f"MMD {frame:04d}"])
    assert np.allclose(blender.fresh(10)["foot"], foot, atol=1e-4)
    blender.picture("baked")
    blender.key("F9")
    blender.picture("redo")
    blender.press("Escape")


def export_motion(blender, path):
    """File > Export, the last entry but one: the keys are those of the imported file."""
    blender.open_entry("e", 2, "motion-menu")
    blender.choose_file(path, "motion-file")
    blender.wait(path.exists, "the motion is there")
    blender.fresh(20)
    blender.picture("motion-exported")
    written, read = mmdskin.load_motion(path), mmdskin.load_motion(path.with_name("dancer.vmd"))
    assert {t.name: t.frames.tolist() for t in written.bones} == {
        t.name: t.frames.tolist() for t in read.bones
    }


def export(blender, path):
    """File > Export, the last entry but two; the format follows the typed extension."""
    blender.open_entry("e", 3, "export-menu")
    blender.choose_file(path, "export-file")
    blender.wait(path.exists, "the file is there")
    blender.fresh(20)
    blender.picture("exported")
    assert path.read_bytes().startswith(b"Kaydara FBX Binary")


def clear_bake(blender):
    """The preview is turned on again; the foot, which has no keyframe, keeps its position."""
    foot = blender.state()["foot"]
    blender.click("mmdskin.clear_bake")
    blender.wait_state(preview=True)
    assert np.allclose(blender.fresh(10)["foot"], foot, atol=1e-4)
    assert not any(key.startswith("MMD ") for key in blender.state()["keys"])


def find_by_search(blender):
    foot = blender.state()["foot"]
    blender.search("MMD Skinning")
    blender.wait_state(preview=False)
    blender.picture("searched")
    blender.scroll(-40)
    blender.click(".mmdskin.preview")
    blender.wait_state(preview=True)
    assert np.allclose(blender.fresh(10)["foot"], foot, atol=1e-4)


def copy_report(blender):
    blender.search("Copy Report")
    blender.wait(lambda: "mmdskin" in blender.state()["clipboard"], "the report is copied")
    blender.picture("report")
    report = blender.state()["clipboard"]
    assert report.startswith(f"Blender {blender.version}."), report
    assert "MMD Skinning on, source IK" in report, report
    assert "SDEF" in report, report
    assert "dancer" not in report, report
