# SPDX-License-Identifier: GPL-3.0-or-later
"""Imported motions of a .blend that was moved together with its files, whose paths are noted.

Clear Motion compares them with the settings, and imports merge these files.
"""

import contextlib
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..blender.user_error import UserError
from ..scene import path_remapping, saved_state
from .camera import CameraState
from .import_state import MotionState


@persistent
def follow(*_: object) -> None:
    folder = path_remapping.follow_move()
    if not folder:
        return
    for block in (*bpy.data.objects, *bpy.data.lights):
        if saved_state.is_own(block, saved_state.MOTION):
            with contextlib.suppress(UserError):  # saved by a newer version
                _follow(block, folder)


def _follow(block: Any, folder: str) -> None:
    if isinstance(block, bpy.types.Object) and block.type == "EMPTY":
        camera = CameraState.read(block)
        camera.path = path_remapping.moved(camera.path, folder)
        camera.write(block)
        return
    state = MotionState.read(block)
    state.files = [[path_remapping.moved(path, folder), *rest] for path, *rest in state.files]
    for name, values in state.settings.items():
        # Absolute paths in settings do not follow.
        is_relative = str(getattr(block.mmdskin, name, "")).startswith("//")
        if is_relative or name in state.relative:
            values[0] = path_remapping.moved(values[0], folder)
        if is_relative:
            values[1] = path_remapping.moved(values[1], folder)
    state.write(block)


register, unregister = registration.handlers([("load_post", follow)], once_enabled=follow)
