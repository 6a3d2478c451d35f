# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose a Rigify rig by its FK controls, which its constraints carry on to its bones.

Controls hang on helper bones with constraints: those of one stage are set together, then Blender
evaluates the rig. The torso is moved last, so that the legs are where they must be.
"""

import numpy as np
from bpy.types import Context, Object
from mathutils import Matrix

from ..operator_base.modal_job import Steps, frames_done
from ..scene.skeletons import ORG
from . import keys

SWITCH = "IK_FK"
_SIDES = (".L", ".R")
_SWITCHES = tuple(f"{limb}_parent{side}" for limb in ("upper_arm", "thigh") for side in _SIDES)
_KEPT_PLACE = {"chest", "hips"}  # which only turn
_FINGERS = ("thumb", "f_index", "f_middle", "f_ring", "f_pinky")


def _both(control: str, bone: str = "") -> list[tuple[str, str]]:
    return [(f"{control}{side}", f"{bone or control}{side}") for side in _SIDES]


# Controls with the bones whose rotation they have. Those of one stage do not depend on each other.
_STAGES: tuple[list[tuple[str, str]], ...] = (
    [("torso", "spine")],
    [("hips", "spine"), ("chest", "spine.003")],
    [("spine_fk.001", "spine.001"), ("spine_fk.002", "spine.002")],
    [("spine_fk", "spine"), ("spine_fk.003", "spine.003")],
    [("neck", "spine.004"), *_both("shoulder"), *_both("thigh_fk", "thigh")],
    [("head", "spine.006"), *_both("upper_arm_fk", "upper_arm"), *_both("shin_fk", "shin")],
    [*_both("forearm_fk", "forearm"), *_both("foot_fk", "foot")],
    [*_both("hand_fk", "hand"), *_both("toe_fk", "toe")],
    *([pair for finger in _FINGERS for pair in _both(f"{finger}.0{i}")] for i in (1, 2, 3)),
)


def switches(armature: Object) -> list[str]:
    """The bones with a property that chooses between IK and FK."""
    bones = armature.pose.bones
    return [name for name in _SWITCHES if name in bones and SWITCH in bones[name]]


def channels(
    context: Context, armature: Object, names: list[str], poses: np.ndarray
) -> Steps[keys.BoneValues]:
    """The channels of controls that show poses (F, B, 4, 4) of the named bones, in armature space; all bones
    are at rest before it, and posed after it."""
    bones, number = armature.pose.bones, {name: i for i, name in enumerate(names)}
    stages, legs = _stages(armature, number), [f"{ORG}thigh{side}" for side in _SIDES]
    found: dict[str, list[np.ndarray]] = {control: [] for stage in stages for control, *_ in stage}
    for name in switches(armature):
        bones[name][SWITCH] = type(bones[name][SWITCH])(1)
    armature.update_tag()
    context.view_layer.update()
    for frame, pose in enumerate(poses):
        for stage in stages:
            for control, bone, offset in stage:
                target = Matrix(pose[bone].tolist()) @ offset
                if control in _KEPT_PLACE:
                    target.translation = bones[control].matrix.translation
                bones[control].matrix = target
            context.view_layer.update()
        missing = [pose[number[name], :3, 3] - np.array(bones[name].head) for name in legs]
        bones["torso"].matrix = Matrix.Translation(np.mean(missing, axis=0)) @ bones["torso"].matrix
        for control, values in found.items():
            values.append(np.array(bones[control].matrix_basis))
        yield frames_done(frame + 1, len(poses))
    size = keys.size_of(armature)
    return {name: keys.values(np.array(values), size) for name, values in found.items()}


def _stages(armature: Object, number: dict[str, int]) -> list[list[tuple[str, int, Matrix]]]:
    """Each control with the number of its bone, and its rest in the space of the bone."""
    bones = armature.data.bones
    stages = [
        [
            (
                control,
                number[ORG + bone],
                bones[ORG + bone].matrix_local.inverted() @ bones[control].matrix_local,
            )
            for control, bone in stage
            if control in bones and ORG + bone in number
        ]
        for stage in _STAGES
    ]
    return list(filter(None, stages))
