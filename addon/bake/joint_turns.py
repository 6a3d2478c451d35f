# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation of one bone of a joint relative to the other, from poses and as driver variables.

Both are a unit quaternion w, x, y, z: 1, 0, 0, 0 at rest. Blender has a driver variable for a bone
relative to its parent. For any other pair, four drivers of a mesh property multiply the rotations
of both bones, since one expression is too short for that and the function. (A property of the mesh,
because Blender's glTF exporter omits all drivers of a Key if one does not drive a shape key.)
"""

from itertools import product
from typing import Any

import numpy as np
from bpy.types import ID, Driver, Object
from mathutils import Matrix, Quaternion

from ..blender import actions, drivers

_LETTERS = "wxyz"


def computed(
    armature: Object, pair: tuple[str, str], first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """(F, 4) for the rotations (F, 3, 3) of both bones relative to rest, in armature space."""
    bone = armature.data.bones[pair[1] if is_child(armature, pair) else pair[0]]
    rest = np.array(bone.matrix_local.to_3x3())
    turned = rest.T @ first.transpose(0, 2, 1) @ second @ rest
    return np.array([Matrix(one).to_quaternion() for one in turned.tolist()])


class Drivers:
    """Drives shape keys of a mesh by joint rotations of an armature."""

    def __init__(self, mesh: Any, armature: Object) -> None:
        self._mesh, self._armature = mesh, armature
        # By pair: the name of the property that holds its rotation.
        self.properties: dict[tuple[str, str], str] = {}

    def drive(self, name: str, pair: tuple[str, str], expression: str) -> None:
        driver = _new(self._mesh.shape_keys, actions.value_path(name))
        kept = None if is_child(self._armature, pair) else self._kept(pair)
        for place, letter in enumerate(_LETTERS):
            if kept is None:
                self._add_turn(driver, letter, pair[1], place, "LOCAL_SPACE")
                continue
            drivers.add_property(driver, letter, self._mesh, f'["{kept}"][{place}]')
        driver.expression = expression

    def _kept(self, pair: tuple[str, str]) -> str:
        if pair not in self.properties:
            number = 1
            while f"mmdskin_turn_{number}" in self._mesh:
                number += 1
            name = self.properties[pair] = f"mmdskin_turn_{number}"
            self._mesh[name] = [1.0, 0.0, 0.0, 0.0]
            of_data = self._armature.data.bones
            rests = [of_data[bone].matrix_local.to_quaternion() for bone in pair]
            for place in range(4):
                driver = _new(self._mesh, f'["{name}"]', place)
                for bone, letters in zip(pair, ("abcd", _LETTERS), strict=True):
                    for part, letter in enumerate(letters):
                        self._add_turn(driver, letter, bone, part, "WORLD_SPACE")
                driver.expression = _product(place, rests[1].conjugated() @ rests[0])
        return self.properties[pair]

    def _add_turn(self, driver: Driver, letter: str, bone: str, part: int, space: str) -> None:
        drivers.add_transform(driver, letter, self._armature, bone, f"ROT_{'WXYZ'[part]}", space)


def remove(mesh: ID, properties: list[str]) -> None:
    """Remove the properties and their drivers."""
    for name in properties:
        mesh.driver_remove(f'["{name}"]')
        if name in mesh:
            del mesh[name]


def is_child(armature: Object, pair: tuple[str, str]) -> bool:
    """Whether the second bone inherits the rotation of the first, its parent."""
    bone = armature.data.bones[pair[1]]
    return bone.use_inherit_rotation and bone.parent is not None and bone.parent.name == pair[0]


def _new(block: ID, path: str, *index: int) -> Driver:
    block.driver_remove(path, *index)
    return block.driver_add(path, *index).driver


def _product(place: int, last: Quaternion) -> str:
    """Component `place` of (a, b, c, d) conjugated * (w, x, y, z) * last, as an expression."""
    units = np.eye(4).tolist()
    summands = []
    for (one, letter), (other, second) in product(enumerate("abcd"), enumerate(_LETTERS)):
        share = (Quaternion(units[one]).conjugated() @ Quaternion(units[other]) @ last)[place]
        summands.append(f"{share:+.5f}*{letter}*{second}")
    return "".join(summands)
