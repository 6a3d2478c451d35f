# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion from Armature: the motion of any humanoid armature as keys of an MMD model's own controls."""

from collections.abc import Generator
from typing import Any

import bpy

from ..blender import native
from ..operator_base import modal_job
from ..scene import model_file, scene_model, skeletons
from . import model_poses, to_armature

AUTOMATIC, REST, CURRENT = "AUTOMATIC", "REST", "CURRENT"


class Job(modal_job.Job):
    """Changes nothing. Afterwards `motion` and `report` are those of `Motion.from_skeleton`."""

    def __init__(
        self,
        context: bpy.types.Context,
        armature: bpy.types.Object,
        model: scene_model.SceneModel,
        options: dict[str, Any],
    ) -> None:
        self._context, self._armature, self.model = context, armature, model
        self._options = options
        self.frames_read = model_poses.frames_of(context.scene)
        self.name = to_armature.name_of_action(armature)
        self.motion: Any = None
        self.report: Any = None
        scene_model.check_editable(model.armature)
        super().__init__(self._run(), len(self.frames_read))

    def _run(self) -> Generator[modal_job.Progress, None, None]:
        context, armature, options = self._context, self._armature, self._options
        pmx = model_file.rig(self.model.armature).pmx
        evaluated = armature.evaluated_get(context.evaluated_depsgraph_get())
        found = skeletons.skeleton(armature, skeletons.world(evaluated))
        source = skeletons.complete(found, armature.name)
        if options["rest"] == REST:
            source = source.replace(reference=source.rest)
        elif options["rest"] == CURRENT:
            now = skeletons.poses(evaluated, skeletons.bones_of(armature))
            source = source.replace(reference=now)
        poses = yield from model_poses.of_armature(context, armature, self.frames_read)

        module = native.load()
        with to_armature.explained():
            fit = module.Fit(
                module.Motion.from_skeleton,
                pmx,
                source,
                poses,
                fps=model_poses.fps_of(context.scene),
                legs=options["legs"].lower(),
                tolerance=options["tolerance"],
                feet=options["feet"] == "FLOOR",
                hands=options["hands"],
                scale=options["scale"] or None,
            )
            self.motion, self.report = yield from modal_job.fitted(fit)
