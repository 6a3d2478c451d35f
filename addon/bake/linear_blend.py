# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender's own armature modifier does to each vertex, so that it can be undone."""

import numpy as np

from .. import scene_model
from ..user_error import UserError

_ENOUGH = 1e-4  # sum of weights up to which the modifier leaves a vertex alone
_SINGULAR = 1e-3  # least stretch of a blend, against its greatest, that is worth inverting


def check(obj, armature, differing):
    """UserError when the modifiers of a mesh are not a plain linear blend.

    `differing`: name: [show_viewport, show_render] where they differ from what is set now.
    """
    modifiers = scene_model.armature_modifiers(obj, armature)
    first = modifiers[0]
    shown = differing.get(first.name, (first.show_viewport, first.show_render))
    names = {"modifier": first.name, "name": obj.name}
    if len(modifiers) > 1:
        raise UserError(
            "'{name}' has {count} Armature modifiers: corrective keys need just one",
            name=obj.name,
            count=len(modifiers),
        )
    if not all(shown):
        raise UserError(
            "Modifier '{modifier}' of '{name}' is switched off:"
            " corrective keys need it in viewport and renders",
            **names,
        )
    if first.use_deform_preserve_volume:
        raise UserError(
            "Modifier '{modifier}' of '{name}' has Preserve Volume on: switch it off first",
            **names,
        )
    if first.use_bone_envelopes or not first.use_vertex_groups:
        raise UserError(
            "Modifier '{modifier}' of '{name}' uses bone envelopes: let it use vertex groups only",
            **names,
        )
    for group in obj.vertex_groups:
        bone = armature.data.bones.get(group.name)
        if bone is not None and bone.use_deform:
            if bone.use_envelope_multiply:
                raise UserError(
                    "Bone '{bone}' multiplies vertex groups by its envelope: switch it off",
                    bone=bone.name,
                )
            if bone.bbone_segments > 1:
                raise UserError(
                    "Bone '{bone}' has several segments: let it have one", bone=bone.name
                )


class LinearBlend:
    """Affine maps of the vertices of a mesh, from its weights as Blender uses them."""

    def __init__(self, obj, skinner):
        source = skinner.source
        count = len(source.deform)
        number = np.full(len(obj.vertex_groups), -1)
        for bone, name in enumerate(source.bones):
            number[obj.vertex_groups[name].index] = bone
        vertex, group, weight = source.weights
        used = (group < len(number)) & (weight > 0)
        used[used] = number[group[used]] >= 0
        self.vertex, self.bone = vertex[used], number[group[used]]
        total = np.bincount(self.vertex, weight[used], count)
        weight = weight[used] / np.where(total > 0, total, 1)[self.vertex]
        weight[total[self.vertex] <= _ENOUGH] = 0
        if skinner.share is not None:
            weight = weight * skinner.share[self.vertex]
        self.weight = weight
        self._rest = 1 - np.bincount(self.vertex, self.weight, count)

    def maps(self, matrices, chosen):
        """(n, 3, 4) float64 of the chosen vertices for (B, 4, 4) matrices in mesh space."""
        place = np.full(len(self._rest), -1)
        place[chosen] = np.arange(len(chosen))
        used = place[self.vertex] >= 0
        rows = place[self.vertex[used]]
        parts = matrices[self.bone[used], :3].astype(np.float64).reshape(-1, 12)
        parts *= self.weight[used, None]
        flat = np.zeros((len(chosen), 12))
        for column in range(12):
            flat[:, column] = np.bincount(rows, parts[:, column], len(chosen))
        flat[:, [0, 5, 10]] += self._rest[chosen, None]
        return flat.reshape(-1, 3, 4)


def offsets(maps, wanted):
    """(n, 3) offsets before the maps that give the wanted ones after, and how many cannot.

    Where a blend is flat no offset can leave its plane; the least one that comes nearest is given.
    """
    linear = maps[:, :, :3]
    left, sizes, right = np.linalg.svd(linear)
    flat = sizes < _SINGULAR * sizes[:, :1]
    inverse = np.where(flat, 0, 1 / np.where(flat, 1, sizes))
    inner = np.einsum("vji,vj->vi", left, wanted) * inverse
    return np.einsum("vji,vj->vi", right, inner), int(flat.any(axis=1).sum())
