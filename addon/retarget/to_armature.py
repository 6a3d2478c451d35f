# SPDX-License-Identifier: GPL-3.0-or-later
"""Retarget to Armature: the pose of an MMD model as keyframes of any humanoid armature."""

import contextlib
import os
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions, native, playhead, reader_texts
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..operator_base.editing import editing
from ..pose import motion_source
from ..scene import scene_model, skeletons
from . import fk_pose, keys, model_poses, rigify


class Result(NamedTuple):
    action: str
    kept: str  # the name of the action that was replaced, "" for none
    bones: int
    keyframes: int
    notes: tuple[str, ...]
    fighting: list[str]  # bones with constraints


class Job(modal_job.Job):
    """Closing it early leaves everything unchanged. Afterwards `result` holds what was done."""

    def __init__(
        self,
        context: bpy.types.Context,
        model: scene_model.SceneModel,
        armature: bpy.types.Object,
        options: dict[str, Any],
    ) -> None:
        self._context, self._model, self._armature = context, model, armature
        self._options = options
        self._frames = model_poses.frames_of(context.scene)
        self.result: Result | None = None
        check(armature)
        super().__init__(self._run(), len(self._frames))

    def _run(self) -> Generator[modal_job.Progress, None, None]:
        context, armature, options = self._context, self._armature, self._options
        scene, module = context.scene, native.load()
        depsgraph = context.evaluated_depsgraph_get()
        world = skeletons.world(armature.evaluated_get(depsgraph))
        target = skeletons.complete(skeletons.skeleton(armature, world), armature.name)
        source = yield from model_poses.of_model(context, self._model, self._frames)

        with explained():
            found = module.retarget(
                source.skeleton,
                source.matrices,
                target,
                feet=options["feet"] == "FLOOR",
                hands=options["hands"],
                scale=options["scale"] or None,
                root="in_place" if options["in_place"] else "scaled",
                fps=model_poses.fps_of(scene),
            )
        poses = skeletons.in_armature(found.transforms, world)
        times = np.array(self._frames) * playhead.stretch(scene)
        with editing([armature], check) as edit:
            edit.save([armature])
            name = name_of(self._model, scene)
            if skeletons.is_rigify(armature):
                controls = rigify.Controls(armature, skeletons.bones_of(armature), poses)
                with alone(armature):
                    for done in controls.pose(context):
                        yield modal_job.frames_done(done, self.frames)
                bones = controls.values()
            else:
                bones = fk_pose.channels(armature, poses)
                moved = {bone.name for bone in bones if bone.rotations is not None}
                for bone in armature.pose.bones:
                    if bone.name not in moved:
                        bone.matrix_basis.identity()
            action = keys.NewAction(armature, name, times, options["keys"] == keys.REDUCED)
            count = action.key_bones(bones)
            for switch in rigify.switches(armature):
                action.hold(actions.property_path(switch, rigify.SWITCH), 1.0, switch)
            kept = action.assign(options["as_strip"])
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        self.result = Result(
            action.name, kept, count, action.keyframes, found.notes, fighting(armature, bones)
        )


def check(armature: bpy.types.Object) -> None:
    """UserError if an armature cannot be keyed."""
    scene_model.check_editable(armature)
    data = armature.animation_data
    if data and data.use_tweak_mode:
        raise UserError(
            "The animation of '{name}' is in NLA Tweak Mode: leave it first", name=armature.name
        )


def name_of(model: scene_model.SceneModel, scene: bpy.types.Scene) -> str:
    """A name for the motion that a model shows."""
    settings = motion_source.settings_of(model.armature, scene)
    if settings is not None:
        return os.path.splitext(os.path.basename(settings.motion_path))[0]
    return name_of_action(model.armature)


def name_of_action(armature: bpy.types.Object) -> str:
    action, _ = actions.assigned(armature)
    return action.name if action is not None else armature.name


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """UserError with the reason why the module refuses rigs or poses in the block."""
    try:
        yield
    except ValueError as error:
        raise UserError(
            "The motion cannot be retargeted: {reason}", reason=reader_texts.sentence(error)
        ) from error


def fighting(armature: bpy.types.Object, bones: list[fk_pose.BoneValues]) -> list[str]:
    """The keyed bones that constraints move, too; those of a Rigify rig are for that."""
    if skeletons.is_rigify(armature):
        return []
    return [
        bone.name
        for bone in bones
        if any(
            not constraint.mute and constraint.influence > 0
            for constraint in armature.pose.bones[bone.name].constraints
        )
    ]


@contextlib.contextmanager
def alone(armature: bpy.types.Object) -> Iterator[None]:
    """In the block, no action or strip moves an armature."""
    data = armature.animation_data or armature.animation_data_create()
    action, slots = actions.assigned(armature)
    uses_nla, data.use_nla, data.action = data.use_nla, False, None
    try:
        yield
    finally:
        data.use_nla = uses_nla
        actions.assign(armature, action, slots)
