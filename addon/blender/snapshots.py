# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots of objects and scenes before an edit, to restore them if it fails.

They hold what the add-on's operators change: not the mesh itself, its faces or its weights.
"""

import contextlib
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any

import bpy
import numpy as np

from . import actions, arrays
from .animation_snapshots import ActionSnapshot, ActionSnapshots, AnimationSnapshot
from .blender_versions import identity, key_positions, move_modifier

# Kinds of datablocks that operators create.
_KINDS = (
    "objects meshes armatures cameras materials images actions node_groups volumes lights".split()
)
# Members of a shape key. The value comes last: others limit it.
_KEY = "interpolation mute vertex_group slider_min slider_max slider_min value".split()
_OBJECT = ("show_only_shape_key", "active_shape_key_index")
_CONSTRAINT = ("mute", "influence")
_LIGHT = ("color",)
_SCENE = ("frame_start", "frame_end", "camera")


class Snapshot:
    """What `restore` restores, until `discard` removes what is kept for it in the file."""

    def discard(self) -> None:
        return


class DatablocksSnapshot(Snapshot):
    """Which datablocks exist: those that are created later are removed again."""

    def __init__(self) -> None:
        self._before = {kind: set(map(identity, getattr(bpy.data, kind))) for kind in _KINDS}

    def restore(self) -> None:
        created = [
            block
            for kind, before in self._before.items()
            for block in getattr(bpy.data, kind)
            if identity(block) not in before
        ]
        # Blender 3.4 does not remove these with their meshes.
        keys = [block.shape_keys for block in created if isinstance(block, bpy.types.Mesh)]
        bpy.data.batch_remove([*created, *(key for key in keys if key)])


class _Parts(Snapshot):
    """Snapshots of parts of a datablock, restored in the order in which they are added."""

    def __init__(self, used: ActionSnapshots) -> None:
        self._used = used
        self._parts: list[tuple[Callable[[], Any], Any]] = []  # owner and snapshot

    def add(self, owner: Callable[[], Any], *kinds: Callable[[Any, ActionSnapshots], Any]) -> None:
        self._parts += [(owner, kind(owner(), self._used)) for kind in kinds]

    def restore(self) -> None:
        for owner, part in self._parts:
            part.restore(owner())

    def discard(self) -> None:
        for _, part in self._parts:
            part.discard()


class SceneSnapshot(_Parts):
    """The frame range, the camera and the custom properties of a scene."""

    def __init__(self, scene: bpy.types.Scene, used: ActionSnapshots) -> None:
        super().__init__(used)
        self.add(lambda: scene, _Properties, _members(_SCENE))


class ObjectSnapshot(_Parts):
    """A mesh, armature or light object: its shape keys, modifiers, poses, animation and properties."""

    def __init__(self, obj: bpy.types.Object, used: ActionSnapshots) -> None:
        super().__init__(used)
        self._obj = obj
        if obj.type == "ARMATURE":  # first: update functions of the settings set custom properties
            self.add(lambda: obj.mmdskin, _Declared)
        for bone in obj.pose.bones if obj.pose else ():
            self._add_bone(bone.name, [one.name for one in bone.constraints])
        self.add(lambda: obj, _Properties, _Declared)
        if obj.type == "MESH":
            self.add(lambda: obj, _Keys)
            self.add(lambda: obj.data, _Properties, AnimationSnapshot, _Attributes, _Declared)
        self.add(lambda: obj, _Modifiers, AnimationSnapshot, _members(_OBJECT))
        if obj.type == "LIGHT":
            self.add(lambda: obj.data, _Properties, AnimationSnapshot, _members(_LIGHT))
            self.add(lambda: obj, _members(("location",)))

    def _add_bone(self, name: str, constraints: list[str]) -> None:
        def bone() -> Any:
            return self._obj.pose.bones[name]

        self.add(bone, _members(actions.BONE_CHANNELS), _Properties)
        for one in constraints:
            self.add(lambda one=one: bone().constraints[one], _members(_CONSTRAINT))

    def restore(self) -> None:
        super().restore()
        self._obj.update_tag()
        if self._obj.data is not None:
            self._obj.data.update_tag()


class _Members(Snapshot):
    """Members of Blender's own."""

    def __init__(self, owner: Any, names: Iterable[str]) -> None:
        self._values = _values(owner, names)

    def restore(self, owner: Any) -> None:
        _set(owner, self._values)


def _members(names: Iterable[str]) -> Callable[[Any, ActionSnapshots], _Members]:
    return lambda owner, used: _Members(owner, names)


def _values(owner: Any, names: Iterable[str]) -> list[tuple[str, Any]]:
    return [(name, _plain(getattr(owner, name))) for name in names]


def _set(owner: Any, values: Iterable[tuple[str, Any]]) -> None:
    for name, value in values:
        if _plain(getattr(owner, name)) != value:
            setattr(owner, name, value)


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


class _Properties(Snapshot):
    """Custom properties."""

    def __init__(self, owner: Any, used: ActionSnapshots) -> None:
        self._values = {name: _value(owner[name], used) for name in _custom(owner)}
        self._ui = {}
        for name in self._values:
            with contextlib.suppress(TypeError):  # not of this kind of property
                self._ui[name] = owner.id_properties_ui(name).as_dict()

    def restore(self, owner: Any) -> None:
        for name in _custom(owner):
            if name not in self._values:
                del owner[name]
        for name, value in self._values.items():
            is_gone = name not in owner
            value = value.action if isinstance(value, ActionSnapshot) else value
            if is_gone or _plain(owner[name]) != value:
                owner[name] = value
            if is_gone and name in self._ui:
                owner.id_properties_ui(name).update(**self._ui[name])


def _value(value: Any, used: ActionSnapshots) -> Any:
    return used.take(value) if isinstance(value, bpy.types.Action) else _plain(value)


def _custom(owner: Any) -> list[str]:
    """Names of the custom properties that no add-on has declared."""
    return [name for name in list(owner.keys()) if name not in owner.bl_rna.properties]


class _Declared(Snapshot):
    """Values of properties that add-ons have declared, which may be unset."""

    def __init__(self, owner: Any, used: ActionSnapshots) -> None:
        self._values = {
            name: _value(getattr(owner, name), used)
            for name in _declared(owner)
            if owner.is_property_set(name)
        }

    def restore(self, owner: Any) -> None:
        for name in _declared(owner):
            if name in self._values:
                value = self._values[name]
                value = value.action if isinstance(value, ActionSnapshot) else value
                if _plain(getattr(owner, name)) != value:
                    setattr(owner, name, value)
            elif owner.is_property_set(name):
                owner.property_unset(name)


def _declared(owner: Any) -> list[str]:
    """Names of the properties that hold values or actions."""
    return [
        item.identifier
        for item in owner.bl_rna.properties
        if item.is_runtime and not item.is_readonly and _is_value(item)
    ]


def _is_value(item: Any) -> bool:
    if item.type == "POINTER":
        return item.fixed_type.identifier == "Action"
    return item.type != "COLLECTION"


class _Attributes(Snapshot):
    """The attributes of a mesh; one that was removed comes back with zeros."""

    def __init__(self, mesh: Any, used: ActionSnapshots) -> None:
        self._layers = {one.name: (one.data_type, one.domain) for one in mesh.attributes}
        self._active = mesh.attributes.active_index

    def restore(self, mesh: Any) -> None:
        attributes = mesh.attributes
        for name in [one.name for one in attributes if one.name not in self._layers]:
            attributes.remove(attributes[name])
        for name, (kind, domain) in self._layers.items():
            if name not in attributes:
                attributes.new(name, kind, domain)
        attributes.active_index = self._active


class _Keys(Snapshot):
    """The shape keys of a mesh object; absent ones are created again, in their order."""

    def __init__(self, obj: bpy.types.Object, used: ActionSnapshots) -> None:
        keys = obj.data.shape_keys
        self._has_keys, self._name = keys is not None, keys.name if keys else ""
        self._animation: AnimationSnapshot | None = None
        self._keys: list[tuple[str, str, list[tuple[str, Any]], np.ndarray]] = []
        if keys is not None:
            self._animation = AnimationSnapshot(keys, used)
            self._properties = _Properties(keys, used)
            self._keys = [
                (key.name, key.relative_key.name, _values(key, _KEY), _positions(key))
                for key in keys.key_blocks
            ]

    def restore(self, obj: bpy.types.Object) -> None:
        if not self._has_keys:
            if obj.data.shape_keys:
                obj.shape_key_clear()
            return
        blocks = self._ordered(obj)
        for name, relative, values, positions in self._keys:
            key = blocks[name]
            key.relative_key = blocks[relative]
            _set(key, values)
            if not np.array_equal(_positions(key), positions):
                arrays.write(*key_positions(key), positions)
        self._properties.restore(obj.data.shape_keys)
        if self._animation:
            self._animation.restore(obj.data.shape_keys)
        if obj.data.shape_keys.name != self._name:
            obj.data.shape_keys.name = self._name

    def discard(self) -> None:
        if self._animation:
            self._animation.discard()

    def _ordered(self, obj: bpy.types.Object) -> Any:
        """Key blocks with the names and order from before."""
        names = [name for name, *_ in self._keys]
        keys = obj.data.shape_keys
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


class _Modifiers(Snapshot):
    """The modifiers of an object; absent ones are created again."""

    def __init__(self, obj: bpy.types.Object, used: ActionSnapshots) -> None:
        self._modifiers = [_Modifier(modifier) for modifier in obj.modifiers]
        self._active = obj.modifiers.active.name if obj.modifiers.active else ""
        # Without users, node groups of the add-on would be removed.
        groups = [getattr(modifier, "node_group", None) for modifier in obj.modifiers]
        self._groups = [one for one in groups if one and not one.library and not one.use_fake_user]
        for group in self._groups:
            group.use_fake_user = True

    def restore(self, obj: bpy.types.Object) -> None:
        kept = {modifier.name for modifier in self._modifiers}
        for modifier in [one for one in obj.modifiers if one.name not in kept]:
            obj.modifiers.remove(modifier)
        for place, saved in enumerate(self._modifiers):
            saved.restore(obj, place)
        if self._active:
            obj.modifiers.active = obj.modifiers[self._active]

    def discard(self) -> None:
        for group in self._groups:
            group.use_fake_user = False
            if not group.users:
                bpy.data.node_groups.remove(group)


class _Modifier:
    def __init__(self, modifier: bpy.types.Modifier) -> None:
        self.name, self._type = modifier.name, modifier.type
        names = [
            item.identifier
            for item in modifier.bl_rna.properties
            if not item.is_readonly and item.type != "COLLECTION" and item.identifier != "is_active"
        ]
        self._values = _values(modifier, names)

    def restore(self, obj: bpy.types.Object, place: int) -> None:
        if self.name not in obj.modifiers:
            obj.modifiers.new(self.name, self._type)
        if obj.modifiers.find(self.name) != place:
            move_modifier(obj, obj.modifiers[self.name], place)
        for one in self._values:
            with contextlib.suppress(AttributeError, TypeError):  # not to be set in this state
                _set(obj.modifiers[self.name], [one])
