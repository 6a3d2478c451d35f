# SPDX-License-Identifier: MIT
"""The time to read a file is proportional to its size, for any names and offsets."""

from functools import partial

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from files import small
from judges.growth import MOST, growth, ratio

PRIME = 16777619
LETTERS = np.frombuffer(bytes(range(48, 112)), np.uint8)


def fnv_states(letters, start, step):
    """The strings of this many letters, and the state of the hash after each."""
    states, names = np.uint32([start]), np.zeros((1, 0), np.uint8)
    for few in letters:
        states = step(states[:, None], few.astype(np.uint32)).ravel()
        names = np.hstack([np.repeat(names, len(few), 0), np.tile(few, len(names))[:, None]])
    return states, names


def colliding_names(count):
    """Names with the same FNV-1a hash, which small programs commonly use: beginnings and ends whose
    states meet in the middle."""
    half = [LETTERS, LETTERS, LETTERS, LETTERS[:24]]
    inverse = np.uint32(pow(PRIME, -1, 2**32))
    states, heads = fnv_states(half, 2166136261, lambda h, byte: (h ^ byte) * np.uint32(PRIME))
    ends, tails = fnv_states(half, 12345, lambda h, byte: (h * inverse) ^ byte)
    order = np.argsort(states)
    at = np.searchsorted(states[order], ends).clip(max=len(order) - 1)
    meet = np.flatnonzero(states[order[at]] == ends)
    names = np.hstack([heads[order[at[meet]]], tails[meet, ::-1]])
    assert len(names) >= count
    return [name.tobytes() for name in names[:count]]


@pytest.fixture(scope="module")
def collisions():
    return colliding_names(8000)


def fnv(name):
    value = 2166136261
    for byte in name:
        value = (value ^ byte) * PRIME & 0xFFFFFFFF
    return value


def nested_names(count):
    """Each name is a prefix of the next one."""
    return [b"a" * (i + 1) for i in range(count)]


def vpd(names):
    blocks = (b"Bone0{" + name + b"\n0,0,0;\n0,0,0,1;\n}\n" for name in names)
    return b"Vocaloid Pose Data file\n" + b"".join(blocks)


def vmd(names):
    return mf.write_vmd(mf.Keys("", [], [mf.MorphKey(n, 0, 0) for n in names], [], [], [], []))


def test_the_colliding_names_collide(collisions):
    assert len({fnv(name) for name in collisions}) == 1
    assert len(set(collisions)) == len(collisions)


@pytest.mark.parametrize("write", [vmd, vpd])
def test_names_that_collide_take_no_longer_than_others(write, collisions):
    """They took dozens of times as long when names were in a hash table."""
    others = np.random.default_rng(0).choice(LETTERS, (len(collisions), len(collisions[0])))
    files = [write(collisions), write([name.tobytes() for name in others])]
    hostile, plain = (partial(mmdskin.load_motion, file) for file in files)
    assert ratio(hostile, plain, 3) < 3


def test_names_with_common_prefixes_take_proportional_time():
    def work(n):
        data = vpd(nested_names(n))
        return lambda: mmdskin.load_motion(data)

    assert growth(work, 750, 3000) < MOST  # a file of 16 times the bytes


def properties(keys, names):
    """A file whose last key lists all the names."""
    states = [(str(i), 0) for i in range(names)]
    listed = [
        mf.PropertyKey(frame, 1, states if frame == keys - 1 else []) for frame in range(keys)
    ]
    return mf.write_vmd(mf.Keys("", [], [], properties=listed))


def test_states_of_ik_names_take_proportional_time():
    """Each key lists each name once; no model has this many names."""

    def work(n):
        data = properties(n, 500)
        return lambda: mmdskin.load_motion(data)

    assert growth(work, 500, 8000) < MOST


def test_keys_times_names_out_of_proportion_to_the_file_are_rejected():
    message = r"4000 keys of 4000 IK names, limit \d+ states"
    with pytest.raises(mmdskin.FormatError, match=message) as raised:
        mmdskin.load_motion(properties(4000, 4000))
    assert raised.value.section == "properties"


def test_morphs_of_all_materials_take_proportional_time():
    def work(n):
        offsets = np.ones((n, 29), np.float32)
        morph = pmx.Morph("all", kind=8, indices=np.full(n, -1, "i4"), values=offsets)
        file = small.small_file(materials=[pmx.Material(str(i)) for i in range(n)], morphs=[morph])
        model = mmdskin.load_model(pmx.write(file))
        return lambda: model.materials_at([0.5])

    assert growth(work, 500, 8000) < MOST
