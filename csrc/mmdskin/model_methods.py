# SPDX-License-Identifier: MIT
"""Model.bounds, skeleton and locals_at()."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    import mmdskin


def bounds(model: mmdskin.Model) -> NDArray[np.float32]:
    positions = model.positions
    if not len(positions):
        return np.zeros((2, 3), np.float32)
    return np.array([positions.min(0), positions.max(0)])


def skeleton(model: mmdskin.Model) -> mmdskin.Skeleton:
    from mmdskin.retargeting.skeleton import of_model

    return of_model(model)


def locals_at(
    model: mmdskin.Model, motion: mmdskin.Motion, frame: ArrayLike, *, threads: int | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return model.locals_of(model.pose(motion, frame, ik=False, threads=threads))
