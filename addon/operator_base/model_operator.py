# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of operators: those that act on models, need Object or Pose Mode, or have a dialog."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty
from bpy.types import Context, OperatorProperties

from ..blender.translations import Reports, name_of, tr
from ..blender.user_error import UserError
from ..scene import scene_model

_EDIT_MODES = {"EDIT_MESH", "EDIT_ARMATURE", "SCULPT"}


class OptionsDialog:
    """Base class of operators that read or write a file: draws their options."""

    # All options, as dialogs and the redo panel (F9) show them.
    shown: tuple[str, ...] = ()

    def is_used(self, option: str) -> bool:
        """Whether an option has an effect with the current values of the others."""
        return True

    def _options(self) -> SimpleNamespace:
        """The options as they are now: Blender may free the operator while its job runs."""
        return SimpleNamespace(**{name: getattr(self, name) for name in self.shown})

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        for option in filter(self.is_used, self.shown):
            # A column of its own stacks flags vertically: side by side, their labels are cut.
            name = name_of(self.properties, option)
            layout.column().prop(self, option, text=name, translate=False)


class PosingOperator(Reports):
    """Base class of operators that need Object or Pose Mode."""

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set(tr("Switch to Object or Pose Mode first"))
            return False
        return True


class ObjectOperator(Reports):
    """Base class of operators that act neither in Edit nor in Sculpt Mode."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.mode in _EDIT_MODES:
            cls.poll_message_set(tr("Switch to Object Mode first"))
            return False
        return True


class ModelOperator(ObjectOperator):
    all_models: BoolProperty(
        name="All Models",
        description="Apply to every model in the scene, not only the selected ones",
        default=False,
    )

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        """Why the operator cannot act on a model, "" where it can: the panel grays its button out."""
        return ""

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        """The tooltip: with the reason where the operator cannot act, else Blender's own."""
        try:
            model = scene_model.model_of(context.active_object, context.view_layer)
        except UserError:
            return ""
        reason = cls.unavailable(model)
        return f"{bpy.app.translations.pgettext_tip(cls.__doc__)}.\n{reason}" if reason else ""

    def models(self, context: Context) -> list[scene_model.SceneModel]:
        if self.all_models:
            return scene_model.all_models(context.view_layer)
        return scene_model.selected_models(context)

    def models_to_clean(self, context: Context) -> list[scene_model.SceneModel]:
        """As `models`, and the meshes whose armature was removed."""
        objects = context.view_layer.objects if self.all_models else [context.active_object]
        without_armature = scene_model.models_without_armature(objects)
        try:
            return [*self.models(context), *without_armature]
        except UserError:
            if not without_armature:
                raise
            return without_armature


def switch_action(description: str) -> Any:
    """The property `action` of a SwitchOperator."""
    return EnumProperty(
        name="Action",
        description=description,
        items=[
            ("TOGGLE", "Toggle", "Turn on if off, turn off if on"),
            ("ENABLE", "Enable", "Turn on"),
            ("DISABLE", "Disable", "Turn off"),
        ],
        default="TOGGLE",
        options={"SKIP_SAVE"},
    )


class SwitchOperator(ModelOperator):
    """Turns something of models on or off; a subclass declares what, with `switch_action`."""

    if TYPE_CHECKING:
        action: str
        is_on: Callable[[scene_model.SceneModel], bool]

    def models(self, context: Context) -> list[scene_model.SceneModel]:
        """Also decides what toggling means: the opposite of the first model's state, for all."""
        models = super().models(context)
        if self.action == "TOGGLE":
            self.action = "DISABLE" if self.is_on(models[0]) else "ENABLE"
        return models
