# SPDX-License-Identifier: MIT
"""Chains of a few bones and bodies without contacts, a motion that swings them, and single balls."""

import mmdskin
import numpy as np
from files import pmx_file as pmx

FOLLOW_BONE, PHYSICS, PHYSICS_AND_BONE = range(3)
LINKS = 4
MIDDLE_LIMITS = {"rotation_lower": (-0.6, -0.3, -0.6), "rotation_upper": (0.6, 0.3, 0.6)}


def ball(bone, position, mode=PHYSICS, **fields):
    defaults = {"mask": 0, "size": (0.2, 0, 0), "linear_damping": 0.1, "angular_damping": 0.1}
    return pmx.RigidBody(f"b{bone}", bone=bone, position=position, mode=mode, **(defaults | fields))


def joint(a, b, position, **fields):
    return pmx.Joint(f"j{a}{b}", body_a=a, body_b=b, position=position, **fields)


def chain_file(modes=(PHYSICS,) * LINKS, height=20.0):
    """A root that a motion moves, and links below it; each body is half a unit below its bone."""
    file = pmx.PMX(bones=[pmx.Bone("root", position=(0, height, 0))])
    file.rigid_bodies = [ball(0, (0, height, 0), FOLLOW_BONE)]
    for link, mode in enumerate(modes, 1):
        top = height - link + 1
        file.bones.append(pmx.Bone(f"link{link}", position=(0.1 * link, top, 0), parent=link - 1))
        file.rigid_bodies.append(
            ball(link, (0.1 * link, top - 0.5, 0.05), mode, rotation=(0.1, 0.2 * link, 0.3))
        )
        file.joints.append(joint(link - 1, link, (0.1 * link, top, 0), **MIDDLE_LIMITS))
    file.bones.append(pmx.Bone("tip", position=(0, height - len(modes), 0), parent=len(modes)))
    return file


def unstable_file():
    """An extremely stiff spring accelerates its body beyond all bounds."""
    file = chain_file()
    file.rigid_bodies[3].mass = 1e-30
    file.joints[2].translation_lower, file.joints[2].translation_upper = (1, 1, 1), (-1, -1, -1)
    file.joints[2].translation_spring = (1e38,) * 3
    return file


def balls_file(*balls, name="balls"):
    """A bone and a body for each (position, mode, fields)."""
    file = pmx.PMX(name=name)
    for i, (position, mode, fields) in enumerate(balls):
        file.bones.append(pmx.Bone(f"{name}{i}", position=position))
        file.rigid_bodies.append(
            ball(i, position, mode, **({"mask": 0xFFFF, "size": (1, 0, 0)} | fields))
        )
    return file


def load(file):
    return mmdskin.load_model(pmx.write(file))


def swing(frames=90, name="root"):
    """A motion that moves and rotates the root, with a key every ten frames."""
    keys = np.arange(0, frames + 1, 10)
    translations = np.stack([2 * np.sin(keys / 9), np.cos(keys / 7), keys / 60], axis=1)
    rotations = np.stack([np.sin(keys / 11), 0 * keys, np.sin(keys / 8), 2 + 0 * keys], axis=1)
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    return mmdskin.Motion.from_tracks([(name, keys, translations, rotations, None)])


def bone_positions(model, pose):
    """The positions of the bones, (..., B, 3)."""
    rest = np.array([(*bone.position, 1) for bone in model.bones])
    return np.einsum("...bij,bj->...bi", pose.bone_matrices.astype(float), rest)[..., :3]


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))
