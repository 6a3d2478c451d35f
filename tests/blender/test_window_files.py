# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that come and go by mouse, and the report: make check-window."""

import mmdskin
import window_display
from sample.character import dance, model
from test_blender import addon_zip  # noqa: F401
from window_session import ARMATURE, MESH, session, show_panel

VIEW = (400, 400)


@session("nothing")
def test_first_minute(blender, folder):
    """A model from the File menu is live at once; a motion, dropped where Blender can, plays."""
    model_path, motion_path = model.write_character(folder), dance.write_dance(folder)
    blender.key("KP_1", "n")
    blender.open_tab()
    blender.picture("nothing")
    blender.open_entry("i", 3, "import")
    blender.choose_file(model_path, "model")
    blender.wait_state(preview=True)
    blender.key("Home")
    blender.fresh(20)
    blender.picture("live")
    if blender.version == "3.4" or window_display.drags_missing():
        blender.open_entry("i", 2, "import-motion")
        blender.choose_file(motion_path, "motion")
    else:
        blender.drop(VIEW, motion_path)
        blender.fresh(50)
        blender.picture("motion")
        blender.press("Return")
    blender.wait_state(action=True)
    blender.fresh(20)
    first, points = blender.state()["frame"], blender.ask(f"points_hash({MESH})")
    blender.key("space")
    blender.wait(lambda: blender.state()["frame"] > first + 5, "it plays")
    blender.key("space")
    blender.picture("playing")
    assert blender.ask(f"points_hash({MESH})") != points


@session("dancer")
def test_export_and_import_a_pose(blender, folder):
    show_panel(blender)
    path = folder / "pose.vpd"
    blender.click("mmdskin.export_pose")
    blender.choose_file(path, "export")
    blender.wait(path.exists, "the pose is there")
    pose = mmdskin.load_motion(path)
    assert "右手首" in {track.name for track in pose.bones}
    arm = f"[round(x, 3) for x in {ARMATURE}.pose.bones['腕.L'].rotation_quaternion]"
    first = blender.ask(arm)
    blender.key(*["Right"] * 7)  # the dance repeats its beats
    blender.wait_for(f"{arm} != {first!r}")
    blender.click("mmdskin.import_motion")
    blender.choose_file(path, "import")
    blender.wait_for(f"{arm} == {first!r}")
    blender.picture("imported")


@session("dancer")
def test_export_a_motion(blender, folder):
    """The keys are those that were imported."""
    read = mmdskin.load_motion(folder / "dancer.vmd")
    blender.ask(f"setattr(bpy.context.scene, 'frame_end', {read.frame_range[1] + 1})")
    show_panel(blender)
    path = folder / "written.vmd"
    blender.click("mmdskin.export_motion")
    blender.choose_file(path, "export")
    blender.wait(path.exists, "the motion is there")
    blender.fresh(20)
    blender.picture("exported")
    written = mmdskin.load_motion(path)
    assert {track.name: track.frames.tolist() for track in written.bones} == {
        track.name: track.frames.tolist() for track in read.bones
    }


@session("dancer")
def test_report(blender, folder):
    """Copied by the button in the preferences of the add-on."""
    blender.open_preferences()
    blender.enter("addon_search", "MMD", "PREFERENCES", "WINDOW", [0.75, 0.25])
    blender.fresh(20)
    blender.picture("found")
    blender.click("preferences.addon_expand", "PREFERENCES", "WINDOW", [0.03, 0.05])
    blender.fresh(20)
    blender.scroll(30, "PREFERENCES", "WINDOW")
    blender.picture("expanded")
    blender.click("mmdskin.report", "PREFERENCES", "WINDOW", [0.5])
    blender.wait(lambda: blender.state()["clipboard"].startswith("Blender "), "it is copied")
    blender.picture("copied")
    report = blender.state()["clipboard"]
    assert "SDEF" in report, report
    assert "dancer" not in report, report
