# SPDX-License-Identifier: GPL-3.0-or-later
"""An artist's session in a window, files dropped by the mouse as from a file manager: make check-window.

MMDSKIN_WINDOWS="4.3 5.2" chooses the versions; build/blender/window-* keeps the pictures.
"""

import os

import pytest
import window
from sample.character import dance, model
from test_blender import BUILD, addon_zip  # noqa: F401

VERSIONS = os.environ.get("MMDSKIN_WINDOWS", "").split()
VIEW = (400, 400)  # a place in the 3D view of the factory settings


@pytest.mark.parametrize("version", VERSIONS or [None])
def test_an_artists_session(addon_zip, version, tmp_path):  # noqa: F811
    if version is None:
        pytest.skip("newer Blenders with windows are large downloads: make check-window has them")
    reason = window.missing(version) or window.drags_missing()
    if reason:
        pytest.skip(reason)
    pictures = BUILD / f"window-{version}"
    with window.Window(tmp_path, pictures, empty=True, version=version) as blender:
        install(blender, addon_zip)
        import_model(blender, model.write_character(tmp_path))
        import_motion(blender, dance.write_dance(tmp_path))
        show_live(blender)
        bake(blender)
        find_by_search(blender)


def drop(blender, path, name, has_come):
    """With a picture of the dialog, which Return confirms as soon as it is there."""
    blender.drop(VIEW, path)
    blender.fresh(50)
    blender.picture(name)

    def confirm():
        blender.press("Return")
        return has_come()

    blender.wait(confirm, 60, f"{path.name} has come")


def install(blender, addon_zip):  # noqa: F811
    name = "bl_ext.user_default.mmdskin"
    drop(blender, addon_zip, "extension", lambda: name in blender.state()["addons"])


def import_model(blender, path):
    drop(blender, path, "model", lambda: blender.state()["model"])
    blender.key("KP_1", "Home", "n")
    blender.open_tab()


def import_motion(blender, path):
    drop(blender, path, "motion", lambda: blender.state()["action"])
    blender.picture("dance")


def show_live(blender):
    blender.click(".mmdskin.preview")
    blender.wait_state(preview=True)
    blender.scrub()
    assert blender.state()["frame"] > 100
    blender.choose(".mmdskin.source", "m")
    blender.wait_state(source="IK")
    blender.picture("live")


def bake(blender):
    keys, frame = blender.state()["keys"], blender.state()["frame"]
    blender.click("mmdskin.bake")
    blender.wait_state(keys=[*keys, f"MMD {frame:04d}"])
    blender.picture("baked")
    blender.key("F9")
    blender.picture("redo")
    blender.press("Escape")
    blender.click("mmdskin.clear_bake")
    blender.wait_state(keys=keys, preview=True)


def find_by_search(blender):
    blender.search("MMD Skinning")
    blender.wait_state(preview=False)
    blender.picture("searched")
