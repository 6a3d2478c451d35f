# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot of the file before an edit, to restore it if the edit fails.

It holds which datablocks exist, and what the add-on's operators change of objects and scenes: not the mesh
itself, its faces or its weights.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

import bpy
import numpy as np
from bpy.types import Object, Scene

from . import actions, arrays, fcurves
from .blender_versions import identity, key_positions, move_modifier

# Kinds of datablocks that operators create.
_KINDS = (
    "objects meshes armatures cameras materials images actions node_groups volumes lights".split()
)
# Members of a shape key. The value comes last: others limit it.
_KEY = "interpolation mute vertex_group slider_max slider_min value".split()
_OBJECT = ("show_only_shape_key", "active_shape_key_index")
_CONSTRAINT = ("mute", "influence")
_SCENE = ("frame_start", "frame_end", "camera")

_Owner = Callable[[], Any]  # finds what is saved, again when it is restored
_Restore = Callable[[], None]


class Snapshot:
    """What `restore` restores, until `discard` removes copies of actions and drivers from the file."""

    def __init__(self, objects: Iterable[Object] = (), scenes: Iterable[Scene] = ()) -> None:
        self._undo, self._kept = contextlib.ExitStack(), contextlib.ExitStack()
        self._actions: dict[int, _Action] = {}
        self._undo.callback(self._remove_created)  # last of all
        owners = (*map(self._of_scene, scenes), *map(self._of_object, dict.fromkeys(objects)))
        for parts in owners:
            for restore in reversed(list(parts)):
                self._undo.callback(restore)
        for action in self._actions.values():  # before what uses them
            self._undo.callback(action.restore)
        # With the copies that were made above.
        self._before = {kind: set(map(identity, getattr(bpy.data, kind))) for kind in _KINDS}

    def restore(self) -> None:
        self._undo.close()

    def discard(self) -> None:
        self._kept.close()

    def _remove_created(self) -> None:
        created = [
            block
            for kind, before in self._before.items()
            for block in getattr(bpy.data, kind)
            if identity(block) not in before
        ]
        # Blender 3.4 does not remove these with their meshes.
        keys = [block.shape_keys for block in created if isinstance(block, bpy.types.Mesh)]
        bpy.data.batch_remove([*created, *(key for key in keys if key)])

    def _of_scene(self, scene: Scene) -> Iterator[_Restore]:
        yield self._custom(lambda: scene)
        yield self._members(lambda: scene, _SCENE)

    def _of_object(self, obj: Object) -> Iterator[_Restore]:
        """Of a mesh, armature or light object."""
        if obj.type == "ARMATURE":  # first: update functions of the settings set custom properties
            yield self._members(lambda: obj.mmdskin)
        for bone in obj.pose.bones if obj.pose else ():
            yield from self._of_bone(obj, bone.name, [one.name for one in bone.constraints])
        yield self._custom(lambda: obj)
        yield self._members(lambda: obj)
        if obj.type == "MESH":
            yield self._keys(obj)
        if obj.type in {"MESH", "LIGHT"}:
            yield self._custom(lambda: obj.data)
            yield self._animation(lambda: obj.data)
        if obj.type == "MESH":
            yield _attributes(obj.data)
            yield self._members(lambda: obj.data)
        yield self._modifiers(obj)
        yield self._animation(lambda: obj)
        yield self._members(lambda: obj, _OBJECT)
        if obj.type == "LIGHT":
            yield self._members(lambda: obj.data, ("color",))
            yield self._members(lambda: obj, ("location",))
        for block in filter(None, (obj, obj.data)):
            yield block.update_tag

    def _of_bone(self, armature: Object, name: str, constraints: list[str]) -> Iterator[_Restore]:
        def bone() -> Any:
            return armature.pose.bones[name]

        yield self._members(bone, actions.BONE_CHANNELS)
        yield self._custom(bone)
        for one in constraints:
            yield self._members(lambda one=one: bone().constraints[one], _CONSTRAINT)

    # Actions, strips and drivers

    def _action(self, action: bpy.types.Action | None) -> "_Action | None":
        if action is None:
            return None
        number = identity(action)
        if number not in self._actions:
            self._actions[number] = _Action(action)
            self._kept.callback(self._actions[number].discard)
        return self._actions[number]

    def _animation(self, owner: _Owner) -> _Restore:
        """Action, NLA strips and drivers of a datablock."""
        data = owner().animation_data
        if data is None:
            return lambda: owner().animation_data_clear()
        before, slots = actions.assigned(owner())
        saved, uses_nla = self._action(before), data.use_nla
        tracks = {track.name for track in data.nla_tracks}
        strips = [
            (track.name, strip.name, self._action(strip.action), actions.slot_of(strip))
            for track in data.nla_tracks
            for strip in track.strips
            if strip.action
        ]
        restore_drivers = self._drivers(data)

        def restore() -> None:
            block = owner()
            data = block.animation_data or block.animation_data_create()
            restore_drivers(data)
            for added in [track for track in data.nla_tracks if track.name not in tracks]:
                data.nla_tracks.remove(added)
            if data.use_nla != uses_nla:  # setting it evaluates, which discards unkeyed values
                data.use_nla = uses_nla
            for track, name, action, slot in strips:
                strip = data.nla_tracks[track].strips[name]
                if (strip.action, actions.slot_of(strip)) != (_now(action), slot):
                    actions.replace(strip, _now(action), slot)
            actions.assign(block, _now(saved), slots)

        return restore

    def _drivers(self, data: bpy.types.AnimData) -> Callable[[bpy.types.AnimData], None]:
        """An object has copies of them until `discard`."""
        described = list(map(_description, data.drivers))
        copies: Any = ()
        if described:
            holder = bpy.data.objects.new("mmdskin drivers", None)
            self._kept.callback(bpy.data.objects.remove, holder)
            copies = holder.animation_data_create().drivers
            for curve in data.drivers:
                copies.from_existing(src_driver=curve)

        def restore(data: bpy.types.AnimData) -> None:
            if list(map(_description, data.drivers)) == described:
                return
            for curve in list(data.drivers):
                data.drivers.remove(curve)
            for curve in copies:
                data.drivers.from_existing(src_driver=curve)

        return restore

    # Properties

    def _members(self, owner: _Owner, of_blender: Iterable[str] = ()) -> _Restore:
        """These members, or else those that add-ons have declared, which may be unset."""
        block = owner()
        names = list(of_blender or _declared_names(block))
        values = self._values(block, filter(block.is_property_set, names))

        def restore() -> None:
            block = owner()
            _set(block, values)
            for name in names:
                if name not in values and block.is_property_set(name):
                    block.property_unset(name)

        return restore

    def _custom(self, owner: _Owner) -> _Restore:
        """Custom properties that no add-on has declared."""
        block = owner()
        values = {name: self._value(block[name]) for name in _custom_names(block)}
        shown = {}
        for name in values:
            with contextlib.suppress(TypeError):  # not of this kind of property
                shown[name] = block.id_properties_ui(name).as_dict()

        def restore() -> None:
            block = owner()
            for name in set(_custom_names(block)).difference(values):
                del block[name]
            for name, value in values.items():
                is_gone = name not in block
                if is_gone or _plain(block[name]) != _now(value):
                    block[name] = _now(value)
                if is_gone and name in shown:
                    block.id_properties_ui(name).update(**shown[name])

        return restore

    def _values(self, owner: Any, names: Iterable[str]) -> dict[str, Any]:
        return {name: self._value(getattr(owner, name)) for name in names}

    def _value(self, value: Any) -> Any:
        return self._action(value) if isinstance(value, bpy.types.Action) else _plain(value)

    # Shape keys and modifiers

    def _keys(self, obj: Object) -> _Restore:
        """The shape keys of a mesh object; absent ones are created again, in their order."""
        keys: Any = obj.data.shape_keys
        if keys is None:
            return lambda: obj.shape_key_clear() if obj.data.shape_keys else None
        name_before = keys.name
        parts = [
            self._custom(lambda: obj.data.shape_keys),
            self._animation(lambda: obj.data.shape_keys),
        ]
        saved = [
            (key.name, key.relative_key.name, self._values(key, _KEY), _positions(key))
            for key in keys.key_blocks
        ]

        def restore() -> None:
            blocks = _ordered_keys(obj, [name for name, *_ in saved])
            for name, relative, values, positions in saved:
                key = blocks[name]
                key.relative_key = blocks[relative]
                key.slider_min = values["slider_min"]  # else it may limit the maximum
                _set(key, values)
                if not np.array_equal(_positions(key), positions):
                    arrays.write(*key_positions(key), positions)
            for part in parts:
                part()
            if obj.data.shape_keys.name != name_before:
                obj.data.shape_keys.name = name_before

        return restore

    def _modifiers(self, obj: Object) -> _Restore:
        """The modifiers of an object; absent ones are created again."""
        saved = [(one.name, one.type, self._values(one, _settable(one))) for one in obj.modifiers]
        active = obj.modifiers.active.name if obj.modifiers.active else ""
        # Without users, node groups of the add-on would be removed.
        for group in (getattr(modifier, "node_group", None) for modifier in obj.modifiers):
            if group and not group.library and not group.use_fake_user:
                group.use_fake_user = True
                self._kept.callback(_release, group)

        def restore() -> None:
            modifiers, names = obj.modifiers, {name for name, *_ in saved}
            for modifier in [one for one in modifiers if one.name not in names]:
                modifiers.remove(modifier)
            for place, (name, kind, values) in enumerate(saved):
                if name not in modifiers:
                    modifiers.new(name, kind)
                if modifiers.find(name) != place:
                    move_modifier(obj, modifiers[name], place)
                for one, value in values.items():
                    with contextlib.suppress(AttributeError, TypeError):  # not in this state
                        _set(modifiers[name], {one: value})
            if active:
                modifiers.active = modifiers[active]

        return restore


class _Action:
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
        with contextlib.suppress(ReferenceError):  # it was removed
            if _content(self.action) == _content(copy):
                self.action.use_fake_user = copy.use_fake_user
                return
            self.action.user_remap(copy)
            bpy.data.actions.remove(self.action)
        copy.name = self._name
        self.action, self._copy = copy, None

    def discard(self) -> None:
        if self._copy is not None:
            bpy.data.actions.remove(self._copy)


def _now(value: Any) -> Any:
    """A saved value; of an action, the one that has its content now."""
    return value.action if isinstance(value, _Action) else value


def _content(action: bpy.types.Action) -> list:
    curves = actions.curves_of(action)
    slots = [slot.identifier for slot in getattr(action, "slots", ())]
    return [*fcurves.content(curves), *(curve.mute for curve in curves), *slots]


def _description(curve: bpy.types.FCurve) -> tuple:
    driver = curve.driver
    variables = [
        (variable.name, variable.type, one.id, one.data_path, one.bone_target, one.transform_type)
        for variable in driver.variables
        for one in variable.targets
    ]
    kind = driver.type, driver.expression, driver.use_self
    return curve.data_path, curve.array_index, curve.mute, kind, variables


def _set(owner: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if _plain(getattr(owner, name)) != _now(value):
            setattr(owner, name, _now(value))


def _plain(value: Any) -> Any:
    """A value that stays as it is when its owner changes."""
    if isinstance(value, (bpy.types.bpy_struct, str, int, float, type(None))):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "to_list"):
        return value.to_list()
    with contextlib.suppress(TypeError):
        return tuple(value)
    return value


def _custom_names(owner: Any) -> list[str]:
    return [name for name in list(owner.keys()) if name not in owner.bl_rna.properties]


def _declared_names(owner: Any) -> list[str]:
    """Names of the properties that hold values or actions."""
    return [
        item.identifier
        for item in owner.bl_rna.properties
        if item.is_runtime and not item.is_readonly and item.type != "COLLECTION"
        if item.type != "POINTER" or item.fixed_type.identifier == "Action"
    ]


def _settable(modifier: bpy.types.Modifier) -> list[str]:
    return [
        item.identifier
        for item in modifier.bl_rna.properties
        if not item.is_readonly and item.type != "COLLECTION" and item.identifier != "is_active"
    ]


def _release(group: bpy.types.NodeTree) -> None:
    group.use_fake_user = False
    if not group.users:
        bpy.data.node_groups.remove(group)


def _attributes(mesh: Any) -> _Restore:
    """The attributes of a mesh; one that was removed comes back with zeros."""
    attributes = mesh.attributes
    layers = {one.name: (one.data_type, one.domain) for one in attributes}
    active = attributes.active_index

    def restore() -> None:
        for name in [one.name for one in attributes if one.name not in layers]:
            attributes.remove(attributes[name])
        for name, (kind, domain) in layers.items():
            if name not in attributes:
                attributes.new(name, kind, domain)
        attributes.active_index = active

    return restore


def _ordered_keys(obj: Object, names: list[str]) -> Any:
    """Key blocks with the names and order from before."""
    keys: Any = obj.data.shape_keys
    now = [key.name for key in keys.key_blocks] if keys else []
    pairs = zip(now, names, strict=False)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    for name in reversed(now[same:]):
        obj.shape_key_remove(obj.data.shape_keys.key_blocks[name])
    for name in names[same:]:
        obj.shape_key_add(name=name, from_mix=False)
    return obj.data.shape_keys.key_blocks


def _positions(key: bpy.types.ShapeKey) -> np.ndarray:
    return arrays.read(*key_positions(key), 3)
