# SPDX-License-Identifier: MIT
"""The time to make a mesh does not depend on which bones its vertices have."""

import mmdskin
import numpy as np
from judges.growth import ratio

COUNT, BONES = 8000, 3000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def random_sets(count):
    """Sets of four bones in ascending order."""
    sets = np.random.default_rng(0).integers(0, BONES, (count, 4)).astype(np.int32)
    sets.sort(axis=1)
    return sets[(np.diff(sets, axis=1) > 0).all(axis=1)]


def colliding_sets():
    """Sets that are close together in a hash table that multiplies by the golden ratio."""
    sets = random_sets(12_000_000)
    state = np.full(len(sets), 4, np.uint64)
    for bones in sets.T:
        state = (state ^ bones.astype(np.uint64)) * GOLDEN
    place = (state >> np.uint64(32)) & np.uint64(16383)
    return sets[place < 16][:COUNT]


def mesh_of(sets):
    count = len(sets)
    return mmdskin.Mesh(np.zeros((count, 3), "f4"), sets, np.full((count, 4), 0.25, "f4"))


def test_colliding_hashes_of_bones_take_no_longer():
    hostile, plain = colliding_sets(), random_sets(2 * COUNT)[:COUNT]
    assert len(hostile) == len(plain) == COUNT
    assert ratio(lambda: mesh_of(hostile), lambda: mesh_of(plain), 3) < 3
