# SPDX-License-Identifier: GPL-3.0-or-later
"""The timer of live physics: tells that time has passed, while something moves.

It tags the transforms of live mesh objects, which their drivers depend on, and which makes Blender read
nothing else again; then it lets 3D viewports draw. Once all is calm it only looks four times a second.
"""

import threading

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..physics import live, simulation
from . import driver_function, switch

_LOOK = 0.25  # seconds
_SLICES = 0.02, 0.25  # seconds for which a far frame of a motion is computed at a time
_TELL = 0.5  # seconds after which the panel shows how far that is

_due = _drawn = _ended = 0.0


def passed() -> float | None:
    """Called by Blender; returns the seconds until the next call, None for none."""
    global _due, _drawn, _ended
    computing = simulation.waiting()
    if not computing and not live.every():
        live.is_running = False
        return None
    for names, run in computing.items():
        # As long as Blender took for everything else: where drawing is slow, most would be drawing.
        run.advance(min(max(_SLICES[0], live.clock() - _ended), _SLICES[1]))
        if not run.is_computing and not _tag(set(names)):  # deleted, renamed, or switched off
            simulation.forget(names[0])
    _ended = live.clock()
    if computing and _ended - _drawn > _TELL:
        _drawn = _ended
        _draw("UI")
    if not _advance() and not computing:
        live.is_running = False
        return _LOOK
    live.is_running = True
    now = live.clock()
    _due = max(_due, now - 1 / live.RATE) + 1 / live.RATE
    return max(0.001, _due - live.clock())


def _advance() -> bool:
    """Whether anything moves."""
    lives = live.every()
    if not lives or bpy.app.is_job_running("RENDER"):
        return False
    windows, now = bpy.context.window_manager.windows, live.clock()
    playing = any(window.screen.is_animation_playing for window in windows)
    moving = set()
    for one in lives:
        one.playing = playing
        if not playing and now - one.changed <= live.CALM:
            one.ticks += 1
            moving.add(one.armature)
    for name in moving - _tag(moving):  # deleted, renamed, or switched off
        live.forget(name)
    return playing or bool(moving)


def _tag(armatures: set[str]) -> set[str]:
    """Evaluate the live meshes of armature objects, by name, again, and draw; the names of those found."""
    tagged: set[str] = set()
    if not armatures:
        return tagged
    for mesh in filter(switch.driver_of, driver_function.evaluated_meshes()):
        armature, obj = switch.followed(mesh)
        if armature is not None and obj is not None and armature.name_full in armatures:
            obj.update_tag(refresh={"OBJECT"})
            tagged.add(armature.name_full)
    _draw("WINDOW")
    return tagged


def _draw(kind: str) -> None:
    """Let the regions of a kind of all 3D viewports draw."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions:
                if (area.type, region.type) == ("VIEW_3D", kind):
                    region.tag_redraw()


@persistent
def _wake(*_: object) -> None:
    """After an update: tick at once if a pose has changed."""
    if live.is_running or threading.current_thread() is not threading.main_thread():
        return
    now = live.clock()
    moving = any(now - one.changed < live.CALM for one in live.every())
    if (moving or simulation.waiting()) and not bpy.app.background:
        _stop()
        bpy.app.timers.register(passed, persistent=True)


def _stop() -> None:
    live.is_running = False
    if bpy.app.timers.is_registered(passed):
        bpy.app.timers.unregister(passed)


_HANDLERS = (("depsgraph_update_post", _wake), ("frame_change_post", _wake))
register, unregister = registration.handlers(_HANDLERS, afterwards=_stop)
