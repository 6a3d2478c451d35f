# SPDX-License-Identifier: MIT
"""One IK solver, exactly as docs/mmd-behavior.md#ik-solve says: all bones are evaluated again after
each step. The bones are in evaluation order, without appends and other solvers."""

import math

import numpy as np
from judges import pose_twin
from judges.pose_twin import matrix, product

GIMBAL = 1.535889
RIGHT = 1.570796


def solve(bones, t, q):
    """World matrices (B,4,4) of bones, one of which has IK; t and q are the local values before the solve."""
    rig = pose_twin.Rig(bones, np.float64(t), np.array([pose_twin.normalized(r) for r in q]), 3.14)
    goal = next(i for i, bone in enumerate(bones) if bone.ik)
    ik = bones[goal].ik

    def refresh():
        for i in range(len(bones)):
            rig.place(i)

    refresh()
    least = (
        int(min(np.float32(4 * math.pi) / np.float32(ik.unit_angle), 360)) if ik.unit_angle else 0
    )
    loops = max(ik.loop_count, least, 1)
    for i in range(loops):
        for k, link in enumerate(ik.links):
            if link.bone == ik.target:
                continue
            at = rig.world[link.bone][:3, 3]
            e, g = (at - rig.world[b][:3, 3] for b in (ik.target, goal))
            if e @ e < 1.2e-7 or g @ g < 1.2e-7:
                continue
            e, g = e / np.linalg.norm(e), g / np.linalg.norm(g)
            if (e - g) @ (e - g) < 1e-7:
                return rig.world
            parent = bones[link.bone].parent
            n = rig.world[parent][:3, :3].T @ np.cross(e, g)
            angle = math.acos(min(max(e @ g, -1), 1))
            most = ik.unit_angle * (k + 1) if ik.unit_angle else math.inf
            turn = step(bones[link.bone], link, n, angle, most, i < loops // 2)
            if turn is None:
                continue
            own = product(turn, rig.q[link.bone])
            rig.q[link.bone] = limited(own, link, i < loops // 2) if link.lower else own
            refresh()
    return rig.world


def step(bone, link, n, angle, most, first_half):
    used = [a for a in range(3) if link.lower and (link.lower[a] or link.upper[a])]
    if len(used) == 1 and first_half:
        axis = np.eye(3)[used[0]]
        return pose_twin.about(axis if n @ axis >= 0 else -axis, min(angle, most))
    if bone.fixed_axis:
        axis = np.float64(bone.fixed_axis) / np.linalg.norm(bone.fixed_axis)
        sine = np.linalg.norm(n)
        return (
            pose_twin.about(axis, np.clip(angle * (axis @ n) / sine, -most, most)) if sine else None
        )
    return pose_twin.about(n, min(angle, most)) if n @ n > 1e-10 else None


def limited(own, link, reflect):
    (_, r12, r13), (r21, r22, r23), (r31, r32, r33) = r = matrix(pose_twin.normalized(own))
    if link.lower[0] > -RIGHT and link.upper[0] < RIGHT:
        order = "yxz"
        angles = middle(-r23), math.atan2(r13, r33), math.atan2(r21, r22)
    elif link.lower[1] > -RIGHT and link.upper[1] < RIGHT:
        order = "zyx"
        angles = math.atan2(r32, r33), middle(-r31), math.atan2(r21, r[0, 0])
    else:
        order = "xzy"
        angles = math.atan2(r32, r22), math.atan2(r13, r[0, 0]), middle(-r12)
    result = pose_twin.IDENTITY
    for axis in map("xyz".index, order):
        angle = bounded(angles[axis], link.lower[axis], link.upper[axis], reflect)
        result = product(result, pose_twin.about(np.eye(3)[axis], angle))
    return result


def middle(sine):
    return min(max(math.asin(min(max(sine, -1), 1)), -GIMBAL), GIMBAL)


def bounded(angle, lower, upper, reflect):
    if angle < lower:
        back = 2 * lower - angle
        angle = back if reflect and back <= upper else lower
    if angle > upper:
        back = 2 * upper - angle
        angle = back if reflect and back >= lower else upper
    return angle
