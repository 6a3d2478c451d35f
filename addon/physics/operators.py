# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate: what the preview plays, and bakes of an armature's own keys."""

import contextlib
import math

import bpy
import numpy as np

from .. import cache_files, ik_source, modal_job, pose_source, registration, setting_paths
from ..model_operator import ModelOperator
from ..translations import tr
from ..user_error import UserError
from . import cache, keyed, simulation

_BLOCK = 16  # frames of a motion that are simulated at once


class MMDSKIN_OT_simulate(modal_job.ModalJob, ModelOperator, bpy.types.Operator):
    """Simulate hair and clothes once, for the preview; stored in a file beside the .blend"""

    bl_idname = "mmdskin.simulate"
    bl_label = "Simulate"

    def _start(self, context):
        return Job(self.models(context), context)

    def _stopped(self):
        self.report({"WARNING"}, tr("The simulation was cancelled: nothing has changed"))

    def _report(self, job):
        self.report({"INFO"}, tr("Simulated {count} frames", count=job.frames))
        return {"FINISHED"}


class Job(modal_job.Job):
    """Files are written at the end."""

    def __init__(self, models, context):
        self._runs = [_Run(model, context) for model in models]
        super().__init__(self._all(), sum(run.frames for run in self._runs))

    def _all(self):
        done = 0
        for run in self._runs:
            with contextlib.closing(iter(run)) as steps:
                for frames in steps:
                    done += frames
                    yield modal_job.frames_done(done, self.frames)
        for run in self._runs:
            run.finish()


class _Run:
    """The simulation of one model, and the file that it is stored in."""

    def __init__(self, model, context):
        self._armature = model.armature
        settings = pose_source.settings_of(model.armature, context.scene)
        if settings is None or settings.physics is None:
            raise UserError(
                "'{name}' has no pose source with physics: choose MMD's IK or a motion file,"
                " and switch Physics on",
                name=model.name,
            )
        opened = pose_source.open(model.armature, settings)
        if not len(cache.moved_bones(opened.rig.pmx)):
            raise UserError(
                "'{name}' has no rigid body that moves a bone: there is nothing to simulate",
                name=model.name,
            )
        if not bpy.data.filepath:
            raise UserError("Save the file first: the simulation is stored beside it")
        self._path = cache_files.path(model.armature, cache.ENDING)
        self._run: keyed.Run | _MotionRun
        if isinstance(opened, ik_source.Solver):
            self._run = keyed.Run(context, model, opened)
        else:
            self._run = _MotionRun(opened, settings, context.scene)
        self.frames = self._run.frames

    def __iter__(self):
        return iter(self._run)

    def finish(self):
        cache.write(self._path, self._run.result())
        # Also where it is the same path: the preview looks again.
        setting_paths.keep(self._armature, "physics_cache", self._path)


class _MotionRun:
    """Along a motion, in blocks of frames."""

    def __init__(self, motion, settings, scene):
        self._pmx = motion.rig.pmx
        self._bones = cache.moved_bones(self._pmx)
        self._made_of = cache.made_of(motion, settings)
        self._first = settings.physics.start
        [scene_end] = motion.motion_frames(scene.frame_end)
        last = max(motion.motion.frame_range[1], math.ceil(scene_end), self._first)
        self.frames = last - self._first + 1
        self._simulated = simulation.of(motion, settings.physics)
        self._blocks = []

    def __iter__(self):
        for begin in range(0, self.frames, _BLOCK):
            count = min(_BLOCK, self.frames - begin)
            halves = np.arange(count * cache.RATE) / cache.RATE
            matrices = self._simulated.posed(self._first + begin + halves)
            self._blocks.append(matrices[:, self._bones])
            yield count

    def result(self):
        places = cache.places(self._pmx, self._bones, np.concatenate(self._blocks))
        return cache.Cache(self._made_of, self._first, cache.RATE, self._bones, *places)


register, unregister = registration.of(MMDSKIN_OT_simulate)
