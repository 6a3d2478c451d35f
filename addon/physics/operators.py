# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators of the physics. Simulate writes the file that MMD Skinning, and bakes of an armature's own keys,
play; Keep does, too. Simulate Together and Simulate Alone choose which models touch each other.
"""

import itertools
import os
from collections.abc import Iterable
from typing import Any

import bpy
from bpy.types import Context, Object, Operator

from ..blender import cache_files, playhead, registration
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError, cancels
from ..operator_base import modal_job
from ..operator_base.editing import editing
from ..operator_base.model_operator import ModelOperator, ObjectOperator
from ..pose import physics_settings, pose_source
from ..pose.ik_source import Solver
from ..scene import scene_model, setting_paths
from . import cache, dependencies, group, live, simulation


class MMDSKIN_OT_simulate(modal_job.ModalJob, ModelOperator, Operator):
    """Simulate hair and clothes for MMD Skinning and store the result next to the .blend file"""

    bl_idname = "mmdskin.simulate"
    bl_label = "Simulate"

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        settings = model.armature.mmdskin
        if settings.source == "MOTION" and not needs_file(model):
            return tr("The physics of a motion file needs no simulation")
        if settings.source == "MOTION" and not settings.motion_path:
            return tr("No motion file selected: choose a .vmd or .vpd file")
        if not bpy.data.filepath:
            return tr("Save the .blend file first: the simulation is stored next to it")
        return ""

    def _start(self, context: Context) -> modal_job.Job:
        models = self.models(context)
        return job_of(list(filter(needs_file, models)) or models, context)

    def _stopped(self) -> None:
        self.inform("Simulation cancelled: nothing was changed")

    def _report(self, job: modal_job.Job) -> set[Any]:
        frames = tr_count("1 frame", "{count} frames", job.frames)
        self.inform("Simulated {frames}", frames=frames)
        return {"FINISHED"}


class MMDSKIN_OT_settle(ModelOperator, Operator):
    """Let hair and clothes that move live come to rest in the current pose"""

    bl_idname = "mmdskin.settle"
    bl_label = "Settle"
    bl_options: Any = {"REGISTER"}  # nothing of the file changes

    @cancels
    def execute(self, context: Context) -> set[Any]:
        for model in self.models(context):
            for moving in live.of_armature(model.armature):
                moving.settle()
            for obj in model.meshes:
                obj.update_tag(refresh={"OBJECT"})
        return {"FINISHED"}


class MMDSKIN_OT_keep_physics(ModelOperator, Operator):
    """Store hair and clothes as they were just played, as Simulate does. Renders and bakes then use them"""

    bl_idname = "mmdskin.keep_physics"
    bl_label = "Keep"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        models = self.models(context)
        played = [
            model
            for model in models
            if any(moving.played for moving in live.of_armature(model.armature))
        ]
        _write([(model.armature, _played(model, context)) for model in played or models])
        return {"FINISHED"}


def _played(model: scene_model.SceneModel, context: Context) -> cache.Cache:
    """What was played live, as a simulation."""
    member, scene = _member(model, context), context.scene
    samples = live.of(model.armature.name_full, scene.name_full).played
    if not samples or not isinstance(member.opened, Solver) or member.physics.group:
        raise UserError("Play all frames with Live Physics first: from the first, none left out")
    stretch = playhead.stretch(scene)
    first = playhead.frame_range(scene)[0] * stretch
    inputs = dependencies.inputs_of(member.opened, model.armature)
    made_of = dependencies.fingerprint(member.opened, inputs)
    return cache.of_samples(made_of, member.opened.rig.pmx, samples, first, 1 / stretch)


class MMDSKIN_OT_simulate_together(ObjectOperator, Operator):
    """Let the selected models touch each other, so that hands move each other's hair"""

    bl_idname = "mmdskin.simulate_together"
    bl_label = "Simulate Together"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        models = scene_model.selected_models(context)
        if len(models) < 2:
            raise UserError("Select two or more models to simulate them together")
        with editing(models, _check_grouping) as edit:
            name = _group_of(models)
            for model in models:
                edit.set(model.armature.mmdskin, "physics_group", name)
        self.inform(
            "1 model is simulated together",
            "{count} models are simulated together",
            count=len(models),
        )
        return {"FINISHED"}


class MMDSKIN_OT_simulate_alone(ObjectOperator, Operator):
    """Let the model touch no other one"""

    bl_idname = "mmdskin.simulate_alone"
    bl_label = "Simulate Alone"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        model = scene_model.model_of(context.active_object, context.view_layer)
        name = model.armature.mmdskin.physics_group
        with editing([model], lambda one: scene_model.check_editable(one.armature)) as edit:
            edit.set(model.armature.mmdskin, "physics_group", "")
            left = [one for one in _armatures() if name and one.mmdskin.physics_group == name]
            if len(left) == 1:
                edit.set(left[0].mmdskin, "physics_group", "")
        return {"FINISHED"}


def job_of(models: list[scene_model.SceneModel], context: Context) -> modal_job.Job:
    """Simulates all models, with those of their groups; files are written at the end."""
    members = [_member(model, context) for model in models]
    if not bpy.data.filepath:
        raise UserError("Save the .blend file first: the simulation is stored next to it")
    batches = group.batches(members, context.view_layer)
    for member in itertools.chain(*batches):
        _check_own(member.model)

    def steps() -> modal_job.Steps[None]:
        found = yield from simulation.simulated(context, batches)
        _write(found.items())

    first, last = playhead.frame_range(context.scene)
    return modal_job.Job(steps(), len(batches) * (last - first + 1))


def needs_file(model: scene_model.SceneModel) -> bool:
    """Whether its physics has to be simulated and stored."""
    settings = pose_source.settings_of(model.armature, bpy.context.scene)
    return settings is not None and group.needs_file(settings)


def _member(model: scene_model.SceneModel, context: Context) -> group.Member:
    _check_own(model)
    settings = pose_source.settings_of(model.armature, context.scene)
    if settings is None or settings.physics is None:
        raise physics_settings.nothing_to_simulate(model.name)
    if not group.needs_file(settings):
        raise UserError("The physics of a motion file needs no simulation")
    opened = pose_source.load(model.armature, settings)
    if not len(dependencies.moved_bones(opened.rig.pmx)) and not settings.physics.group:
        raise UserError(
            "'{name}' has no rigid bodies that move bones: there is nothing to simulate",
            name=model.name,
        )
    return group.Member(model, opened)


def _check_own(model: scene_model.SceneModel) -> None:
    if model.armature.library:  # Blender would not save where its simulation is
        raise scene_model.needs_override(model.name)


def _write(simulations: Iterable[tuple[Object, cache.Cache]]) -> None:
    """Store those of armature objects in their files, all of them or none."""
    with editing(simulations, lambda one: cache_files.path(one[0], cache.ENDING)) as edit:
        for (armature, result), first in edit.checked:
            settings, own = armature.mmdskin, _own_file(armature)
            if os.path.isfile(own) and cache_files.is_of(first, own):
                edit.restore_on_failure(cache_files.FileSnapshot(own))
            path = cache.write(first, own, result)
            if path != own:
                edit.on_failure(cache_files.remove_placed, path)
            notes = setting_paths.notes_of(armature)
            edit.on_failure(setting_paths.write_notes, armature, notes)
            edit.on_failure(setattr, settings, "physics_cache", settings.physics_cache)
            # Set it even if the path is the same: the preview then reads the file again.
            setting_paths.keep(armature, "physics_cache", path)


def _own_file(armature: Object) -> str:
    """The file of its previous simulation; "" if another model, such as a duplicate, plays it."""
    own = setting_paths.absolute(armature, "physics_cache")
    played = [setting_paths.absolute(one, "physics_cache") for one in _armatures()]
    return own if played.count(own) == 1 else ""


def _check_grouping(model: scene_model.SceneModel) -> None:
    scene_model.check_editable(model.armature)
    if not physics_settings.is_simulated(model.armature.mmdskin):
        raise physics_settings.nothing_to_simulate(model.name)


def _group_of(models: list[scene_model.SceneModel]) -> str:
    """The group of one of the models, else a new one."""
    for model in models:
        if name := model.armature.mmdskin.physics_group:
            return name
    taken = {armature.mmdskin.physics_group for armature in _armatures()}
    name, number = models[0].name, 1
    while name in taken:
        name, number = f"{models[0].name} {number}", number + 1
    return name


def _armatures() -> list[Object]:
    return [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]


register, unregister = registration.functions(__name__)
