# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Switch Names."""

from typing import Any

from bpy.props import EnumProperty
from bpy.types import Context, Operator

from ..blender import registration
from ..blender.user_error import UserError, cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import ModelOperator
from ..scene import names, scene_model
from . import renaming


class MMDSKIN_OT_switch_names(ModelOperator, Operator):
    """Rename bones, shape keys and materials to their Japanese or English names"""

    bl_idname = "mmdskin.switch_names"
    bl_label = "Switch Names"

    language: EnumProperty(
        name="Language",
        description="Language to rename to",
        items=[("SWITCH", "Switch", "Switch to the other language"), *names.LANGUAGES],
        default="SWITCH",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        try:
            renaming.root_with_names(model)
        except UserError as error:
            return str(error)
        return ""

    @cancels
    def execute(self, context: Context) -> set[Any]:
        count = unknown = 0
        with editing(self.models(context), renaming.check) as edit:
            for model, _ in edit.checked:
                renamed = renaming.rename(model, self._english(model))
                edit.on_failure(renaming.restore, renamed)
                count += renamed.total
                if names.language_of(model.armature) == "ENGLISH":
                    unknown += renaming.without_english(model)
        self.inform(
            "Renamed 1 bone, shape key or material",
            "Renamed {count} bones, shape keys and materials",
            count=count,
        )
        if unknown:
            self.inform(
                "1 keeps its Japanese name, because its English name is unknown",
                "{count} keep their Japanese names, because their English names are unknown",
                count=unknown,
            )
        return {"FINISHED"}

    def _english(self, model: scene_model.SceneModel) -> bool:
        if self.language != "SWITCH":
            return self.language == "ENGLISH"
        return names.language_of(model.armature) == "JAPANESE"


register, unregister = registration.functions(MMDSKIN_OT_switch_names)
