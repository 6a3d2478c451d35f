# SPDX-License-Identifier: MIT
"""convert(): between MMD's coordinates and those of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import mmdskin

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    _Array = NDArray[Any]

_BLOCK = 1 << 16  # numbers
UNITS_PER_METER = 12.5  # a character of 20 units is 1.6 m tall


class _CoordinateSystem(NamedTuple):
    """How a program's axes, units and layouts differ from MMD's. Its axes come from MMD's by one
    reflection, which is its own inverse."""

    axes: tuple[int, int, int] = (0, 1, 2)  # which of MMD's axes each axis is
    signs: tuple[int, int, int] = (1, 1, 1)
    mirrored: bool = True  # right-handed: triangles are counter-clockwise, rotations turn back
    units: float = UNITS_PER_METER  # MMD's per unit
    v_up: bool = False
    w_first: bool = False  # quaternions w x y z


_SYSTEMS = {
    "mmd": _CoordinateSystem(mirrored=False, units=1),
    "blender": _CoordinateSystem((0, 2, 1), v_up=True, w_first=True),
    "gltf": _CoordinateSystem(signs=(1, 1, -1)),
    "opengl": _CoordinateSystem(signs=(1, 1, -1), units=1, v_up=True),
    "smpl": _CoordinateSystem(signs=(1, 1, -1), v_up=True),
}


def _reals(values: ArrayLike) -> _Array:
    array = np.asarray(values)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _reflect(array: _Array, system: _CoordinateSystem) -> _Array:
    reflected: _Array = array[..., system.axes] * np.asarray(system.signs, array.dtype)
    return reflected


def _scale(array: _Array, system: _CoordinateSystem, back: bool) -> _Array:
    """Lengths in the other unit: in double, so that the way back ends at the same float32."""
    if system.units == 1:
        return array
    if back:
        return np.multiply(array, system.units, dtype=np.float64).astype(np.float32)
    return np.divide(array, system.units, dtype=np.float64)


def _positions(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    return _scale(_reflect(_reals(values), system), system, back)


def _normals(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    return _reflect(_reals(values), system)


def _tangents(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    """w stays: MMD's points along v, downwards in the image, the others' upwards; and a reflection
    turns the cross product."""
    array = _reals(values)
    return np.concatenate([_reflect(array[..., :3], system), array[..., 3:]], -1)


def _triangles(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    array = np.asarray(values)
    return array[..., [0, 2, 1]] if system.mirrored else array.copy()


def _uvs(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    array = _reals(values)
    if not system.v_up:
        return array.copy()
    out = array.astype(np.float64)  # as lengths: see _scale
    out[..., 1] = 1 - out[..., 1]
    return out.astype(np.float32) if back else out


def _quaternions(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    array = _reals(values)
    if back and system.w_first:
        array = array[..., [1, 2, 3, 0]]
    axis = _reflect(array[..., :3], system) * array.dtype.type(-1 if system.mirrored else 1)
    array = np.concatenate([axis, array[..., 3:]], -1)
    return array if back or not system.w_first else array[..., [3, 0, 1, 2]]


def _matrices(values: ArrayLike, system: _CoordinateSystem, back: bool) -> _Array:
    array = _reals(values)
    signs = np.asarray(system.signs, array.dtype)
    axes = np.asarray(system.axes)
    out = array.copy() if system.units == 1 or back else array.astype(np.float64)
    out[..., :3, :3] = array[..., axes[:, None], axes] * signs[:, None] * signs
    out[..., :3, 3] = _positions(array[..., :3, 3], system, back)
    return out.astype(np.float32) if back and system.units != 1 else out


_KINDS: dict[
    str, tuple[Callable[[Any, _CoordinateSystem, bool], _Array], list[tuple[int, ...]]]
] = {
    # name: function, lengths of the last axes
    "positions": (_positions, [(3,)]),
    "normals": (_normals, [(3,)]),
    "tangents": (_tangents, [(3,), (4,)]),
    "triangles": (_triangles, [(3,)]),
    "uvs": (_uvs, [(2,)]),
    "quaternions": (_quaternions, [(4,)]),
    "matrices": (_matrices, [(4, 4), (3, 4)]),
}


def _convert_array(values: Any, kind: str, system: _CoordinateSystem, back: bool) -> _Array:
    function, shapes = _KINDS[kind]
    shape = np.shape(values)
    if not any(shape[-len(last) :] == last for last in shapes):
        wanted = " or ".join(f"(…, {', '.join(map(str, last))})" for last in shapes)
        raise ValueError(f"{kind}: shape {shape}, expected {wanted}")
    array = np.asarray(values)
    rows = _BLOCK * len(array) // (array.size + 1) + 1
    if rows >= len(array) or shape in shapes:
        return function(array, system, back)
    # by blocks that fit into caches, between which Python handles Ctrl-C
    first = function(array[:rows], system, back)
    out = np.empty((len(array), *first.shape[1:]), first.dtype)
    out[:rows] = first
    for row in range(rows, len(array), rows):
        out[row : row + rows] = function(array[row : row + rows], system, back)
    return out


def _record(record: Any, kinds: dict[str, str], source: str, to: str) -> Any:
    changed = {
        name: convert(getattr(record, name), kind, source=source, to=to)
        for name, kind in kinds.items()
        if getattr(record, name) is not None
    }
    return record._replace(**changed)


def convert(values: Any, kind: str | None = None, *, to: str = "mmd", source: str = "mmd") -> Any:
    """Converts values to the coordinates of another program, or back to MMD's.

        mesh = mmdskin.convert(out.positions, "positions", to="blender")
        pose = mmdskin.convert(pose, to="gltf")

    values: an array, or a Skinned, a Pose or a Camera, of which each member is converted.
    kind: what an array holds: "positions" (…,3), "normals" (…,3), "tangents" (…,3) or (…,4),
        "triangles" (…,3), "uvs" (…,2), "quaternions" (…,4), x y z w, in Blender w x y z, or
        "matrices" (…,4,4) or (…,3,4): skinning matrices, or world or local transforms.
    to, source: "mmd", "blender" (+Z up, meters), "gltf" (+Y up, right-handed, meters), "smpl" (the
        same axes and units) or "opengl" (the same axes in MMD's units).

    Returns new arrays. Numbers that are not only reordered, which are positions and matrices in
    meters, and uvs, are float64, and back in MMD's coordinates float32: values come back exactly.
    Other arrays keep their type. Raises ValueError for names that are unknown, for an array without
    kind, and for wrong shapes.
    """
    for name, system in (("to", to), ("source", source)):
        if system not in _SYSTEMS:
            raise ValueError(f'{name}: unknown "{system}", expected one of {", ".join(_SYSTEMS)}')
    records: dict[type[Any], dict[str, str]] = {
        mmdskin.Skinned: {"positions": "positions", "normals": "normals", "tangents": "tangents"},
        mmdskin.Pose: {"bone_matrices": "matrices"},
        mmdskin.Camera: {"position": "positions", "target": "positions", "up": "normals"},
    }
    for record, kinds in records.items():
        if isinstance(values, record):
            if kind is not None:
                raise ValueError(f"kind: expected None for a {record.__name__}")
            return _record(values, kinds, source, to)
    if kind not in _KINDS:
        found = "an array needs one of" if kind is None else f'unknown "{kind}", expected one of'
        raise ValueError(f"kind: {found} {', '.join(_KINDS)}")
    if source != "mmd":
        values = _convert_array(values, kind, _SYSTEMS[source], back=True)
    return _convert_array(values, kind, _SYSTEMS[to], back=False)
