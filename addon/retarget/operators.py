# SPDX-License-Identifier: GPL-3.0-or-later
"""Object › MMD Skin › Retarget to Armature, and the other way."""

import contextlib
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ..blender import playhead, reader_texts, registration
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError, cancelled
from ..operator_base import modal_job
from ..operator_base.model_operator import PosingOperator
from ..operator_base.options_dialog import OptionsDialog
from ..scene import scene_model
from . import from_armature, imported, keys, to_armature

FEET = EnumProperty(
    name="Feet",
    description="What legs copy",
    items=[
        ("FLOOR", "Floor", "The path of the feet, scaled, so that they stand where they stood"),
        ("DIRECTIONS", "Directions", "The directions of thighs and shins"),
    ],
    default="FLOOR",
)
HANDS = BoolProperty(
    name="Hands Meet",
    description="Where hands are close to each other, keep the gap between them",
)
SCALE = FloatProperty(
    name="Scale",
    description="Size of steps; 0 takes the ratio of the legs' lengths",
    min=0.0,
    max=1e4,
    soft_max=10.0,
    precision=3,
)


class _Retargeting(PosingOperator, OptionsDialog, modal_job.ModalJob):
    bl_options = {"REGISTER", "UNDO"}
    _asked = False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        self._asked = True
        return context.window_manager.invoke_props_dialog(self)  # type: ignore[arg-type]

    def execute(self, context: bpy.types.Context) -> set[Any]:
        """The dialog, too, calls this; a script waits until the job is done."""
        if self._asked:
            self._asked = False
            return modal_job.ModalJob.invoke(self, context, None)
        return modal_job.ModalJob.execute(self, context)

    def _stopped(self) -> None:
        self.report({"WARNING"}, tr("Retargeting cancelled: nothing was changed"))

    def _tell(self, notes: tuple[str, ...], kept: str) -> None:
        for note in notes:
            self.report({"INFO"}, reader_texts.translated(note))
        if kept:
            self.report({"INFO"}, tr("The action '{name}' is kept", name=kept))


class MMDSKIN_OT_retarget_to_armature(_Retargeting, bpy.types.Operator):
    """Key the active armature with the motion of the selected MMD model, in the scene's frame range"""

    bl_idname = "mmdskin.retarget_to_armature"
    bl_label = "Retarget to Armature"
    shown = ("feet", "hands", "scale", "in_place", "keys", "as_strip")

    feet: FEET
    hands: HANDS
    scale: SCALE
    in_place: BoolProperty(
        name="In Place", description="Leave out the steps, for games that move the character"
    )
    keys: EnumProperty(
        name="Keys",
        description="How many frames are keyed",
        items=[
            (keys.ALL, "All", "Every frame"),
            (keys.REDUCED, "Reduced", "Those that straight lines need, within half a degree"),
        ],
        default=keys.ALL,
    )
    as_strip: BoolProperty(
        name="NLA Track",
        description="Add the action as a strip on an NLA track of its own",
    )

    def _start(self, context: bpy.types.Context) -> to_armature.Job:
        armature, model = context.active_object, _selected_model(context)
        if armature is None or armature.type != "ARMATURE":
            raise UserError("Select the MMD model first, then the armature that gets its motion")
        options = {name: getattr(self, name) for name in self.shown}
        return to_armature.Job(context, model, armature, options)

    def _report(self, job: to_armature.Job) -> set[Any]:
        result = job.result
        assert result is not None
        self._tell(result.notes, result.kept)
        if result.fighting:
            text = tr(
                "Constraints of these bones change the retargeted pose: mute them: {names}",
                names=", ".join(result.fighting),
            )
            self.report({"WARNING"}, text)
        text = tr(
            "Keyed {bones} in the action '{name}'",
            bones=tr_count("1 bone", "{count} bones", result.bones),
            name=result.action,
        )
        self.report({"INFO"}, text)
        return {"FINISHED"}


class MMDSKIN_OT_motion_from_armature(_Retargeting, bpy.types.Operator):
    """Key the active MMD model with the motion of the selected armature, in the scene's frame range"""

    bl_idname = "mmdskin.motion_from_armature"
    bl_label = "Motion from Armature"
    shown = ("feet", "hands", "scale", "legs", "tolerance", "rest")

    feet: FEET
    hands: HANDS
    scale: SCALE
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
        min=1e-4,
        max=10.0,
        soft_max=1.0,
        precision=3,
        step=1,
    )
    rest: EnumProperty(
        name="Rest Pose",
        description="Which pose of the armature is that of a body at rest, arms in A or T pose",
        items=[
            (
                from_armature.AUTOMATIC,
                "Automatic",
                "The rest pose, or the frame that is most like a body at rest",
            ),
            (from_armature.REST, "Rest", "The rest pose"),
            (from_armature.CURRENT, "Current Frame", "The pose at the current frame"),
        ],
        default=from_armature.AUTOMATIC,
    )

    def _start(self, context: bpy.types.Context) -> from_armature.Job:
        model = scene_model.active_model(context)
        others = (obj for obj in context.selected_objects if obj.type == "ARMATURE")
        armature = next((obj for obj in others if obj != model.armature), None)
        if armature is None:
            raise UserError("Select the armature first, then the MMD model that gets its motion")
        options = {name: getattr(self, name) for name in self.shown}
        return from_armature.Job(context, armature, model, options)

    def _report(self, job: from_armature.Job) -> set[Any]:
        imported.tell(self, job.report)
        try:
            start = job.frames_read[0] * playhead.stretch(bpy.context.scene)
            imported.key(self, bpy.context, job.model, job.motion, job.name, start)
        except UserError as error:
            return cancelled(self, error)
        return {"FINISHED"}


def _selected_model(context: bpy.types.Context) -> scene_model.SceneModel:
    """The selected model that the active object does not belong to."""
    for obj in context.selected_objects:
        with contextlib.suppress(UserError):
            model = scene_model.model_of(obj, context.view_layer)
            if model.armature != context.active_object:
                return model
    raise UserError("Select the MMD model first, then the armature that gets its motion")


register, unregister = registration.functions(
    MMDSKIN_OT_retarget_to_armature, MMDSKIN_OT_motion_from_armature
)
