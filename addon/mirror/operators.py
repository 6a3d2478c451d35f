# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Flip Sliders and Mirror Pose."""

from collections.abc import Iterable, Sequence
from typing import Any

import bpy
from mathutils import Matrix

from ..blender import registration
from ..blender.translations import tr
from ..blender.user_error import cancels
from ..operator_base.model_operator import ModelOperator
from ..scene import scene_model, sliders
from . import mirroring

_ROTATIONS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}


class MMDSKIN_OT_flip_sliders(ModelOperator, bpy.types.Operator):
    """Swap the values of left and right morphs, such as the winks"""

    bl_idname = "mmdskin.flip_sliders"
    bl_label = "Flip Sliders"

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        changes = [mirroring.of_sliders(_checked(model)) for model in self.models(context)]
        for one in changes:
            _set_sliders(context, one)
        if not any(changes):
            self.report({"INFO"}, tr("Both sides have the same values"))
        return {"FINISHED"}


class MMDSKIN_OT_mirror_pose(ModelOperator, bpy.types.Operator):
    """Mirror the pose: selected bones in Pose Mode, else all bones, and the morphs of both sides"""

    bl_idname = "mmdskin.mirror_pose"
    bl_label = "Mirror Pose"

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        models = [_checked(model) for model in self.models(context)]
        changes = [
            (
                mirroring.of_bones(model.armature, _chosen(context, model.armature)),
                mirroring.of_sliders(model),
            )
            for model in models
        ]
        for bones, values in changes:
            _set_bones(context, bones)
            _set_sliders(context, values)
        if not any(bones or values for bones, values in changes):
            self.report({"INFO"}, tr("Both sides have the same values"))
        return {"FINISHED"}


def _checked(model: scene_model.SceneModel) -> scene_model.SceneModel:
    scene_model.check_editable(model.armature)
    return model


def _chosen(context: bpy.types.Context, armature: bpy.types.Object) -> list[str]:
    """The selected bones of an armature in Pose Mode, else all."""
    selected = context.selected_pose_bones if armature.mode == "POSE" else None
    own = [bone.name for bone in selected or () if bone.id_data == armature]
    return own or armature.pose.bones.keys()


def _set_bones(
    context: bpy.types.Context, changes: Iterable[tuple[bpy.types.PoseBone, Matrix]]
) -> None:
    for bone, basis in changes:
        bone.matrix_basis = basis
        if context.scene.tool_settings.use_keyframe_insert_auto:
            rotation = _ROTATIONS.get(bone.rotation_mode, "rotation_euler")
            for path in ("location", rotation, "scale"):
                bone.keyframe_insert(path, group=bone.name)


def _set_sliders(
    context: bpy.types.Context, changes: Sequence[tuple[sliders.Slider, float]]
) -> None:
    for slider, value in changes:
        slider.set(value)
        if context.scene.tool_settings.use_keyframe_insert_auto:
            slider.owner.keyframe_insert(slider.path)


register, unregister = registration.functions(MMDSKIN_OT_flip_sliders, MMDSKIN_OT_mirror_pose)
