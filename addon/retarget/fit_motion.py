# SPDX-License-Identifier: GPL-3.0-or-later
"""File › Import › MMD Motion for Another Model: a dance that fits the active model's proportions."""

import os
from typing import Any

import bpy
from bpy.props import EnumProperty, StringProperty

from ..blender import input_files, reader_texts, registration
from ..blender.user_error import UserError, cancelled
from ..import_motion import import_state
from ..operator_base import properties
from ..operator_base.importing import Importer
from ..operator_base.model_operator import PosingOperator
from ..scene import model_file, scene_model, setting_paths
from . import imported
from .operators import HANDS, SCALE

_Declared = properties.declaring(
    "_Declared",
    {"frame_start": properties.motion_properties(options={"SKIP_SAVE"})["motion_start"]},
)


class MMDSKIN_OT_fit_motion(_Declared, PosingOperator, Importer, bpy.types.Operator):
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
    hands: HANDS
    scale: SCALE
    mode: EnumProperty(
        name="Import As",
        description="How to apply the motion",
        items=[
            (
                import_state.ORIGINAL,
                "Original Keys",
                "The file's keyframes and curves, with new values",
            ),
            (
                import_state.SOLVED,
                "Solved Keys",
                "Key all moving bones on every frame; matches MMD",
            ),
        ],
        default=import_state.ORIGINAL,
    )

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            model = scene_model.active_model(context)
            (path,) = self._paths()[:1] or [""]
            target = model_file.rig(model.armature).pmx
            motion = model_file.load_motion(path)
            made_for = None
            if self.made_for:
                input_files.choose(self.made_for)
                made_for = model_file.load_model(setting_paths.resolved(self.made_for))
            fitted, report = self._fitted(motion, target, made_for)
            imported.tell(self, report)
            name = os.path.splitext(os.path.basename(path))[0]
            imported.key(self, context, model, fitted, name, self.frame_start, self.mode)
        except UserError as error:
            return cancelled(self, error)
        return {"FINISHED"}

    def _fitted(self, motion: Any, target: Any, made_for: Any) -> Any:
        try:
            return motion.for_model(
                target, made_for=made_for, hands=self.hands, scale=self.scale or None
            )
        except ValueError as error:
            raise UserError(
                "The motion cannot be retargeted: {reason}", reason=reader_texts.sentence(error)
            ) from error


def _menu(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    self.layout.operator(MMDSKIN_OT_fit_motion.bl_idname, text="MMD Motion of Another Model (.vmd)")


register, unregister = registration.functions(
    MMDSKIN_OT_fit_motion, menus={"TOPBAR_MT_file_import": _menu}
)
