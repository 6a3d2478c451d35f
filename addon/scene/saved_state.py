# SPDX-License-Identifier: GPL-3.0-or-later
"""State for undoing changes of a datablock, as JSON in a custom property, saved with the file.

Another version of the add-on may have written it: missing fields have their defaults.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from bpy.props import PointerProperty, StringProperty
from bpy.types import ID, Action, Object

from ..blender.user_error import UserError
from . import stored

# The custom properties.
PREVIEW, BAKE, MOTION = "mmdskin_preview", "mmdskin_bake", "mmdskin_motion"
LOOK, FILES = "mmdskin_look", "mmdskin_files"
# Custom properties that refer to actions: the user's, and the one that imports write.
MOTION_BEFORE, MOTION_WRITTEN = f"{MOTION}_before", f"{MOTION}_written"
# When a file is opened, a library override loses custom properties that its library lacks, but not
# those that an add-on has declared. So these have declared counterparts, which overrides use.
_OF_OVERRIDES = {
    name: f"{name}_of_override" for name in (BAKE, MOTION, FILES, MOTION_BEFORE, MOTION_WRITTEN)
}
POSES = "single_poses"  # a field of a bake's state, with names of bones
VERSION = 2  # of the current format; 0.1 wrote no version
_State = TypeVar("_State", bound="SavedState")


@dataclasses.dataclass
class SavedState:
    """Base class of states. The fields, which may hold other dataclasses, are the keys of the JSON and keep
    their names. One that is None is not written."""

    PROPERTY: ClassVar[str]

    @classmethod
    def read(cls: type[_State], block: ID) -> _State:
        """The state stored by `write`; all defaults if there is none."""
        return _typed(cls, load(block, cls.PROPERTY))

    def write(self, block: ID) -> None:
        store(block, self.PROPERTY, _present(vars(self).items()))


def declare() -> None:
    """Declare the properties of overrides, on objects: no other datablock of ours can be one."""
    options: dict[str, Any] = {"options": {"HIDDEN"}, "override": {"LIBRARY_OVERRIDABLE"}}
    for name, declared in _OF_OVERRIDES.items():
        is_action = name in (MOTION_BEFORE, MOTION_WRITTEN)
        kind = PointerProperty(type=Action, **options) if is_action else StringProperty(**options)
        setattr(Object, declared, kind)


def undeclare() -> None:
    for declared in _OF_OVERRIDES.values():
        if hasattr(Object, declared):
            delattr(Object, declared)


def exists(block: ID, name: str) -> bool:
    return name in block or bool(_of_override(block, name))


def is_baked(obj: Object) -> bool:
    return exists(obj, BAKE)


def is_own(block: ID, name: str) -> bool:
    """Whether something is stored, and in this file, not in the library that the block comes from."""
    if block.library or not exists(block, name):
        return False
    reference = block.override_library.reference if block.override_library else None
    if reference is None:
        return True
    declared = _of_override(block, name)  # may come from an override in the library
    return declared != _of_override(reference, name) if declared else name not in reference


def load(block: ID, name: str) -> dict[str, Any]:
    """The JSON of a custom property, {} if there is none or if it was damaged."""
    text = _of_override(block, name) or stored.text(block, name)
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):  # edited by hand
        found = {}
    saved = dict(found) if isinstance(found, dict) else {}
    version = saved.pop("version", 1)
    if isinstance(version, int) and version > VERSION:
        raise UserError(
            "'{name}' was saved by a newer version of MMD Skin: update the add-on", name=block.name
        )
    return saved


def store(block: ID, name: str, state: dict[str, Any]) -> None:
    text = json.dumps(
        {"version": VERSION, **state}, default=lambda one: _present(vars(one).items())
    )
    _store(block, name, text)


def load_action(block: ID, name: str) -> Action | None:
    """The action that `store_action` has stored, None if there is none."""
    found = _of_override(block, name) or block.get(name)
    return found if isinstance(found, Action) else None


def store_action(block: ID, name: str, action: Action | None) -> None:
    if action is None:
        remove(block, name)
    else:
        _store(block, name, action)


def remove(block: ID, name: str) -> None:
    """Remove what was stored in this file, if anything was."""
    if _of_override(block, name):
        block.property_unset(_OF_OVERRIDES[name])
    elif is_own(block, name):
        del block[name]


def _store(block: ID, name: str, value: str | Action) -> None:
    declared = _OF_OVERRIDES.get(name, "")
    if hasattr(block, declared) and (block.override_library or getattr(block, declared)):
        setattr(block, declared, value)
    else:
        block[name] = value


def _of_override(block: ID, name: str) -> Any:
    # Also of an object that is no override any more, since it was made local.
    return getattr(block, _OF_OVERRIDES.get(name, ""), None)


def _typed(kind: Any, saved: Any) -> Any:
    """A dataclass of the values that have the types of its fields, else their defaults."""
    values, hints = {}, typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        value = saved.get(field.name) if isinstance(saved, dict) else None
        hint = hints[field.name]
        inner = next(filter(dataclasses.is_dataclass, (hint, *typing.get_args(hint))), None)
        if inner is not None:
            value = _typed(inner, value) if value else None
        elif not has_type(value, hint):
            value = None
        if value is not None:
            values[field.name] = value
    return kind(**values)


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value of JSON has a type such as dict[str, list[bool]] | None."""
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (types.UnionType, typing.Union):
        return any(has_type(value, one) for one in inner)
    if kind is list:
        return isinstance(value, list) and all(has_type(one, inner[0]) for one in value if inner)
    if kind is dict:
        return isinstance(value, dict) and all(
            has_type(one, inner[1]) for one in value.values() if inner
        )
    if kind in (bool, int, float):  # JSON and older versions mix them
        return isinstance(value, (int, float))
    return kind is Any or (isinstance(kind, type) and isinstance(value, kind))


def _present(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if value is not None}
