# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinning data of a PMX file for which Blender has no place, stored as attributes of the mesh.

`mmd_deform` (INT, point) is the deform type of each vertex, numbered as in `mmdskin.Model.deform`.
Weights are in vertex groups; only if vertex groups cannot store them (below 0, above 1, a bone
twice), `mmd_group_1` to `_4` (INT) and `mmd_weight_1` to `_4` (FLOAT) store all influences. SDEF
points are mmd_tools' shape keys `mmd_sdef_c`, `mmd_sdef_r0`, `mmd_sdef_r1`. Attributes stay with
their vertices through edits; `mesh_source` decides which are still valid.
"""

from typing import Any

import numpy as np
from bpy.types import ID

DEFORM = "mmd_deform"
GROUPS = tuple(f"mmd_group_{slot}" for slot in range(1, 5))
WEIGHTS = tuple(f"mmd_weight_{slot}" for slot in range(1, 5))


def store(mesh: ID, deform: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> None:
    """Store (V,) deform types and (V, 4) influences: vertex group indices (-1 is empty), weights."""
    clear(mesh)
    _put(mesh, DEFORM, "INT", deform)
    if _exceed_groups(groups, weights):
        for slot in range(4):
            _put(mesh, GROUPS[slot], "INT", groups[:, slot])
            _put(mesh, WEIGHTS[slot], "FLOAT", weights[:, slot])


def clear(mesh: ID) -> None:
    for name in (DEFORM, *GROUPS, *WEIGHTS):
        if name in mesh.attributes:
            mesh.attributes.remove(mesh.attributes[name])


def snapshot(mesh: ID) -> dict[str, np.ndarray]:
    """The attributes that exist, by name, for `restore`."""
    kinds = dict.fromkeys(WEIGHTS, np.float32) | dict.fromkeys((DEFORM, *GROUPS), np.int32)
    found = {name: _get(mesh, name, kinds[name]) for name in (DEFORM, *GROUPS, *WEIGHTS)}
    return {name: values for name, values in found.items() if values is not None}


def restore(mesh: ID, attributes: dict[str, np.ndarray]) -> None:
    clear(mesh)
    for name, values in attributes.items():
        _put(mesh, name, "FLOAT" if name in WEIGHTS else "INT", values)


def deform_types(mesh: ID) -> np.ndarray | None:
    """(V,) uint8, or None if the file's types are unknown."""
    values = _get(mesh, DEFORM, np.int32)
    return None if values is None else np.clip(values, 0, 255).astype(np.uint8)


def influences(mesh: ID) -> tuple[np.ndarray, np.ndarray] | None:
    """(V, 4) int32 vertex groups and (V, 4) float32 weights as in the file, or None."""
    columns = [_get(mesh, name, np.int32) for name in GROUPS]
    columns += [_get(mesh, name, np.float32) for name in WEIGHTS]
    if any(column is None for column in columns):
        return None
    return np.stack(columns[:4], 1), np.stack(columns[4:], 1)


def _exceed_groups(groups: np.ndarray, weights: np.ndarray) -> bool:
    used = groups >= 0
    if ((weights < 0) | (weights > 1))[used].any():
        return True
    ordered = np.sort(np.where(used, groups, -1), axis=1)
    return bool(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any())


def _put(mesh: ID, name: str, kind: Any, values: np.ndarray) -> None:
    attribute = mesh.attributes.new(name, kind, "POINT")
    dtype = np.float32 if kind == "FLOAT" else np.int32
    attribute.data.foreach_set("value", np.ascontiguousarray(values, dtype))


def _get(mesh: ID, name: str, dtype: type) -> np.ndarray | None:
    attribute = mesh.attributes.get(name)
    if attribute is None or attribute.domain != "POINT":
        return None
    if attribute.data_type != ("FLOAT" if dtype is np.float32 else "INT"):
        return None
    values: np.ndarray = np.empty(len(attribute.data), dtype)
    attribute.data.foreach_get("value", values)
    return values
