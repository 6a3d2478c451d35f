# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion: the animation of models, or of the camera, as a VMD; a pose as a VPD.

`samples` reads the scene frame by frame, `job` lets the native module find keys and writes files.
"""

from . import operators, pose_operators


def register() -> None:
    operators.register()
    pose_operators.register()


def unregister() -> None:
    pose_operators.unregister()
    operators.unregister()
