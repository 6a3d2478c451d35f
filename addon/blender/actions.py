# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions, slots, F-curves and keyframes: how Blender stores animation.

Up to 4.3 an action holds F-curves; from 4.4 on, layers, strips and slots hold them.
"""

import itertools
from collections.abc import Iterable
from typing import Any

import bpy

from . import drivers, fcurves
from .user_error import UserError

# What the add-on animates, and what plays an action.
Block = bpy.types.Object | bpy.types.Key | bpy.types.Mesh | bpy.types.Camera | bpy.types.Light
Player = bpy.types.AnimData | bpy.types.NlaStrip | bpy.types.ActionConstraint

_TRANSFORMS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
# Of a pose bone. The rotation mode comes first: setting it changes the others.
BONE_CHANNELS = ("rotation_mode", *_TRANSFORMS)
_LAYERED = bpy.app.version >= (4, 4)
# Members of an NLA strip.
_STRIP = """
    frame_start frame_end action_frame_start action_frame_end repeat scale blend_in blend_out use_reverse
    blend_type extrapolation influence use_animated_influence use_animated_time mute
""".split()


def value_path(name: str) -> str:
    """Data path of a shape key's value, from its Key datablock."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def bone_paths(name: str) -> dict[str, str]:
    """Data paths of a pose bone's channels, from the armature object."""
    path = bone_path(name)
    return {channel: f"{path}.{channel}" for channel in _TRANSFORMS}


def bone_path(name: str) -> str:
    """Data path of a pose bone, from the armature object."""
    return f'pose.bones["{bpy.utils.escape_identifier(name)}"]'


def property_path(bone: str, name: str) -> str:
    """Data path of a pose bone's custom property, from the armature object."""
    return f'{bone_path(bone)}["{bpy.utils.escape_identifier(name)}"]'


def constraint_path(bone: str, constraint: str, member: str = "influence") -> str:
    """Data path of a member of a pose bone's constraint, from the armature object."""
    name = bpy.utils.escape_identifier(constraint)
    return f'{bone_path(bone)}.constraints["{name}"].{member}'


# Which action and slot a datablock has


def assigned(block: Block) -> tuple[bpy.types.Action | None, list]:
    """The action of a datablock, and what else `assign` needs, JSON-like."""
    data = block.animation_data
    if data is None:
        return None, []
    if not _LAYERED:
        return data.action, [""]
    slot = data.action_slot
    return data.action, [slot.identifier if slot else "", data.last_slot_identifier]


def assign(block: Block, action: bpy.types.Action | None, slots: list[str]) -> None:
    """Give a datablock the action that `assigned` has returned, unless it has it."""
    data = block.animation_data
    if data is None or assigned(block) == (action, slots):
        return
    data.action = action
    if _LAYERED and len(slots) > 1:
        if action is not None:
            data.action_slot = action.slots.get(slots[0]) if slots[0] else None
        data.last_slot_identifier = slots[1]
    if not slots:
        clear_if_empty(block)


def check_not_tweaked(block: Block) -> None:
    """UserError if a strip of a datablock is in NLA Tweak Mode, which hides its own action."""
    if block.animation_data and block.animation_data.use_tweak_mode:
        raise UserError(
            "The animation of '{name}' is in NLA Tweak Mode: leave it first", name=block.name
        )


def make_single_user(block: Block) -> bpy.types.Action:
    """Give a datablock an action of its own: a copy of its current one, or a new one."""
    data = block.animation_data or block.animation_data_create()
    slot = slot_of(data)
    action = data.action.copy() if data.action else bpy.data.actions.new(block.name)
    put(data, action, slot)
    for other in [one for one in getattr(action, "slots", ()) if one.identifier != slot]:
        action.slots.remove(other)
    return action


def replace(player: Player, action: bpy.types.Action, slot: str) -> None:
    """Let it play another action's slot; removes the old action if that is no longer used."""
    copy = player.action
    put(player, action, slot)
    if copy is not None and not copy.users:
        bpy.data.actions.remove(copy)


def slot_of(player: Player) -> str:
    """The identifier of the slot that is played, "" if there is none."""
    return player.action_slot.identifier if _LAYERED and player.action_slot else ""


def put(player: Player, action: bpy.types.Action, slot: str) -> None:
    """Let it play an action's slot."""
    player.action = action
    if _LAYERED:
        player.action_slot = action.slots.get(slot)


def clear_if_empty(block: bpy.types.ID) -> None:
    """Remove empty animation data."""
    data = block.animation_data
    if data and not (data.action or len(data.drivers) or len(data.nla_tracks)):
        block.animation_data_clear()


# The F-curves of a datablock


def channels(block: Block) -> tuple[Any, dict[str, Any]]:
    """The holder of a datablock's `fcurves` and `groups`, created if missing.

    Also what `remove_curves` needs to remove what was created, JSON-like.
    """
    data = block.animation_data or block.animation_data_create()
    made: dict[str, Any] = {"action": data.action is not None}
    if _LAYERED:
        made["last_slot"] = data.last_slot_identifier
    if data.action is None:
        data.action = bpy.data.actions.new(block.name)
    action = data.action
    if not _LAYERED:
        return action, made
    if data.action_slot is None:
        data.action_slot = action.slots.new(id_type=block.id_type, name=block.name)
        made["slot"] = data.action_slot.identifier
    made["layer"] = not action.layers
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    made["strip"] = not layer.strips
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    bag = strip.channelbag(data.action_slot)
    made["bag"] = bag is None
    return bag or strip.channelbags.new(data.action_slot), made


def new_action(name: str) -> tuple[bpy.types.Action, Any, Any]:
    """A new action for objects, its slot or None, and the holder of its `fcurves`."""
    action = bpy.data.actions.new(name)
    if not _LAYERED:
        action.id_root = "OBJECT"  # else constraints do not accept it
        return action, None, action
    slot = action.slots.new(id_type="OBJECT", name=name)
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    return action, slot, strip.channelbags.new(slot)


def remove_curves(block: Block, paths: Iterable[str], made: dict[str, Any]) -> None:
    """Remove the curves of these paths, and what `channels` created to hold them."""
    data = block.animation_data
    if data is None or data.action is None:
        return
    action = data.action
    for curves in _of_slot(action, getattr(data, "action_slot", None)):
        drop(curves, set(paths))
    if not made["action"] and not curves_of(action):
        if _LAYERED:
            data.action_slot = None
        bpy.data.actions.remove(action)
    elif _LAYERED:
        _remove_layers(data, made)
    if _LAYERED and data.action_slot is None and "last_slot" in made:  # else stored before 4.4
        data.last_slot_identifier = made["last_slot"]


def drop(curves: Any, paths: set[str]) -> None:
    for curve in [curve for curve in curves if curve.data_path in paths]:
        curves.remove(curve)


def curves_of(action: bpy.types.Action) -> list[bpy.types.FCurve]:
    """All curves of an action."""
    return [curve for bag in _bags(action) for curve in bag.fcurves]


def animated_paths(block: Any) -> set[str]:
    """The data paths of all curves and drivers that animate a datablock."""
    return {curve.data_path for curve in (*drivers.of(block), *playing_curves(block))}


def animates(block: Any, ending: str) -> bool:
    """Whether a curve or driver of a datablock has a data path with this ending."""
    return any(path.endswith(ending) for path in animated_paths(block))


def playing_curves(block: Any) -> list[bpy.types.FCurve]:
    """Every curve that animates a datablock, drivers aside."""
    data = block.animation_data
    players = [data, *strips(data)] if data else []
    return [curve for player in players for curves in played(player) for curve in curves]


def strips(data: bpy.types.AnimData) -> list[bpy.types.NlaStrip]:
    """Strips with an action; their names are unique."""
    return [strip for track in data.nla_tracks for strip in track.strips if strip.action]


def played(player: Player) -> list:
    """The collections of F-curves that a strip, or animation data without its strips, plays."""
    if player.action is None:
        return []
    return _of_slot(player.action, getattr(player, "action_slot", None))


def plays_like(player: Player, action: bpy.types.Action, slot: str) -> bool:
    """Whether a player has the same curves as the action's slot, ignoring mute."""
    slots = getattr(action, "slots", None)
    others = _of_slot(action, slots.get(slot) if slots is not None else None)
    one, other = (itertools.chain(*found) for found in (played(player), others))
    return sorted(fcurves.content(one)) == sorted(fcurves.content(other))


def mixing(data: bpy.types.AnimData) -> str:
    """Which actions play in animation data, and how strips blend them; the same for linked data."""
    players: list[Player] = [data, *strips(data)]
    names = [(one.action.name if one.action else "", slot_of(one)) for one in players]
    return repr(names) + blending(data)


def blending(data: bpy.types.AnimData) -> str:
    """How strips blend actions, whatever their names."""
    parts: list[Any] = [bool(data.action), data.use_nla]
    parts += [data.action_influence, data.action_blend_type, data.action_extrapolation]
    for track in data.nla_tracks:
        for strip in track.strips:
            parts += [track.mute, track.is_solo, bool(strip.action)]
            parts += [getattr(strip, name) for name in _STRIP]
    return repr(parts)


def _of_slot(action: bpy.types.Action, slot: Any) -> list[Any]:
    if not _LAYERED:
        return [action.fcurves]
    return [bag.fcurves for bag in _bags(action) if slot and bag.slot_handle == slot.handle]


def _bags(action: Any) -> list[Any]:
    """What holds F-curves: channelbags, before 4.4 the action itself."""
    if not _LAYERED:
        return [action]
    return [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]


def _remove_layers(data: Any, made: Any) -> None:
    """Remove the slot, layer, strip and channelbag that were added to the user's own action."""
    action = data.action
    if not action.layers or not action.layers[0].strips or data.action_slot is None:
        return
    layer, slot = action.layers[0], data.action_slot
    strip = layer.strips[0]
    bag = strip.channelbag(slot)
    if made.get("bag") and bag is not None and not len(bag.fcurves):
        strip.channelbags.remove(bag)
        if made.get("strip") and not len(strip.channelbags):
            layer.strips.remove(strip)
        if made.get("layer") and not len(layer.strips):
            action.layers.remove(layer)
        if made.get("slot") == slot.identifier:
            data.action_slot = None
            action.slots.remove(slot)


class Curves:
    """The curves of a holder from `channels`, found or created."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder
        self._look()

    def ensure(self, path: str, count: int = 1, group: str = "") -> list[bpy.types.FCurve]:
        """One for each member of a channel."""
        return [self._known.get((path, i)) or self._new(path, i, group) for i in range(count)]

    def has(self, path: str, index: int = 0) -> bool:
        return (path, index) in self._known

    def write(self, path: str, *keys: Any, index: int = 0, group: str = "") -> None:
        """`fcurves.write` of one member of a channel."""
        curve = self._known.get((path, index)) or self._new(path, index, group)
        fcurves.write(curve, *keys)

    def drop(self, paths: Iterable[str]) -> None:
        drop(self.holder.fcurves, set(paths))
        self._look()

    def _look(self) -> None:
        self._known = {(curve.data_path, curve.array_index): curve for curve in self.holder.fcurves}
        self._groups = {group.name: group for group in self.holder.groups}

    def _new(self, path: str, index: int, group: str) -> bpy.types.FCurve:
        curve = self._known[path, index] = self.holder.fcurves.new(path, index=index)
        if group:
            curve.group = self._groups.get(group) or self.holder.groups.new(group)
            self._groups[group] = curve.group
        return curve
