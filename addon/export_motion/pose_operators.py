# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Export > MMD Pose: the pose of a model at the current frame, as a VPD."""

import os
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..blender import output_files, playhead, registration
from ..blender.native import mmdskin
from ..blender.translations import tr, tr_count
from ..blender.user_error import cancels
from ..import_motion.bezier import STRAIGHT
from ..operator_base import modal_job
from ..pose import motion_source, pose_source
from ..scene import scene_model
from . import job, model_export, samples
from .operators import FORMS, Exporter
from .timing import Timing

_TOLERANCE = 1e-4  # units: the IK of a pose has to reach it
_LINES = np.full((1, 4, 4), STRAIGHT, np.uint8)


class MMDSKIN_OT_export_pose(Exporter, bpy.types.Operator):
    """Write the pose of the active MMD model at the current frame as a pose file"""

    bl_idname = "mmdskin.export_pose"
    bl_label = "Export MMD Pose"

    shown = ("bones", "morphs", "model_path")

    filename_ext = ".vpd"
    filter_glob: StringProperty(default="*.vpd", options={"HIDDEN"})
    # A pose file has no switch for IK.
    bones: EnumProperty(
        name="Bones",
        description="Pose to export: as keyed, or with IK and append solved",
        items=FORMS[:3],
        default=samples.AUTO,
    )
    morphs: BoolProperty(
        name="Morphs",
        description="Export morphs, which MMD ignores but MikuMikuMoving reads",
        default=True,
    )

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        path = job.path_of(self.filepath, self.filename_ext)
        output_files.check_writable(path)
        motion, pmx = self._pose(context)
        data = job.saved(path, motion, frame=0, model=pmx)
        job.write([(path, data)])
        bones = tr_count("1 bone", "{count} bones", len(motion.bones))
        file = os.path.basename(path)
        self.report(
            {"INFO"}, tr("Exported '{file}' with a pose of {bones}", file=file, bones=bones)
        )
        return {"FINISHED"}

    def _pose(self, context: bpy.types.Context) -> "tuple[mmdskin.Motion, mmdskin.Model]":
        """A motion of one frame, and the model file."""
        model, scene = scene_model.active_model(context), context.scene
        options = SimpleNamespace(
            bones=self.bones,
            morphs=self.morphs,
            visibility=False,
            tolerance=_TOLERANCE,
            physics="LEAVE",
            physics_tolerance=_TOLERANCE,
            model_path=self.model_path,
            names="OMIT",
        )
        form = samples.form_of(model, scene, options)
        settings = pose_source.settings_of(model.armature, scene)
        is_simulated = isinstance(settings, motion_source.Settings) and settings.physics
        if self.bones == samples.AUTO and is_simulated:
            form = samples.SOLVED_BOTH  # with hair as it is shown
        options.physics = "KEYS"  # hair as it is shown
        sampler = samples.Sampler(model, scene, form != samples.AS_KEYED, options)
        if sampler.simulated is not None:
            sampler.simulated.show(scene)
        row, pmx = sampler.read(context.evaluated_depsgraph_get()), sampler.rig.pmx
        found = sampler.samples([row])
        if form != samples.AS_KEYED:
            frame = playhead.frame(scene)
            timing = Timing(frame, frame, 0, 1, 1.0, playhead.stretch(scene))
            export = model_export.Solved(sampler, "", timing, options, form=form)
            motion = modal_job.finished(export.fitted(found)).motion
            return _with_resting(motion, pmx, sampler.rig.bones.values()), pmx
        return _tracks(pmx, found, sorted(sampler.rig.bones.values()), self.morphs), pmx


def _with_resting(
    motion: "mmdskin.Motion", pmx: "mmdskin.Model", bone_indices: Iterable[int]
) -> "mmdskin.Motion":
    """With keys of bones at rest: MMD does not change bones that a pose lacks."""
    rest = (np.zeros((1, 3)), np.array([[0.0, 0, 0, 1]]), _LINES)
    names = (pmx.bones[i].name for i in bone_indices)
    bones: dict[str, Any] = {name: (name, [0], *rest) for name in names}
    bones.update((track.name, track) for track in motion.bones)
    return model_export.with_tracks(motion, bones=bones.values())


def _tracks(
    pmx: "mmdskin.Model", found: samples.Samples, bone_indices: list[int], has_morphs: bool
) -> "mmdskin.Motion":
    """A key of each bone of the scene and of each morph in use."""
    translations, rotations = found.pose
    bones = {
        pmx.bones[i].name: (
            pmx.bones[i].name, [0], translations[:, i], rotations[:, i], _LINES
        )
        for i in reversed(bone_indices)
    }  # fmt: skip
    weights = found.weights[0] if has_morphs else ()
    morphs = {
        morph.name: (morph.name, [0], [weight])
        for morph, weight in zip(pmx.morphs, weights, strict=False)
        if weight
    }
    return mmdskin.Motion.from_tracks(
        bones=reversed(bones.values()), morphs=morphs.values(), name=pmx.name
    )


register, unregister = registration.operator(
    MMDSKIN_OT_export_pose, "TOPBAR_MT_file_export", text="MMD Pose (.vpd)"
)
