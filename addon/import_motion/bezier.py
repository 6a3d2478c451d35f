# SPDX-License-Identifier: GPL-3.0-or-later
"""The curves between the keys of a VMD as handles of keyframes.

Both are cubics from key to key, so a channel that Blender keeps as MMD does goes the same way.
"""

import numpy as np

from ..actions import Handles

_END = 127  # of both axes of a curve in the file


def handles(frames: np.ndarray, values: np.ndarray, curves: np.ndarray, holds=None) -> Handles:
    """Of the keys of one channel; (K, 4) `curves` x1 y1 x2 y2 lead to each key, as in the file.

    `holds`: (K,) bool, where nothing lies between a key and the next.
    """
    keys = np.stack([frames, values], axis=1).astype(np.float64)
    ways = np.diff(keys, axis=0)
    points = curves[1:].reshape(-1, 2, 2) / _END
    # Outer handles have no curve; a frame long they can be grasped.
    left, right = keys - (1, 0), keys + (1, 0)
    right[:-1] = keys[:-1] + ways * points[:, 0]
    left[1:] = keys[:-1] + ways * points[:, 1]
    return Handles(left, right, np.zeros(len(keys), bool) if holds is None else holds)
