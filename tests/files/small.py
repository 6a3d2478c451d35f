# SPDX-License-Identifier: MIT
"""Small files, in which tests change one thing."""

import numpy as np
from files import pmd_file as pmd
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
    """A file with one record of every kind and few vertices."""
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
    """A file whose vertices are all at the origin, on one bone."""
    file = pmx.PMX(bones=[pmx.Bone("root")])
    file.positions, file.normals = np.zeros((2, count, 3), np.float32)
    file.uvs, file.additional_uvs = np.zeros((count, 2), "f4"), np.zeros((count, 0, 4), "f4")
    file.deform, file.edge_scales = np.zeros(count, np.uint8), np.ones(count, np.float32)
    file.bone_indices = np.tile(np.int32([0, -1, -1, -1]), (count, 1))
    file.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    file.sdef = np.zeros((count, 3, 3), np.float32)
    return file


def pmd_vertices(*rows):
    """Rows: (bone, bone, percent, no edge)."""
    v = np.zeros(len(rows), pmd.VERTEX)
    for i, (first, second, percent, no_edge) in enumerate(rows):
        v[i] = ((i, 0, 0), (0, 1, 0), (0, 0), (first, second), percent, no_edge)
    return v


def small_pmd(**changes):
    """A PMD with at least two of everything, as pmd_file writes it."""
    m = pmd.PMD("名前", "説明\nソ能")
    m.vertices = pmd_vertices((0, 1, 30, 0), (1, 1, 30, 1), (2, 0, 100, 0), (1, 2, 0, 1))
    m.indices = [0, 1, 2, 1, 2, 3]
    m.materials = [
        pmd.Material(toon=3, edge=1, index_count=3, texture="表.bmp*a.sph"),
        pmd.Material((1, 0, 0, 0.5), 7, (1, 2, 3), (4, 5, 6), 0, 0, 3, "b.spa*表.bmp"),
    ]
    m.bones = [
        pmd.Bone("センター", (0, 1, 0), tail=1, type=pmd.MOVE),
        pmd.Bone("左足", (0, 4, 0), 0, 2),
        pmd.Bone("左ひざ", (0, 2, 0), 1, 3, pmd.UNDER_IK, 4),
        pmd.Bone("左足首", (0, 0, 0), 2, 0, pmd.EFFECTOR),
        pmd.Bone("左足ＩＫ", (0, 0, 0), 0, 0, pmd.IK, 3),
    ]
    m.solvers = [pmd.Solver(4, 3, [2, 1], 40, 0.5), pmd.Solver(4, 2, [1], 3, 0.25)]
    m.morphs = [
        pmd.Morph("base", 0, [3, 1], [(3, 0, 0), (1, 0, 0)]),
        pmd.Morph("まばたき", 2, [0, 1], [(1, 0, 0), (0, 1, 0)]),
        pmd.Morph("あ", 3, [1], [(0, 0, 1)]),
    ]
    m.shown_morphs, m.frame_names = [2, 1], ["体\n", "足\n"]
    m.shown_bones = [(1, 1), (2, 2), (3, 2)]
    m.english = "name", "comment", ["center", *"bcde"], ["blink", "a"], ["body", "legs"]
    m.toons = list(pmd.DEFAULT_TOONS)
    m.bodies = [
        pmd.Body("体", 1, 2, 0xFFF0, 1, tuple(range(14)), 2),
        pmd.Body("頭", pmd.NONE, numbers=tuple(range(14))),
    ]
    m.joints = [pmd.Joint("継", 0, 1, tuple(range(24)))]
    for name, value in changes.items():
        setattr(m, name, value)
    return m
