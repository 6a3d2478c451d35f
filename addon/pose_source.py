# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinning matrices of the evaluated armature."""

import numpy as np


class PoseError(Exception):
    """The pose cannot be used; the text is a sentence for the user."""


def matrices(armature, obj, bones, depsgraph):
    """(B, 4, 4) float32 from rest to pose of the named bones, in the space of mesh object `obj`."""
    evaluated = armature.evaluated_get(depsgraph)
    pose_bones = evaluated.pose.bones
    flat = np.empty(16 * len(pose_bones), np.float32)
    # matrix_channel is pose_bone.matrix @ bone.matrix_local.inverted(), stored column by column.
    pose_bones.foreach_get("matrix_channel", flat)
    number = {bone.name: index for index, bone in enumerate(pose_bones)}
    in_armature = flat.reshape(-1, 4, 4).transpose(0, 2, 1)[[number[name] for name in bones]]

    armature_world = np.array(evaluated.matrix_world, np.float64)
    mesh_world = np.array(obj.evaluated_get(depsgraph).matrix_world, np.float64)
    for thing, world in ((armature, armature_world), (obj, mesh_world)):
        if not np.isfinite(world).all() or abs(np.linalg.det(world[:3, :3])) < 1e-30:
            raise PoseError(f"'{thing.name}' has a scale of zero")
    to_mesh = np.linalg.solve(mesh_world, armature_world)
    return (to_mesh @ in_armature.astype(np.float64) @ np.linalg.inv(to_mesh)).astype(np.float32)
