# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Export > MMD Motion: bones, morphs, IK switches and visibility of models, or camera and light.
File > Export > MMD Pose: the pose of a model at the current frame.
"""

import contextlib
import os
from types import SimpleNamespace
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from ..blender import file_access, native, registration
from ..blender.native import mmdskin
from ..blender.translations import tr_count
from ..blender.user_error import UserError, cancels
from ..import_motion import import_state
from ..operator_base import modal_job, properties
from ..operator_base.importing import camera_scale
from ..operator_base.model_operator import OptionsDialog, PosingOperator
from ..pose import motion_source, pose_source
from ..scene import scene_model
from . import job, samples, scene_export
from .model_export import AsKeyed, Solved
from .timing import Timing, timing_of

_FORMS = [
    (
        samples.AUTO,
        "Automatic",
        "As Keyed for MMD's IK, motion files and imported Original Keys, else Solved, IK On",
    ),
    (
        samples.AS_KEYED,
        "As Keyed",
        "The bones' own keys, for MMD's IK and append; needs the fewest keys",
    ),
    (
        samples.SOLVED_BOTH,
        "Solved, IK On",
        "The pose as shown, with IK bones placed on the feet: the same with IK on or off",
    ),
    (
        samples.SOLVED_FK,
        "Solved, IK Off",
        "The pose as shown, and a key that switches MMD's IK off",
    ),
]
_RANGE = ("range", "frame_start", "frame_end", "first_frame", "real_time")
_MODEL = ("bones", "tolerance", "physics", "physics_tolerance", "morphs", "switches", "visibility")
_CAMERA = ("tolerance", "light", "degrees", "scale")
# Units: the IK of a pose has to reach it.
_POSE_TOLERANCES = {"tolerance": 1e-4, "physics_tolerance": 1e-4}
_once = properties.declared(properties.MotionProperties, options={"SKIP_SAVE"})
_Model = properties.declaring("_Model", {"model_path": _once["model_path"]})
_bake = properties.declared(properties.BakeProperties)
_Range = properties.declaring("_Range", {one: _bake[one] for one in ("frame_start", "frame_end")})


class _Exporter(_Model, PosingOperator, OptionsDialog, ExportHelper):
    """Base class of operators that write a file of a model; the file browser suggests its name."""

    bl_options = {"REGISTER", "PRESET"}
    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        if not self.filepath:
            try:
                name = scene_model.active_model(context).name
            except UserError:
                name = "untitled"
            folder = os.path.dirname(bpy.data.filepath)
            self.filepath = os.path.join(folder, bpy.path.clean_name(name) + self.filename_ext)
        return super().invoke(context, event)


class MMDSKIN_OT_export_motion(_Range, modal_job.AskedJob, _Exporter, bpy.types.Operator):
    """Write the animation of MMD models as motion files with MMD's keyframes and curves"""

    bl_idname = "mmdskin.export_motion"
    bl_label = "Export MMD Motion"
    shown = ("content", *_RANGE, *_MODEL, "names", "model_path", "light", "degrees", "scale")

    filename_ext = ".vmd"
    filter_glob: StringProperty(default="*.vmd", options={"HIDDEN"})
    content: EnumProperty(
        name="Export",
        description="What the file animates; MMD keeps the camera in a file of its own",
        items=[
            ("MODEL", "Active Model", "Model of the active object"),
            (
                "SELECTED",
                "Selected Models",
                "One file for each model with a selected object; the model's name is added to the file name",
            ),
            ("CAMERA", "Camera", "The scene's camera, including markers that switch cameras"),
        ],
        default="MODEL",
    )
    range: EnumProperty(
        name="Frame Range",
        description="Frames to export",
        items=[
            ("SCENE", "Scene Range", "Between Start and End of the scene"),
            ("PREVIEW", "Preview Range", "Preview range of the scene, if it is in use"),
            ("ACTION", "All Keyframes", "From the first to the last keyframe and NLA strip"),
            ("CUSTOM", "Custom Range", "Between Start and End"),
        ],
        default="SCENE",
    )
    first_frame: IntProperty(
        name="First Frame",
        description="MMD frame at which the range starts",
        default=0,
        min=0,
        max=properties.FRAMES["max"],
    )
    real_time: BoolProperty(
        name="Real Time",
        description="Write 30 frames per second at any scene frame rate; if off, one frame per scene"
        " frame",
        default=True,
    )
    bones: EnumProperty(
        name="Bones",
        description="Pose to export: as keyed, or with IK and append solved",
        items=_FORMS,
        default=samples.AUTO,
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Largest distance of a vertex from its place in Blender, in MMD units of 8 cm",
        default=0.02,
        **(properties.TOLERANCE | {"soft_max": 0.2, "step": 0.1}),
    )
    physics: EnumProperty(
        name="Physics",
        description="Bones that rigid bodies move",
        items=[
            ("LEAVE", "Leave to MMD", "No new keys: MMD simulates these bones"),
            ("KEYS", "Keys", "Keys of the simulated motion, which switch the physics of MMD off"),
        ],
        default="LEAVE",
    )
    physics_tolerance: FloatProperty(
        name="Physics Tolerance",
        description="Tolerance of the mesh that rigid bodies move, in MMD units",
        default=0.1,
        **properties.TOLERANCE,
    )
    morphs: BoolProperty(name="Morphs", description="Export keys of morphs", default=True)
    switches: BoolProperty(
        name="IK Switches", description="Export whether the IK of each bone is on", default=True
    )
    visibility: BoolProperty(
        name="Visibility",
        description="Export whether the model is shown in renders, if that is animated",
        default=True,
    )
    names: EnumProperty(
        name="Long Names",
        description="Names of animated bones and morphs that a motion file cannot store",
        items=[
            ("STOP", "Stop", "Write nothing and list them"),
            ("OMIT", "Leave Out", "Leave out their keys, which MMD ignores, and list them"),
            ("CUT", "Cut", "Cut them to 15 bytes as MMD does, and list them"),
        ],
        default="STOP",
    )
    light: BoolProperty(
        name="Light",
        description="Export the light, too: the MMD Light with its self-shadow, or the strongest sun",
        default=True,
    )
    degrees: FloatProperty(
        name="Angle Tolerance",
        description="Largest difference of the camera's direction in degrees",
        default=0.05,
        **(properties.TOLERANCE | {"min": 1e-4, "soft_min": 0.01}),
    )
    scale: camera_scale()
    _ask = _Exporter.invoke

    def is_used(self, option: str) -> bool:
        moves_camera = self.content == "CAMERA"
        if moves_camera != (option in _CAMERA) and option not in {"content", *_RANGE, "tolerance"}:
            return False
        return {
            "frame_start": self.range == "CUSTOM",
            "frame_end": self.range == "CUSTOM",
            "physics_tolerance": self.physics == "KEYS",
            "switches": self.bones in {samples.AUTO, samples.AS_KEYED},
            "model_path": self.content == "MODEL",
        }.get(option, True)

    def _start(self, context: bpy.types.Context) -> modal_job.Job:
        path = job.path_of(self.filepath, self.filename_ext)
        native.load()
        exports, timing = self._exports(context, path)
        return job.of(context, exports, timing, job.LONG_NAMES[self.names])

    def _exports(self, context: bpy.types.Context, path: str) -> tuple[list[job.Export], Timing]:
        if self.content == "CAMERA":
            timing = timing_of(context.scene, self, scene_export.blocks(context.scene, self))
            export = scene_export.SceneExport(path, context.scene, timing, self._options())
            return [export], timing
        models = self._models(context)
        blocks = [block for model in models for block in import_state.blocks(model)]
        timing = timing_of(context.scene, self, blocks)
        paths = [path]
        if self.content == "SELECTED":
            stem, ending = os.path.splitext(path)
            paths = [f"{stem}_{bpy.path.clean_name(one.name)}{ending}" for one in models]
        options = self._options()
        exports = [
            export_of(model, of_model, context.scene, timing, options)
            for model, of_model in zip(models, paths, strict=True)
        ]
        return exports, timing

    def _models(self, context: bpy.types.Context) -> list[scene_model.SceneModel]:
        if self.content == "MODEL":
            return [scene_model.active_model(context)]
        found: dict[bpy.types.Object, scene_model.SceneModel] = {}
        for obj in context.selected_objects:
            with contextlib.suppress(UserError):
                model = scene_model.model_of(obj, context.view_layer)
                found.setdefault(model.armature, model)
        if not found:
            raise UserError("No selected object belongs to an MMD model")
        return list(found.values())

    def _stopped(self) -> None:
        self.inform("Export cancelled: nothing was written")

    def _report(self, exporting: modal_job.Job) -> set[Any]:
        job.write_text(exporting.result)
        for result in exporting.result:
            if result.lines:
                self.report({"WARNING"}, result.lines[0])
        self.report({"INFO"}, job.sentence(exporting.result))
        return {"FINISHED"}


def export_of(
    model: scene_model.SceneModel, path: str, scene: bpy.types.Scene, timing: Timing, options: Any
) -> job.Export:
    """The export of a model in the chosen form, or the one that suits its animation."""
    form = samples.form_of(model, scene, options)
    sampler = samples.Sampler(model, scene, form != samples.AS_KEYED, options)
    if form != samples.AS_KEYED:
        return Solved(sampler, path, timing, options, form=form)
    return AsKeyed(sampler, path, timing, options)


class MMDSKIN_OT_export_pose(_Exporter, bpy.types.Operator):
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
        items=_FORMS[:3],
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
        file_access.check_writable(path)
        motion, pmx = self._pose(context)
        data = job.saved(path, motion, frame=0, model=pmx)
        job.write([(path, data)])
        self.inform(
            "Exported '{file}' with a pose of {bones}",
            file=os.path.basename(path),
            bones=tr_count("1 bone", "{count} bones", count=len(motion.bones)),
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
            sampler.simulated.load(scene=scene)
        found = sampler.samples([sampler.read(context.evaluated_depsgraph_get())])
        pmx, weights = sampler.rig.pmx, found.weights * self.morphs
        bones: dict[str, Any] = {}
        # At rest, too: MMD does not change bones that a pose lacks. Of several with a name, the first.
        for i in sorted(sampler.rig.bones.values(), reverse=True):
            pose = (None, None) if is_solved else [values[:, i] for values in found.pose]
            bones[pmx.bones[i].name] = (pmx.bones[i].name, [0], *pose, None)
        if is_solved:
            make, poses = mmdskin.Motion.from_poses, (*found.pose, weights)
            fit = job.made(make, pmx, poses, ik="both", physics="keys", **_POSE_TOLERANCES)
            motion, _ = modal_job.Job(fit, 1).finish()
            bones |= {track.name: track for track in motion.bones}
        pairs = zip(pmx.morphs, weights[0], strict=True)
        morphs = {morph.name: (morph.name, [0], [weight]) for morph, weight in pairs if weight}
        with job.making():
            return mmdskin.Motion.from_tracks(bones=bones.values(), morphs=morphs.values()), pmx


def _draw(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    self.layout.operator(MMDSKIN_OT_export_motion.bl_idname, text="MMD Motion (.vmd)")
    self.layout.operator(MMDSKIN_OT_export_pose.bl_idname, text="MMD Pose (.vpd)")


register, unregister = registration.functions(__name__, {"TOPBAR_MT_file_export": _draw})
