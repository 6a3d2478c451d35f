# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's current frame: changed to read poses, and restored."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import bpy

from . import actions

_skip_live_update = False  # while `go_to` evaluates a frame only for its poses


def stretch(scene: bpy.types.Scene) -> float:
    """Frames of animation per frame of the scene."""
    return scene.render.frame_map_old / scene.render.frame_map_new


def fps(scene: bpy.types.Scene) -> float:
    """Frames of the scene per second of the animation."""
    return scene.render.fps / scene.render.fps_base


def skips_live_update(depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether the current evaluation will not be shown. Never true for renders, which run in parallel."""
    return _skip_live_update and depsgraph.mode == "VIEWPORT"


def frame(scene: bpy.types.Scene) -> float:
    """The scene's current frame, with the part of a frame that it may be between two of them."""
    part = scene.frame_subframe
    return scene.frame_current + part if part else scene.frame_current


def frame_range(scene: bpy.types.Scene) -> tuple[int, int]:
    """The first and last frame that the scene plays: of its preview range, where that is on."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def end(scene: bpy.types.Scene) -> float:
    """The animation time of the scene's last frame."""
    return max(scene.frame_end, frame_range(scene)[1]) * stretch(scene)


def time(scene: bpy.types.Scene) -> float:
    """The scene's animation time, as drivers get it."""
    return frame(scene) * stretch(scene)


def exact(time: float, scene: bpy.types.Scene) -> float:
    """An animation time that a driver got, as `time` has it: Blender computes in single precision."""
    whole = round(time / stretch(scene)) * stretch(scene)
    return whole if math.isclose(time, whole, rel_tol=1e-6, abs_tol=1e-6) else time


class Playhead:
    """In the block, the scene may `go_to` any frame; its frame is restored afterwards."""

    def __init__(self, context: bpy.types.Context) -> None:
        self._context, self._scene = context, context.scene

    def __enter__(self) -> "Playhead":
        self._place = self._scene.frame_current, self._scene.frame_subframe
        self._values = Values()
        return self

    def __exit__(self, *_: Any) -> None:
        with contextlib.suppress(ReferenceError):  # the scene or its contents were removed
            frame, subframe = self._place
            self._scene.frame_set(frame, subframe=subframe)
            if self._values.restore():
                self._context.view_layer.update()

    def go_to(self, frame: float, skip_live_update: bool = False) -> None:
        """`skip_live_update`: viewports are not redrawn until `restore`, so live meshes need no update."""
        global _skip_live_update
        whole = math.floor(frame)
        _skip_live_update = skip_live_update
        try:
            self._scene.frame_set(whole, subframe=frame - whole)
        finally:
            _skip_live_update = False


def keep_values(scene: bpy.types.Scene) -> None:
    """Keep values without keyframes during a change of drivers that follows.

    After Python writes to a driver, Blender with a window evaluates the animation, as on a new
    frame, before the next redraw: unkeyed poses would be lost.
    """
    if bpy.app.background or bpy.app.is_job_running("RENDER"):
        return
    place, handlers = (scene, time(scene)), bpy.app.handlers.frame_change_post
    unkeyed = [
        (block, curve.data_path, curve.array_index, value, animated)
        for block, curve in _playing_curves()
        if (value := _value(block, curve)) is not None
        and value != (animated := curve.evaluate(place[1]))
    ]
    if not unkeyed:
        return
    rounds = [0.0]  # timers that ran before, in the event round that requests the evaluation

    def restore(scene: bpy.types.Scene, *_: object) -> None:
        if (scene, time(scene)) != place:
            return
        with contextlib.suppress(ReferenceError):  # undone in the meantime
            for block, path, index, value, animated in unkeyed:
                if _read(block, path, index) == animated:  # else something new changed it
                    _write(block, path, index, value)
                    block.update_tag()

    def stop() -> float | None:
        if rounds:
            return rounds.pop()
        handlers.remove(restore)
        return None

    handlers.append(restore)
    bpy.app.timers.register(stop)


class Values:
    """The current values of all animated properties in the file.

    A frame change overwrites those that the user changed without a keyframe; `restore` sets them
    again.
    """

    def __init__(self) -> None:
        self._held = [
            (block, curve.data_path, curve.array_index, _value(block, curve))
            for block, curve in _playing_curves()
        ]

    def restore(self) -> bool:
        """Returns whether any value had changed."""
        changed = [
            held for held in self._held if held[3] is not None and _read(*held[:3]) != held[3]
        ]
        for block, path, index, value in changed:
            _write(block, path, index, value)
            block.update_tag()
        return bool(changed)


def _playing_curves() -> Iterator[tuple[bpy.types.Object, bpy.types.FCurve]]:
    for block, data in _animated_blocks():
        for curves in actions.playing(data):
            for curve in curves:
                yield block, curve


def _animated_blocks() -> Iterator[tuple]:
    for prop in bpy.data.bl_rna.properties:
        if prop.type != "COLLECTION":
            continue
        for block in getattr(bpy.data, prop.identifier):
            for one in (block, getattr(block, "node_tree", None)):
                data = getattr(one, "animation_data", None)
                if data is not None and not one.library:
                    yield one, data


def _value(block: bpy.types.Object, curve: bpy.types.FCurve) -> Any:
    return _read(block, curve.data_path, curve.array_index)


def _read(block: bpy.types.Object, path: str, index: int) -> Any:
    try:
        value: Any = block.path_resolve(path)
        return value[index] if hasattr(value, "__len__") and not isinstance(value, str) else value
    except (ValueError, IndexError, TypeError, KeyError):
        return None  # the data path is invalid


def _write(block: bpy.types.ID, path: str, index: int, value: float) -> None:
    if path.endswith('"]'):
        above, _, name = path[:-2].rpartition('["')
        name = bpy.utils.unescape_identifier(name)
    else:
        above, _, name = path.rpartition(".")
    owner: Any = block.path_resolve(above) if above else block
    held = owner[name] if path.endswith('"]') else getattr(owner, name)
    if hasattr(held, "__len__") and not isinstance(held, str):
        held[index] = value
    elif path.endswith('"]'):
        owner[name] = value
    else:
        setattr(owner, name, value)
