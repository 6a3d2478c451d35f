# SPDX-License-Identifier: MIT
"""Which bones move a vertex, and how."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from files import pmx_file as pmx
from sample.character.skeleton import bones, number


class Rig(NamedTuple):
    deform: np.ndarray  # (n,)
    bones: np.ndarray  # (n,4)
    weights: np.ndarray  # (n,4)
    sdef: np.ndarray  # (n,3,3)


class Joint(NamedTuple):
    """The border between the parts of a limb that two bones move."""

    place: float
    reach: float  # the weights change over this many units on either side
    axis: np.ndarray | None = (
        None  # direction of the limb towards the next bone makes SDEF; None makes BDEF2
    )


def smoothstep(x):
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)


def _empty(n):
    return Rig(np.full(n, pmx.BDEF1), np.full((n, 4), -1), np.zeros((n, 4)), np.zeros((n, 3, 3)))


def rigid(surface, bone):
    """The whole part on one bone."""
    rig = _empty(len(surface.positions))
    rig.bones[:, 0], rig.weights[:, 0] = number(bone), 1
    return rig


def chain(surface, places, names, joints):
    """Bones one after another along `places` (n,), with a joint between each pair."""
    rig = rigid(surface, names[0])
    for (first, second), joint in zip(pairwise(names), joints, strict=True):
        weight = smoothstep((places - joint.place + joint.reach) / (2 * joint.reach))
        rig.bones[weight == 1, 0] = number(second)
        blended = (weight > 0) & (weight < 1)
        weight = weight[blended, None]
        rig.bones[blended, :2] = number(first), number(second)
        rig.weights[blended, :2] = np.concatenate([1 - weight, weight], 1)
        rig.deform[blended] = pmx.BDEF2 if joint.axis is None else pmx.SDEF
        if joint.axis is not None:
            center = surface.centers[blended]
            reach = joint.reach * np.asarray(joint.axis)
            rig.sdef[blended] = np.stack([center, center - reach, center + reach], 1)
    return rig


def sheet(surface, across, down):
    """BDEF4 of two pairs (first bone, second bone, weight of the second), across chains of bones:
    `across` gives the indices of chains and a weight, `down` a function from chain to such a pair."""
    first, second, weight = across
    rig = _empty(len(surface.positions))
    rig.deform[:] = pmx.BDEF4
    for column, (chains, part) in enumerate(((first, 1 - weight), (second, weight))):
        upper, lower, turned = down(chains)
        rig.bones[:, 2 * column], rig.bones[:, 2 * column + 1] = upper, lower
        rig.weights[:, 2 * column] = part * (1 - turned)
        rig.weights[:, 2 * column + 1] = part * turned
    return rig


def mirrored(rig):
    """The rig of the mirrored surface, on the bones of the other side."""
    records, index = bones()
    other = np.array([index[bone.name.replace("左", "右", 1)] for bone in records] + [-1])
    return rig._replace(bones=other[rig.bones], sdef=rig.sdef * [-1, 1, 1])
