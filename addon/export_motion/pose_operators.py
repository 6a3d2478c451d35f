# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Export > MMD Pose: the pose of a model at the current frame, as a VPD."""

import os
from types import SimpleNamespace
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..blender import output_files, registration
from ..blender.native import mmdskin
from ..blender.translations import tr, tr_count
from ..blender.user_error import cancels
from ..operator_base import modal_job
from ..pose import motion_source, pose_source
from ..scene import scene_model
from . import job, samples
from .operators import FORMS, Exporter

# Units: the IK of a pose has to reach it.
_TOLERANCES = {"tolerance": 1e-4, "physics_tolerance": 1e-4}


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
        options = SimpleNamespace(bones=self.bones, physics="LEAVE", model_path=self.model_path)
        form = samples.form_of(model, scene, options)
        settings = pose_source.settings_of(model.armature, scene)
        is_simulated = isinstance(settings, motion_source.Settings) and bool(settings.physics)
        is_solved = form != samples.AS_KEYED or (self.bones == samples.AUTO and is_simulated)
        options.physics = "KEYS"  # hair as it is shown
        sampler = samples.Sampler(model, scene, is_solved, options)
        if sampler.simulated is not None:
            sampler.simulated.show(scene)
        found = sampler.samples([sampler.read(context.evaluated_depsgraph_get())])
        pmx, weights = sampler.rig.pmx, found.weights * self.morphs
        bones: dict[str, Any] = {}
        # At rest, too: MMD does not change bones that a pose lacks. Of several with a name, the first.
        for i in sorted(sampler.rig.bones.values(), reverse=True):
            pose = (None, None) if is_solved else [values[:, i] for values in found.pose]
            bones[pmx.bones[i].name] = (pmx.bones[i].name, [0], *pose, None)
        if is_solved:
            make, poses = mmdskin.Motion.from_poses, (*found.pose, weights)
            fit = job.made(make, pmx, poses, ik="both", physics="keys", **_TOLERANCES)
            motion, _ = modal_job.Job(fit, 1).finish()
            bones |= {track.name: track for track in motion.bones}
        pairs = zip(pmx.morphs, weights[0], strict=True)
        morphs = {morph.name: (morph.name, [0], [weight]) for morph, weight in pairs if weight}
        return mmdskin.Motion.from_tracks(bones=bones.values(), morphs=morphs.values()), pmx


register, unregister = registration.operator(
    MMDSKIN_OT_export_pose, "TOPBAR_MT_file_export", text="MMD Pose (.vpd)"
)
