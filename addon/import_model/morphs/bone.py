# SPDX-License-Identifier: GPL-3.0-or-later
"""Bone morphs: an Action constraint, before all others, for each bone that a morph moves.

Translations are added and the morph's rotation is applied after the bone's own, as in
docs/mmd-behavior.md#bone-morphs. All morphs share one action, one after the other.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy.types import Action, Object, PoseBone
from mathutils import Matrix, Quaternion, Vector

from ...blender import actions
from ...scene.names import BONE_MORPH
from .weights import Weights

if TYPE_CHECKING:
    import mmdskin

_STEPS = 10  # frames of the action per morph, with linear interpolation between rotations
_STRIDE = 2 * _STEPS
_SWAP = Matrix(((1, 0, 0), (0, 0, 1), (0, 1, 0)))  # the file's axes in Blender


def add(
    rig: Object, pmx: "mmdskin.Model", bone_names: Sequence[str], weights: Weights, scale: float
) -> None:
    acting = [
        (number, morph)
        for number, morph in enumerate(pmx.morphs)
        if morph.kind == "bone" and _moved(morph, len(bone_names))
    ]
    if not acting or not rig.pose.bones:
        return
    action, slot, holder = actions.new_action(f"{rig.name}_morphs")
    keys: dict = {}
    for place, (number, morph) in enumerate(acting):
        for bone_index, (translation, rotation) in _moved(morph, len(bone_names)).items():
            bone = rig.pose.bones[bone_names[bone_index]]
            rest = bone.bone.matrix_local.to_3x3()
            moved = rest.transposed() @ Vector(translation).xzy * scale
            turn = rest.transposed() @ _SWAP @ rotation.to_matrix() @ _SWAP @ rest
            _key(keys, bone.name, place * _STRIDE, moved, turn.to_quaternion())
            _constrain(bone, action, slot, number, place * _STRIDE, weights)
    curves = actions.Curves(holder)
    for (path, index, name), points in keys.items():
        frames, values = np.array(points).T
        curves.write(path, frames, values, index=index, group=name)


def _moved(
    morph: "mmdskin.Morph", count: int
) -> dict[int, tuple[tuple[float, float, float], Quaternion]]:
    """{bone: (translation, rotation)} of the file; several entries of a bone are combined."""
    found: dict = {}
    for index, values in zip(morph.indices.tolist(), morph.values.tolist(), strict=True):
        x, y, z, w = values[3:]
        if 0 <= index < count:
            before, turned = found.get(index, ((0.0, 0.0, 0.0), Quaternion()))
            moved = tuple(a + b for a, b in zip(before, values[:3], strict=True))
            found[index] = moved, Quaternion((w, x, y, z)).normalized() @ turned
    return found


def _key(
    keys: dict[tuple[str, int, str], list[tuple[int, float]]],
    name: str,
    start: int,
    moved: Vector,
    turn: Quaternion,
) -> None:
    """Add a bone's motion from a frame on: {(path, index, bone): [(frame, value)]}."""
    paths = actions.bone_paths(name)
    for step in range(_STEPS + 1):
        share = step / _STEPS
        shifted: Any = moved * share
        rotation: Any = Quaternion().slerp(turn, share)
        for channel, values in (
            ("location", list(shifted)),
            ("rotation_quaternion", list(rotation)),
        ):
            for index, value in enumerate(values):
                points = keys.setdefault((paths[channel], index, name), [])
                points.append((start + step, value))


def _constrain(
    bone: PoseBone, action: Action, slot: Any, number: int, start: int, weights: Weights
) -> None:
    constraint = bone.constraints.new("ACTION")
    constraint.name = f"{BONE_MORPH}_{number}"
    constraint.action = action
    if slot is not None:
        constraint.action_slot = slot
    constraint.owner_space, constraint.mix_mode = "LOCAL", "BEFORE_SPLIT"
    constraint.frame_start, constraint.frame_end = start, start + _STEPS
    constraint.use_eval_time, constraint.show_expanded = True, False
    # After the previous morphs and before all other constraints, which then use the moved bone.
    others = [
        index
        for index, other in enumerate(bone.constraints)
        if not other.name.startswith(BONE_MORPH)
    ]
    if others:
        bone.constraints.move(len(bone.constraints) - 1, others[0])
    weights.drive(constraint, "eval_time", [number], lambda expressions: expressions[0])
