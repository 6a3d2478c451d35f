# SPDX-License-Identifier: GPL-3.0-or-later
"""Clear Motion: undo imported motions."""

from typing import Any

import bpy
from bpy.types import Context, Object, Operator

from ..blender import registration
from ..blender.translations import tr
from ..blender.user_error import cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import ModelOperator
from ..scene import saved_state, scene_model
from . import camera, import_state, light


class MMDSKIN_OT_clear_motion(ModelOperator, Operator):
    """Remove the keyframes and settings of imported motions and restore what they replaced"""

    bl_idname = "mmdskin.clear_motion"
    bl_label = "Clear Motion"

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        has_motion = any(
            saved_state.is_own(block, saved_state.MOTION) for block in import_state.blocks(model)
        )
        return "" if has_motion else tr("This model has no imported motion to clear")

    def models(self, context: Context) -> list[scene_model.SceneModel]:
        if self.all_models:
            return super().models(context)
        if _camera_of(context) or _is_light(context):
            return []
        return scene_model.selected_models(context, scene_model.active_model(context))

    @cancels
    def execute(self, context: Context) -> set[Any]:
        scene = context.scene
        with editing(self.models(context), import_state.check_clearing) as edit:
            models = [model for model, _ in edit.checked]
            cameras = self._cameras(context, models)
            sun = self._light(context, models)
            lights = [] if sun is None else [sun]
            edit.save([*import_state.changed_objects(models), *lights], bpy.data.scenes)
            kept_cameras = camera.clear(edit, scene, cameras)
            count, kept = import_state.clear(edit, models)
            if sun is not None:
                kept += light.clear(edit, scene, sun)
            import_state.restore_range()
        for name in kept_cameras:
            self.caution("The camera '{name}' was edited and is kept", name=name)
        for name in kept:
            self.caution("Edited keyframes were kept in action '{name}'", name=name)
        if count:
            self.inform(
                "Cleared the motion of 1 model", "Cleared the motion of {count} models", count=count
            )
        elif cameras:
            self.inform("Cleared the imported camera")
        elif lights:
            self.inform("Cleared the imported light")
        else:
            self.caution("This model has no imported motion to clear")
            return {"CANCELLED"}
        return {"FINISHED"}

    def _cameras(self, context: Context, models: list[scene_model.SceneModel]) -> list[Object]:
        """The targets of cameras: the active one, or those from the files of the models' motions."""
        active = _camera_of(context)
        if active:
            return [active]
        files = _files_of(models)
        return [
            target
            for target in camera.imported(context.scene)
            if self.all_models or camera.CameraState.read(target).path in files
        ]

    def _light(self, context: Context, models: list[scene_model.SceneModel]) -> Object | None:
        """The light: if it is active, or if a file of the models' motions has keyed it."""
        sun = light.imported(context.scene)
        if sun is None or self.all_models or _is_light(context):
            return sun
        keyed = {path for path, *_ in import_state.MotionState.read(sun).files}
        return sun if keyed & _files_of(models) else None


def _files_of(models: list[scene_model.SceneModel]) -> set[str]:
    return {path for model in models for path in import_state.files_of(model)}


def _is_light(context: Context) -> bool:
    """Whether the active object is the light, with an imported motion."""
    sun = light.imported(context.scene)
    return sun is not None and context.active_object == sun


def _camera_of(context: Context) -> Object | None:
    """The target of the imported camera that is active."""
    active, found = context.active_object, camera.imported(context.scene)
    return next((obj for obj in found if active and active in (obj, *obj.children)), None)


register, unregister = registration.functions(MMDSKIN_OT_clear_motion)
