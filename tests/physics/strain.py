# SPDX-License-Identifier: MIT
"""How far the joints of a scene are beyond their limits."""

from typing import NamedTuple

import numpy as np


class Strain(NamedTuple):
    """All (F, J), of the joints with at least one dynamic body."""

    stretch: np.ndarray  # units beyond the linear limits
    bend: np.ndarray  # degrees beyond the angular limits
    distance: np.ndarray  # units between the joint positions on both bodies


def strain(scene, states):
    """The strain of states (F, N, 13)."""
    bodies = transforms(scene["body_position"], angles=scene["body_rotation"])
    joints = transforms(scene["joint_position"], angles=scene["joint_rotation"])
    a, b = scene["joint_body_a"], scene["joint_body_b"]
    follows = scene["body_mode"] == 0
    chosen = ~(follows[a] & follows[b])
    a, b, joints = a[chosen], b[chosen], joints[chosen]
    current = transforms(states[..., :3], quaternions=states[..., 3:7])
    axes_a = current[:, a] @ np.linalg.inv(bodies[a]) @ joints
    axes_b = current[:, b] @ np.linalg.inv(bodies[b]) @ joints
    relative = np.linalg.inv(axes_a) @ axes_b
    limits = {
        name: (scene[f"joint_{name}_lower"][chosen], scene[f"joint_{name}_upper"][chosen])
        for name in ("translation", "rotation")
    }
    offset = relative[..., :3, 3]
    return Strain(
        np.linalg.norm(excess(offset, *limits["translation"]), axis=-1),
        np.degrees(np.linalg.norm(excess(euler_angles(relative), *limits["rotation"]), axis=-1)),
        np.linalg.norm(offset, axis=-1),
    )


def excess(values, lower, upper):
    return np.where(lower > upper, 0, values - np.clip(values, lower, np.maximum(lower, upper)))


def euler_angles(matrices):
    """Angles of Rx Ry Rz, to which angular limits apply."""
    m = matrices
    y = np.arcsin(np.clip(m[..., 0, 2], -1, 1))
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    return np.stack([x, y, np.arctan2(-m[..., 0, 1], m[..., 0, 0])], axis=-1)


def transforms(positions, *, angles=None, quaternions=None):
    """(..., 4, 4) from positions and rotations; angles are those of Ry Rx Rz."""
    if quaternions is None:
        rotations = rotation(angles, 1) @ rotation(angles, 0) @ rotation(angles, 2)
    else:
        rotations = from_quaternions(quaternions)
    result = np.zeros((*rotations.shape[:-2], 4, 4))
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = rotations, positions, 1
    return result


def rotation(angles, axis):
    c, s = np.cos(angles[..., axis]), np.sin(angles[..., axis])
    i, j = (axis + 1) % 3, (axis + 2) % 3
    result = np.zeros((*c.shape, 3, 3))
    result[..., axis, axis], result[..., i, i], result[..., j, j] = 1, c, c
    result[..., i, j], result[..., j, i] = -s, s
    return result


def from_quaternions(q):
    """Of x y z w; column k is the rotated axis k."""
    v, w = q[..., None, :3], q[..., None, 3:]
    axes = np.eye(3)
    rotated = axes + 2 * np.cross(v, np.cross(v, axes) + w * axes)
    return np.swapaxes(rotated, -1, -2)
