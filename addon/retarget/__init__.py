# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargeting: the motion of an MMD model on any humanoid armature, the other way, and motions that
were made for other models.

`operators` and `fit_motion` are what users call; `bone_map`: which bone is which. `model_poses` reads
poses, `fk_pose` and `rigify` turn them into channels, `keys` and `imported` write them.
"""

from . import bone_map, fit_motion, operators


def register() -> None:
    bone_map.register()
    operators.register()
    fit_motion.register()


def unregister() -> None:
    fit_motion.unregister()
    operators.unregister()
    bone_map.unregister()
