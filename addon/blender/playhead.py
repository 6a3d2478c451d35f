# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's current frame: changed to read poses, and restored."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

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


@contextlib.contextmanager
def restored(context: bpy.types.Context) -> Iterator[None]:
    """In the block, the scene may `go_to` any frame; its frame is restored afterwards."""
    scene = context.scene
    frame, subframe = scene.frame_current, scene.frame_subframe
    # A frame change overwrites those that the user changed without a keyframe.
    values = [value for value, _ in _values()]
    try:
        yield
    finally:
        with contextlib.suppress(ReferenceError):  # the scene or its contents were removed
            scene.frame_set(frame, subframe=subframe)
            changed = [value for value in values if value.now() != value.before]
            for value in changed:
                value.restore()
            if changed:
                context.view_layer.update()


def go_to(scene: bpy.types.Scene, frame: float, skip_live_update: bool = False) -> None:
    """`skip_live_update`: viewports are not redrawn before another frame, so live meshes need no update."""
    global _skip_live_update
    whole = math.floor(frame)
    _skip_live_update = skip_live_update
    try:
        scene.frame_set(whole, subframe=frame - whole)
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
        (value, animated)
        for value, curve in _values()
        if value.before != (animated := curve.evaluate(place[1]))
    ]
    if not unkeyed:
        return
    rounds = [0.0]  # timers that ran before, in the event round that requests the evaluation

    def restore(scene: bpy.types.Scene, *_: object) -> None:
        if (scene, time(scene)) != place:
            return
        with contextlib.suppress(ReferenceError):  # undone in the meantime
            for value, animated in unkeyed:
                if value.now() == animated:  # else something new changed it
                    value.restore()

    def stop() -> float | None:
        if rounds:
            return rounds.pop()
        handlers.remove(restore)
        return None

    handlers.append(restore)
    bpy.app.timers.register(stop)


class _Value(NamedTuple):
    """The value of an animated property, as it was."""

    block: bpy.types.ID
    path: str
    member: int  # of an array
    before: Any

    def now(self) -> Any:
        return read(self.block, self.path, self.member)

    def restore(self) -> None:
        write(self.block, self.path, self.before, self.member)
        self.block.update_tag()


def _values() -> Iterator[tuple[_Value, bpy.types.FCurve]]:
    """The current values of all animated properties in the file, with their curves."""
    for prop in bpy.data.bl_rna.properties:
        for block in getattr(bpy.data, prop.identifier) if prop.type == "COLLECTION" else ():
            for one in (block, getattr(block, "node_tree", None)):
                if getattr(one, "animation_data", None) is None or one.library:
                    continue
                for curve in actions.playing_curves(one):
                    value = read(one, curve.data_path, curve.array_index)
                    if value is not None:
                        yield _Value(one, curve.data_path, curve.array_index, value), curve


def read(block: bpy.types.ID, path: str, member: int | None = None) -> Any:
    """The value of a property, or of a member of an array; None if the data path is invalid."""
    try:
        value: Any = block.path_resolve(path)
        return value[slice(None) if member is None else member] if _is_array(value) else value
    except (ValueError, IndexError, TypeError, KeyError):
        return None


def write(block: bpy.types.ID, path: str, value: Any, member: int | None = None) -> None:
    """Set what `read` has returned; None removes a custom property."""
    is_custom = path.endswith('"]')
    above, _, name = path[:-2].rpartition('["') if is_custom else path.rpartition(".")
    name = bpy.utils.unescape_identifier(name)
    owner: Any = block.path_resolve(above) if above else block
    if is_custom and value is None:
        owner.pop(name, None)
        return
    held = owner[name] if is_custom else getattr(owner, name)
    if member is not None and _is_array(held):
        held[member] = value
    elif is_custom:
        owner[name] = value
    else:  # as a whole: in Blender 5.2, members of Euler angles also set the order of rotation
        setattr(owner, name, value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)
