# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints that apply a model's IK and append while it is posed by hand.

They have mmd_tools' names and types. Appends follow docs/mmd-behavior.md#append; IK chains are
approximate, since Blender's IK solver is not MMD's.
"""

import itertools
import math
from typing import Any

import numpy as np
from bpy.types import Object, PoseBone, TransformConstraint
from mathutils import Matrix

from ..blender.native import mmdskin
from ..scene.mmd_tools import IK_LIMIT, LOCATION, ROTATION
from .model_import import ModelImport, Records

_MOST_TURNS = 8  # full turns with which a bone follows another
_SAME = 1e-6  # of axes and factors: no rotation or translation
_LEAST_LOOPS = 50  # MMD's solver takes larger steps
_STIFFNESS = 0.8  # of a knee: at 0.6 some straight legs still fold, at 0.95 feet fall short
_BEND = math.radians(0.8)  # of a leg, which the solver bends further; at 0.5 some legs fold
_MOST_BACK = math.radians(15)  # up to which a knee counts as modeled backwards


def add(importing: ModelImport, armature: Object) -> None:
    """Create the constraints; warns of IK bones that cannot have a chain in Blender."""
    records = importing.pmx.bones
    bones = [armature.pose.bones[name] for name in importing.bone_names]
    for number, record in enumerate(records):
        append = record.append
        if append and append.ratio and not _is_above(records, number, append.source):
            _append(bones[number], bones[append.source], append)
    missing = []
    for number, record in enumerate(records):
        if not record.ik:
            continue
        bone_indices = chain(record.ik, records)
        if not bone_indices or any(_is_above(records, above, number) for above in bone_indices):
            missing.append(bones[number].name)
        else:
            _solve(bones[number], [bones[i] for i in bone_indices], record.ik, bones)
    if missing:
        importing.caution(
            "1 IK bone has no effect, because IK chains in Blender follow bone parents: {names}",
            "{count} IK bones have no effect, because IK chains in Blender follow bone"
            " parents: {names}",
            count=len(missing),
            names=", ".join(missing),
        )


def chain(ik: "mmdskin.IK", records: Records) -> tuple[int, ...]:
    """Indices of the bones from the effector's parent to the last link, () if links are not connected."""
    links = [link.bone for link in ik.links if link.bone != ik.target]
    found, bone = [], records[ik.target].parent if ik.target >= 0 else -1
    while links and bone >= 0:
        found.append(bone)
        if bone == links[0]:
            links.pop(0)
        bone = records[bone].parent
    return () if links else tuple(found)


def _is_above(records: Records, bone: int, other: int) -> bool:
    """Whether a bone is the other or its ancestor: Blender cannot evaluate it after the other."""
    while other >= 0 and other != bone:
        other = records[other].parent
    return other == bone


def _append(bone: PoseBone, source: PoseBone, append: "mmdskin.Append") -> None:
    """Append the source's rotation and translation from rest, times the file's factor; with its parents' if
    the append is local (docs/mmd-behavior.md#local-append)."""
    space = "LOCAL_WITH_PARENT" if append.local else "LOCAL_OWNER_ORIENT"
    axes = np.eye(3)
    if append.local:  # available in Blender in the source's axes only
        axes = np.array(bone.bone.matrix_local.inverted() @ source.bone.matrix_local)[:3, :3]
    if append.rotation:
        _append_rotation(bone, source, append.ratio, space, Matrix(axes.tolist()))
    if append.translation:
        _append_translation(bone, source, append.ratio * axes, space)


def _append_rotation(
    bone: PoseBone, source: PoseBone, ratio: float, space: str, axes: Matrix
) -> None:
    is_turned = axes.to_quaternion().angle > _SAME
    if is_turned:
        _turn(_transform(bone, source, ROTATION, "ROTATION", space), axes)
    rest = abs(ratio)
    for _ in range(_MOST_TURNS):  # whole turns, then a fraction
        constraint = _transform(bone, source, ROTATION, "ROTATION", space)
        # Negated angles in the opposite order are the inverse.
        constraint.from_rotation_mode = "XYZ"
        constraint.to_euler_order = "XYZ" if ratio > 0 else "ZYX"
        constraint.influence = min(rest, 1.0)
        _map(constraint, "_rot", math.pi, [math.copysign(1.0, ratio)] * 3)
        rest -= 1.0
        if rest <= 0:
            break
    if is_turned:
        _turn(_transform(bone, source, ROTATION, "ROTATION", space), axes.inverted())


def _append_translation(bone: PoseBone, source: PoseBone, factors: np.ndarray, space: str) -> None:
    """`factors`: (3, 3) from the source's translation to that of the bone."""
    for shift in range(3):  # a constraint maps each axis from one of the source's axes
        order = [0, 1, 2][shift:] + [0, 1, 2][:shift]
        taken = [float(factors[i, order[i]]) for i in range(3)]
        if any(abs(factor) > _SAME for factor in taken):
            constraint = _transform(bone, source, LOCATION, "LOCATION", space)
            for axis, i in zip("xyz", order, strict=True):
                setattr(constraint, f"map_to_{axis}_from", "XYZ"[i])
            _map(constraint, "", 1.0, taken)


def _transform(bone: PoseBone, source: PoseBone, name: str, kind: Any, space: Any) -> Any:
    constraint = bone.constraints.new("TRANSFORM")
    constraint.name = name
    constraint.target, constraint.subtarget = bone.id_data, source.name
    constraint.target_space, constraint.owner_space = space, "LOCAL"
    constraint.use_motion_extrapolate = True
    constraint.map_from = constraint.map_to = kind
    constraint.map_to_x_from, constraint.map_to_y_from, constraint.map_to_z_from = "XYZ"
    constraint.mix_mode_rot = "AFTER"
    return constraint


def _map(constraint: TransformConstraint, suffix: str, whole: float, factors: list[float]) -> None:
    for (axis, factor), (side, sign) in itertools.product(
        zip("xyz", factors, strict=True), (("min", -1), ("max", 1))
    ):
        setattr(constraint, f"from_{side}_{axis}{suffix}", sign * whole)
        setattr(constraint, f"to_{side}_{axis}{suffix}", sign * whole * factor)


def _turn(constraint: TransformConstraint, rotation: Matrix) -> None:
    """Let the constraint rotate its bone by a constant rotation (3, 3)."""
    constraint.to_euler_order = "XYZ"
    euler: Any = rotation.to_euler("XYZ")
    for (axis, angle), side in itertools.product(zip("xyz", euler, strict=True), ("min", "max")):
        setattr(constraint, f"to_{side}_{axis}_rot", angle)


def _solve(
    goal: PoseBone, chained: list[PoseBone], ik: "mmdskin.IK", bones: list[PoseBone]
) -> None:
    """Let the chain, listed from the effector, reach the target."""
    constraint = chained[0].constraints.new("IK")
    constraint.target, constraint.subtarget = goal.id_data, goal.name
    constraint.chain_count = len(chained)
    constraint.iterations = max(ik.loop_count, _LEAST_LOOPS)
    links = {bones[link.bone]: link for link in ik.links if link.bone >= 0}
    ends = [bones[ik.target], *chained]
    for end, bone in zip(ends, chained, strict=False):
        link = links.get(bone)
        if link is None:  # MMD does not rotate unlisted bones
            bone.lock_ik_x = bone.lock_ik_y = bone.lock_ik_z = True
        elif link.lower is not None:
            _limit(bone, link, end)


def _limit(bone: PoseBone, link: "mmdskin.IKLink", end: PoseBone) -> None:
    """Limits about the file's axes, set on the closest axes of the bone."""
    turn = np.array(bone.bone.matrix_local)[:3, :3][[0, 2, 1]]  # rows in the file's order
    orders = list(itertools.permutations(range(3)))
    order = max(orders, key=lambda order: sum(abs(turn[i, k]) for k, i in enumerate(order)))
    limit = None
    for k, axis in enumerate("xyz"):
        lower, upper = link.lower[order[k]], link.upper[order[k]]
        if turn[order[k], k] > 0:  # swapping y and z reverses the rotation
            lower, upper = -upper, -lower
        lower, upper = max(lower, -math.pi), min(upper, math.pi)
        if lower >= upper:
            setattr(bone, f"lock_ik_{axis}", True)
        setattr(bone, f"use_ik_limit_{axis}", True)
        setattr(bone, f"ik_min_{axis}", lower)
        setattr(bone, f"ik_max_{axis}", upper)
        if lower <= 0 <= upper:
            continue
        # Blender clamps IK limits to include zero. A Limit Rotation constraint bends the knee
        # first, so that the solver knows the direction of a straight knee. The foot hardly moves
        # while a straight knee starts to bend, so the solver's first step would fold some legs
        # completely and permanently: stiffness makes that step smaller.
        setattr(bone, f"ik_stiffness_{axis}", _STIFFNESS)
        if limit is None:
            limit = bone.constraints.new("LIMIT_ROTATION")
            limit.name, limit.owner_space = IK_LIMIT, "LOCAL"
        setattr(limit, f"use_limit_{axis}", True)
        straight = _straight(bone, k, end)
        if lower > 0:
            lower = min(max(lower, straight + _BEND), upper)
        else:
            upper = max(min(upper, straight - _BEND), lower)
        setattr(limit, f"min_{axis}", lower)
        setattr(limit, f"max_{axis}", upper)


def _straight(bone: PoseBone, axis: int, end: PoseBone) -> float:
    """The angle about its axis at which a bone and the next are in line with its parent's head;
    0 if it is too large for a knee modeled slightly backwards."""
    above, head, below = (each.bone.head_local for each in (bone.parent or bone, bone, end))
    turn = np.array(bone.bone.matrix_local)[:3, :3].T
    across, along = (axis + 1) % 3, (axis + 2) % 3
    first, second = turn @ (head - above), turn @ (below - head)
    angle = math.atan2(first[along], first[across]) - math.atan2(second[along], second[across])
    angle = math.remainder(angle, math.tau)
    return angle if abs(angle) < _MOST_BACK else 0.0
