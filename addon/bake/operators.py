# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Bake MMD Skin and Clear Bake."""

import contextlib
import json
from typing import Any

from bpy.props import StringProperty
from bpy.types import Context, Operator, Scene, UILayout

from ..blender import native, playhead, registration
from ..blender.translations import name_of, tr, tr_count
from ..blender.user_error import UserError, cancels
from ..operator_base import modal_job, properties
from ..operator_base.model_operator import ModelOperator
from ..pose import deformation, motion_source, physics_settings, pose_source
from ..scene import saved_state, scene_model
from . import bake_state, cost, job
from .frames import Options, in_range, range_of

_Settings = properties.declaring(
    "_Settings",
    properties.declared(
        properties.DeformationProperties,
        properties.NormalsProperties,
        properties.MotionProperties,
        properties.PhysicsProperties,
        properties.BakeProperties,
        options={"SKIP_SAVE"},  # a remembered value would override the model's setting
    ),
)
_OF_EACH = (
    *motion_source.PROPERTIES,
    *physics_settings.PROPERTIES,
    *deformation.PROPERTIES,
    deformation.NORMALS,
)


class MMDSKIN_OT_bake(_Settings, modal_job.ModalJob, ModelOperator, Operator):
    """Bake MMD's deformation into shape keys, a mesh cache or corrective keys"""

    bl_idname = "mmdskin.bake"
    bl_label = "Bake MMD Skin"

    # The option values that the models' settings gave, as JSON: they count as not chosen.
    filled: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    most: properties.former_name("max_keys")  # until 0.4

    def draw(self, context: Context) -> None:
        """The redo panel (F9); an option that is not set comes from each model."""
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

    def _resolve_options(
        self, context: Context
    ) -> tuple[list[scene_model.SceneModel], dict[str, Any]]:
        """The models, and the options that a script or the redo panel (F9) has chosen; the others come
        from the models' settings, which the redo panel then shows where they are the same.

        All models share the target and frames of the active model, or else of the first. Each has
        its own deformation and pose source.
        """
        models = self.models(context)
        first = models[0]
        with contextlib.suppress(UserError):  # no model is active
            active = scene_model.model_of(context.active_object, context.view_layer)
            first = next((m for m in models if m.armature == active.armature), first)
        of_all = properties.names(properties.BakeProperties)
        filled = _filled(self)
        given = filter(self.properties.is_property_set, [*of_all, *_OF_EACH])
        values = {name: getattr(self, name) for name in given}
        chosen = {name: value for name, value in values.items() if filled.get(name) != value}
        used = {name: getattr(first.armature.mmdskin, name) for name in of_all}
        for name in _OF_EACH:
            different = {getattr(model.armature.mmdskin, name) for model in models}
            if len(different) == 1:
                used[name] = different.pop()
        for name in filled.keys() - used.keys() - chosen.keys():
            self.properties.property_unset(name)
        from_models = used.keys() - chosen.keys()
        for name in from_models:
            setattr(self, name, used[name])
        self.filled = json.dumps({name: getattr(self, name) for name in from_models})
        return models, chosen

    def _start(self, context: Context) -> modal_job.Job:
        models, chosen = self._resolve_options(context)
        wanted: list[job.Wanted] = [
            (
                model,
                pose_source.settings_of(model.armature, context.scene, chosen),
                deformation.method_of(model.armature, chosen),
            )
            for model in models
        ]
        options = self._options(context.scene, chosen.get(deformation.NORMALS))
        if options.target == "SHAPE_KEYS":
            meshes = [obj for model in models for obj in model.meshes]
            if too_big := cost.warning(meshes, len(options.frames)):
                self.report({"WARNING"}, too_big)
        steps = job.bake(context, wanted, options)
        return modal_job.Job(steps, len(options.visited))

    def _options(self, scene: Scene, normals: bool | None) -> Options:
        frames: tuple[float, ...] = (playhead.frame(scene),)
        samples = 1
        if self.range != "CURRENT":
            first, last = range_of(self, scene)
            if self.target != "CORRECTIVE":
                samples = self.samples
            if samples > 1 and self.step > 1:
                raise UserError("Samples above 1 need a Step of 1")
            frames = in_range(first, last, self.step, samples)
            if not frames:
                raise UserError(
                    "The frame range is empty: Start {first} is after End {last}",
                    first=first,
                    last=last,
                )
        return Options(
            target=self.target,
            frames=frames,
            moves=self.range != "CURRENT",
            stretch=playhead.stretch(scene),
            step=self.step,
            samples=samples,
            folder=self.folder,
            normals=normals,
            driven=self.corrective == "DRIVEN",
            max_keys=self.max_keys,
            tolerance=self.tolerance,
        )

    def _stopped(self) -> None:
        self.inform("Bake cancelled: nothing was changed")

    def _report(self, baking: modal_job.Job) -> set[Any]:
        native.remember_backends()
        targets = baking.result
        limited = sum(target.skinner.source.limited for target in targets)
        if limited:
            self.caution(
                "1 vertex has more than four bones: only the four strongest were used",
                "{count} vertices have more than four bones: only the four strongest were used",
                count=limited,
            )
        for target in targets:
            for report in target.reports:
                self.report(*report)
        frames, samples = targets[0].options.frames, targets[0].options.samples
        if len(frames) == 1:
            what = tr("frame {frame}", frame=f"{frames[0]:.7g}")
        else:
            what = tr_count("1 frame", "{count} frames", (len(frames) - 1) // samples + 1)
        self.inform(
            "Baked {frames}: {meshes}, {vertices} vertices",
            frames=what,
            meshes=_meshes(len(targets)),
            vertices=sum(target.skinner.vertex_count for target in targets),
        )
        return {"FINISHED"}


class MMDSKIN_OT_use_mesh_cache(ModelOperator, Operator):
    """Bake into a mesh cache, a file that does not need memory for each frame"""

    bl_idname = "mmdskin.use_mesh_cache"
    bl_label = "Use Mesh Cache"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        for model in self.models(context):
            model.armature.mmdskin.target = "MESH_CACHE"
        return {"FINISHED"}


class MMDSKIN_OT_clear_bake(ModelOperator, Operator):
    """Remove everything the bake added and restore the model; cache files are kept"""

    bl_idname = "mmdskin.clear_bake"
    bl_label = "Clear Bake"

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        is_baked = any(map(saved_state.is_baked, model.meshes))
        return "" if is_baked else tr("This model has no bake to clear")

    @cancels
    def execute(self, context: Context) -> set[Any]:
        count = bake_state.clear(self.models_to_clean(context))
        if not count:
            self.caution("This model has no bake to clear")
            return {"CANCELLED"}
        self.inform("Cleared the bake of {meshes}", meshes=_meshes(count))
        return {"FINISHED"}


def _filled(operator: Any) -> dict:
    try:
        filled = json.loads(operator.filled)
    except ValueError:  # empty at first
        filled = None
    return filled if isinstance(filled, dict) else {}


def _option(layout: UILayout, operator: Operator, name: str) -> None:
    layout.prop(operator, name, text=name_of(operator.properties, name), translate=False)


def _meshes(count: int) -> str:
    return tr_count("1 mesh", "{count} meshes", count)


register, unregister = registration.functions(__name__)
