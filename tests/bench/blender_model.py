# SPDX-License-Identifier: GPL-3.0-or-later
"""A model of 25,000 vertices, 10,000 of them SDEF, with 300 moving bones, for benchmarks."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "blender"), str(HERE.parent)]

import bpy  # noqa: E402
import numpy as np  # noqa: E402
import scene  # noqa: E402
from files import pmx_file  # noqa: E402

LIMBS, RINGS, SIDES = 100, 25, 10  # each limb has three bones


def pmx():
    """Limbs side by side; of each limb's 25 rings, the 10 around its two joints are SDEF."""
    ring = np.repeat(np.arange(RINGS), SIDES)
    angle = np.tile(np.arange(SIDES) * 2 * np.pi / SIDES, RINGS)
    positions, indices, weights, deform, sdef, triangles, bones = [], [], [], [], [], [], []
    for limb in range(LIMBS):
        center = np.array([limb % 10, 2.0 * (limb // 10), 0.0])
        along = ring * 1.5 / (RINGS - 1)
        circle = np.stack([0.2 * np.cos(angle), along, 0.2 * np.sin(angle)], 1)
        positions.append(circle + center)
        first = 3 * limb
        joint = np.where(ring < 12, 8, 16)
        lower = np.where(ring < 12, first, first + 1)
        blended = np.abs(ring - joint) <= 2
        share = np.clip((joint - ring) / 6 + 0.5, 0.1, 0.9)
        only = first + np.searchsorted([8, 16], ring)
        indices.append(
            np.stack([np.where(blended, lower, only), np.where(blended, lower + 1, -1)], 1)
        )
        weights.append(np.stack([np.where(blended, share, 1), np.where(blended, 1 - share, 0)], 1))
        deform.append(np.where(blended, scene.SDEF, 0))
        c = center + np.stack([0 * along, joint * 1.5 / (RINGS - 1), 0 * along], 1)
        sdef.append(np.stack([c, c - (0, 0.3, 0), c + (0, 0.3, 0)], 1) * blended[:, None, None])
        corner = np.arange((RINGS - 1) * SIDES)
        right = corner // SIDES * SIDES + (corner + 1) % SIDES
        quads = [(corner, right, right + SIDES), (corner, right + SIDES, corner + SIDES)]
        triangles += [np.stack(quad, 1) + limb * RINGS * SIDES for quad in quads]
        for part in range(3):
            at = center + (0, part * 8 * 1.5 / (RINGS - 1), 0)
            bones.append(
                pmx_file.Bone(
                    f"b{first + part}", position=at, parent=first + part - 1 if part else -1
                )
            )
    count = LIMBS * RINGS * SIDES
    empty = np.full((count, 2), -1)
    moved = np.arange(0, count, 10)
    return pmx_file.PMX(
        name="bench",
        positions=np.concatenate(positions).astype(np.float32),
        normals=np.tile(np.float32([0, 1, 0]), (count, 1)),
        uvs=np.zeros((count, 2), np.float32),
        additional_uvs=np.zeros((count, 0, 4), np.float32),
        edge_scales=np.ones(count, np.float32),
        deform=np.concatenate(deform).astype(np.uint8),
        bone_indices=np.concatenate([np.concatenate(indices), empty], 1).astype(np.int32),
        bone_weights=np.concatenate([np.concatenate(weights), 0 * empty], 1).astype(np.float32),
        sdef=np.concatenate(sdef).astype(np.float32),
        triangles=np.concatenate(triangles).astype(np.int32),
        bones=bones,
        morphs=[
            pmx_file.Morph(f"m{i}", kind=1, indices=moved, values=np.full((len(moved), 3), 0.01))
            for i in range(5)
        ],
    )


def build(frames=100):
    """The scene with the model; every bone has keys at the first and the last frame."""
    scene.clear()
    built = scene.Scene(pmx())
    numbers = np.random.default_rng(1)
    for bone in built.armature.pose.bones:
        bone.rotation_mode = "XYZ"
        for frame in (1, frames):
            bone.rotation_euler = numbers.uniform(-0.8, 0.8, 3)
            bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames
    return built
