# SPDX-License-Identifier: MIT
"""Dances of models as poses of every frame, and how far a fitted motion is from them."""

from functools import cache

import mmdskin
import numpy as np
from files import locations
from files import pmx_file as pmx

# model, motion, number of frames
PUBLISHED = (
    ("初音ミク.pmx", "realize_motion.vmd", 300),
    ("巡音ルカ.pmx", "wavefile_v2.vmd", 300),
    ("miku_v2.pmd", "wavefile_v2.vmd", 300),
    ("mmt_test_model.pmx", "mmt_test_model_test_motion.vmd", 150),
)
OWN = (("dancer.pmx", "dancer.vmd", 200),)


def at_hand():
    """The dances whose files are at hand."""
    found = [d for d in PUBLISHED if locations.find(d[0]) and locations.find(d[1])]
    return [*OWN, *found]


@cache
def load(model, motion):
    return (
        mmdskin.load_model(str(locations.find(model))),
        mmdskin.load_motion(str(locations.find(motion))),
    )


def distances(model, a, b):
    """(F, V) between the meshes of two poses."""
    first, second = (mmdskin.skin(model, pose).positions for pose in (a, b))
    return np.linalg.norm(first.astype(np.float64) - second, axis=-1)


def visible(model, weightless):
    """(V,) vertices that no bone of `weightless`, nor what follows one, moves."""
    follows = np.zeros(len(model.bones), bool)
    for _ in range(len(model.bones)):
        before = follows.copy()
        for i, bone in enumerate(model.bones):
            sources = [bone.parent, bone.append.source if bone.append else -1]
            follows[i] = bone.name in weightless or any(s >= 0 and before[s] for s in sources)
        if (follows == before).all():
            break
    used = (model.bone_indices >= 0) & (model.bone_weights != 0)
    return ~(follows[np.maximum(model.bone_indices, 0)] & used).any(1)


def simulated(model):
    """Names of the bones that rigid bodies move."""
    return {
        model.bones[b.bone].name
        for b in model.rigid_bodies
        if b.bone >= 0 and b.mode != "follow_bone"
    }


def puppet_file(names, reach):
    """A PMX of root bones, each with one vertex at a distance of `reach`."""
    count = len(names)
    file = pmx.PMX(bones=[pmx.Bone(name) for name in names])
    file.positions = np.tile(np.float32([reach, 0, 0]), (count, 1))
    file.normals = np.tile(np.float32([1, 0, 0]), (count, 1))
    file.uvs, file.additional_uvs = np.zeros((count, 2), "f4"), np.zeros((count, 0, 4), "f4")
    file.deform, file.edge_scales = np.zeros(count, np.uint8), np.ones(count, np.float32)
    file.bone_indices = np.full((count, 4), -1, np.int32)
    file.bone_indices[:, 0] = np.arange(count)
    file.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    file.sdef = np.zeros((count, 3, 3), np.float32)
    return file


def puppet(names, reach):
    return mmdskin.load_model(pmx.write(puppet_file(names, reach)))
