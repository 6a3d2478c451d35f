# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's place in time: moved so that poses can be read from it, and brought back."""

import contextlib
import math
from typing import Any

import bpy

from . import actions

_unseen = False  # while `go_to` evaluates a frame for its poses alone


def stretch(scene: bpy.types.Scene) -> float:
    """Frames of animation per frame of the scene."""
    return scene.render.frame_map_old / scene.render.frame_map_new


def is_unseen(depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether nobody will see what is evaluated now. Renders are never meant: they run beside it."""
    return _unseen and depsgraph.mode == "VIEWPORT"


def time(scene: bpy.types.Scene) -> float:
    """Where the scene stands in its animation, as drivers are told it."""
    return (scene.frame_current + scene.frame_subframe) * stretch(scene)


class Playhead:
    """In the block the scene may `go_to` any frame; afterwards it is as it was."""

    def __init__(self, context: bpy.types.Context) -> None:
        self._context, self._scene = context, context.scene

    def __enter__(self) -> "Playhead":
        self._place = self._scene.frame_current, self._scene.frame_subframe
        self._values = Values()
        return self

    def __exit__(self, *_: Any) -> None:
        with contextlib.suppress(ReferenceError):  # the scene or what it held was removed
            frame, subframe = self._place
            self._scene.frame_set(frame, subframe=subframe)
            if self._values.restore():
                self._context.view_layer.update()

    def go_to(self, frame: float, unseen: bool = False) -> None:
        """`unseen`: viewports are drawn at other times only; live meshes may stay as they are."""
        global _unseen
        whole = math.floor(frame)
        _unseen = unseen
        try:
            self._scene.frame_set(whole, subframe=frame - whole)
        finally:
            _unseen = False


def keep_values(scene: bpy.types.Scene) -> None:
    """Let values without a keyframe outlast a change of drivers that is about to be made.

    Once Python has written to a driver, a Blender with windows evaluates its animation, as on a new
    frame, before it draws again: an unkeyed pose would be gone.
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
    rounds = [0.0]  # timers run before, in the round of events that asks for the evaluation

    def restore(scene, *_):
        if (scene, time(scene)) != place:
            return
        with contextlib.suppress(ReferenceError):  # undone meanwhile
            for block, path, index, value, animated in unkeyed:
                if _read(block, path, index) == animated:  # else it is moved by something new
                    _write(block, path, index, value)
                    block.update_tag()

    def stop():
        if rounds:
            return rounds.pop()
        handlers.remove(restore)
        return None

    handlers.append(restore)
    bpy.app.timers.register(stop)


class Values:
    """The animated values of the file as they stand.

    Changing the frame overwrites those that the user has changed without a keyframe; `restore`
    brings them back.
    """

    def __init__(self):
        self._held = [
            (block, curve.data_path, curve.array_index, _value(block, curve))
            for block, curve in _playing_curves()
        ]

    def restore(self):
        """Returns whether any value had changed."""
        changed = [
            held for held in self._held if held[3] is not None and _read(*held[:3]) != held[3]
        ]
        for block, path, index, value in changed:
            _write(block, path, index, value)
            block.update_tag()
        return bool(changed)


def _playing_curves():
    for block, data in _animated_blocks():
        for curves in actions.playing(data):
            for curve in curves:
                yield block, curve


def _animated_blocks():
    for prop in bpy.data.bl_rna.properties:
        if prop.type != "COLLECTION":
            continue
        for block in getattr(bpy.data, prop.identifier):
            for one in (block, getattr(block, "node_tree", None)):
                data = getattr(one, "animation_data", None)
                if data is not None and not one.library:
                    yield one, data


def _value(block, curve):
    return _read(block, curve.data_path, curve.array_index)


def _read(block, path, index):
    try:
        value = block.path_resolve(path)
        return value[index] if hasattr(value, "__len__") and not isinstance(value, str) else value
    except (ValueError, IndexError, TypeError, KeyError):
        return None  # the curve leads nowhere


def _write(block, path, index, value):
    if path.endswith('"]'):
        owner, _, name = path[:-2].rpartition('["')
        name = bpy.utils.unescape_identifier(name)
    else:
        owner, _, name = path.rpartition(".")
    owner = block.path_resolve(owner) if owner else block
    held = owner[name] if path.endswith('"]') else getattr(owner, name)
    if hasattr(held, "__len__") and not isinstance(held, str):
        held[index] = value
    elif path.endswith('"]'):
        owner[name] = value
    else:
        setattr(owner, name, value)
