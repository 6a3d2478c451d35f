# SPDX-License-Identifier: GPL-3.0-or-later
"""The animation of datablocks before an edit, to put it back where the edit fails."""

from typing import Any

import bpy

from . import actions, blender_versions, fcurves


class Held:
    """An action with a copy that replaces it where it is changed or removed."""

    def __init__(self, action: bpy.types.Action) -> None:
        self.action, self._name = action, action.name
        self._copy: bpy.types.Action | None = None
        if not action.library:
            self._copy = action.copy()
            self._copy.use_fake_user = action.use_fake_user

    def put_back(self) -> None:
        copy = self._copy
        if copy is None or (self._exists() and _content(self.action) == _content(copy)):
            return
        if self._exists():
            self.action.user_remap(copy)
            bpy.data.actions.remove(self.action)
        copy.name = self._name
        self.action, self._copy = copy, None

    def forget(self) -> None:
        if self._copy is not None:
            bpy.data.actions.remove(self._copy)
            self._copy = None

    def _exists(self) -> bool:
        try:
            return bool(self.action.name)
        except ReferenceError:
            return False


class ActionsBefore:
    """The actions that were held; put them back before what uses them."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}

    def hold(self, action: bpy.types.Action | None) -> Held | None:
        if action is None:
            return None
        number = blender_versions.identity(action)
        if number not in self._held:
            self._held[number] = Held(action)
        return self._held[number]

    def put_back(self) -> None:
        for held in self._held.values():
            held.put_back()

    def forget(self) -> None:
        for held in self._held.values():
            held.forget()


class AnimationBefore:
    """Action, NLA strips and drivers of a datablock.

    Until `forget`, an object with copies of the drivers is in the file.
    """

    def __init__(self, block: Any, used: ActionsBefore) -> None:
        data = block.animation_data
        action, self._slots = actions.assigned(block)
        self._action = used.hold(action)
        self._strips = [
            (track.name, strip.name, used.hold(strip.action), actions.slot_of(strip))
            for track in (data.nla_tracks if data else ())
            for strip in track.strips
            if strip.action
        ]
        self._drivers = list(map(_description, data.drivers)) if data else []
        self._holder: bpy.types.Object | None = None
        if self._drivers:
            self._holder = bpy.data.objects.new("mmdskin drivers", None)
            held = self._holder.animation_data_create().drivers
            for curve in data.drivers:
                held.from_existing(src_driver=curve)

    def put_back(self, block: Any) -> None:
        data = block.animation_data
        if not self._slots and data is None:
            return
        data = data or block.animation_data_create()
        self._put_drivers_back(data)
        for track, name, held, slot in self._strips:
            strip = data.nla_tracks[track].strips[name]
            if held and (strip.action, actions.slot_of(strip)) != (held.action, slot):
                actions.assign_to_strip(strip, held.action, slot)
        action = self._action.action if self._action else None
        if actions.assigned(block) != (action, self._slots):
            actions.assign(block, action, self._slots)

    def forget(self) -> None:
        if self._holder is not None:
            bpy.data.objects.remove(self._holder)
            self._holder = None

    def _put_drivers_back(self, data: bpy.types.AnimData) -> None:
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
        (
            variable.name,
            variable.type,
            [
                (target.id, target.data_path, target.bone_target, target.transform_type)
                for target in variable.targets
            ],
        )
        for variable in driver.variables
    ]
    kind = driver.type, driver.expression, driver.use_self
    return curve.data_path, curve.array_index, curve.mute, kind, variables
