# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions from one armature to another by keyboard and mouse: make check-window."""

from sample.character import dance
from test_blender import addon_zip  # noqa: F401
from window_session import MESH, session, show_panel

RIG = "bpy.data.objects['humanoid']"
HERS = (
    "[o for o in bpy.data.objects if o.type == 'ARMATURE' and o != bpy.data.objects['humanoid']][0]"
)
KEYED = f"bool({RIG}.animation_data and {RIG}.animation_data.action)"
SHE_IS_KEYED = f"bool({HERS}.animation_data and {HERS}.animation_data.action)"
ACTIONS = "len(bpy.data.actions)"


def undo_once(blender):
    blender.key("ctrl+z")
    blender.fresh(30)


def call(blender, name):
    """By Blender's search, then its dialog's OK."""
    blender.search(name)
    blender.fresh(20)
    blender.picture("dialog")
    blender.press("Return")


@session("dancer_and_rig")
def test_her_dance_on_an_armature(blender, folder):
    """OK keys the rig, one step of undo takes it back; Esc leaves everything as it was."""
    blender.key("KP_1", "Home")
    actions = blender.ask(ACTIONS)
    call(blender, "Retarget to Armature")
    blender.wait_for(KEYED)
    blender.fresh(20)
    blender.picture("keyed")
    undo_once(blender)
    assert not blender.ask(KEYED) and blender.ask(ACTIONS) == actions
    blender.picture("undone")
    blender.ask("setattr(bpy.context.scene, 'frame_end', 20000)")
    call(blender, "Retarget to Armature")
    blender.fresh(10)
    blender.picture("running")
    blender.key("Escape")
    blender.fresh(30)
    blender.picture("cancelled")
    assert not blender.ask(KEYED) and blender.ask(ACTIONS) == actions
    assert blender.state()["frame"] == 1


@session("rig_and_dancer")
def test_motion_from_an_armature_and_live(blender, folder):
    blender.key("KP_1", "Home")
    call(blender, "Motion from Armature")
    blender.wait_for(SHE_IS_KEYED)
    blender.fresh(20)
    blender.picture("keyed")
    undo_once(blender)
    assert not blender.ask(SHE_IS_KEYED)
    still = blender.ask(f"points_hash({MESH})")
    show_panel(blender)
    blender.choose(".mmdskin.source", "n")
    blender.wait_for(f"{HERS}.mmdskin.source == 'RIG'")
    blender.ask(f"setattr({HERS}.mmdskin, 'driving_rig', {RIG})")
    blender.fresh(30)
    first = blender.ask(f"points_hash({MESH})")
    blender.picture("live")
    blender.key(*["Right"] * 5)
    blender.wait_for(f"points_hash({MESH}) not in ({first!r}, {still!r})")
    blender.picture("live-later")


@session("rig_and_dancer")
def test_a_dance_of_another_model(blender, folder):
    """From the File menu; one step of undo takes it back."""
    blender.key("KP_1", "Home")
    path = dance.write_dance(folder)
    blender.search("MMD Motion of Another Model")
    blender.choose_file(path, "file")
    blender.wait_for(SHE_IS_KEYED)
    blender.fresh(20)
    blender.picture("fitted")
    undo_once(blender)
    assert not blender.ask(SHE_IS_KEYED)
