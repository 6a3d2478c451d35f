# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the channels of bones into a new action; the old one is kept."""

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

from ..blender import actions, fcurves
from ..export_motion import line_fit
from . import fk_pose

ALL, REDUCED = "ALL", "REDUCED"
_TURN = np.radians(0.5)  # between reduced keys
_MOVE = 5e-4  # of the armature's size
_QUATERNION = _TURN / 4  # of each component: an angle is twice the length of their difference


class NewAction:
    """An action that is not assigned to anything yet."""

    def __init__(self, armature: bpy.types.Object, name: str, frames: np.ndarray, reduced: bool):
        self._armature, self._frames, self._reduced = armature, frames, reduced
        self._action, self._slot, holder = actions.new_action(name)
        self._curves = actions.Curves(holder)
        self._move = _MOVE * fk_pose.size_of(armature)
        self.name = self._action.name
        self.keyframes = 0

    def key_bones(self, bones: Iterable[fk_pose.BoneValues]) -> int:
        """Returns the number of bones that have keys."""
        count = 0
        for bone in bones:
            paths = actions.bone_paths(bone.name)
            if bone.rotations is not None:
                owner = self._armature.pose.bones[bone.name]
                channel, values = fk_pose.in_mode(owner, bone.rotations)
                tolerance = _QUATERNION if values.shape[1] == 4 else _TURN
                self._key(paths[channel], values, bone.name, tolerance)
            if bone.locations is not None:
                self._key(paths["location"], bone.locations, bone.name, self._move)
            count += bone.rotations is not None or bone.locations is not None
        return count

    def hold(self, path: str, value: float, group: str) -> None:
        """Key a property with one value."""
        (curve,) = self._curves.ensure(path, 1, group)
        fcurves.write(curve, self._frames[:1], np.array([value]))

    def assign(self, as_strip: bool) -> str:
        """Show the action, alone or as a strip over the one that was there, which is pushed down;
        returns the name of the latter. It is muted: it may key bones that this one leaves at rest."""
        data = self._armature.animation_data or self._armature.animation_data_create()
        old = data.action
        if old is not None:
            old.use_fake_user = True
        if as_strip:
            if old is not None:
                slot = getattr(data, "action_slot", None)
                data.action = None
                _strip(data, old, old.frame_range[0], slot).mute = True
            _strip(data, self._action, float(self._frames[0]), self._slot)
        else:
            data.action = self._action
            if self._slot is not None:
                data.action_slot = self._slot
        return old.name if old is not None else ""

    def _key(self, path: str, values: np.ndarray, group: str, tolerance: float) -> None:
        rows: Any = slice(None)
        if self._reduced:
            rows = line_fit.rows_of_keys(values, np.full(values.shape[1], tolerance))
        curves = self._curves.ensure(path, values.shape[1], group)
        for curve, column in zip(curves, values.T, strict=True):
            still = (column == column[0]).all()
            used = slice(0, 1) if still else rows
            fcurves.write(curve, self._frames[used], column[used])
        self.keyframes += len(self._frames[rows])


def _strip(
    data: bpy.types.AnimData, action: bpy.types.Action, start: float, slot: Any
) -> bpy.types.NlaTrack:
    """On a track of its own, above the others."""
    track = data.nla_tracks.new()
    track.name = action.name
    strip = track.strips.new(action.name, round(start), action)
    if slot is not None:
        strip.action_slot = slot
    return track
