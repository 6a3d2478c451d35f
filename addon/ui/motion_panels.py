# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels below Motion: physics, and the map of an armature's bones for retargeting."""

from typing import Any

from bpy.types import Context, Panel, PropertyGroup, Scene, UILayout, UIList

from ..blender import native, registration
from ..blender.translations import label, tr
from ..operator_base import properties
from ..physics import cache, live
from ..physics.operators import (
    MMDSKIN_OT_keep_physics,
    MMDSKIN_OT_settle,
    MMDSKIN_OT_simulate,
    MMDSKIN_OT_simulate_alone,
    MMDSKIN_OT_simulate_together,
    needs_file,
)
from ..pose import physics_settings, pose_source
from ..preview import switch
from ..retarget import bone_map
from ..scene import scene_model
from . import drawing, panels, shown_model


class MMDSKIN_PT_physics(drawing.Below, Panel):
    bl_label = "Physics"
    bl_parent_id = panels.MMDSKIN_PT_motion.__name__

    @classmethod
    def poll(cls, context: Context) -> bool:
        model = shown_model.shown(context)
        return model is not None and "physics" in properties.shown_of_pose(
            model.armature.mmdskin, context.scene
        )

    def draw_header(self, context: Context) -> None:
        self.layout.prop(shown_model.shown(context).armature.mmdskin, "physics", text="")

    def draw(self, context: Context) -> None:
        layout, model = self.layout, shown_model.shown(context)
        armature, settings = model.armature, model.armature.mmdskin
        layout.enabled = settings.physics
        _live_physics(layout, model)
        drawing.settings(layout, settings, _of_physics(settings, context.scene, rare=False))
        name = settings.physics_group
        members = pose_source.members_of(name, armature, context.scene) if name else []
        others = [obj for obj in members if obj != armature]
        if others:
            names = ", ".join(sorted((scene_model.root_of(obj) or obj).name for obj in others))
            drawing.wrapped(layout, tr("Simulated together with {names}", names=names))
            layout.operator(MMDSKIN_OT_simulate_alone.bl_idname, icon="UNLINKED")
        if needs_file(model):
            drawing.button(layout, MMDSKIN_OT_simulate, model, "PHYSICS")
            if any(moving.played for moving in live.of_armature(armature)):
                layout.operator(MMDSKIN_OT_keep_physics.bl_idname, icon="FILE_TICK")
        mixed = any(obj.mmdskin.source == "MOTION" for obj in others)
        if settings.physics and (problem := _physics_problem(model, mixed)):
            drawing.wrapped(layout, problem)


class MMDSKIN_PT_more_physics(drawing.Below, Panel):
    bl_label = "More Physics Settings"
    bl_parent_id = MMDSKIN_PT_physics.__name__
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        settings = shown_model.shown(context).armature.mmdskin
        self.layout.enabled = settings.physics
        rare = _of_physics(settings, context.scene, rare=True)
        drawing.settings(self.layout, settings, [*rare, *physics_settings.MORE])
        self.layout.operator(MMDSKIN_OT_simulate_together.bl_idname, icon="LINKED")


def _of_physics(settings: PropertyGroup, scene: Scene, rare: bool) -> list[str]:
    """The settings of the physics that have an effect: those that few users change, or the others."""
    shown = [n for n in properties.shown_of_pose(settings, scene) if n.startswith("physics_")]
    return [name for name in shown if (name in physics_settings.RARE) == rare]


def _live_physics(layout: UILayout, model: scene_model.SceneModel) -> None:
    settings = model.armature.mmdskin
    if settings.source == "MOTION":  # which shows the physics of each frame
        return
    row = layout.row(align=True)
    row.active = cache.state_of(model.armature).moves
    row.prop(settings, physics_settings.LIVE)
    if settings.physics_live:
        row.operator(MMDSKIN_OT_settle.bl_idname, text="", icon="FILE_REFRESH")


def _physics_problem(model: scene_model.SceneModel, mixed: bool) -> str:
    """What is worth telling about a model's physics, "" for nothing. `mixed`: whether it is simulated
    together with models that motion files move."""
    armature, settings = model.armature, model.armature.mmdskin
    if not any(switch.is_live(obj) for obj in model.meshes):
        return MMDSKIN_OT_simulate.unavailable(model) if needs_file(model) else ""
    state = cache.state_of(armature)
    problem = state.problem_text
    if not settings.physics_live or settings.source == "MOTION" or not state.moves:
        return problem
    for moving in live.of_armature(armature):
        if moving.problem:
            return str(moving.problem)
    if mixed:
        return tr("Models with a motion file do not touch the others live")
    if problem and needs_file(model) and not settings.physics_cache:
        return tr("Renders show no live physics: Simulate, or play from the first frame and Keep")
    return problem


class MMDSKIN_UL_bone_map(UIList):
    def draw_item(  # type: ignore[override]
        self,
        context: Context,
        layout: UILayout,
        data: Any,
        item: Any,
        icon: int,
        active_data: Any,
        active_property: str,
    ) -> None:
        row = layout.split(factor=0.45)
        row.alert = bool(item.doubt)
        row.label(text=bone_map.title(item.name), translate=False)
        row.prop_search(item, "bone", data.id_data.data, "bones", text="")


class MMDSKIN_PT_retarget(drawing.Tab, Panel):
    bl_label = "Retargeting"
    bl_parent_id = panels.MMDSKIN_PT_motion.__name__
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, obj = self.layout, context.active_object
        column = layout.column(align=True)
        column.operator("mmdskin.retarget_to_armature", icon="EXPORT")
        column.operator("mmdskin.motion_from_armature", icon="IMPORT")
        column.operator("mmdskin.fit_motion", icon="ANIM")
        if obj.type != "ARMATURE":
            return
        layout.label(
            text=label("Bones of '{name}'", name=obj.name), icon="ARMATURE_DATA", translate=False
        )
        row = layout.row(align=True)
        row.operator("mmdskin.map_bones", icon="FILE_REFRESH")
        row.operator("mmdskin.mirror_bone_map", icon="MOD_MIRROR")
        settings = obj.mmdskin
        if not len(settings.bone_map):
            text = tr("Bones are found automatically: use Automatic to see and change them")
            drawing.wrapped(layout, text)
            return
        layout.template_list(
            "MMDSKIN_UL_bone_map", "", settings, "bone_map", settings, "bone_map_active", rows=8
        )
        for item in settings.bone_map:
            if item.doubt:
                text = f"{bone_map.title(item.name)}: {native.translated(item.doubt)}"
                drawing.wrapped(layout, text, alert=True)


register, unregister = registration.functions(__name__)
