# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Simulate: writes the file that MMD Skinning, and bakes of an armature's own keys, play."""

import contextlib
import math
import os
from collections.abc import Generator
from typing import Any

import bpy
import numpy as np

from ..blender import cache_files, registration
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError
from ..operators import modal_job
from ..operators.editing import Edit, editing
from ..operators.model_operator import ModelOperator
from ..pose import ik_source, motion_source, pose_source
from ..scene import scene_model, setting_paths
from . import cache, keyed, simulation

_BLOCK = 16  # frames of a motion that are simulated together


class MMDSKIN_OT_simulate(modal_job.ModalJob, ModelOperator, bpy.types.Operator):
    """Simulate hair and clothes for MMD Skinning and store the result next to the .blend file"""

    bl_idname = "mmdskin.simulate"
    bl_label = "Simulate"

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        settings = model.armature.mmdskin
        if settings.source == "MOTION" and not settings.motion_path:
            return tr("No motion file selected: choose a .vmd or .vpd file")
        if not bpy.data.filepath:
            return tr("Save the .blend file first: the simulation is stored next to it")
        return ""

    def _start(self, context: bpy.types.Context) -> "Job":
        return Job(self.models(context), context)

    def _stopped(self) -> None:
        self.report({"WARNING"}, tr("Simulation cancelled: nothing was changed"))

    def _report(self, job: "Job") -> set[Any]:
        self.report(
            {"INFO"},
            tr("Simulated {frames}", frames=tr_count("1 frame", "{count} frames", job.frames)),
        )
        return {"FINISHED"}


class Job(modal_job.Job):
    """Simulates all models; files are written at the end."""

    def __init__(self, models: list[scene_model.SceneModel], context: bpy.types.Context) -> None:
        self._runs = [_Run(model, context) for model in models]
        super().__init__(self._all(), sum(run.frames for run in self._runs))

    def _all(self) -> Generator[modal_job.Progress, None, None]:
        done = 0
        for run in self._runs:
            with contextlib.closing(iter(run)) as steps:
                for frames in steps:
                    done += frames
                    yield modal_job.frames_done(done, self.frames)
        with editing(self._runs, lambda run: run.result()) as edit:
            for run, result in edit.checked:
                run.write(result, edit)


class _Run:
    """The simulation of one model, and its file."""

    def __init__(self, model: scene_model.SceneModel, context: bpy.types.Context) -> None:
        self._armature = model.armature
        settings = pose_source.settings_of(model.armature, context.scene)
        if settings is None or settings.physics is None:
            raise UserError(
                "'{name}' has no physics to simulate: set Pose Source to MMD's IK or"
                " Motion File, and turn Physics on",
                name=model.name,
            )
        opened = pose_source.load(model.armature, settings)
        if not len(cache.moved_bones(opened.rig.pmx)):
            raise UserError(
                "'{name}' has no rigid bodies that move bones: there is nothing to simulate",
                name=model.name,
            )
        if not bpy.data.filepath:
            raise UserError("Save the .blend file first: the simulation is stored next to it")
        self._path = cache_files.path(model.armature, cache.ENDING)
        self._run: keyed.Run | _MotionRun
        if isinstance(opened, ik_source.Solver):
            self._run = keyed.Run(context, model, opened)
        else:
            assert isinstance(settings, motion_source.Settings)
            self._run = _MotionRun(opened, settings, context.scene)
        self.frames = self._run.frames

    def __iter__(self) -> Generator[int, None, None]:
        yield from self._run

    def result(self) -> cache.Cache:
        return self._run.result()

    def write(self, result: cache.Cache, edit: Edit) -> None:
        settings = self._armature.mmdskin
        own = setting_paths.absolute(self._armature, "physics_cache")
        if os.path.isfile(own) and cache_files.is_of(self._path, own):
            edit.keep(cache_files.FileBefore(own))
        path = cache.write(self._path, own, result)
        if path != own:
            edit.on_failure(cache_files.take_back, self._path, path)
        edit.on_failure(setattr, settings, "physics_cache", settings.physics_cache)
        # Set it even if the path is the same: the preview then reads the file again.
        setting_paths.keep(self._armature, "physics_cache", path)


class _MotionRun:
    """The simulation of a motion, in blocks of frames."""

    def __init__(
        self, motion: motion_source.Motion, settings: motion_source.Settings, scene: bpy.types.Scene
    ) -> None:
        self._pmx = motion.rig.pmx
        self._bones = cache.moved_bones(self._pmx)
        self._made_of = cache.made_of(motion, settings)
        self._first = settings.physics.start
        [scene_end] = motion.motion_frames(scene.frame_end)
        last = max(motion.motion.frame_range[1], math.ceil(scene_end), self._first)
        self.frames = last - self._first + 1
        self._simulated = simulation.with_physics(motion, settings.physics)
        self._blocks: list[np.ndarray] = []

    def __iter__(self) -> Generator[int, None, None]:
        for begin in range(0, self.frames, _BLOCK):
            count = min(_BLOCK, self.frames - begin)
            halves = np.arange(count * cache.RATE) / cache.RATE
            matrices = self._simulated.posed(self._first + begin + halves)
            self._blocks.append(matrices[:, self._bones])
            yield count

    def result(self) -> cache.Cache:
        places = cache.places(self._pmx, self._bones, np.concatenate(self._blocks))
        return cache.Cache(self._made_of, self._first, cache.RATE, self._bones, *places)


register, unregister = registration.functions(MMDSKIN_OT_simulate)
