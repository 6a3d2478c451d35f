# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints by which Blender shows a model's IK and append while it is posed by hand.

They have mmd_tools' names and forms. Appends do what docs/mmd-behaviour.md#append says; Blender's IK
solver is not MMD's, so chains come close.
"""

import itertools
import math

import numpy as np
from mathutils import Matrix

from ..rig_constraints import IK_LIMIT, LOCATION, ROTATION

_MOST_TURNS = 8  # by which a bone follows another
_SAME = 1e-6  # of axes and factors: nothing to turn or move
_LEAST_LOOPS = 50  # MMD's solver takes larger steps
_STIFFNESS = 0.8  # of a knee: some straight legs still fold at 0.6, feet fall short at 0.95
_BEND = math.radians(0.8)  # of a leg that the solver bends further; with 0.5 some fold
_MOST_BACK = math.radians(15)  # to which a knee counts as modelled backwards


def add(armature, records, bone_names):
    """Make the constraints; returns the names of the IK bones that Blender has no chain for."""
    bones = [armature.pose.bones[name] for name in bone_names]
    for number, record in enumerate(records):
        append = record.append
        if append and append.ratio and not _is_above(records, number, append.source):
            _append(bones[number], bones[append.source], append)
    missing = []
    for number, record in enumerate(records):
        if not record.ik:
            continue
        numbers = chain(record.ik, records)
        if not numbers or any(_is_above(records, above, number) for above in numbers):
            missing.append(bone_names[number])
        else:
            _solve(bones[number], [bones[i] for i in numbers], record.ik, bones)
    return missing


def chain(ik, records):
    """Numbers of the bones from the effector's parent to the last link, () where links lie apart."""
    links = [link.bone for link in ik.links if link.bone != ik.target]
    found, bone = [], records[ik.target].parent if ik.target >= 0 else -1
    while links and bone >= 0:
        found.append(bone)
        if bone == links[0]:
            links.pop(0)
        bone = records[bone].parent
    return () if links else tuple(found)


def _is_above(records, bone, other):
    """Whether a bone is the other or one of its ancestors: Blender cannot let it wait for the other."""
    while other >= 0 and other != bone:
        other = records[other].parent
    return other == bone


def _append(bone, source, append):
    """What the source is turned and moved from its rest place, by the factor of the file.

    With what its parents do where it is marked local (docs/mmd-behaviour.md#local-append).
    """
    space = "LOCAL_WITH_PARENT" if append.local else "LOCAL_OWNER_ORIENT"
    axes = np.eye(3)
    if append.local:  # which Blender has in the axes of the source alone
        axes = np.array(bone.bone.matrix_local.inverted() @ source.bone.matrix_local)[:3, :3]
    if append.rotation:
        _append_rotation(bone, source, append.ratio, space, Matrix(axes.tolist()))
    if append.translation:
        _append_translation(bone, source, append.ratio * axes, space)


def _append_rotation(bone, source, ratio, space, axes):
    is_turned = axes.to_quaternion().angle > _SAME
    if is_turned:
        _turn(_transform(bone, source, ROTATION, "ROTATION", space), axes)
    rest = abs(ratio)
    for _ in range(_MOST_TURNS):  # whole turns, then a part of one
        constraint = _transform(bone, source, ROTATION, "ROTATION", space)
        # The same angles with the other sign, in the opposite order, are the inverse.
        constraint.from_rotation_mode = "XYZ"
        constraint.to_euler_order = "XYZ" if ratio > 0 else "ZYX"
        constraint.influence = min(rest, 1.0)
        _map(constraint, "_rot", math.pi, [math.copysign(1.0, ratio)] * 3)
        rest -= 1.0
        if rest <= 0:
            break
    if is_turned:
        _turn(_transform(bone, source, ROTATION, "ROTATION", space), axes.inverted())


def _append_translation(bone, source, factors, space):
    """`factors`: (3, 3) from the source's translation to that of the bone."""
    for shift in range(3):  # a constraint takes each axis from one of the source's
        order = [0, 1, 2][shift:] + [0, 1, 2][:shift]
        taken = [float(factors[i, order[i]]) for i in range(3)]
        if any(abs(factor) > _SAME for factor in taken):
            constraint = _transform(bone, source, LOCATION, "LOCATION", space)
            for axis, i in zip("xyz", order, strict=True):
                setattr(constraint, f"map_to_{axis}_from", "XYZ"[i])
            _map(constraint, "", 1.0, taken)


def _transform(bone, source, name, kind, space):
    constraint = bone.constraints.new("TRANSFORM")
    constraint.name = name
    constraint.target, constraint.subtarget = bone.id_data, source.name
    constraint.target_space, constraint.owner_space = space, "LOCAL"
    constraint.use_motion_extrapolate = True
    constraint.map_from = constraint.map_to = kind
    constraint.map_to_x_from, constraint.map_to_y_from, constraint.map_to_z_from = "XYZ"
    constraint.mix_mode_rot = "AFTER"
    return constraint


def _map(constraint, suffix, whole, factors):
    for (axis, factor), (side, sign) in itertools.product(
        zip("xyz", factors, strict=True), (("min", -1), ("max", 1))
    ):
        setattr(constraint, f"from_{side}_{axis}{suffix}", sign * whole)
        setattr(constraint, f"to_{side}_{axis}{suffix}", sign * whole * factor)


def _turn(constraint, rotation):
    """Let the constraint turn its bone by a rotation (3, 3), whatever the source does."""
    constraint.to_euler_order = "XYZ"
    for (axis, angle), side in itertools.product(
        zip("xyz", rotation.to_euler("XYZ"), strict=True), ("min", "max")
    ):
        setattr(constraint, f"to_{side}_{axis}_rot", angle)


def _solve(goal, chained, ik, bones):
    """Let the chain, effector's end first, reach for the goal."""
    constraint = chained[0].constraints.new("IK")
    constraint.target, constraint.subtarget = goal.id_data, goal.name
    constraint.chain_count = len(chained)
    constraint.iterations = max(ik.loop_count, _LEAST_LOOPS)
    links = {bones[link.bone]: link for link in ik.links if link.bone >= 0}
    ends = [bones[ik.target], *chained]
    for end, bone in zip(ends, chained, strict=False):
        link = links.get(bone)
        if link is None:  # MMD does not turn what is not listed
            bone.lock_ik_x = bone.lock_ik_y = bone.lock_ik_z = True
        elif link.lower is not None:
            _limit(bone, link, end)


def _limit(bone, link, end):
    """Limits of the file's axes at those axes of the bone that are closest to them."""
    turn = np.array(bone.bone.matrix_local)[:3, :3][[0, 2, 1]]  # rows in the file's order
    orders = list(itertools.permutations(range(3)))
    order = max(orders, key=lambda order: sum(abs(turn[i, k]) for k, i in enumerate(order)))
    limit = None
    for k, axis in enumerate("xyz"):
        lower, upper = link.lower[order[k]], link.upper[order[k]]
        if turn[order[k], k] > 0:  # exchanging y and z turns the other way round
            lower, upper = -upper, -lower
        lower, upper = max(lower, -math.pi), min(upper, math.pi)
        if lower >= upper:
            setattr(bone, f"lock_ik_{axis}", True)
        setattr(bone, f"use_ik_limit_{axis}", True)
        setattr(bone, f"ik_min_{axis}", lower)
        setattr(bone, f"ik_max_{axis}", upper)
        if lower <= 0 <= upper:
            continue
        # Blender's limits include zero. Bent beforehand by another constraint the solver
        # knows which way a straight knee goes. As the foot hardly moves while that begins to
        # bend, the first step would fold some legs wholly, for good: stiff, it is a smaller one.
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


def _straight(bone, axis, end):
    """The angle about its axis at which a bone and the next lie in line with its parent's head,
    0 where it is too far to come from a knee modelled slightly backwards.
    """
    above, head, below = (each.bone.head_local for each in (bone.parent or bone, bone, end))
    turn = np.array(bone.bone.matrix_local)[:3, :3].T
    across, along = (axis + 1) % 3, (axis + 2) % 3
    first, second = turn @ (head - above), turn @ (below - head)
    angle = math.atan2(first[along], first[across]) - math.atan2(second[along], second[across])
    angle = math.remainder(angle, math.tau)
    return angle if abs(angle) < _MOST_BACK else 0.0
