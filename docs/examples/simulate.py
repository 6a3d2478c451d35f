# SPDX-License-Identifier: MIT
"""A dance with physics: mmdskin.World moves hair and skirts from the first frame on.

    python simulate.py model.pmx dance.vmd dance.npz

writes the Pose of all frames (bone_matrices and morph_weights), which mmdskin.skin() accepts. The
world is stepped twice per frame; bodies that follow bones get the motion's pose of each half frame.
The other bodies then move their bones (with mode "physics_and_bone" they only rotate them), and the
bones' descendants follow.
"""

import sys
from collections.abc import Sequence

import mmdskin
import numpy as np
from numpy.typing import NDArray

SETTLING = 60  # steps in the first pose, so that hair hangs down before the dance starts
FOLLOWS, TURNS = "follow_bone", "physics_and_bone"
Array = NDArray[np.float64]


def rotation_matrices(q: Array) -> Array:
    """Rotation matrices of quaternions x y z w (..., 4)."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrices(transforms: Array) -> Array:
    """Matrices (..., 4, 4) of positions and quaternions (..., 7)."""
    out = np.zeros((*transforms.shape[:-1], 4, 4))
    out[..., :3, :3] = rotation_matrices(transforms[..., 3:7])
    out[..., :3, 3], out[..., 3, 3] = transforms[..., :3], 1
    return out


def transforms(matrices: Array) -> Array:
    """Positions and quaternions (..., 7) of matrices (..., 4, 4)."""
    m = matrices[..., :3, :3]
    trace = np.einsum("...ii", m)
    products = np.empty(
        (*m.shape[:-2], 4, 4)
    )  # 4 times the products of the quaternion's components
    products[..., :3, :3] = m + m.swapaxes(-1, -2) + (1 - trace)[..., None, None] * np.eye(3)
    products[..., 3, 3] = 1 + trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        products[..., i, 3] = products[..., 3, i] = m[..., k, j] - m[..., j, k]
    # each row is a multiple of the quaternion; the row of its largest component is exact
    largest = np.argmax(np.einsum("...ii->...i", products), axis=-1)[..., None, None]
    q = np.take_along_axis(products, largest, axis=-2)[..., 0, :]
    q /= np.copysign(np.linalg.norm(q, axis=-1), q[..., 3])[..., None]
    return np.concatenate([matrices[..., :3, 3], q], axis=-1)


def simulate(model: mmdskin.Model, motion: mmdskin.Motion, last_frame: int) -> mmdskin.Pose:
    """The Pose of frames 0 to last_frame."""
    world = mmdskin.World(model.rigid_bodies, model.joints)
    rest = matrices(world.state)
    bones = np.array([body.bone for body in model.rigid_bodies], int)
    follows = np.array([body.mode == FOLLOWS for body in model.rigid_bodies], bool)

    pose = model.pose(motion, np.arange(2 * last_frame + 1) / 2)
    posed = pose.bone_matrices.astype(float)
    bodies = np.where((bones >= 0)[:, None, None], posed[:, bones] @ rest, rest)
    paths = transforms(bodies)

    state = np.array(world.state)
    state[:, :7] = paths[0]
    world.state = state
    for _ in range(SETTLING):
        world.step(paths[0, follows])
    states = [world.state]
    for path in paths[1:]:
        world.step(path[follows])
        states.append(world.state)
    simulated = matrices(np.array(states)[::2]) @ np.linalg.inv(rest)
    return mmdskin.Pose(
        moved_bones(model, posed[::2], simulated).astype(np.float32), pose.morph_weights[::2]
    )


def moved_bones(model: mmdskin.Model, posed: Array, simulated: Array) -> Array:
    """Skinning matrices (F, B, 4, 4) of the motion, with bones moved by their bodies."""
    moved = posed.copy()
    body_of = {body.bone: i for i, body in enumerate(model.rigid_bodies) if body.mode != FOLLOWS}
    for bone in parents_first(model.bones):
        record = model.bones[bone]
        if record.parent >= 0:
            change = moved[:, record.parent] @ np.linalg.inv(posed[:, record.parent])
            moved[:, bone] = change @ posed[:, bone]
        if bone in body_of:
            body, head = body_of[bone], np.array((*record.position, 1))
            kept = moved[:, bone] @ head
            moved[:, bone] = simulated[:, body]
            if model.rigid_bodies[body].mode == TURNS:
                moved[:, bone, :3, 3] += (kept - moved[:, bone] @ head)[:, :3]
    return moved


def parents_first(bones: Sequence[mmdskin.Bone]) -> dict[int, None]:
    order: dict[int, None] = {}
    for bone in range(len(bones)):
        chain: list[int] = []
        while bone >= 0 and bone not in order:
            chain.append(bone)
            bone = bones[bone].parent
        order.update(dict.fromkeys(reversed(chain)))
    return order


def main(model_path: str, motion_path: str, output: str) -> None:
    model, motion = mmdskin.load_model(model_path), mmdskin.load_motion(motion_path)
    pose = simulate(model, motion, motion.frame_range[1])
    np.savez_compressed(output, **pose._asdict())


if __name__ == "__main__":
    main(*sys.argv[1:])
