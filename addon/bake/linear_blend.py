# SPDX-License-Identifier: GPL-3.0-or-later
"""The linear blend that Blender's Armature modifier applies to each vertex, and its inverse."""

import numpy as np
from bpy.types import Object

from ..blender.user_error import UserError
from ..pose.skinner import Skinner
from ..scene import scene_model

_ENOUGH = 1e-4  # sum of weights below which the modifier ignores a vertex
_SINGULAR = 1e-3  # smallest singular value worth inverting, relative to the largest


def check(obj: Object, armature: Object, differing: dict) -> None:
    """UserError when the modifiers of a mesh are not a plain linear blend.

    `differing`: name: [show_viewport, show_render] where they differ from the current values.
    """
    modifiers = scene_model.armature_modifiers(obj, armature)
    first = modifiers[0]
    shown = differing.get(first.name, (first.show_viewport, first.show_render))
    names = {"modifier": first.name, "name": obj.name, "count": len(modifiers)}
    if len(modifiers) > 1:
        raise UserError(
            "'{name}' has {count} Armature modifiers: corrective keys need exactly one", **names
        )
    if not all(shown):
        raise UserError(
            "Modifier '{modifier}' of '{name}' is disabled: corrective keys need it in"
            " viewport and renders",
            **names,
        )
    if first.use_deform_preserve_volume:
        raise UserError(
            "Modifier '{modifier}' of '{name}' has Preserve Volume on: turn it off first", **names
        )
    if first.use_bone_envelopes or not first.use_vertex_groups:
        raise UserError(
            "Modifier '{modifier}' of '{name}' uses Bone Envelopes: turn them off first", **names
        )
    for group in obj.vertex_groups:
        bone = armature.data.bones.get(group.name)
        if bone is not None and bone.use_deform:
            if bone.use_envelope_multiply:
                raise UserError(
                    "Bone '{bone}' has Envelope Multiply on: turn it off first", bone=bone.name
                )
            if bone.bbone_segments > 1:
                raise UserError(
                    "Bone '{bone}' is a bendy bone: set its Segments to 1", bone=bone.name
                )


class LinearBlend:
    """Affine maps of vertices, with weights normalized as Blender does."""

    def __init__(
        self, vertex: np.ndarray, bone: np.ndarray, weight: np.ndarray, count: int
    ) -> None:
        """Entries of `count` vertices, sorted by vertex; weight missing to 1 belongs to the rest pose."""
        self.vertex, self.bone, self.weight = vertex, bone, weight
        self._rest = 1 - np.bincount(vertex, weight, count)
        first = np.searchsorted(vertex, vertex)
        rank = np.arange(len(vertex)) - first
        # No vertex occurs twice in any of these.
        self._rounds = [np.flatnonzero(rank == place) for place in range(rank.max(initial=-1) + 1)]

    @classmethod
    def read(cls, obj: Object, skinner: Skinner) -> "LinearBlend":
        source = skinner.source
        count = len(source.deform)
        number = np.full(len(obj.vertex_groups), -1)
        for bone, name in enumerate(source.bones):
            number[obj.vertex_groups[name].index] = bone
        vertex, group, weight = source.weights
        used = (group < len(number)) & (weight > 0)
        used[used] = number[group[used]] >= 0
        vertex, bone, weight = vertex[used], number[group[used]], weight[used]
        total = np.bincount(vertex, weight, count)
        weight = weight / np.where(total > 0, total, 1)[vertex]
        weight[total[vertex] <= _ENOUGH] = 0
        if skinner.influence is not None:
            weight = weight * skinner.influence[vertex]
        return cls(vertex, bone, weight, count)

    def subset(self, chosen: np.ndarray) -> "LinearBlend":
        """The blend of the chosen vertices only, (n,) sorted."""
        place = np.full(len(self._rest), -1)
        place[chosen] = np.arange(len(chosen))
        used = place[self.vertex] >= 0
        return LinearBlend(
            place[self.vertex[used]], self.bone[used], self.weight[used], len(chosen)
        )

    def maps(self, matrices: np.ndarray) -> np.ndarray:
        """(n, 3, 4) float64 of the vertices for (B, 4, 4) matrices in mesh space."""
        rows = matrices[:, :3].astype(np.float64).reshape(-1, 12)
        flat = np.zeros((len(self._rest), 12))
        for entries in self._rounds:
            flat[self.vertex[entries]] += self.weight[entries, None] * rows[self.bone[entries]]
        flat[:, [0, 5, 10]] += self._rest[:, None]
        return flat.reshape(-1, 3, 4)


def moved(maps: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(…, 3) vectors after the linear part of maps (…, 3, 3 or 4)."""
    # Five times as fast as einsum or matmul for such small matrices.
    return sum(maps[..., axis] * vectors[..., axis, None] for axis in range(3))


def offsets(maps: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) offsets before the maps that give the target offsets after them, and which are singular.

    No offset can leave the plane of a flat blend: then it is the smallest least-squares solution.
    """
    columns = maps[:, :, :3].transpose(2, 0, 1)
    cofactors = np.stack([np.cross(columns[i - 2], columns[i - 1]) for i in range(3)], axis=1)
    volume = np.einsum("vi,vi->v", cofactors[:, 0], columns[0])
    # A flat map has a smaller determinant; the singular value decomposition is slow, so few get it.
    maybe = np.abs(volume) <= _SINGULAR * np.linalg.norm(maps[:, :, :3], axis=(1, 2)) ** 3
    result = moved(cofactors, wanted) / np.where(maybe, 1, volume)[:, None]
    left, sizes, right = np.linalg.svd(maps[maybe, :, :3])
    flat = sizes < _SINGULAR * sizes[:, :1]
    inverse = np.where(flat, 0, 1 / np.where(flat, 1, sizes))
    inner = np.einsum("vji,vj->vi", left, wanted[maybe]) * inverse
    result[maybe] = np.einsum("vji,vj->vi", right, inner)
    return result, np.flatnonzero(maybe)[flat.any(axis=1)]
