# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene as exporters want it: just what goes out is selected. Afterwards it is as it was."""

import contextlib

import bpy

from .. import actions, playhead
from ..user_error import UserError


@contextlib.contextmanager
def set_for(context, shown):
    """In the block the objects of a Content are selected, and its frames are the scene's."""
    layer, scene = context.view_layer, context.scene
    objects = [obj for obj in layer.objects if obj]
    for obj in shown.objects:
        if obj not in objects:
            raise _is_hidden(obj)
    selected = [obj for obj in objects if obj.select_get()]
    modes = [(obj, obj.mode) for obj in objects if obj.mode != "OBJECT"]
    active = layer.objects.active
    hidden = [(obj, obj.hide_get(), obj.hide_viewport, obj.hide_select) for obj in shown.objects]
    blocks = [block for obj in shown.objects for block in (obj, _keys(obj)) if block]
    held = [(block, *actions.held(block)) for block in blocks]
    place = scene.frame_current, scene.frame_subframe
    values = playhead.Values()
    # Where a file has no action at all, glTF's exporter takes its poses for rest.
    action = None if bpy.data.actions else bpy.data.actions.new("export")
    try:
        for obj, _ in modes:
            _set_mode(layer, obj, "OBJECT")
        for obj in objects:
            obj.select_set(False)
        for obj in shown.objects:
            obj.hide_viewport = obj.hide_select = False
            obj.hide_set(False)
            obj.select_set(True)
            if not obj.select_get():
                raise _is_hidden(obj)
        layer.objects.active = shown.objects[0]
        # glTF of 3.4 takes every frame of any action in the file, be it another model's.
        with _ranges([scene, *bpy.data.actions] if shown.moves else [], shown.frames):
            yield
    finally:
        if action is not None:
            bpy.data.actions.remove(action)
        for block, action, slots in held:
            if block.animation_data and actions.held(block) != (action, slots):
                actions.hold(block, action, slots)
        if (scene.frame_current, scene.frame_subframe) != place:
            scene.frame_set(place[0], subframe=place[1])
        values.restore()
        for obj, mode in modes:
            if obj.mode != mode:  # into which all that are selected go
                for other in objects:
                    other.select_set((other, mode) in modes)
                _set_mode(layer, obj, mode)
        for obj in objects:
            obj.select_set(obj in selected)
        for obj, eye, viewport, select in hidden:
            obj.hide_set(eye)
            obj.hide_viewport, obj.hide_select = viewport, select
        layer.objects.active = active
        layer.update()


@contextlib.contextmanager
def _ranges(blocks, frames):
    """In the block these scenes and actions have the frames, the first and the last."""
    before = [(block, block.frame_start, block.frame_end) for block in blocks]
    loose = [block for block in blocks if not getattr(block, "use_frame_range", True)]
    try:
        for block in blocks:
            block.frame_start, block.frame_end = frames
        for action in loose:
            action.use_frame_range = True
        yield
    finally:
        for action in loose:
            action.use_frame_range = False
        for block, first, last in before:
            block.frame_start, block.frame_end = first, last


def _is_hidden(obj):
    return UserError("The collection of '{name}' is hidden: show it first", name=obj.name)


def _keys(obj):
    return getattr(obj.data, "shape_keys", None)


def _set_mode(layer, obj, mode):
    layer.objects.active = obj
    bpy.ops.object.mode_set(mode=mode)
