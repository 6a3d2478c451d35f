# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators that scripts and the panel call."""

import time
from itertools import pairwise

import bpy
from bpy.app.handlers import persistent

from .. import deformation, motion_source, native, properties
from ..model_operator import ModelOperator
from ..translations import tr
from ..user_error import UserError, cancelled
from . import job

_TICK = 0.02  # seconds between steps, and at least so long a step works, in a window
_STEPS = 1000  # of the progress that is shown


_running = {}  # job of each bake in a window: its timer


# A setting that is remembered would go before the model's.
_Deformation = properties.declaring(
    "_Deformation", properties.deformation_properties(options={"SKIP_SAVE"})
)
_Motion = properties.declaring("_Motion", properties.motion_properties(options={"SKIP_SAVE"}))
_Bake = properties.declaring("_Bake", properties.bake_properties(options={"SKIP_SAVE"}))


class MMDSKIN_OT_bake(_Deformation, _Motion, _Bake, ModelOperator, bpy.types.Operator):
    """Put MMD's deformation into shape keys or a mesh cache, in place of the armature modifier"""

    bl_idname = "mmdskin.bake"
    bl_label = "Bake MMD Skin"

    _job = None

    def execute(self, context):
        try:
            baking = self._start(context, self._taken_up(context))
            for _ in baking:
                pass
        except UserError as error:
            return cancelled(self, error)
        return self._report(baking)

    def invoke(self, context, event):
        try:
            models = self._taken_up(context)
            if self.range == "CURRENT" or bpy.app.background or context.window is None:
                return self.execute(context)
            self._job = self._start(context, models)
        except UserError as error:
            return cancelled(self, error)
        manager = context.window_manager
        _running[self._job] = manager.event_timer_add(_TICK, window=context.window)
        manager.progress_begin(0, _STEPS)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if self._job not in _running:
            return {"CANCELLED"}
        if event.type == "ESC":
            self.cancel(context)
            self.report({"WARNING"}, tr("The bake was cancelled: nothing has changed"))
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        end = time.perf_counter() + _TICK
        try:
            progress = next(self._job, None)
            while progress is not None and time.perf_counter() < end:
                progress = next(self._job, None)
        except UserError as error:
            self.cancel(context)
            return cancelled(self, error)
        except BaseException:
            self.cancel(context)
            raise
        if progress is None:
            _leave(self._job, context)
            return self._report(self._job)
        context.window_manager.progress_update(int(progress.share * _STEPS))
        context.workspace.status_text_set(progress.text)
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        if self._job in _running:
            self._job.close()
            _leave(self._job, context)

    def _taken_up(self, context):
        """The models; what the operator was not given is taken from their settings.

        Target and frames are one for all models: those of the active one, or else of the first. Each
        has its own deformation and pose source.
        """
        models = self.models(context)
        first = next(
            (m for m in models if context.active_object in (m.armature, *m.meshes)), models[0]
        )
        properties.fill_in(self, properties.bake_properties(), first.armature.mmdskin)
        return models

    def _start(self, context, models):
        given = {
            name: getattr(self, name)
            for name in (*motion_source.PROPERTIES, *deformation.PROPERTIES)
            if self.properties.is_property_set(name)
        }
        motions = [
            motion_source.settings_of(model.armature, context.scene, given) for model in models
        ]
        deformations = [deformation.of(model.armature, given) for model in models]
        return job.Job(context, models, motions, deformations, self._options(context.scene))

    def _options(self, scene):
        frames: tuple[int, ...] = (scene.frame_current,)
        if self.range != "CURRENT":
            first, last = scene.frame_start, scene.frame_end
            if self.range == "CUSTOM":
                first, last = self.frame_start, self.frame_end
            frames = tuple(range(first, last + 1, self.step))
            if not frames:
                raise UserError("There is no frame from {first} to {last}", first=first, last=last)
        driven = self.target == "CORRECTIVE" and self.corrective == "DRIVEN"
        middles = tuple((one + other) // 2 for one, other in pairwise(frames)) if driven else ()
        return job.Options(
            target=self.target,
            frames=frames,
            moves=self.range != "CURRENT",
            stretch=scene.render.frame_map_old / scene.render.frame_map_new,
            step=self.step,
            folder=self.folder,
            driven=driven,
            most=self.most,
            tolerance=self.tolerance,
            between=middles,
        )

    def _report(self, baking):
        native.remember_backends()
        for warning in baking.result.warnings:
            self.report({"WARNING"}, warning)
        for note in baking.result.notes:
            self.report({"INFO"}, note)
        frames = baking.options.frames
        if len(frames) == 1:
            what = tr("frame {frame}", frame=frames[0])
        else:
            what = tr("{count} frames", count=len(frames))
        meshes, vertices = _meshes(baking.result.meshes), baking.result.vertices
        text = tr(
            "Baked {frames}: {meshes}, {vertices} vertices",
            frames=what,
            meshes=meshes,
            vertices=vertices,
        )
        self.report({"INFO"}, text)
        return {"FINISHED"}


class MMDSKIN_OT_clear_bake(ModelOperator, bpy.types.Operator):
    """Remove what the bake has added and bring the model back as it was; cache files are kept"""

    bl_idname = "mmdskin.clear_bake"
    bl_label = "Clear Bake"

    def execute(self, context):
        try:
            count = job.clear(self.models_to_clean(context))
        except UserError as error:
            return cancelled(self, error)
        if not count:
            self.report({"WARNING"}, tr("This model has no bake to clear"))
            return {"CANCELLED"}
        self.report({"INFO"}, tr("Cleared the bake of {meshes}", meshes=_meshes(count)))
        return {"FINISHED"}


def _meshes(count):
    return tr("1 mesh") if count == 1 else tr("{count} meshes", count=count)


def _leave(baking, context):
    context.window_manager.event_timer_remove(_running.pop(baking))
    context.window_manager.progress_end()
    if context.workspace is not None:
        context.workspace.status_text_set(None)


@persistent
def _stop(*_):
    """Cancel the bakes in windows: they end with their file, and with the add-on."""
    for baking in list(_running):
        baking.close()
        _leave(baking, bpy.context)
        for workspace in bpy.data.workspaces:
            workspace.status_text_set(None)


_classes = (MMDSKIN_OT_bake, MMDSKIN_OT_clear_bake)


def register():
    for cls in _classes:
        if not cls.is_registered:
            bpy.utils.register_class(cls)
    if _stop not in bpy.app.handlers.load_pre:
        bpy.app.handlers.load_pre.append(_stop)


def unregister():
    _stop()
    if _stop in bpy.app.handlers.load_pre:
        bpy.app.handlers.load_pre.remove(_stop)
    for cls in reversed(_classes):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
