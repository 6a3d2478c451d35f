# SPDX-License-Identifier: GPL-3.0-or-later
"""Object › MMD Skin › Retarget to Armature and Motion from Armature, and File › Import › MMD Motion of
Another Model: a dance that fits the active model's proportions.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ..blender import file_access, playhead, registration
from ..blender.user_error import UserError, cancels
from ..import_motion.import_state import ORIGINAL, SOLVED
from ..operator_base import modal_job, properties
from ..operator_base.importing import Importer
from ..operator_base.model_operator import OptionsDialog, PosingOperator
from ..scene import model_file, scene_model, setting_paths, skeletons
from . import jobs

_START = properties.declared(properties.MotionProperties, options={"SKIP_SAVE"})["motion_start"]


class _Proportions:
    hands: BoolProperty(
        name="Hands Meet",
        description="Where hands are close to each other, keep the gap between them",
    )
    scale: FloatProperty(
        name="Scale",
        description="Size of steps; 0 takes the ratio of the legs' lengths",
        min=0.0,
        max=1e4,
        soft_max=10.0,
        precision=3,
    )


class _Retargeting(_Proportions, PosingOperator, OptionsDialog, modal_job.AskedJob):
    """A subclass has the `steps` of its job, and `_chosen`, the model and the armature."""

    bl_options = {"REGISTER", "UNDO"}
    steps: Callable[..., modal_job.Steps[jobs.Reports]]

    feet: EnumProperty(
        name="Feet",
        description="What legs copy",
        items=[
            ("FLOOR", "Floor", "The path of the feet, scaled, so that they stand where they stood"),
            ("DIRECTIONS", "Directions", "The directions of thighs and shins"),
        ],
        default="FLOOR",
    )

    def _ask(self, context: Context, event: Event) -> set[Any]:
        return context.window_manager.invoke_props_dialog(self)  # type: ignore[arg-type]

    def _start(self, context: Context) -> modal_job.Job:
        first, last = playhead.frame_range(context.scene)
        frames = range(first, last + 1)
        steps = self.steps(context, *self._chosen(context), frames, self._options())
        return modal_job.Job(steps, len(frames))

    def _stopped(self) -> None:
        self.inform("Retargeting cancelled: nothing was changed")

    def _report(self, job: modal_job.Job) -> set[Any]:
        for message in job.result:
            self.report(*message)
        return {"FINISHED"}


class MMDSKIN_OT_retarget_to_armature(_Retargeting, Operator):
    """Key the active armature with the motion of the selected MMD model, in the scene's frame range"""

    bl_idname = "mmdskin.retarget_to_armature"
    bl_label = "Retarget to Armature"
    shown = ("feet", "hands", "scale", "in_place", "keys", "as_strip")
    steps = staticmethod(jobs.to_armature)

    in_place: BoolProperty(
        name="In Place", description="Leave out the steps, for games that move the character"
    )
    keys: EnumProperty(
        name="Keys",
        description="How many frames are keyed",
        items=[
            ("ALL", "All", "Every frame"),
            ("REDUCED", "Reduced", "Those that straight lines need, within half a degree"),
        ],
        default="ALL",
    )
    as_strip: BoolProperty(
        name="NLA Track", description="Add the action as a strip on an NLA track of its own"
    )

    def _chosen(self, context: Context) -> tuple[Any, Object]:
        active = context.active_object
        for obj in context.selected_objects:
            with contextlib.suppress(UserError):
                model = scene_model.model_of(obj, context.view_layer)
                if model.armature != active and active and active.type == "ARMATURE":
                    return model, active
        raise UserError("Select the MMD model first, then the armature that gets its motion")


class MMDSKIN_OT_motion_from_armature(_Retargeting, Operator):
    """Key the active MMD model with the motion of the selected armature, in the scene's frame range"""

    bl_idname = "mmdskin.motion_from_armature"
    bl_label = "Motion from Armature"
    shown = ("feet", "hands", "scale", "legs", "tolerance", "rest")
    steps = staticmethod(jobs.from_armature)

    legs: EnumProperty(
        name="Legs",
        description="Which bones of the legs are keyed",
        items=[
            ("BOTH", "IK and FK", "The same with MMD's IK on or off"),
            ("IK", "IK Only", "Without knees, as animators expect; needs MMD's IK"),
        ],
        default="BOTH",
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Largest distance between the keyed and the retargeted motion, in MMD units",
        default=0.1,
        **(properties.TOLERANCE | {"min": 1e-4}),
    )
    rest: EnumProperty(
        name="Rest Pose",
        description="Which pose of the armature is that of a body at rest, arms in A or T pose",
        items=[
            ("AUTOMATIC", "Automatic", "The rest pose, or the frame most like a body at rest"),
            ("REST", "Rest", "The rest pose"),
            ("CURRENT", "Current Frame", "The pose at the current frame"),
        ],
        default="AUTOMATIC",
    )

    def _chosen(self, context: Context) -> tuple[Any, Object]:
        model = scene_model.active_model(context)
        for obj in context.selected_objects:
            if obj.type == "ARMATURE" and obj != model.armature:
                return model, obj
        raise UserError("Select the armature first, then the MMD model that gets its motion")


class MMDSKIN_OT_fit_motion(_Proportions, PosingOperator, Importer, Operator):
    """Import a motion made for another MMD model, with arms, steps and hands fitted to the active one"""

    bl_idname = "mmdskin.fit_motion"
    bl_label = "Fit MMD Motion"
    bl_options = {"REGISTER", "UNDO", "PRESET"}
    shown = ("made_for", "hands", "scale", "mode", "frame_start")

    filename_ext = ".vmd"
    filter_glob: StringProperty(default="*.vmd", options={"HIDDEN"})
    made_for: StringProperty(
        name="Made For",
        description="PMX or PMD file that the motion was made for; if empty, only steps are scaled",
        subtype="FILE_PATH",
    )
    mode: EnumProperty(
        name="Import As",
        description="How to apply the motion",
        items=[
            (ORIGINAL, "Original Keys", "The file's keyframes and curves, with new values"),
            (SOLVED, "Solved Keys", "Key all moving bones on every frame; matches MMD"),
        ],
        default=ORIGINAL,
    )
    frame_start: _START

    @cancels
    def execute(self, context: Context) -> set[Any]:
        model = scene_model.active_model(context)
        path = self._paths()[0]
        target = model_file.rig(model.armature).pmx
        motion = model_file.load_motion(path)
        made_for = None
        if self.made_for:
            file_access.choose(self.made_for)
            made_for = model_file.load_model(setting_paths.resolved(self.made_for))
        name = bpy.path.display_name_from_filepath(path)
        with skeletons.explained(name):
            fitted, report = motion.for_model(
                target, made_for=made_for, hands=self.hands, scale=self.scale or None
            )
        for message in jobs.notes_of(report):
            self.report(*message)
        jobs.import_motion(context, model, fitted, name, self.frame_start, self.report, self.mode)
        return {"FINISHED"}


register, unregister = registration.operator(
    MMDSKIN_OT_fit_motion, "TOPBAR_MT_file_import", text="MMD Motion of Another Model (.vmd)"
)
