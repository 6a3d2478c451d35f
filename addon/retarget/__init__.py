# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargeting: the motion of an MMD model on any humanoid armature, the other way, and motions that
were made for other models.

Users call `operators`, which run `jobs`, and `bone_map`: which bone is which. `keys` turns poses into
channels and writes them; of a Rigify rig, `rigify` finds the channels.
"""
