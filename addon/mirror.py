# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirror a pose: bones by their rest poses, whatever their rolls, and sliders by their names.

The operators Flip Sliders and Mirror Pose, and the mirrored values that they set.
"""

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from .blender import registration
from .blender.user_error import cancels
from .operator_base.model_operator import ModelOperator
from .scene import names, scene_model, sliders

_ROTATIONS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
_MIRROR = np.diag((-1.0, 1.0, 1.0))  # about the plane x = 0 of the armature
_SAME = 1e-7


class _Mirroring(ModelOperator):
    moves_bones = True

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        models = self.models(context)
        for model in models:
            scene_model.check_editable(model.armature)
        # All is computed before anything is set.
        armatures = [model.armature for model in models] if self.moves_bones else []
        bones = [one for armature in armatures for one in _mirrored_bones(context, armature)]
        values = [one for model in models for one in _mirrored_sliders(model)]
        for bone, basis in bones:
            bone.matrix_basis = basis
        for slider, value in values:
            slider.set(value)
        if context.scene.tool_settings.use_keyframe_insert_auto:
            for bone, _ in bones:
                rotation = _ROTATIONS.get(bone.rotation_mode, "rotation_euler")
                for path in ("location", rotation, "scale"):
                    bone.keyframe_insert(path, group=bone.name)
            for slider, _ in values:
                slider.owner.keyframe_insert(slider.path)
        if not (bones or values):
            self.inform("Both sides have the same values")
        return {"FINISHED"}


class MMDSKIN_OT_flip_sliders(_Mirroring, bpy.types.Operator):
    """Swap the values of left and right morphs, such as the winks"""

    bl_idname = "mmdskin.flip_sliders"
    bl_label = "Flip Sliders"
    moves_bones = False


class MMDSKIN_OT_mirror_pose(_Mirroring, bpy.types.Operator):
    """Mirror the pose: selected bones in Pose Mode, else all bones, and the morphs of both sides"""

    bl_idname = "mmdskin.mirror_pose"
    bl_label = "Mirror Pose"


def _mirrored_sliders(model: scene_model.SceneModel) -> list[tuple[sliders.Slider, float]]:
    """The sliders of one side that change, with the value of the other side."""
    found = sliders.of_model(model)
    by_name = {slider.name: slider for slider in reversed(found)}
    pairs = names.side_pairs(by_name, names.MORPHS)
    wanted = [(one, by_name[pairs[one.name]].value) for one in found if one.name in pairs]
    return [(slider, value) for slider, value in wanted if slider.value != value]


def _mirrored_bones(
    context: bpy.types.Context, armature: bpy.types.Object
) -> list[tuple[bpy.types.PoseBone, Matrix]]:
    """The bones that change, with `matrix_basis`: those selected in Pose Mode, else all, and those on
    their other side.

    With the mirror S, rest matrices R and P of a bone and of the one on its other side, and B, the
    channels of that one: N B inverse(N), where N = inverse(R) S P. The pose of both sides is then
    mirrored in the armature, whichever way their axes point.
    """
    bones = armature.pose.bones
    pairs = names.side_pairs(bones.keys())
    selected = context.selected_pose_bones if armature.mode == "POSE" else None
    chosen = [bone.name for bone in selected or () if bone.id_data == armature] or bones.keys()
    chosen_names = dict.fromkeys(one for name in chosen for one in (name, pairs.get(name, name)))
    before = {name: np.array(bones[name].matrix_basis) for name in chosen_names}
    changed = []
    for name in chosen_names:
        other = pairs.get(name, name)
        if other == name and names.is_one_side(name):
            continue  # there is nothing that it could be the mirror image of
        turn = _rest(bones[name]).T @ _MIRROR @ _rest(bones[other])
        basis = np.eye(4)
        basis[:3, :3] = turn @ before[other][:3, :3] @ turn.T
        basis[:3, 3] = turn @ before[other][:3, 3]
        if np.abs(basis - before[name]).max() > _SAME:
            changed.append((bones[name], Matrix(basis.tolist())))
    return changed


def _rest(pose_bone: bpy.types.PoseBone) -> np.ndarray:
    """(3, 3) the axes of a bone at rest, in the armature."""
    axes = np.array(pose_bone.bone.matrix_local)[:3, :3]
    left, _, right = np.linalg.svd(axes)
    return left @ right


register, unregister = registration.functions(__name__)
