# SPDX-License-Identifier: MIT
"""How far the joints of a scene stand outside their limits."""

from typing import NamedTuple

import numpy as np


class Strain(NamedTuple):
    """All (F, J), of the joints that hold something which moves."""

    places: np.ndarray  # units
    angles: np.ndarray  # degrees
    apart: np.ndarray  # units between what is joined, limits or not


def strain(scene, states):
    """Of states (F, N, 13)."""
    bodies = placed(scene["body_position"], angles=scene["body_rotation"])
    joints = placed(scene["joint_position"], angles=scene["joint_rotation"])
    a, b = scene["joint_body_a"], scene["joint_body_b"]
    follows = scene["body_mode"] == 0
    chosen = ~(follows[a] & follows[b])
    a, b, joints = a[chosen], b[chosen], joints[chosen]
    now = placed(states[..., :3], quaternions=states[..., 3:7])
    frame_a = now[:, a] @ np.linalg.inv(bodies[a]) @ joints
    frame_b = now[:, b] @ np.linalg.inv(bodies[b]) @ joints
    between = np.linalg.inv(frame_a) @ frame_b
    limits = {
        name: (scene[f"joint_{name}_lower"][chosen], scene[f"joint_{name}_upper"][chosen])
        for name in ("translation", "rotation")
    }
    way = between[..., :3, 3]
    return Strain(
        np.linalg.norm(outside(way, *limits["translation"]), axis=-1),
        np.degrees(np.linalg.norm(outside(turns(between), *limits["rotation"]), axis=-1)),
        np.linalg.norm(way, axis=-1),
    )


def outside(values, lower, upper):
    return np.where(lower > upper, 0, values - np.clip(values, lower, np.maximum(lower, upper)))


def turns(matrices):
    """Angles about x, y, z of Rx Ry Rz, by which limits are given."""
    m = matrices
    y = np.arcsin(np.clip(m[..., 0, 2], -1, 1))
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    return np.stack([x, y, np.arctan2(-m[..., 0, 1], m[..., 0, 0])], axis=-1)


def placed(positions, *, angles=None, quaternions=None):
    """(..., 4, 4); angles turn by Ry Rx Rz."""
    if quaternions is None:
        rotations = about(angles, 1) @ about(angles, 0) @ about(angles, 2)
    else:
        rotations = of_quaternions(quaternions)
    result = np.zeros((*rotations.shape[:-2], 4, 4))
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = rotations, positions, 1
    return result


def about(angles, axis):
    c, s = np.cos(angles[..., axis]), np.sin(angles[..., axis])
    i, j = (axis + 1) % 3, (axis + 2) % 3
    result = np.zeros((*c.shape, 3, 3))
    result[..., axis, axis], result[..., i, i], result[..., j, j] = 1, c, c
    result[..., i, j], result[..., j, i] = -s, s
    return result


def of_quaternions(q):
    """x y z w; column k is what the turn makes of axis k."""
    v, w = q[..., None, :3], q[..., None, 3:]
    axes = np.eye(3)
    turned = axes + 2 * np.cross(v, np.cross(v, axes) + w * axes)
    return np.swapaxes(turned, -1, -2)
