# SPDX-License-Identifier: MIT
"""What Mesh() takes: copies of the arrays, of the types and shapes that the extension module reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmdskin.array_arguments import check_shape, converted, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

# In the order of mesh_type.c.
_TYPES = {
    "positions": "float32",
    "bone_indices": "int32",
    "bone_weights": "float32",
    "normals": "float32",
    "tangents": "float32",
    "deform": "uint8",
    "sdef": "float32",
    "triangles": "int32",
    "centers": "float32",
    "segments": "float32",
    "parents": "int32",
}
_REQUIRED = ("positions", "bone_indices", "bone_weights")


def mesh(
    _mesh: object,
    /,
    positions: ArrayLike,
    bone_indices: ArrayLike,
    bone_weights: ArrayLike,
    *,
    morphs: Iterable[tuple[ArrayLike, ArrayLike]] = (),
    normals: ArrayLike | None = None,
    tangents: ArrayLike | None = None,
    deform: ArrayLike | None = None,
    sdef: ArrayLike | None = None,
    triangles: ArrayLike | None = None,
    centers: ArrayLike | None = None,
    segments: ArrayLike | None = None,
    parents: ArrayLike | None = None,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A tuple of the arrays, or None, and one of the morphs."""
    given = (
        *(positions, bone_indices, bone_weights, normals, tangents, deform, sdef),
        *(triangles, centers, segments, parents),
    )
    arrays = {}
    for (name, dtype), value in zip(_TYPES.items(), given, strict=True):
        if value is None and name in _REQUIRED:
            raise TypeError(f"{name}: expected an array, not None")
        arrays[name] = None if value is None else frozen(converted(value, name, dtype, 5)[1])
    _check_shapes(arrays)
    found = []
    for number, pair in enumerate(morphs):
        found.append(_morph(pair, number))
    return tuple(arrays.values()), tuple(found)


def _check_shapes(arrays: dict[str, Any]) -> None:
    def check(name: str, *shape: int | str) -> None:
        if arrays[name] is not None:
            check_shape(arrays[name].shape, name, shape)

    check("positions", "V", 3)
    count = len(arrays["positions"])
    check("bone_indices", count, "K")
    columns = arrays["bone_indices"].shape[1]
    if not 1 <= columns <= 4:
        raise ValueError(f"bone_indices: width {columns}, expected 1 to 4")
    check("bone_weights", count, columns)
    check("normals", count, 3)
    check("tangents", count, "K")
    check("deform", count)
    check("sdef", count, 3, 3)
    check("triangles", "T", 3)
    check("centers", count, 3)
    check("segments", "B", 2, 3)
    check("parents", "B")
    width = 3 if arrays["tangents"] is None else arrays["tangents"].shape[1]
    if width not in (3, 4):
        raise ValueError(f"tangents: width {width}, expected 3 or 4")


def _morph(pair: Any, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        indices, offsets = pair
    except (TypeError, ValueError):
        raise TypeError(f"morphs[{number}]: expected (indices, offsets)") from None
    names = f"morphs[{number}]: indices", f"morphs[{number}]: offsets"
    indices = frozen(converted(indices, names[0], "int32", 5)[1])
    offsets = frozen(converted(offsets, names[1], "float32", 5)[1])
    check_shape(indices.shape, names[0], ("n",))
    check_shape(offsets.shape, names[1], (len(indices), 3))
    return indices, offsets


def mesh_again(
    _mesh: object, /, arrays: tuple[Any, ...], morphs: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """For pickling: the arguments of the same Mesh."""
    keywords = dict(zip(_TYPES, arrays, strict=True))
    required = [keywords.pop(name) for name in _REQUIRED]
    return tuple(required), {"morphs": morphs, **keywords}
