# SPDX-License-Identifier: GPL-3.0-or-later
"""The keyframes of one F-curve: written, inserted and compared in bulk."""

import functools
import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import bpy
import numpy as np
from bpy.types import FCurve, Keyframe

from . import arrays

_ITEMS = {  # enum values of keyframe members
    member: {item.identifier: item.value for item in property.enum_items}
    for member, property in Keyframe.bl_rna.properties.items()
    if property.type == "ENUM"
}
INTERPOLATION = _ITEMS["interpolation"]
_HANDLE_TYPES = ("handle_left_type", "handle_right_type")
_ENUMS = (*_HANDLE_TYPES, "interpolation", "easing", "type")
_VECTORS = ("co", "handle_left", "handle_right")
_OVERSHOOT = ("amplitude", "back", "period")  # which only _OVERSHOOTING interpolations use
_POINT = {  # members of a keyframe and their sizes
    **dict.fromkeys(_VECTORS, 2),
    **dict.fromkeys((*_ENUMS, *_OVERSHOOT), 1),
}
_SHAPE = (*_VECTORS, "interpolation", "easing")
# The types come first: a handle that is not free is computed from its neighbors.
_SETTING_ORDER = sorted(_POINT, key=lambda name: name not in _ENUMS)
# Members that foreach_set ignores and that need a loop; likewise foreach_get, for linked actions.
_SET_ONE_BY_ONE = () if bpy.app.version >= (4, 2) else _HANDLE_TYPES
_GET_ONE_BY_ONE = () if bpy.app.version >= (4, 2) else _ENUMS
_THIRD = np.float32(1 / 3)
# The type in which Blender stores enums: any other is converted item by item, five times slower.
_ENUM_DTYPE = np.dtype(np.uint8 if bpy.app.version >= (4, 2) else np.int8)
_OVERSHOOTING = INTERPOLATION["ELASTIC"], INTERPOLATION["BACK"]


def shape(curve: FCurve) -> bytes:
    """Everything that determines the values of a curve."""
    kind = curve.data_path, curve.array_index, curve.mute, curve.extrapolation
    modifiers = [
        [
            getattr(modifier, name)
            for name in modifier.bl_rna.properties.keys()  # noqa: SIM118
            if modifier.bl_rna.properties[name].type in {"FLOAT", "INT", "BOOLEAN", "ENUM"}
        ]
        for modifier in curve.modifiers
    ]
    members = {name: _member(curve, name).tobytes() for name in _SHAPE}
    # Digests that are stored lack them where no keyframe uses them.
    if any(number in members["interpolation"] for number in _OVERSHOOTING):  # one byte each
        members |= {name: _member(curve, name).tobytes() for name in _OVERSHOOT}
    return b"".join([repr((kind, modifiers)).encode(), *members.values()])


def content(curves: Iterable[FCurve]) -> list[tuple]:
    """All of curves, with all members of their keyframes; whether they are muted does not count."""
    return [
        (
            *(curve.data_path, curve.array_index, curve.extrapolation),
            [modifier.type for modifier in curve.modifiers],
            [_member(curve, name).tobytes() for name in _POINT],
        )
        for curve in curves
    ]


class Points(NamedTuple):
    """What determines a curve between its keyframes; one row each."""

    co: np.ndarray  # (K, 2) float32 frame and value
    left: np.ndarray  # (K, 2) float32 handles
    right: np.ndarray  # (K, 2) float32
    interpolation: np.ndarray  # (K, 1) numbers, see INTERPOLATION

    @property
    def frames(self) -> np.ndarray:
        return self.co[:, 0]

    @property
    def values(self) -> np.ndarray:
        return self.co[:, 1]


def points(curve: FCurve) -> Points:
    return Points(*(_member(curve, name) for name in (*_VECTORS, "interpolation")))


def digest(found: Iterable[FCurve], with_handles: bool) -> str:
    """A digest of keyframes, the same whatever the order of the curves and the names in their paths."""
    names = _VECTORS if with_handles else ("co",)
    parts = []
    for curve in found:
        whole = hashlib.blake2b(bytes([curve.array_index, curve.mute]), digest_size=16)
        for name in names:
            whole.update(_member(curve, name).tobytes())
        parts.append(whole.digest())
    return hashlib.blake2b(b"".join(sorted(parts)), digest_size=16).hexdigest()


class Handles(NamedTuple):
    """Free handles of keyframes: frame and value of both handles of each."""

    left: np.ndarray  # (K, 2)
    right: np.ndarray  # (K, 2)
    holds: np.ndarray | None = None  # (K,) bool: the value stays until the next keyframe


def write(
    curve: FCurve, frames: np.ndarray, values: np.ndarray, handles: Handles | None = None
) -> None:
    """Replace the keyframes from the first frame on, and keep earlier ones; linear without handles."""
    if len(curve.sampled_points):  # a curve has either these or keyframes
        ends = [round(frame) for frame in curve.range()]
        curve.convert_to_keyframes(ends[0], ends[1] + 1)
    kept = before(curve, frames[0])
    written = _written(frames, values, handles)
    if len(curve.keyframe_points):
        curve.keyframe_points.clear()
    curve.keyframe_points.add(len(kept.get("co", ())) + len(frames))
    if kept:
        written = _after(curve, kept, written)
    _set_members(curve, written)
    if kept or "handle_left" not in written:
        curve.update()
        _set_free_handles(curve, written)
    else:  # an update would take longer and change nothing
        curve.id_data.update_tag()


def _written(
    frames: np.ndarray, values: np.ndarray, handles: Handles | None
) -> dict[str, np.ndarray]:
    """Members of new keyframes, in the order in which to set them."""
    count, co = len(frames), np.empty((len(frames), 2), np.float32)
    co[:, 0], co[:, 1] = frames, values
    types: Iterable[str] = _HANDLE_TYPES
    if handles is None:
        kind, ways = "VECTOR", _numbers(count, "interpolation", "LINEAR")
        if _SET_ONE_BY_ONE:
            types = ()
        elif count >= arrays.LEAST:  # for fewer, Blender is faster
            handles = _straight_handles(co)
    else:
        kind, ways = "FREE", _numbers(count, "interpolation", "BEZIER")
        if handles.holds is not None:
            ways = ways.copy()
            ways[handles.holds] = INTERPOLATION["CONSTANT"]
    written = {name: _numbers(count, name, kind) for name in types}
    written |= {"interpolation": ways, "co": co}
    if handles is not None:
        written["handle_left"] = np.ascontiguousarray(handles.left, np.float32)
        written["handle_right"] = np.ascontiguousarray(handles.right, np.float32)
    return written


def _straight_handles(co: np.ndarray) -> Handles:
    """The handles of type VECTOR that Blender computes, with its order of operations."""
    first, last = 2 * co[0] - co[1], 2 * co[-1] - co[-2]
    thirds = _THIRD * np.diff(np.vstack([first, co, last]), axis=0)
    return Handles(co - thirds[:-1], co + thirds[1:])


def _after(
    curve: FCurve, kept: dict[str, np.ndarray], written: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Members of the kept keyframes, followed by the written ones."""
    early = len(kept["co"])
    rest = {  # Blender's defaults for new keyframes
        name: _member(curve, name)[early:] for name in _POINT if name not in written
    }
    both = {**rest, **written}
    return {name: np.concatenate([kept[name], both[name]]) for name in _SETTING_ORDER}


def _set_free_handles(curve: FCurve, points: dict[str, np.ndarray]) -> None:
    """Set the handles again: from 4.5 on, `update` moves vertical ones by a thousandth of a frame."""
    for name, kind in zip(("handle_left", "handle_right"), _HANDLE_TYPES, strict=True):
        if name in points:
            is_free = points[kind] == _ITEMS[kind]["FREE"]
            updated = _member(curve, name)
            if (is_free & (updated != points[name])).any():
                _set_member(curve, name, np.where(is_free, points[name], updated))


@functools.lru_cache(maxsize=64)
def _numbers(count: int, member: str, item: str) -> np.ndarray:
    """An array with one enum item for all keyframes; shared, so do not write to it."""
    return np.full((count, 1), _ITEMS[member][item], _ENUM_DTYPE)


def insert(curve: FCurve, frame: float, value: float, shown: float, alone: bool) -> None:
    """Insert a keyframe among others.

    `alone`: also key the frames before and after, so that they do not change. This is also done if
    the curve was constant: else the values around the new keyframe would change. `shown` is the
    value to keep if there are no keyframes.
    """
    points = curve.keyframe_points
    if not len(points):
        write(curve, np.array([frame - 1, frame, frame + 1]), np.array([shown, value, shown]))
        return
    co = _member(curve, "co")
    is_constant = (co[:, 1] == co[0, 1]).all() and co[0, 0] < frame < co[-1, 0]
    around = [frame - 1, frame + 1] if alone or is_constant else []
    for at, kept in [(at, curve.evaluate(at)) for at in around]:
        points.insert(at, kept)
    points.insert(frame, value)
    curve.update()


def before(curve: FCurve, frame: float) -> dict[str, np.ndarray]:
    """The keyframes before a frame: each member as an array of rows; {} if there are none."""
    if not len(curve.keyframe_points):
        return {}
    early = _member(curve, "co")[:, 0] < frame
    return {name: _member(curve, name)[early] for name in _POINT} if early.any() else {}


def _member(curve: FCurve, name: str) -> np.ndarray:
    if name in _GET_ONE_BY_ONE:
        numbers = [_ITEMS[name][getattr(point, name)] for point in curve.keyframe_points]
        return np.array(numbers, _ENUM_DTYPE).reshape(-1, 1)
    if name in arrays.MEMBERS:
        found = arrays.read_keyframes(curve.keyframe_points, name)
        if found is not None:
            return found
    dtype = _ENUM_DTYPE if name in _ENUMS else np.float32
    flat = np.empty(_POINT[name] * len(curve.keyframe_points), dtype)
    curve.keyframe_points.foreach_get(name, flat)
    return flat.reshape(-1, _POINT[name])


def _set_members(curve: FCurve, columns: dict[str, np.ndarray]) -> None:
    """Set members in their order, except that coordinates and handles may come first."""
    vectors = {name: columns[name] for name in arrays.MEMBERS if name in columns}
    done = vectors if arrays.write_keyframes(curve.keyframe_points, vectors) else {}
    for name, column in columns.items():
        if name not in done:
            _set_member(curve, name, column)


def _set_member(curve: FCurve, name: str, column: np.ndarray) -> None:
    if name in _SET_ONE_BY_ONE:
        names = {number: item for item, number in _ITEMS[name].items()}
        for point, number in zip(curve.keyframe_points, column.ravel().tolist(), strict=True):
            setattr(point, name, names[number])
    else:
        curve.keyframe_points.foreach_set(name, column.ravel())
