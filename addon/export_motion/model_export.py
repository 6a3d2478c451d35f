# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of one model."""

from typing import Any

from bpy.types import Depsgraph, Object, Scene

from ..blender import actions
from ..blender.translations import tr, tr_count
from ..import_motion import import_state
from ..operator_base.modal_job import Steps
from ..pose import pose_source
from ..scene import mmd_tools, scene_model
from . import job
from .as_keyed import MotionFileKeys, of_scene
from .job import Export, Result
from .samples import AS_KEYED, AUTO, SOLVED_BOTH, ModelFit, Sampler, Solved
from .timing import Timing


class ModelExport(Export):
    def __init__(
        self, model: scene_model.SceneModel, path: str, scene: Scene, timing: Timing, options: Any
    ) -> None:
        self.path = path
        self._options = options
        form = form_of(model, scene, options)
        sampler = self._sampler = Sampler(model, scene, form != AS_KEYED, options)
        animates = sampler.animates_visibility
        self._fit: ModelFit
        if form != AS_KEYED:
            self._fit = Solved(sampler.rig.pmx, timing, options, form)
        elif sampler.motion is not None:
            self._fit = MotionFileKeys(sampler.motion, timing, animates, options)
        else:
            self._fit = of_scene(model, sampler.solver, timing, animates, options)
        self.needs_frames = self._fit.needs_frames
        root = scene_model.root_of(model.armature)
        self.objects = [model.armature, *model.meshes, *([root] if root is not None else [])]
        self.simulated = [sampler.simulated] if sampler.simulated is not None else []

    def read(self, depsgraph: Depsgraph) -> None:
        self._sampler.read(depsgraph)

    def fit(self) -> Steps[Result]:
        samples = self._sampler.result() if self.needs_frames else None
        fitted = yield from self._fit.fit(samples)
        unknown = job.listed(job.check_names(fitted.motion, self._options.names))
        lines = []
        if fitted.offs:
            names = job.listed(fitted.offs)
            lines.append(
                tr("IK is off for chains that MMD would bend differently: {names}", names=names)
            )
        if unknown and self._options.names == "OMIT":
            lines.append(tr("Left out because MMD cannot find their names: {names}", names=unknown))
        elif unknown:
            lines.append(tr("Names cut to 15 bytes: {names}", names=unknown))
        if self._fit.off_frames:
            text = tr_count(
                "1 keyframe is between MMD's frames: its bone has other keys there",
                "{count} keyframes are between MMD's frames: their bones have other keys there",
                count=self._fit.off_frames,
            )
            lines.append(text)
        return Result(self.path, fitted.motion, fitted.worst, fitted.notes, tuple(lines))


def form_of(model: scene_model.SceneModel, scene: Scene, options: Any) -> str:
    """The form of a model's bones: the chosen one, or the one that suits its animation."""
    if options.bones != AUTO:
        return options.bones
    settings = pose_source.settings_of(model.armature, scene)
    if options.physics == "KEYS":
        return SOLVED_BOTH
    if getattr(settings, "rig", None) is not None:  # another armature has the keys
        return SOLVED_BOTH
    if settings is not None:  # MMD's IK or a motion file
        return AS_KEYED
    state = import_state.Record(model.armature).state
    plays_original = bool(state.files) and state.form == import_state.ORIGINAL
    return AS_KEYED if plays_original and not _is_constrained(model.armature) else SOLVED_BOTH


def _is_constrained(armature: Object) -> bool:
    """Whether a constraint acts on bones other than those for IK, append, bone morphs and physics."""
    known = {(bone.name, one.name) for bone, one in mmd_tools.solving(armature)}
    animated = actions.animated_paths(armature)
    return any(
        not constraint.mute
        and (
            constraint.influence > 0
            or actions.influence_path(bone.name, constraint.name) in animated
        )
        and (bone.name, constraint.name) not in known
        and not constraint.name.startswith("mmd_")
        for bone in armature.pose.bones
        for constraint in bone.constraints
    )
