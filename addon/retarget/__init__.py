# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargeting: the motion of an MMD model on any humanoid armature, the other way, and motions that
were made for other models.

`operators` are what users call; `bone_map`: which bone is which. `model_poses` reads poses, `fk_pose`
and `rigify` turn them into channels, `keys` and `onto_model` write them.
"""

from ..blender import registration
from . import bone_map, operators

register, unregister = registration.modules(bone_map, operators)
