# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of drivers: what an expression reads, and what its driver therefore depends on."""

from typing import Any

from bpy.types import ID, Driver, DriverVariable, Mesh, Object


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


def add_keys(driver: Driver, name: str, mesh: ID) -> None:
    """The shape keys of a mesh: the driver depends on the animation and the drivers of every key.

    By the mesh: Blender 3.4 crashes if a driver refers to keys that were removed with their mesh.
    """
    add_property(driver, name, mesh, "shape_keys.eval_time")


def keys_of(variable: DriverVariable) -> Any:
    """The key blocks of a variable from `add_keys`, or () without its mesh. Those of files of 0.2 have
    the keys."""
    block: Any = variable.targets[0].id
    keys = block.shape_keys if isinstance(block, Mesh) else block
    return keys.key_blocks if keys is not None else ()


def add_transform(driver: Driver, name: str, obj: Object, bone: str = "") -> None:
    """The location of an object or bone: the driver depends on all of its transform."""
    variable = driver.variables.new()
    variable.name, variable.type = name, "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target = obj, bone
    target.transform_type, target.transform_space = "LOC_X", "WORLD_SPACE"
