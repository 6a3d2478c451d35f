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
_TURN = "mmdskin_turn_"  # how names of the properties begin


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
        self._properties: dict[tuple[str, str], str] = {}  # by pair: that with its rotation

    def drive(self, name: str, pair: tuple[str, str], expression: str) -> None:
        driver = _new(self._mesh.shape_keys, actions.value_path(name))
        if is_child(self._armature, pair):
            self._add_turn(driver, _LETTERS, pair[1], "LOCAL_SPACE")
        else:
            turn = self._property(pair)
            for place, letter in enumerate(_LETTERS):
                drivers.add_property(driver, letter, self._mesh, f'["{turn}"][{place}]')
        driver.expression = expression

    def _property(self, pair: tuple[str, str]) -> str:
        if pair not in self._properties:
            name = self._properties[pair] = f"{_TURN}{len(self._properties) + 1}"
            self._mesh[name] = [1.0, 0.0, 0.0, 0.0]
            bones = self._armature.data.bones
            first, second = (bones[bone].matrix_local.to_quaternion() for bone in pair)
            for place in range(4):
                driver = _new(self._mesh, f'["{name}"]', place)
                for bone, letters in zip(pair, ("abcd", _LETTERS), strict=True):
                    self._add_turn(driver, letters, bone, "WORLD_SPACE")
                driver.expression = _product(place, second.conjugated() @ first)
        return self._properties[pair]

    def _add_turn(self, driver: Driver, letters: str, bone: str, space: str) -> None:
        for letter, part in zip(letters, "WXYZ", strict=True):
            drivers.add_transform(driver, letter, self._armature, bone, f"ROT_{part}", space)


def remove(mesh: ID) -> None:
    """Remove the properties and their drivers."""
    drivers.remove(mesh, f'["{_TURN}')
    for name in [name for name in mesh.keys() if name.startswith(_TURN)]:  # noqa: SIM118
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
