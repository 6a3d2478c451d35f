# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots of the animation of datablocks, to restore it if an edit fails."""

from typing import Any

import bpy

from . import actions, blender_versions, fcurves


class ActionSnapshot:
    """An action, and a copy that replaces it if it was changed or removed."""

    def __init__(self, action: bpy.types.Action) -> None:
        self.action, self._name = action, action.name
        self._copy: bpy.types.Action | None = None
        if not action.library:
            self._copy = action.copy()
            self._copy.use_fake_user = action.use_fake_user

    def restore(self) -> None:
        copy = self._copy
        if copy is None:
            return
        if self._exists() and _content(self.action) == _content(copy):
            self.action.use_fake_user = copy.use_fake_user
            return
        if self._exists():
            self.action.user_remap(copy)
            bpy.data.actions.remove(self.action)
        copy.name = self._name
        self.action, self._copy = copy, None

    def discard(self) -> None:
        if self._copy is not None:
            bpy.data.actions.remove(self._copy)
            self._copy = None

    def _exists(self) -> bool:
        try:
            return bool(self.action.name)
        except ReferenceError:
            return False


class ActionSnapshots:
    """The actions that snapshots refer to: restore them before what uses them."""

    def __init__(self) -> None:
        self._snapshots: dict[int, ActionSnapshot] = {}

    def take(self, action: bpy.types.Action | None) -> ActionSnapshot | None:
        if action is None:
            return None
        number = blender_versions.identity(action)
        if number not in self._snapshots:
            self._snapshots[number] = ActionSnapshot(action)
        return self._snapshots[number]

    def restore(self) -> None:
        for snapshot in self._snapshots.values():
            snapshot.restore()

    def discard(self) -> None:
        for snapshot in self._snapshots.values():
            snapshot.discard()


class AnimationSnapshot:
    """Action, NLA strips and drivers of a datablock.

    Until `discard`, an object with copies of the drivers is in the file.
    """

    def __init__(self, block: Any, used: ActionSnapshots) -> None:
        data = block.animation_data
        action, self._slots = actions.assigned(block)
        self._action = used.take(action)
        self._uses_nla = data.use_nla if data else True
        self._tracks = {track.name for track in data.nla_tracks} if data else set()
        self._strips = [
            (track.name, strip.name, used.take(strip.action), actions.slot_of(strip))
            for track in (data.nla_tracks if data else ())
            for strip in track.strips
            if strip.action
        ]
        self._drivers = list(map(_description, data.drivers)) if data else []
        self._holder: bpy.types.Object | None = None
        if self._drivers:
            self._holder = bpy.data.objects.new("mmdskin drivers", None)
            copies = self._holder.animation_data_create().drivers
            for curve in data.drivers:
                copies.from_existing(src_driver=curve)

    def restore(self, block: Any) -> None:
        data = block.animation_data
        if not self._slots and data is None:
            return
        data = data or block.animation_data_create()
        self._restore_drivers(data)
        for added in [track for track in data.nla_tracks if track.name not in self._tracks]:
            data.nla_tracks.remove(added)
        if data.use_nla != self._uses_nla:  # setting it evaluates, which discards unkeyed values
            data.use_nla = self._uses_nla
        for track, name, snapshot, slot in self._strips:
            strip = data.nla_tracks[track].strips[name]
            if snapshot and (strip.action, actions.slot_of(strip)) != (snapshot.action, slot):
                actions.assign_to_strip(strip, snapshot.action, slot)
        action = self._action.action if self._action else None
        if actions.assigned(block) != (action, self._slots):
            actions.assign(block, action, self._slots)

    def discard(self) -> None:
        if self._holder is not None:
            bpy.data.objects.remove(self._holder)
            self._holder = None

    def _restore_drivers(self, data: bpy.types.AnimData) -> None:
        if list(map(_description, data.drivers)) == self._drivers:
            return
        for curve in list(data.drivers):
            data.drivers.remove(curve)
        for curve in self._holder.animation_data.drivers if self._holder else ():
            data.drivers.from_existing(src_driver=curve)


def _content(action: bpy.types.Action) -> list:
    curves: list = [
        (curve.data_path, curve.array_index, curve.mute, curve.extrapolation)
        + tuple(fcurves.members(curve))
        for curve in actions.curves_of(action)
    ]
    return [*curves, *(slot.identifier for slot in getattr(action, "slots", ()))]


def _description(curve: bpy.types.FCurve) -> tuple:
    driver = curve.driver
    variables = [
        (variable.name, variable.type, one.id, one.data_path, one.bone_target, one.transform_type)
        for variable in driver.variables
        for one in variable.targets
    ]
    kind = driver.type, driver.expression, driver.use_self
    return curve.data_path, curve.array_index, curve.mute, kind, variables
