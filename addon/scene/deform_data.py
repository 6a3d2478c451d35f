# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinning data of a PMX file for which Blender has no place, stored as attributes of the mesh.

`mmd_deform` (INT, point) is the deform type of each vertex, numbered as in `mmdskin.Model.deform`.
Weights are in vertex groups; only if vertex groups cannot store them (below 0, above 1, a bone
twice), `mmd_group_1` to `_4` (INT) and `mmd_weight_1` to `_4` (FLOAT) store all influences. SDEF
points are mmd_tools' shape keys `mmd_sdef_c`, `mmd_sdef_r0`, `mmd_sdef_r1`. Attributes stay with
their vertices through edits; `mesh_source` decides which are still valid.
"""

import numpy as np
from bpy.types import ID

from ..blender import arrays

DEFORM = "mmd_deform"
GROUPS = tuple(f"mmd_group_{slot}" for slot in range(1, 5))
WEIGHTS = tuple(f"mmd_weight_{slot}" for slot in range(1, 5))

_KINDS = dict.fromkeys((DEFORM, *GROUPS), "INT") | dict.fromkeys(WEIGHTS, "FLOAT")
_TYPES = {"INT": np.int32, "FLOAT": np.float32}


def store(mesh: ID, deform: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> None:
    """Store (V,) deform types and (V, 4) influences: vertex group indices (-1 is empty), weights."""
    attributes = {DEFORM: deform}
    if _exceed_groups(groups, weights):
        attributes |= zip(GROUPS + WEIGHTS, (*groups.T, *weights.T), strict=True)
    restore(mesh, attributes)


def clear(mesh: ID) -> None:
    arrays.drop(mesh, *_KINDS)


def snapshot(mesh: ID) -> dict[str, np.ndarray]:
    """The attributes that exist, by name, for `restore`."""
    found = {name: _get(mesh, name) for name in _KINDS}
    return {name: values for name, values in found.items() if values is not None}


def restore(mesh: ID, attributes: dict[str, np.ndarray]) -> None:
    clear(mesh)
    for name, values in attributes.items():
        kind = _KINDS[name]
        arrays.add(mesh, name, "POINT", values.astype(_TYPES[kind]), kind)


def deform_types(mesh: ID) -> np.ndarray | None:
    """(V,) uint8, or None if the file's types are unknown."""
    values = _get(mesh, DEFORM)
    return None if values is None else np.clip(values, 0, 255).astype(np.uint8)


def influences(mesh: ID) -> tuple[np.ndarray, np.ndarray] | None:
    """(V, 4) int32 vertex groups and (V, 4) float32 weights as in the file, or None."""
    columns = [_get(mesh, name) for name in GROUPS + WEIGHTS]
    if any(column is None for column in columns):
        return None
    return np.stack(columns[:4], 1), np.stack(columns[4:], 1)


def _exceed_groups(groups: np.ndarray, weights: np.ndarray) -> bool:
    used = groups >= 0
    if ((weights < 0) | (weights > 1))[used].any():
        return True
    ordered = np.sort(np.where(used, groups, -1), axis=1)
    return bool(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any())


def _get(mesh: ID, name: str) -> np.ndarray | None:
    attribute, kind = mesh.attributes.get(name), _KINDS[name]
    if attribute is None or (attribute.domain, attribute.data_type) != ("POINT", kind):
        return None
    return arrays.read(attribute.data, "value", dtype=_TYPES[kind])
