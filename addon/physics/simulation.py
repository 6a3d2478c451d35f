# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion with physics: frames in order are cheap, others restart from an earlier state."""

import os

import bpy

from ..blender import native
from ..blender.user_error import UserError
from ..pose import motion_source, physics_settings
from ..pose.motion_source import Motion
from . import cache


def with_physics(motion: Motion, settings: physics_settings.Settings | None) -> Motion:
    """The simulated motion, or the motion unchanged without settings."""
    if settings is None:
        return motion
    name = os.path.basename(motion.rig.path)
    try:
        run = native.load().Simulation(motion.rig.pmx, motion.motion, settings.record())
    except (ValueError, MemoryError) as error:
        raise UserError(
            "The physics of '{file}' cannot be simulated: {reason}", file=name, reason=error
        ) from error
    return motion.with_poses(lambda frames: run.pose(frames).bone_matrices)


def baked(motion: Motion, armature: bpy.types.Object, settings: motion_source.Settings) -> Motion:
    """The motion as MMD Skinning shows it; of models that are simulated together, their file's."""
    if settings.physics is not None and settings.physics.group:
        return cache.with_cached_physics(motion, armature, settings, strict=True)
    return with_physics(motion, settings.physics)


def bones(motion: Motion) -> set[str]:
    """Names of the scene's bones that rigid bodies move."""
    moved = physics_settings.moved_bones(motion.rig.pmx)
    return {name for name, number in motion.rig.bones.items() if number in moved}
