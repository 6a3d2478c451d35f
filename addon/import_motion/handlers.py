# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that keep imported motions as they are where Blender or a move of the files would not.

When a file is opened or a library reloaded, bones of a library override lose custom properties that
the library lacks, such as physics switches, but their keyframes stay. The switches are then added again.

A .blend may be moved together with its files, whose paths are noted: Clear Motion compares them with
the settings, and imports merge these files.
"""

import contextlib
from collections.abc import Iterable
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Object, Scene

from ..blender import actions, details, registration
from ..blender.user_error import UserError
from ..scene import saved_state, setting_paths
from ..scene.names import PHYSICS
from . import keyframes
from .camera import CameraState
from .import_state import MotionState

_logger = details.logger(__name__)


@persistent
def _follow_libraries(_: Scene, depsgraph: Depsgraph) -> None:
    """After a library was reloaded, for which Blender has no handler, its overrides are updated."""
    if not bpy.data.libraries:  # finding the updates takes long in large scenes
        return
    updated = (update.id for update in depsgraph.updates)
    _recover(block.original for block in updated if isinstance(block, Object))


def _recover(objects: Iterable[Object]) -> None:
    for obj in objects:
        if obj.override_library and obj.pose and saved_state.is_own(obj, saved_state.MOTION):
            try:
                values = MotionState.read(obj).values
            except UserError:  # saved by a newer version
                continue
            lost = [
                bone.name
                for bone in obj.pose.bones
                if PHYSICS not in bone and actions.property_path(bone.name, PHYSICS) in values
            ]
            for name in lost:
                keyframes.add_physics_switch(obj.pose.bones[name])
            if lost:
                _logger.debug("added physics switches of '%s' again: %s", obj.name, lost)
                obj.update_tag(refresh={"OBJECT", "DATA", "TIME"})


def _move(block: Any, folder: str) -> None:
    if isinstance(block, Object) and block.type == "EMPTY":
        camera = CameraState.read(block)
        camera.path = setting_paths.moved(camera.path, folder)
        camera.write(block)
        return
    state = MotionState.read(block)
    state.files = [[setting_paths.moved(path, folder), *rest] for path, *rest in state.files]
    for name, values in state.settings.items():
        # Absolute paths in settings do not follow.
        is_relative = str(getattr(block.mmdskin, name, "")).startswith("//")
        if is_relative or name in state.relative:
            values[0] = setting_paths.moved(values[0], folder)
        if is_relative:
            values[1] = setting_paths.moved(values[1], folder)
    state.write(block)


@persistent
def follow(*_: object) -> None:
    """After a file was opened."""
    _recover(bpy.data.objects)
    folder = setting_paths.follow_move()
    if not folder:
        return
    _logger.debug("the .blend was moved from '%s'", folder)
    for block in (*bpy.data.objects, *bpy.data.lights):
        if saved_state.is_own(block, saved_state.MOTION):
            with contextlib.suppress(UserError):  # saved by a newer version
                _move(block, folder)


_HANDLERS = [("depsgraph_update_post", _follow_libraries)]
register, unregister = registration.handlers(_HANDLERS, of_file=[follow])
