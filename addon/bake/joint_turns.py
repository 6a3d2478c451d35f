# SPDX-License-Identifier: GPL-3.0-or-later
"""How one bone of a joint is turned against the other: computed from poses, and as drivers see it.

Both give one unit quaternion w, x, y, z: 1, 0, 0, 0 at rest. Of a bone and its parent Blender knows it
by itself. Of any other pair it is kept in a property of the mesh, whose four drivers multiply the
turns of both bones, as one expression could not hold that besides a function. (Of the mesh, as
Blender's glTF exporter leaves all drivers of a Key out where one is not for a shape key.)
"""

from itertools import product

import numpy as np
from mathutils import Matrix, Quaternion

from .. import actions

_LETTERS = "wxyz"


def computed(armature, pair, first, second):
    """(F, 4) for the rotations (F, 3, 3) of both bones against rest, in armature space."""
    rest = _rest(armature, pair[1] if is_child(armature, pair) else pair[0])
    turned = rest.T @ first.transpose(0, 2, 1) @ second @ rest
    return np.array([Matrix(one).to_quaternion() for one in turned.tolist()])


class Drivers:
    """Drives shape keys of a mesh by joints of an armature."""

    def __init__(self, mesh, armature):
        self._mesh, self._armature = mesh, armature
        self.properties = {}  # pair: name of the property that holds its turn

    def drive(self, name, pair, expression):
        driver = _new(self._mesh.shape_keys, actions.value_path(name))
        kept = None if is_child(self._armature, pair) else self._kept(pair)
        for place, letter in enumerate(_LETTERS):
            if kept is None:
                self._add_turn(driver, letter, pair[1], place, "LOCAL_SPACE")
                continue
            variable = driver.variables.new()
            variable.name, variable.type = letter, "SINGLE_PROP"
            target = variable.targets[0]
            target.id_type, target.id = "MESH", self._mesh
            target.data_path = f'["{kept}"][{place}]'
        driver.expression = expression

    def _kept(self, pair):
        if pair not in self.properties:
            number = 1
            while f"mmdskin_turn_{number}" in self._mesh:
                number += 1
            name = self.properties[pair] = f"mmdskin_turn_{number}"
            self._mesh[name] = [1.0, 0.0, 0.0, 0.0]
            rests = [_rest_turn(self._armature, bone) for bone in pair]
            for place in range(4):
                driver = _new(self._mesh, f'["{name}"]', place)
                for bone, letters in zip(pair, ("abcd", _LETTERS), strict=True):
                    for part, letter in enumerate(letters):
                        self._add_turn(driver, letter, bone, part, "WORLD_SPACE")
                driver.expression = _product(place, rests[1].conjugated() @ rests[0])
        return self.properties[pair]

    def _add_turn(self, driver, letter, bone, part, space):
        variable = driver.variables.new()
        variable.name, variable.type = letter, "TRANSFORMS"
        target = variable.targets[0]
        target.id, target.bone_target = self._armature, bone
        target.transform_type, target.transform_space = f"ROT_{'WXYZ'[part]}", space
        target.rotation_mode = "QUATERNION"


def remove(mesh, properties):
    """Take the properties away again, and their drivers."""
    for name in properties:
        mesh.driver_remove(f'["{name}"]')
        if name in mesh:
            del mesh[name]


def is_child(armature, pair):
    """Whether the second bone turns with the first, its parent."""
    bone = armature.data.bones[pair[1]]
    return bone.use_inherit_rotation and bone.parent is not None and bone.parent.name == pair[0]


def _rest(armature, bone):
    return np.array(armature.data.bones[bone].matrix_local.to_3x3())


def _rest_turn(armature, bone):
    return armature.data.bones[bone].matrix_local.to_quaternion()


def _new(block, path, *index):
    block.driver_remove(path, *index)
    return block.driver_add(path, *index).driver


def _product(place, last):
    """Component `place` of (a, b, c, d) conjugated * (w, x, y, z) * last, as an expression."""
    units = np.eye(4).tolist()
    summands = []
    for (one, letter), (other, second) in product(enumerate("abcd"), enumerate(_LETTERS)):
        share = (Quaternion(units[one]).conjugated() @ Quaternion(units[other]) @ last)[place]
        summands.append(f"{share:+.5f}*{letter}*{second}")
    return "".join(summands)
