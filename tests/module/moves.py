# SPDX-License-Identifier: MIT
"""A small model, and moves of it, for tests of the interface."""

import mmdskin
import numpy as np
from files import pmx_file as pmx
from files.small import rigid_file

REST = np.eye(4, dtype=np.float32)[None]
CLOSE = {"atol": 2e-6, "rtol": 0}


def shift(*move):
    m = REST.copy()
    m[0, :3, 3] = move
    return m


def along(name, axis):
    """Moves vertex 0 by one unit along an axis."""
    return pmx.Morph(name, indices=np.int32([0]), values=np.eye(3, dtype="f4")[None, axis])


def model_with(*morphs, version=2.1):
    file = rigid_file(2)
    file.normals[:] = (0, 1, 0)
    file.morphs, file.version = list(morphs), version
    return mmdskin.load_model(pmx.write(file))


XYZ = along("左", 0), along("上", 1), along("奥", 2)
