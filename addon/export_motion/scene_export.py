# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a scene: its camera and its light, which MMD keeps in one file."""

from typing import Any

import bpy

from ..blender import native
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps
from . import camera_export, light_export
from .report import Result
from .timing import Timing


class SceneExport:
    """See `job.Export`."""

    def __init__(self, path: str, scene: bpy.types.Scene, timing: Timing, options: Any) -> None:
        self.path = path
        self._light: light_export.LightExport | None = None
        self._camera: camera_export.CameraExport | None = None
        if options.light:
            self._light = light_export.LightExport(scene, timing)
        if camera_export.has_camera(scene) or not _is_lit(scene, options):
            self._camera = camera_export.CameraExport(scene, timing, options)
        parts = (self._camera, self._light)
        self._reading = [part for part in parts if part is not None and part.needs_frames]
        self.needs_frames = bool(self._reading)

    @property
    def objects(self) -> list[bpy.types.Object]:
        return [obj for part in self._reading for obj in part.objects]

    def read(self, depsgraph: bpy.types.Depsgraph) -> None:
        for part in self._reading:
            part.read(depsgraph)

    def fit(self) -> Steps[Result]:
        tracks = self._light.tracks() if self._light is not None else {}
        if self._camera is not None:
            tracks["camera"] = yield from self._camera.track()
        if not tracks:
            raise UserError("The scene has no camera")
        return Result(self.path, native.load().Motion.from_tracks(**tracks))


def blocks(scene: bpy.types.Scene, options: Any) -> list[Any]:
    """The datablocks whose animation the file has."""
    found = light_export.blocks(scene) if options.light else []
    if camera_export.has_camera(scene) or not found:
        found += camera_export.blocks(scene)
    return found


def _is_lit(scene: bpy.types.Scene, options: Any) -> bool:
    return options.light and bool(light_export.blocks(scene))
