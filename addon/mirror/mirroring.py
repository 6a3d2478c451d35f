# SPDX-License-Identifier: GPL-3.0-or-later
"""The mirrored values of sliders and bones, which are computed before anything is set."""

from collections.abc import Iterable

import bpy
import numpy as np
from mathutils import Matrix

from ..scene import names, scene_model, sliders

_MIRROR = np.diag((-1.0, 1.0, 1.0))  # about the plane x = 0 of the armature
_SAME = 1e-7


def of_sliders(model: scene_model.SceneModel) -> list[tuple[sliders.Slider, float]]:
    """The sliders of one side that change, with the value of the other side."""
    found = sliders.of_model(model)
    by_name = {slider.name: slider for slider in reversed(found)}
    pairs = names.side_pairs(by_name, names.MORPHS)
    wanted = [(one, by_name[pairs[one.name]].value) for one in found if one.name in pairs]
    return [(slider, value) for slider, value in wanted if slider.value != value]


def of_bones(
    armature: bpy.types.Object, chosen: Iterable[str]
) -> list[tuple[bpy.types.PoseBone, Matrix]]:
    """The bones that change, of the chosen ones and those on their other side, with `matrix_basis`.

    With the mirror S, rest matrices R and P of a bone and of the one on its other side, and B, the
    channels of that one: N B inverse(N), where N = inverse(R) S P. The pose of both sides is then
    mirrored in the armature, whichever way their axes point.
    """
    bones = armature.pose.bones
    pairs = names.side_pairs(bones.keys())
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
