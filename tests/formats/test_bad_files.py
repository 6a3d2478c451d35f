# SPDX-License-Identifier: MIT
"""Damaged files: a `FormatError` with section and byte or a defined model, in bounded time and memory."""

import io
import math
import random
import struct
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from files import pmx_file as pmx
from files.small import rigid_file, small_file
from judges.growth import within

NAN, INF = math.nan, math.inf


def rest(bones=1):
    return np.tile(np.eye(4, dtype="f4"), (bones, 1, 1))


@cache
def small():
    return pmx.layout(small_file())


def assert_format_error(data, section=None, offset=None):
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_model(bytes(data))
    error = caught.value
    assert isinstance(error.section, str)
    assert 0 <= error.offset <= len(data)
    if section is not None:
        assert error.section == section
    if offset is not None:
        assert error.offset == offset


@pytest.mark.parametrize(
    "data", [b"", b"P", b"PMX", b"PMX ", b"Pmx ", b"\0" * 100, b"MThd" * 50, "文字".encode() * 20]
)
def test_other_data_is_a_format_error(data):
    assert_format_error(data)


def test_a_motion_in_place_of_a_model_is_named_as_such_and_the_reverse():
    motions = mmdskin.Motion.from_tracks(morphs=[("あ", [0], [1])])
    for suffix in (".vmd", ".vpd"):
        file = io.BytesIO()
        file.name = f"a{suffix}"
        motions.save(file)
        with pytest.raises(mmdskin.FormatError, match="not a PMX or PMD file but a motion"):
            mmdskin.load_model(file.getvalue())
    for data in (small()[0], b"Pmd" + struct.pack("<f", 1) + bytes(300)):
        with pytest.raises(mmdskin.FormatError, match="not a VMD or VPD file but a model"):
            mmdskin.load_motion(data)


@pytest.mark.parametrize("version", [0.0, 1.0, 1.99, 2.2, 3.0, NAN, INF, -2.0])
def test_other_versions_are_rejected(version):
    data = bytearray(small()[0])
    data[4:8] = struct.pack("<f", version)
    assert_format_error(data)


@pytest.mark.parametrize(
    "offset, value",
    [
        (8, 7),
        (8, 0),
        (9, 2),
        (9, 255),
        (10, 5),
        *((at, size) for at in range(11, 17) for size in (0, 3, 5, 8)),
    ],
)
def test_bad_settings_are_rejected(offset, value):
    data = bytearray(small()[0])
    data[offset] = value
    assert_format_error(data)


HUGE = [-1, -(2**31), 2**31 - 1, 2**31 - 2, 2**30, 2**29, 2**28 + 1, 119304648, 10**7]
SECTIONS = [
    "vertices",
    "faces",
    "textures",
    "materials",
    "bones",
    "morphs",
    "display_frames",
    "rigid_bodies",
    "joints",
    "soft_bodies",
]


@pytest.mark.parametrize("section", SECTIONS)
def test_impossible_counts_are_rejected_at_once(section):
    data, marks = small()
    at = marks[section]
    for count in HUGE:
        with within(1), little_memory(len(data)):
            assert_format_error(data[:at] + struct.pack("<i", count) + data[at + 4 :])


@contextmanager
def little_memory(size):
    """At most 64 MiB more than the file needs."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    yield
    assert memory("VmHWM") - before < size + 64 * 2**20


def memory(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


@pytest.mark.parametrize("section", ["materials[1]", "bones[3]", "morphs[4]", "joints[0]"])
def test_the_error_names_the_record_and_the_byte(section):
    """Each of these records starts with the length of its name."""
    data, marks = small()
    at = marks[section]
    broken = data[:at] + struct.pack("<i", -1) + data[at + 4 :]
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_model(broken)
    assert caught.value.section == section
    assert at <= caught.value.offset <= at + 4
    assert section in str(caught.value)


@pytest.mark.parametrize("section", ["vertices", "bones", "morphs", "display_frames"])
def test_the_error_of_a_truncated_file_names_the_section(section):
    data, marks = small()
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_model(data[: marks[f"{section}[1]"] + 7])
    assert caught.value.section.split("[")[0] == section


@pytest.mark.parametrize("kind", [5, 255])
def test_unknown_deform_types_in_files_are_rejected(kind):
    data, marks = small()
    at = marks["vertices[3]"] + 48  # position, normal, uv, one additional uv
    assert data[at] == small_file().deform[3]
    assert_format_error(data[:at] + bytes([kind]) + data[at + 1 :], "vertices[3]")


def test_unknown_morph_kinds_are_rejected():
    file = small_file()
    data, marks = pmx.layout(file)
    at = (
        marks["morphs[2]"]
        + 8
        + len((file.morphs[2].name + file.morphs[2].name_english).encode("utf-16-le"))
        + 1
    )
    assert data[at] == file.morphs[2].kind
    assert_format_error(data[:at] + b"\x0b" + data[at + 1 :], "morphs[2]")


def test_every_truncation_of_a_small_file_is_rejected():
    data, marks = small()
    for size in range(len(data)):
        if size == marks["soft_bodies"]:
            continue  # a 2.1 file may end before its soft bodies
        with pytest.raises(mmdskin.FormatError):
            mmdskin.load_model(data[:size])


@pytest.mark.parametrize(
    "name, step",
    [("test_hair_physics", 1), ("mmt_test_model", 37), ("初音ミク", 9973), ("sample", 9973)],
)
def test_truncations_of_real_files_are_rejected(name, step):
    data = published_file(f"{name}.pmx").read_bytes()
    for size in [*range(0, len(data), step), len(data) - 1]:
        with pytest.raises(mmdskin.FormatError):
            mmdskin.load_model(data[:size])


def touch(model):
    """Reads everything, and checks what every loaded model guarantees."""
    for name in (
        "positions",
        "normals",
        "uvs",
        "additional_uvs",
        "edge_scales",
        "bone_weights",
        "sdef",
    ):
        assert np.isfinite(getattr(model, name)).all(), name
    assert model.bone_indices.max(initial=-1) < len(model.bones)
    assert model.bone_indices.min(initial=0) >= -1
    assert model.triangles.max(initial=0) < max(len(model.positions), 1)
    assert model.triangles.min(initial=0) >= 0
    assert all(-1 <= bone.parent < len(model.bones) for bone in model.bones)
    for section in ("morphs", "materials", "display_frames", "rigid_bodies", "joints", "textures"):
        repr(list(getattr(model, section)))
    weights = np.ones(len(model.morphs), "f4")
    out = mmdskin.skin(model, rest(len(model.bones)), weights, backend="cpu")
    assert out.positions.shape == model.positions.shape


def flip_bytes(data, count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        yield bytes(changed)


def assert_survives(data, count, seed):
    loaded = 0
    with little_memory(len(data)):
        for changed in flip_bytes(data, count, seed):
            with within(1):
                try:
                    model = mmdskin.load_model(changed)
                except mmdskin.FormatError as error:
                    assert 0 <= error.offset <= len(changed)
                    continue
                loaded += 1
                touch(model)
    assert 0 < loaded <= count


@pytest.mark.parametrize("seed", range(2))
def test_byte_flips_of_a_small_file(seed):
    assert_survives(small()[0], 2000, seed)


@pytest.mark.parametrize("seed", range(4, 8))
def test_byte_flips_of_a_real_file(seed):
    assert_survives(published_file("mmt_test_model.pmx").read_bytes(), 500, seed)


def test_numbers_that_are_not_finite_become_zero():
    file = small_file()
    file.positions[1, 2], file.normals[0, 0], file.bone_weights[5, 0] = NAN, INF, -INF
    file.bones[2].position, file.morphs[0].values[1, 1] = (NAN, 1.0, INF), NAN
    file.uvs[0, 1], file.additional_uvs[2, 0, 3], file.edge_scales[4] = -INF, NAN, NAN
    model = mmdskin.load_model(pmx.write(file))
    touch(model)
    assert model.positions[1, 2] == model.normals[0, 0] == 0
    assert model.uvs[0, 1] == model.additional_uvs[2, 0, 3] == model.edge_scales[4] == 0
    assert model.bones[2].position == (0, 1, 0)
    assert model.morphs[0].values[1, 1] == 0


def test_triangles_with_invalid_indices_are_dropped():
    file = rigid_file(3)
    file.triangles = np.int32([[0, 1, 2], [0, 1, 3], [2, 1, 0]])
    file.materials = [pmx.Material("m", index_count=9)]
    model = mmdskin.load_model(pmx.write(file))
    assert np.array_equal(model.triangles, [[0, 1, 2], [2, 1, 0]])


def test_morph_offsets_with_invalid_indices_do_nothing():
    file = rigid_file(2)
    file.morphs = [pmx.Morph("m", indices=np.int32([9, 1]), values=np.ones((2, 3), "f4"))]
    out = mmdskin.skin(mmdskin.load_model(pmx.write(file)), rest(), np.ones(1, "f4"))
    assert np.array_equal(out.positions, [(0, 0, 0), (1, 1, 1)])


def test_cyclic_parents_are_detached():
    file = small_file()
    file.bones[1].parent, file.bones[2].parent, file.bones[3].parent = 3, 1, 2
    bones = mmdskin.load_model(pmx.write(file)).bones
    for start in range(len(bones)):
        at, seen = start, set()
        while at >= 0:
            assert at not in seen
            seen.add(at)
            at = bones[at].parent


def test_a_file_with_only_zero_counts_loads():
    model = mmdskin.load_model(pmx.write(pmx.PMX(version=2.1)))
    assert (len(model.positions), len(model.bones), len(model.morphs)) == (0, 0, 0)
    assert mmdskin.skin(model, rest(0)).positions.shape == (0, 3)
