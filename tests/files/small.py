# SPDX-License-Identifier: MIT
"""Small files for tests that change one thing in them."""

import numpy as np
from files import pmx_file as pmx
from sample import model as sample

ARRAYS = [
    "positions",
    "normals",
    "uvs",
    "additional_uvs",
    "edge_scales",
    "triangles",
    "deform",
    "bone_indices",
    "bone_weights",
    "sdef",
]


def small_file(**changes):
    """One record of every kind, few vertices."""
    m = sample.sample()
    keep = np.concatenate([sample.limb_vertices(kind)[::200] for kind in sample.LIMBS])
    for name in ARRAYS:
        if name != "triangles":
            setattr(m, name, getattr(m, name)[keep].copy())
    m.triangles = np.arange(len(keep) // 3 * 3, dtype=np.int32).reshape(-1, 3)
    for material in m.materials:
        material.index_count = 0
    m.materials[0].index_count = m.triangles.size
    for morph in m.morphs:
        if pmx.MORPH_INDEX[morph.kind] == "v":
            morph.indices, morph.values = np.int32([1, 0, 1]), morph.values[:3].copy()
    m.soft_bodies[0].anchors, m.soft_bodies[0].pins = [(1, 2, 1)], [0, 3]
    for name, value in changes.items():
        setattr(m, name, value)
    return m


def rigid_file(count):
    """Vertices of one bone that all lie at the origin."""
    file = pmx.PMX(bones=[pmx.Bone("root")])
    file.positions, file.normals = np.zeros((2, count, 3), np.float32)
    file.uvs, file.additional_uvs = np.zeros((count, 2), "f4"), np.zeros((count, 0, 4), "f4")
    file.deform, file.edge_scales = np.zeros(count, np.uint8), np.ones(count, np.float32)
    file.bone_indices = np.tile(np.int32([0, -1, -1, -1]), (count, 1))
    file.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    file.sdef = np.zeros((count, 3, 3), np.float32)
    return file
