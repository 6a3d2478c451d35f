# SPDX-License-Identifier: MIT
"""What Model.from_arrays() and Model.replace() make of members that are not given, or in short."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdskin.argument import number
from mmdskin.array_arguments import check_shape, converted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    import mmdskin

_SLOTS = 4  # of a vertex
_POSITIONAL = 2  # arguments, at most
_VERTICES = (  # what has a row for each vertex, apart from positions
    *("normals", "uvs", "additional_uvs", "edge_scales", "deform"),
    *("bone_indices", "bone_weights", "sdef"),
)
_MEMBERS = (  # in the order of the extension module
    *("positions", "triangles", *_VERTICES, "bones", "morphs", "materials", "textures"),
    *("display_frames", "rigid_bodies", "joints"),
    *("name", "name_english", "comment", "comment_english", "version"),
)
_in_order = itemgetter(*_MEMBERS)


def members(
    function: str,
    like: mmdskin.Model | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
) -> tuple[Any, ...]:
    """A value for each member: None for its default, `...` for that of the model `like`."""
    values: dict[str, Any] = dict.fromkeys(_MEMBERS, None if like is None else ...)
    values.update(_arguments(function, args, kwargs or {}))
    positions, version = values["positions"], values["version"]
    given = values["bone_indices"] is not None or values["bone_weights"] is not None
    counts = like is not None or given
    if positions is not None and positions is not ... and counts:
        positions = values["positions"] = converted(positions, "positions", "float32", 5)[1]
        check_shape(positions.shape, "positions", ("V", 3))
    kept = getattr(like, "positions", None) if positions is ... else positions
    count = len(kept) if counts and kept is not None else 0
    if like is not None:
        _check_kept(like, values, count)
    if given:
        _complete_influences(like, values, count)
    if version is None:
        values["version"] = 0.0
    elif version is not ...:
        values["version"] = number(version, "version")
        if not 1 <= values["version"] < 3:
            raise ValueError(f"version: {version}, expected 2.0 or 2.1")
    ordered: tuple[Any, ...] = _in_order(values)
    return ordered


def _arguments(function: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    if len(args) > _POSITIONAL:
        raise TypeError(
            f"{function}() takes at most {_POSITIONAL} positional arguments ({len(args)} given)"
        )
    given = dict(zip(_MEMBERS, args, strict=False))
    for name in kwargs:
        if name not in _MEMBERS:
            raise TypeError(f"{name!r} is an invalid keyword argument for {function}()")
        if name in given:
            place = _MEMBERS.index(name) + 1
            raise TypeError(
                f"argument for {function}() given by name ({name!r}) and position ({place})"
            )
    given.update(kwargs)
    for name, value in given.items():
        if value is ...:  # which stands for what is not given
            raise TypeError(f"{name}: expected a value, not {type(value)!r}")
    return given


def _check_kept(like: mmdskin.Model, values: dict[str, Any], count: int) -> None:
    """Other positions must be as many as what is kept of the model's vertices."""
    before = len(like.positions)
    kept = [name for name, value in values.items() if value is ... and name in _VERTICES]
    if kept and count != before:
        raise ValueError(
            f"positions: {count} {'vertex' if count == 1 else 'vertices'}, but the model has {before}: replace "
            f"{', '.join(kept)}, too (None: the default), and triangles and morphs, which refer to vertices"
        )


def _complete_influences(like: mmdskin.Model | None, values: dict[str, Any], count: int) -> None:
    bones, weights = values["bone_indices"], values["bone_weights"]
    bones_kept, weights_kept = bones is ..., weights is ...
    if bones_kept and weights_kept:
        return
    all_bones, all_weights = influences(
        count,
        None if bones_kept else bones,
        None if weights_kept else weights,
        bones_kept and like.bone_indices is not None,  # type: ignore[union-attr]
        weights_kept and like.bone_weights is not None,  # type: ignore[union-attr]
    )
    if not bones_kept:
        values["bone_indices"] = all_bones
    if not weights_kept:
        values["bone_weights"] = all_weights


def influences(
    count: int, indices: Any, weights: Any, indices_kept: bool, weights_kept: bool
) -> tuple[NDArray[np.int32] | None, NDArray[np.float32] | None]:
    """Bones and weights (V,4) of `count` vertices, from arrays (V,K), or (V,) of one bone each. None: not
    given; replace() may keep those of the model."""
    columns: int | str = _SLOTS if indices_kept else "K"
    if indices is not None:
        indices = converted(indices, "bone_indices", "int32", 5)[1]
        check_shape(indices.shape, "bone_indices", (count,) if indices.ndim == 1 else (count, "K"))
        indices = indices[:, None] if indices.ndim == 1 else indices
        if not 1 <= indices.shape[1] <= _SLOTS:
            raise ValueError(f"bone_indices: width {indices.shape[1]}, expected 1 to {_SLOTS}")
        columns = indices.shape[1]
    if weights is not None:
        weights = converted(weights, "bone_weights", "float32", 5)[1]
        check_shape(weights.shape, "bone_weights", (count, columns))
    elif weights_kept:
        check_shape((count, _SLOTS), "bone_weights", (count, columns))
    elif columns == 1:
        weights = np.ones((count, 1), np.float32)
    elif columns != "K":
        raise ValueError("bone_weights: missing")
    return _widened(indices, -1), _widened(weights, 0)


def _widened(array: NDArray[Any] | None, fill: int) -> NDArray[Any] | None:
    if array is None:
        return None
    wide = np.full((len(array), _SLOTS), fill, array.dtype)
    wide[:, : array.shape[1]] = array[:, :_SLOTS]
    return wide


def display_frames(bones: int, morphs: int) -> list[tuple[str, str, bool, Any]]:
    """MMD's two special ones, which hold the first bone and all morphs, and one for the other bones: MMD's
    timeline shows only what is in a frame."""
    root = min(bones, 1)
    frames = [
        ("Root", "Root", True, (("bone", 0),) * root),
        ("表情", "Exp", True, zip(repeat("morph"), range(morphs))),
        ("ボーン", "Bones", False, zip(repeat("bone"), range(root, bones))),
    ]
    return frames if bones > 1 else frames[:2]
