# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators that scripts and the panel call."""

from itertools import pairwise

import bpy

from .. import (
    deformation,
    modal_job,
    motion_source,
    native,
    physics_settings,
    playhead,
    pose_source,
    properties,
    registration,
)
from ..model_operator import ModelOperator
from ..translations import name_of, tr
from ..user_error import UserError, cancelled
from . import job

# A setting that is remembered would go before the model's.
_Deformation = properties.declaring(
    "_Deformation", properties.deformation_properties(options={"SKIP_SAVE"})
)
_Normals = properties.declaring("_Normals", properties.normals_properties(options={"SKIP_SAVE"}))
_Motion = properties.declaring("_Motion", properties.motion_properties(options={"SKIP_SAVE"}))
_Physics = properties.declaring("_Physics", properties.physics_properties(options={"SKIP_SAVE"}))
_Bake = properties.declaring("_Bake", properties.bake_properties(options={"SKIP_SAVE"}))
_OF_EACH = (
    *motion_source.PROPERTIES,
    *physics_settings.PROPERTIES,
    *deformation.PROPERTIES,
    deformation.NORMALS,
)


class MMDSKIN_OT_bake(
    _Deformation,
    _Normals,
    _Motion,
    _Physics,
    _Bake,
    modal_job.ModalJob,
    ModelOperator,
    bpy.types.Operator,
):
    """Put MMD's deformation into shape keys or a mesh cache, in place of the armature modifier"""

    bl_idname = "mmdskin.bake"
    bl_label = "Bake MMD Skin"

    filled: properties.filled_property()

    def draw(self, context):
        """In the redo panel (F9); what is not set is each model's own."""
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        normals = properties.shown_of_normals() if self.target == "MESH_CACHE" else []
        for options in (
            properties.shown_of_target(self),
            properties.shown_of_range(self),
            properties.shown_of_deformation(self) + normals,
            properties.shown_of_pose(self, context.scene),
        ):
            column = layout.column()
            for option in filter(self.properties.is_property_set, options):
                _option(column, self, option)
            layout.separator()
        _option(layout, self, "all_models")

    def _taken_up(self, context):
        """The models, and what was chosen; what was not is taken from their settings.

        Target and frames are one for all models: those of the active one, or else of the first. Each
        has its own deformation and pose source.
        """
        models = self.models(context)
        first = next(
            (m for m in models if context.active_object in (m.armature, *m.meshes)), models[0]
        )
        of_all = list(properties.bake_properties())
        chosen = properties.chosen(self, [*of_all, *_OF_EACH])
        used = {name: getattr(first.armature.mmdskin, name) for name in of_all}
        for name in _OF_EACH:
            values = {getattr(model.armature.mmdskin, name) for model in models}
            if len(values) == 1:
                used[name] = values.pop()
        properties.fill_in(self, chosen, used)
        return models, chosen

    def _start(self, context):
        models, chosen = self._taken_up(context)
        poses = [pose_source.settings_of(model.armature, context.scene, chosen) for model in models]
        deformations = [deformation.of(model.armature, chosen) for model in models]
        options = self._options(context.scene, chosen.get(deformation.NORMALS))
        return job.Job(context, models, poses, deformations, options)

    def _options(self, scene, normals):
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
            stretch=playhead.stretch(scene),
            step=self.step,
            folder=self.folder,
            normals=normals,
            driven=driven,
            most=self.most,
            tolerance=self.tolerance,
            between=middles,
        )

    def _stopped(self):
        self.report({"WARNING"}, tr("The bake was cancelled: nothing has changed"))

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


def _option(layout, operator, name):
    layout.prop(operator, name, text=name_of(operator.properties, name), translate=False)


def _meshes(count):
    return tr("1 mesh") if count == 1 else tr("{count} meshes", count=count)


register, unregister = registration.of(MMDSKIN_OT_bake, MMDSKIN_OT_clear_bake)
