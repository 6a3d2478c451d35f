# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of a range, and what the panel says before them, by mouse: make check-window."""

from test_blender import addon_zip  # noqa: F401
from window_session import MESH, SETTINGS, session, show_panel, undo

KEYS = f"sum(k.name.startswith('MMD ') for k in {MESH}.data.shape_keys.key_blocks)"
CACHED = f"any(m.type == 'MESH_CACHE' for m in {MESH}.modifiers)"
NOT_BAKED = f"({KEYS} == 0 and not {CACHED})"


def choose_range(blender, letter, name):
    blender.choose(".mmdskin.range", letter)
    blender.wait_state(range=name)
    blender.fresh(30)  # more options appear


def bake_and_take_back(blender, baked):
    """Bake and undo; bake and clear; undo that, and clear again."""
    blender.click("mmdskin.bake")
    blender.wait_for(baked)
    blender.fresh(30)
    blender.picture("baked")
    undo(blender, NOT_BAKED)
    blender.click("mmdskin.bake")
    blender.wait_for(baked)
    blender.click("mmdskin.clear_bake")
    blender.wait_for(NOT_BAKED)
    undo(blender, baked)
    blender.click("mmdskin.clear_bake")
    blender.wait_for(NOT_BAKED)
    blender.picture("cleared")


@session("dancer")
def test_bake_a_range(blender, folder):
    show_panel(blender)
    choose_range(blender, "s", "SCENE")
    bake_and_take_back(blender, f"{KEYS} == bpy.context.scene.frame_end")


@session("dancer")
def test_bake_a_mesh_cache(blender, folder):
    show_panel(blender)
    choose_range(blender, "s", "SCENE")
    blender.choose(".mmdskin.target", "m")
    blender.wait_state(target="MESH_CACHE")
    bake_and_take_back(blender, CACHED)


@session("dancer")
def test_samples_per_frame(blender, folder):
    """For motion blur: two keys a frame."""
    show_panel(blender)
    choose_range(blender, "s", "SCENE")
    blender.enter(".mmdskin.samples", "2", "VIEW_3D", "UI")
    blender.wait_for(f"{SETTINGS}.samples == 2")
    blender.click("mmdskin.bake")
    blender.wait_for(f"{KEYS} == 2 * bpy.context.scene.frame_end - 1")
    blender.picture("baked")


@session("dancer")
def test_memory_warning(blender, folder):
    """Before shape keys that no memory can hold, the panel offers a mesh cache."""
    show_panel(blender)
    choose_range(blender, "r", "CUSTOM")
    blender.enter(".mmdskin.frame_end", "1000000", "VIEW_3D", "UI")
    blender.wait_for(f"{SETTINGS}.frame_end == 1000000")
    blender.fresh(20)
    blender.picture("warning")
    blender.scroll(30)
    blender.click("mmdskin.use_mesh_cache")
    blender.wait_state(target="MESH_CACHE")
    blender.fresh(20)
    blender.picture("mesh-cache")
    undo(blender, f"{SETTINGS}.target == 'SHAPE_KEYS'")
