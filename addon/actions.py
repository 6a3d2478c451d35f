# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions, slots, curves and keyframes: all that the add-on knows of how Blender keeps animation.

Until 4.3 an action has F-curves; from 4.4 on layers, strips and slots hold them.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

Block = (
    bpy.types.Object | bpy.types.Key | bpy.types.Mesh | bpy.types.Camera
)  # what the add-on animates

_LAYERED = bpy.app.version >= (4, 4)
_ITEMS = {  # of members of keyframes: the number of each
    member: {item.identifier: item.value for item in property.enum_items}
    for member, property in bpy.types.Keyframe.bl_rna.properties.items()
    if property.type == "ENUM"
}
_POINT = {  # members of a keyframe and their numbers; of enumerations the number of the item
    "co": 2,
    "handle_left": 2,
    "handle_right": 2,
    "handle_left_type": 1,
    "handle_right_type": 1,
    "interpolation": 1,
    "easing": 1,
    "type": 1,
    "amplitude": 1,
    "back": 1,
    "period": 1,
}
_SHAPE = ("co", "handle_left", "handle_right", "interpolation", "easing")
_STRIP = (  # members of an NLA strip
    "frame_start",
    "frame_end",
    "action_frame_start",
    "action_frame_end",
    "repeat",
    "scale",
    "blend_in",
    "blend_out",
    "use_reverse",
    "blend_type",
    "extrapolation",
    "influence",
    "use_animated_influence",
    "use_animated_time",
    "mute",
)
_HANDLE_TYPES = ("handle_left_type", "handle_right_type")
_ENUMS = (*_HANDLE_TYPES, "interpolation", "easing", "type")
# The types first: a handle that is not free follows from its neighbours.
_SETTING_ORDER = sorted(_POINT, key=lambda name: name not in _ENUMS)
# What foreach_set passes over, so that it takes a loop; and foreach_get, at least in linked actions.
_SET_ONE_BY_ONE = () if bpy.app.version >= (4, 2) else _HANDLE_TYPES
_GET_ONE_BY_ONE = () if bpy.app.version >= (4, 2) else _ENUMS
# As Blender stores enumerations: any other is taken number by number, which costs five times as much.
_ENUM_DTYPE = np.dtype(np.uint8 if bpy.app.version >= (4, 2) else np.int8)


def value_path(name: str) -> str:
    """Of a shape key's value, from its Key datablock."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def bone_paths(name: str) -> dict[str, str]:
    """Of a pose bone's own channels, from the armature object."""
    path = f'pose.bones["{bpy.utils.escape_identifier(name)}"]'
    channels = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
    return {channel: f"{path}.{channel}" for channel in channels}


def property_path(bone: str, name: str) -> str:
    """Of a pose bone's custom property, from the armature object."""
    bone, name = (bpy.utils.escape_identifier(text) for text in (bone, name))
    return f'pose.bones["{bone}"]["{name}"]'


def influence_path(bone: str, constraint: str) -> str:
    """Of how much a pose bone's constraint acts, from the armature object."""
    bone, constraint = (bpy.utils.escape_identifier(name) for name in (bone, constraint))
    return f'pose.bones["{bone}"].constraints["{constraint}"].influence'


# Which action and slot a datablock has


def held(block: Block) -> tuple[bpy.types.Action | None, list]:
    """The action of a datablock, and what `hold` needs besides, JSON-like."""
    data = block.animation_data
    if data is None:
        return None, []
    if not _LAYERED:
        return data.action, [""]
    slot = data.action_slot
    return data.action, [slot.identifier if slot else "", data.last_slot_identifier]


def hold(block: Block, action: bpy.types.Action | None, slots: Sequence[str]) -> None:
    """Give a datablock the action that `held` has told."""
    data = block.animation_data
    data.action = action
    if _LAYERED and len(slots) > 1:
        if action is not None:
            data.action_slot = action.slots.get(slots[0]) if slots[0] else None
        data.last_slot_identifier = slots[1]
    if not slots:
        clear_if_empty(block)


def own(block: Block) -> bpy.types.Action:
    """Give a datablock an action that is its alone: a copy of what it has, or a new one."""
    data = block.animation_data or block.animation_data_create()
    slot = slot_of(data)
    action = data.action.copy() if data.action else bpy.data.actions.new(block.name)
    data.action = action
    if _LAYERED:
        for other in [other for other in action.slots if other.identifier != slot]:
            action.slots.remove(other)
        data.action_slot = action.slots.get(slot)
    return action


def own_of_strip(strip: bpy.types.NlaStrip) -> None:
    """Give a strip a copy of its action."""
    _put_into(strip, strip.action.copy(), slot_of(strip))


def share_with_strip(strip: bpy.types.NlaStrip, action: bpy.types.Action, slot: str) -> None:
    """Give a strip an action; a copy that nothing plays any more goes."""
    copy = strip.action
    _put_into(strip, action, slot)
    if copy is not None and not copy.users:
        bpy.data.actions.remove(copy)


def slot_of(player: bpy.types.AnimData | bpy.types.NlaStrip) -> str:
    """The identifier of the slot that animation data or a strip plays, empty where there is none."""
    return player.action_slot.identifier if _LAYERED and player.action_slot else ""


def _put_into(strip, action, slot):
    strip.action = action
    if _LAYERED:
        strip.action_slot = action.slots.get(slot)


def clear_if_empty(block: Block) -> None:
    """Drop animation data that holds nothing."""
    data = block.animation_data
    if data and not (data.action or len(data.drivers) or len(data.nla_tracks)):
        block.animation_data_clear()


# The curves that act on a datablock


def channels(block: Block) -> tuple[Any, dict[str, Any]]:
    """What has the `fcurves` and `groups` that act on a datablock, made where it is missing.

    Also what `take_back` needs to remove all that was made, JSON-like.
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


def made(name: str) -> tuple[bpy.types.Action, Any, Any]:
    """A new action for objects that nothing plays yet, its slot or None, and what has `fcurves`."""
    action = bpy.data.actions.new(name)
    if not _LAYERED:
        action.id_root = "OBJECT"  # else constraints do not take it
        return action, None, action
    slot = action.slots.new(id_type="OBJECT", name=name)
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    return action, slot, strip.channelbags.new(slot)


def replace(constraint: bpy.types.ActionConstraint, copy: bpy.types.Action) -> None:
    """Let a constraint play a copy of its action."""
    slot = constraint.action_slot.identifier if _LAYERED and constraint.action_slot else ""
    constraint.action = copy
    if slot:
        constraint.action_slot = copy.slots[slot]


def take_back(block: Block, paths: Iterable[str], made: dict[str, Any]) -> None:
    """Remove the curves of these paths, and what `channels` has made to hold them."""
    data = block.animation_data
    if data is None or data.action is None:
        return
    action = data.action
    for curves in _of_slot(action, getattr(data, "action_slot", None)):
        drop(curves, set(paths))
    if not made["action"] and not any(len(found) for found in _all_curves(action)):
        if _LAYERED:
            data.action_slot = None
        bpy.data.actions.remove(action)
    elif _LAYERED:
        _remove_layers(data, made)
    if _LAYERED and data.action_slot is None and "last_slot" in made:  # else noted before 4.4
        data.last_slot_identifier = made["last_slot"]


def drop(curves: Any, paths: set[str]) -> None:
    for curve in [curve for curve in curves if curve.data_path in paths]:
        curves.remove(curve)


def of_action(action: bpy.types.Action) -> list[bpy.types.FCurve]:
    """All curves of an action."""
    return [curve for curves in _all_curves(action) for curve in curves]


def playing(data: bpy.types.AnimData) -> list:
    """Every collection of curves that acts on the owner of the animation data."""
    return played(data) + [curves for strip in strips(data) for curves in played(strip)]


def strips(data: bpy.types.AnimData) -> list[bpy.types.NlaStrip]:
    """Those with an action; their names differ."""
    return [strip for track in data.nla_tracks for strip in track.strips if strip.action]


def played(player: bpy.types.AnimData | bpy.types.NlaStrip) -> list:
    """The collections of curves that animation data, without its strips, or a strip plays."""
    if player.action is None:
        return []
    return _of_slot(player.action, getattr(player, "action_slot", None))


def plays_like(
    player: bpy.types.AnimData | bpy.types.NlaStrip, action: bpy.types.Action, slot: str
) -> bool:
    """Whether a player has the same curves as the action's slot, muted or not."""
    slots = getattr(action, "slots", None)
    others = _of_slot(action, slots.get(slot) if slots is not None else None)
    return _content(played(player)) == _content(others)


def mixing(data: bpy.types.AnimData) -> str:
    """Which actions play in animation data, and how strips lay them over each other.

    The same where they are linked.
    """
    parts = [data.action.name if data.action else "", slot_of(data), data.use_nla]
    parts += [data.action_influence, data.action_blend_type, data.action_extrapolation]
    for track in data.nla_tracks:
        for strip in track.strips:
            parts += [track.mute, track.is_solo]
            parts += [getattr(strip, name) for name in _STRIP]
            parts += [strip.action.name if strip.action else "", slot_of(strip)]
    return repr(parts)


def shape(curve: bpy.types.FCurve) -> bytes:
    """All by which the values of a curve differ from those of another."""
    kind = curve.data_path, curve.array_index, curve.mute, curve.extrapolation
    modifiers = [
        [
            getattr(modifier, name)
            for name in modifier.bl_rna.properties.keys()  # noqa: SIM118
            if modifier.bl_rna.properties[name].type in {"FLOAT", "INT", "BOOLEAN", "ENUM"}
        ]
        for modifier in curve.modifiers
    ]
    members = [_member(curve, name).tobytes() for name in _SHAPE]
    return b"".join([repr((kind, modifiers)).encode(), *members])


def _content(found):
    return {
        (curve.data_path, curve.array_index): (
            curve.extrapolation,
            [modifier.type for modifier in curve.modifiers],
            [_member(curve, name).tobytes() for name in _POINT],
        )
        for curves in found
        for curve in curves
    }


def _of_slot(action, slot):
    if not _LAYERED:
        return [action.fcurves]
    return [bag.fcurves for bag in _bags(action) if slot and bag.slot_handle == slot.handle]


def _all_curves(action):
    return [bag.fcurves for bag in _bags(action)] if _LAYERED else [action.fcurves]


def _bags(action):
    return [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]


def _remove_layers(data, made):
    """Leave the user's own action without the slot, layer, strip and bag that it did not have."""
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


# Keyframes of one curve


def new_curve(holder: Any, path: str, index: int = 0, group: str = "") -> bpy.types.FCurve:
    """A curve among those of `channels`; the group is made where it is missing."""
    curve = holder.fcurves.new(path, index=index)
    if group:
        curve.group = holder.groups.get(group) or holder.groups.new(group)
    return curve


class Curves:
    """The curves among those of `channels`, found or made."""

    def __init__(self, holder: Any) -> None:
        self._holder = holder
        self._known = {(curve.data_path, curve.array_index): curve for curve in holder.fcurves}
        self._groups = {group.name: group for group in holder.groups}

    def of(self, path: str, count: int, group: str) -> list[bpy.types.FCurve]:
        """Of each member of a channel."""
        return [self._known.get((path, i)) or self._new(path, i, group) for i in range(count)]

    def _new(self, path, index, group):
        curve = self._holder.fcurves.new(path, index=index)
        if group not in self._groups:
            self._groups[group] = self._holder.groups.new(group)
        curve.group = self._groups[group]
        return curve


class Handles(NamedTuple):
    """Of keyframes whose curves a user may bend: frame and value of both handles of each."""

    left: np.ndarray  # (K, 2)
    right: np.ndarray  # (K, 2)
    holds: np.ndarray | None = None  # (K,) bool: the value stays until the next keyframe


def write(
    curve: bpy.types.FCurve,
    frames: np.ndarray,
    values: np.ndarray,
    handles: Handles | None = None,
) -> None:
    """Keyframes in place of those from the first of the frames on; earlier ones stay.

    Linear without handles.
    """
    kept = before(curve, frames[0])
    written = _straight(frames, values) if handles is None else _bent(frames, values, handles)
    if len(curve.keyframe_points):
        curve.keyframe_points.clear()
    curve.keyframe_points.add(len(kept.get("co", ())) + len(frames))
    if kept:
        written = _after(curve, kept, written)
    for name, column in written.items():
        _set_member(curve, name, column)
    if kept or handles is None:  # else Blender would find what it is given
        curve.update()
        _set_free_handles(curve, written)


def _straight(frames, values):
    """Members of linear keyframes, in the order of their setting."""
    count = len(frames)
    # Blender finds such handles soonest.
    types = () if _SET_ONE_BY_ONE else _HANDLE_TYPES
    return {
        **{name: _numbers(count, name, "VECTOR") for name in types},
        "interpolation": _numbers(count, "interpolation", "LINEAR"),
        "co": _places(frames, values),
    }


def _bent(frames, values, handles):
    """As `_straight`, of keyframes with handles."""
    count = len(frames)
    ways = _numbers(count, "interpolation", "BEZIER")
    if handles.holds is not None:
        ways = ways.copy()
        ways[handles.holds] = _ITEMS["interpolation"]["CONSTANT"]
    return {
        **{name: _numbers(count, name, "FREE") for name in _HANDLE_TYPES},
        "interpolation": ways,
        "co": _places(frames, values),
        "handle_left": np.ascontiguousarray(handles.left, np.float32),
        "handle_right": np.ascontiguousarray(handles.right, np.float32),
    }


def _places(frames, values):
    places = np.empty((len(frames), 2), np.float32)
    places[:, 0], places[:, 1] = frames, values
    return places


def _after(curve, kept, written):
    """Members of the keyframes that are kept and of those after them."""
    early = len(kept["co"])
    rest = {  # as Blender makes new keyframes
        name: _member(curve, name)[early:] for name in _POINT if name not in written
    }
    both = {**rest, **written}
    return {name: np.concatenate([kept[name], both[name]]) for name in _SETTING_ORDER}


def _set_free_handles(curve, points):
    """Once more as given: from 4.5 on `update` moves what stands upright a thousandth of a frame."""
    for name, kind in zip(("handle_left", "handle_right"), _HANDLE_TYPES, strict=True):
        if name in points:
            is_free = points[kind] == _ITEMS[kind]["FREE"]
            updated = _member(curve, name)
            if (is_free & (updated != points[name])).any():
                _set_member(curve, name, np.where(is_free, points[name], updated))


@functools.lru_cache(maxsize=64)
def _numbers(count, member, item):
    """A member of keyframes that all have one item of an enumeration: not to be written to."""
    return np.full((count, 1), _ITEMS[member][item], _ENUM_DTYPE)


def insert(curve: bpy.types.FCurve, frame: float, value: float, shown: float, alone: bool) -> None:
    """A keyframe among others, which Blender joins to its neighbours.

    `alone`: a frame before and after all stays as it is. So it does where the curve has not moved
    until now, and `shown` was its value: else it would begin to at its first keyframe.
    """
    points = curve.keyframe_points
    if not len(points):
        write(curve, np.array([frame - 1, frame, frame + 1]), np.array([shown, value, shown]))
        return
    places = _member(curve, "co")
    rests = (places[:, 1] == places[0, 1]).all() and places[0, 0] < frame < places[-1, 0]
    around = [frame - 1, frame + 1] if alone or rests else []
    for at, kept in [(at, curve.evaluate(at)) for at in around]:
        points.insert(at, kept)
    points.insert(frame, value)
    curve.update()


def before(curve: bpy.types.FCurve, frame: float) -> dict[str, np.ndarray]:
    """The keyframes before a frame: each member as an array of rows; empty where there are none."""
    if not len(curve.keyframe_points):
        return {}
    early = _member(curve, "co")[:, 0] < frame
    return {name: _member(curve, name)[early] for name in _POINT} if early.any() else {}


def _member(curve, name):
    if name in _GET_ONE_BY_ONE:
        numbers = [_ITEMS[name][getattr(point, name)] for point in curve.keyframe_points]
        return np.array(numbers, _ENUM_DTYPE).reshape(-1, 1)
    dtype = _ENUM_DTYPE if name in _ENUMS else np.float32
    flat = np.empty(_POINT[name] * len(curve.keyframe_points), dtype)
    curve.keyframe_points.foreach_get(name, flat)
    return flat.reshape(-1, _POINT[name])


def _set_member(curve, name, column):
    if name in _SET_ONE_BY_ONE:
        names = {number: item for item, number in _ITEMS[name].items()}
        for point, number in zip(curve.keyframe_points, column.ravel().tolist(), strict=True):
            setattr(point, name, names[number])
    else:
        curve.keyframe_points.foreach_set(name, column.ravel())
