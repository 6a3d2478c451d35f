# SPDX-License-Identifier: MIT
"""What Model.from_arrays() and Model.replace() make of members that are not given, or in short."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdskin.array_arguments import check_shape, converted

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLOTS = 4  # of a vertex


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
