# SPDX-License-Identifier: MIT
"""The check values of docs/mmd-behavior.md#check-skinning: one elbow, both bones named."""

import numpy as np

W, PIVOT = 0.6, (0, 1.5, 0)
QUARTER = np.float32([np.eye(4), [[0, -1, 0, 1.5], [1, 0, 0, 1.5], [0, 0, 1, 0], [0, 0, 0, 1]]])
CHECKS = [
    (1, "nlerp", (0.4, 2.2, 0.5), (0.05547, 0.99846, 0)),
    (3, "slerp", (0.371124, 2.348294, 0.5), (0.015182, 0.999885, 0)),
    (3, "nlerp", (0.379272, 2.344022, 0.5), (0.023409, 0.999726, 0)),
    (4, "nlerp", (0.523272, 2.488022, 0.5), (0.023409, 0.999726, 0)),
]
