# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion with physics: frames in order are cheap, others begin at an earlier place."""

import os

from .. import native, physics_settings
from ..motion_source import Motion
from ..user_error import UserError


def of(motion: Motion, settings: physics_settings.Settings | None) -> Motion:
    """The motion simulated, or as it is without settings."""
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


def bones(motion: Motion) -> set[str]:
    """Names of the scene's bones that rigid bodies move."""
    moved = physics_settings.moved_bones(motion.rig.pmx)
    return {name for name, number in motion.rig.bones.items() if number in moved}
