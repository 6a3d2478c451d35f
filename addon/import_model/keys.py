# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys: SDEF points, vertex morphs, and group morphs as the sum of their vertex morphs.

Groups move vertices linearly, so a key with the sum matches MMD's group exactly.
"""

from typing import TYPE_CHECKING

import numpy as np
from bpy.types import Object, ShapeKey

from ..blender import blender_versions
from ..scene import names
from ..scene.mesh_source import SDEF, key_positions
from ..scene.mmd_tools import RESERVED_KEYS, SDEF_KEYS
from .mesh import put, to_blender

if TYPE_CHECKING:
    import mmdskin


def add_sdef(obj: Object, pmx: "mmdskin.Model", scale: float) -> None:
    """mmd_tools' three SDEF keys; the bone of the lower number is bone 0."""
    sdef = pmx.deform == SDEF
    if not sdef.any():
        return
    basis = _basis(obj)
    points = pmx.sdef[sdef]
    pair = pmx.bone_indices[sdef]
    swapped = pair[:, 0] > pair[:, 1]
    points[swapped, 1:] = points[swapped, :0:-1]
    for column, name in enumerate(SDEF_KEYS):
        positions = basis.copy()
        positions[sdef] = to_blender(points[:, column], scale)
        _add(obj, name, positions).mute = True


def add_morphs(obj: Object, pmx: "mmdskin.Model", scale: float, english: bool) -> dict[int, str]:
    """Create keys for the morphs that move vertices; returns their names by morph index."""
    basis, made = _basis(obj), {}
    for number, name in enumerate(names.morphs(pmx.morphs, RESERVED_KEYS, english)):
        parts = _vertex_parts(pmx.morphs, number)
        if not parts:
            continue
        positions = basis.copy()
        for part, factor in parts:
            np.add.at(positions, part.indices, to_blender(part.values, scale * factor))
        _add(obj, name, positions)
        made[number] = name
    return made


def _vertex_parts(
    morphs: "tuple[mmdskin.Morph, ...]", number: int
) -> "list[tuple[mmdskin.Morph, float]]":
    """(morph, factor) of a morph's vertex morphs; MMD does not nest groups."""
    morph = morphs[number]
    if morph.kind == "vertex":
        return [(morph, 1.0)]
    if morph.kind != "group":
        return []
    children = zip(morph.indices.tolist(), morph.values[:, 0].tolist(), strict=True)
    return [
        (morphs[child], ratio)
        for child, ratio in children
        if child >= 0 and morphs[child].kind == "vertex"
    ]


def _basis(obj: Object) -> np.ndarray:
    """(V, 3) float32 of the reference key, which is created if missing."""
    keys = obj.data.shape_keys
    key = keys.reference_key if keys else obj.shape_key_add(name="Basis", from_mix=False)
    return key_positions(key)


def _add(obj: Object, name: str, positions: np.ndarray) -> ShapeKey:
    key = obj.shape_key_add(name=name, from_mix=False)
    put(*blender_versions.key_positions(key), positions)
    key.value = 0.0
    return key
