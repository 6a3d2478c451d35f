# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers: what an expression reads, on which its driver therefore depends, and functions that it calls."""

import atexit
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import bpy
from bpy.app.handlers import persistent
from bpy.types import ID, Driver, DriverVariable, FCurve, Mesh

from . import registration

if getattr(bpy.app, "module", False):
    # bpy 4.5 hangs at exit while anything refers to it, as this does from its first use on.
    atexit.register(lambda: bpy.app.driver_namespace.pop("bpy", None))


class Functions:
    """Functions that drivers call, by the names in their expressions.

    `driven` finds these drivers, each with its datablock. They look up the functions when they are
    compiled, and opening a file empties Blender's list of functions.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., float]],
        driven: Callable[[], Sequence[tuple[ID, FCurve]]],
    ) -> None:
        self._functions, self._driven = functions, driven

        @persistent
        def recompile(*_: object) -> None:
            self.install()
            for block, curve in driven():
                curve.driver.expression = curve.driver.expression
                block.update_tag()

        self.recompile = recompile

    def install(self) -> None:
        bpy.app.driver_namespace.update(self._functions)

    def with_handlers(
        self, named: Iterable[tuple[str, Callable]], *of_file: Callable
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """`register` and `unregister` of a module with these functions and handlers."""
        add, remove = registration.handlers(
            named, of_file=(*of_file, self.recompile), afterwards=self._remove
        )

        def register() -> None:
            add()
            self.install()  # any file may contain such drivers

        return register, remove

    def _remove(self) -> None:
        for name in self._functions:
            bpy.app.driver_namespace.pop(name, None)
        for block, curve in self._driven():
            # Until `recompile`, or until a file is opened: skip it silently.
            curve.driver.is_valid = False
            block.update_tag()  # otherwise the last frame would stay on screen


def of(block: Any) -> Any:
    """The F-curves of a datablock's drivers."""
    data = getattr(block, "animation_data", None)
    return data.drivers if data else ()


def find(block: Any, path: str) -> FCurve | None:
    """The F-curve of the driver of a property; of an array, of its first member."""
    data = block.animation_data
    return data.drivers.find(path) if data else None


def remove(block: Any, start: str) -> None:
    """Remove the drivers of a datablock whose data paths begin so."""
    for curve in [one for one in of(block) if one.data_path.startswith(start)]:
        block.animation_data.drivers.remove(curve)


class Awaited(NamedTuple):
    """What a driver waits for: the transform of an object or a bone, or a property of a datablock."""

    block: ID
    bone: str = ""
    path: str = ""  # of a property


def scripted(
    owner: Any, path: str, expression: str, awaited: Mapping[str, Awaited] = MappingProxyType({})
) -> None:
    """Give a property a new driver, whose expression may pass the property's owner, and which waits for
    what has variables with these names."""
    owner.driver_remove(path)
    driver = owner.driver_add(path).driver
    driver.type, driver.use_self = "SCRIPTED", True
    for name, one in awaited.items():
        if one.path:
            add_property(driver, name, one.block, one.path)
        else:
            add_transform(driver, name, one.block, one.bone)
    driver.expression = expression


def waits_for(driver: Driver, awaited: Mapping[str, Awaited]) -> bool:
    """Whether an evaluated driver waits for all of these, by whatever variables."""
    targets: list[Any] = [variable.targets[0] for variable in driver.variables]
    known = {(one.id.original, one.bone_target, one.data_path) for one in targets if one.id}
    return known.issuperset(awaited.values())


def drive(owner: Any, path: str, expression: str, index: int = -1, **read: tuple[ID, str]) -> None:
    """Drive a property by an expression of others: by name, their datablocks and data paths."""
    driver = owner.driver_add(path, index).driver
    for name, (block, source) in read.items():
        add_property(driver, name, block, source)
    driver.expression = expression


def add_property(driver: Driver, name: str, block: ID, path: str) -> None:
    """A property of a datablock."""
    variable = driver.variables.new()
    variable.name, variable.type = name, "SINGLE_PROP"
    target: Any = variable.targets[0]
    rna = block.bl_rna
    kind = rna.base if rna.base.identifier != "ID" else rna  # of a Sun: Light
    target.id_type, target.id, target.data_path = kind.identifier.upper(), block, path


def keys_of(mesh: ID) -> Awaited:
    """The shape keys of a mesh: the driver depends on the animation and the drivers of every key.

    By the mesh: Blender 3.4 crashes if a driver refers to keys that were removed with their mesh.
    """
    return Awaited(mesh, path="shape_keys.eval_time")


def awaited_keys(variable: DriverVariable) -> Any:
    """The key blocks of a variable for `keys_of`, or () without its mesh. Those of files of 0.2 have
    the keys."""
    block: Any = variable.targets[0].id
    keys = block.shape_keys if isinstance(block, Mesh) else block
    return keys.key_blocks if keys is not None else ()


def add_transform(
    driver: Driver,
    name: str,
    obj: ID,
    bone: str = "",
    kind: Any = "LOC_X",
    space: Any = "WORLD_SPACE",
) -> None:
    """A part of the transform of an object or bone: the driver depends on all of it."""
    variable = driver.variables.new()
    variable.name, variable.type = name, "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target = obj, bone
    target.transform_type, target.transform_space = kind, space
    target.rotation_mode = "QUATERNION"
