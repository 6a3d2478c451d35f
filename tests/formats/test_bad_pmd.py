# SPDX-License-Identifier: MIT
"""Damaged PMD files: rejected with section and byte, or valid models."""

import random
import struct

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from files import pmd_file as pmd
from files.small import small_pmd
from judges import pose_rigs as rigs

REAL = "miku_v2.pmd"


def test_other_versions_are_rejected():
    for version in (0.0, 2.0, float("nan")):
        with pytest.raises(mmdskin.FormatError):
            mmdskin.load_model(b"Pmd" + struct.pack("<f", version) + pmd.write(small_pmd())[7:])


def test_bodies_stay_within_the_limit_of_numbers():
    """Their positions are relative to their bone."""
    bones = [pmd.Bone("a", position=(3e38, -3e38, 1))]
    bodies = [pmd.Body("b", 0, numbers=(1.0, 1.0, 1.0, 3e38, -3e38, 2.0, *[0.0] * 8))]
    model = mmdskin.load_model(pmd.write(pmd.PMD(bones=bones, bodies=bodies, toons=[""] * 10)))
    assert model.rigid_bodies[0].position == (1e10, -1e10, 3)


def at_count(section):
    """(offset of a section's count, its format) in an empty file."""
    forms = dict(
        vertices="I", faces="I", materials="I", bones="H", ik="H", morphs="H", display_frames="B",
    )  # fmt: skip
    at = 283
    for name, form in forms.items():
        if name == section:
            return at, form
        at += struct.calcsize("<" + form)
    raise KeyError(section)


@pytest.mark.parametrize("section", ["vertices", "faces", "materials", "bones", "ik", "morphs"])
def test_impossible_counts_are_rejected(section):
    at, form = at_count(section)
    data = pmd.write(pmd.PMD())
    for count in {2**32 - 1, 2**31, 2**32 // 38 + 1, 2**16 - 1, 1000}:
        if count < 256 ** struct.calcsize(form):
            broken = (
                data[:at] + struct.pack("<" + form, count) + data[at + struct.calcsize(form) :][:20]
            )
            with pytest.raises(mmdskin.FormatError) as caught:
                mmdskin.load_model(broken)
            assert caught.value.section.startswith(section)
            assert at <= caught.value.offset <= len(broken)


def load_or_refuse(data):
    try:
        model = mmdskin.load_model(data)
    except mmdskin.FormatError as error:
        assert error.section
        assert 0 <= error.offset <= len(data)
        return None
    return model


def assert_valid(model):
    """Every index is nil or valid, every number finite, and it can be posed and skinned."""
    bones, vertices_ = len(model.bones), len(model.positions)
    assert model.bone_indices.max(initial=-1) < bones
    assert model.triangles.min(initial=0) >= 0
    assert model.triangles.max(initial=-1) < vertices_
    for array in (model.positions, model.normals, model.uvs, model.bone_weights):
        assert np.isfinite(array).all()
    for b in model.bones:
        assert -1 <= b.parent < bones
        assert -1 <= b.tail_bone < bones
        assert b.ik is None or -1 <= b.ik.target < bones
    assert all(m.indices.max(initial=-1) < vertices_ for m in model.morphs)
    repr((model.materials, model.display_frames, model.rigid_bodies, model.joints, model.textures))
    pose = model.pose()
    rigs.assert_rigid(pose.bone_matrices)
    assert len(mmdskin.skin(model, pose, backend="cpu").positions) == vertices_


def test_every_truncation_of_a_small_file_is_rejected_or_valid():
    data = pmd.write(small_pmd())
    for size in range(len(data)):
        model = load_or_refuse(data[:size])
        if model:
            assert_valid(model)


def test_truncations_of_a_real_file_are_rejected_or_valid():
    data = published_file(REAL).read_bytes()
    for size in np.linspace(0, len(data) - 1, 500).astype(int).tolist():
        model = load_or_refuse(data[:size])
        if model:
            assert_valid(model)


def flips(data, count, seed):
    r, changed = random.Random(seed), bytearray(data)
    for _ in range(count):
        places = [r.randrange(len(data)) for _ in range(r.choice((1, 1, 2, 5)))]
        for place in places:
            changed[place] = r.randrange(256)
        yield bytes(changed)
        for place in places:
            changed[place] = data[place]


def test_flipped_bytes_of_a_small_file_are_rejected_or_valid():
    loaded = [load_or_refuse(data) for data in flips(pmd.write(small_pmd()), 3000, 1)]
    valid = [model for model in loaded if model]
    assert len(valid) > 100
    for model in valid:
        assert_valid(model)


def test_flipped_bytes_of_a_real_file_are_rejected_or_valid():
    data = published_file(REAL).read_bytes()
    # most of the file is vertices and morphs: every second flip hits bones and IK
    bones = data.index("センター".encode("cp932"))
    middle = data[bones : bones + 8000]
    for i, (anywhere, there) in enumerate(
        zip(flips(data, 1500, 2), flips(middle, 1500, 3), strict=True)
    ):
        for changed in (anywhere, data[:bones] + there + data[bones + 8000 :]):
            model = load_or_refuse(changed)
            if model and i % 50 == 0:
                assert_valid(model)
