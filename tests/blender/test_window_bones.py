# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones, names and sides of a model, and characters together, by mouse: make check-window."""

import numpy as np
import window
from test_blender import addon_zip  # noqa: F401
from window_session import (
    ARMATURE,
    BONES,
    MESH,
    MORE_PHYSICS,
    MORPHS,
    open_panels,
    session,
    show_panel,
    undo,
)

DANCERS = "[o for o in bpy.data.objects if o.type == 'ARMATURE' and o.name.startswith('dancer')]"
IN_HEADER = (0.18, *window.COLUMNS)  # the check box of a panel, beside its triangle


@session("dancer")
def test_show_pose_on_bones(blender, folder):
    show_panel(blender, BONES)
    blender.key("shift+alt+z")  # shows bones and empties
    shown = "any('mmdskin_shown' in o for o in bpy.data.objects)"
    blender.click("mmdskin.show_pose")
    blender.wait_for(shown)
    blender.picture("shown")
    undo(blender, f"not {shown}")
    blender.click("mmdskin.show_pose")
    blender.wait_for(shown)
    blender.click("mmdskin.show_pose")
    blender.wait_for(f"not {shown}")


@session("dancer")
def test_attach_to_bone(blender, folder):
    """The active bone, in the dialog that asks for it; detached by the cross beside the name."""
    show_panel(blender, BONES)
    blender.key("shift+alt+z")  # shows bones and empties
    attached = "[o.name for o in bpy.data.objects if 'MMD Skin' in o.constraints]"
    blender.click("mmdskin.attach")
    blender.fresh(20)
    blender.picture("dialog")
    blender.press("Return")
    blender.wait_for(attached)
    blender.picture("attached")
    undo(blender, f"not {attached}")
    blender.click("mmdskin.attach")
    blender.fresh(20)
    blender.press("Return")
    blender.wait_for(attached)
    blender.click("mmdskin.detach", columns=[0.78, 0.82])
    blender.wait_for(f"not {attached}")
    undo(blender, attached)


@session("dancer")
def test_switch_names(blender, folder):
    show_panel(blender)
    names = f"sorted({ARMATURE}.data.bones.keys())"
    before = blender.ask(names)
    english = f"('head' in {ARMATURE}.data.bones and '頭' not in {ARMATURE}.data.bones)"
    blender.click("mmdskin.switch_names")
    blender.wait_for(english)
    blender.picture("english")
    blender.click("mmdskin.switch_names")
    blender.wait_for(f"{names} == {before!r}")
    undo(blender, english)
    undo(blender, f"{names} == {before!r}")


@session("dancer")
def test_flip_sliders(blender, folder):
    show_panel(blender, MORPHS)
    blender.scroll(30)
    keys = f"{MESH}.data.shape_keys.key_blocks"
    winks = f"[round({keys}[name].value, 3) for name in ('ウィンク２', 'ｳｨﾝｸ２右')]"
    assert blender.ask(winks) == [0.5, 0]
    blender.click("mmdskin.flip_sliders")
    blender.wait_for(f"{winks} == [0, 0.5]")
    blender.picture("flipped")
    undo(blender, f"{winks} == [0.5, 0]")


@session("dancer")
def test_mirror_pose(blender, folder):
    show_panel(blender)
    arms = f"[round({ARMATURE}.pose.bones[name].rotation_quaternion.w, 4) for name in ('腕.L', '腕.R')]"
    before = blender.ask(arms)
    assert before[0] != before[1]
    blender.click("mmdskin.mirror_pose")
    blender.wait_for(f"{arms} == {before[::-1]!r}")
    blender.picture("mirrored")
    undo(blender, f"{arms} == {before!r}")


@session("english_dancer")
def test_paste_pose_flipped(blender, folder):
    """Blender's own, which needs English names."""
    blender.key("KP_1", "Home", "shift+alt+z", "ctrl+Tab")
    blender.wait_state(mode="POSE")
    blender.picture("pose")
    turns = f"[list({ARMATURE}.pose.bones[name].rotation_quaternion) for name in ('left arm', 'right arm')]"
    left, right = np.array(blender.ask(turns))
    mirrored = [right * (1, 1, -1, -1), left * (1, 1, -1, -1)]
    assert np.abs(left - mirrored[0]).max() > 0.1
    blender.key("a", "ctrl+c", "ctrl+shift+v")
    blender.wait(
        lambda: np.allclose(blender.ask(turns), mirrored, atol=1e-4), "the pose is mirrored"
    )
    blender.picture("flipped")


@session("two_dancers")
def test_simulate_together(blender, folder):
    show_panel(blender)
    settings = f"[o.mmdskin for o in {DANCERS}]"
    for number in (1, 2):
        blender.click(".mmdskin.physics", columns=IN_HEADER)
        blender.wait_for(f"sum(s.physics for s in {settings}) == {number}")
        if number == 1:
            blender.click_at(*blender.ask("on_display((-0.5, 0, 1.2))"))
            blender.fresh(20)
    open_panels(blender, MORE_PHYSICS)
    blender.key("a")
    blender.click("mmdskin.simulate_together")
    groups = f"{{s.physics_group for s in {settings}}}"
    blender.wait_for(f"len({groups}) == 1 and {groups} != {{''}}")
    blender.picture("together")
    blender.ask("bpy.context.scene.frame_set(10)")  # motion files need no simulation
    blender.fresh(30)
    blender.picture("dancing")
    undo(blender, f"{groups} == {{''}}")


@session("stage")
def test_linked_character(blender, folder):
    """Live as linked; Make Library Override, and undone."""
    blender.key("KP_1", "n")
    blender.open_link()
    blender.choose_file(folder / "library.blend" / "Collection" / "cast", "link")
    linked = "[o.name for o in bpy.data.objects if o.type == 'ARMATURE' and o.library]"
    blender.wait_for(linked)
    blender.key("Home")
    blender.open_tab()
    blender.fresh(20)
    blender.picture("linked")
    mesh = "[o for o in bpy.data.objects if o.type == 'MESH' and o.vertex_groups][0]"
    first = blender.ask(f"points_hash({mesh})")
    blender.scrub()
    assert blender.ask(f"points_hash({mesh})") != first
    overridden = "[o.name for o in bpy.data.objects if o.type == 'ARMATURE' and o.override_library]"
    blender.click("mmdskin.make_override")
    blender.wait_for(overridden)
    blender.fresh(20)
    blender.picture("overridden")
    undo(blender, f"not {overridden}")
    blender.picture("linked-again")
