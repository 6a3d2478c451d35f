# SPDX-License-Identifier: MIT
"""`load_model` against the independent reader: every model, every section, every value."""

import struct

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import ARRAYS, rigid_file, small_file
from sample import model as sample


def expected_bone(bone):
    fields = dict(vars(bone))
    fields["tail_bone"] = -1 if bone.tail_bone is None else bone.tail_bone
    fields["tail_offset"] = bone.tail_offset or (0.0, 0.0, 0.0)
    fields["append"] = bone.append and tuple(vars(bone.append).values())
    fields["flags"] = pmx.bone_flags(bone)
    if bone.ik:
        links = tuple((link.bone, link.lower, link.upper) for link in bone.ik.links)
        fields["ik"] = (bone.ik.target, bone.ik.loop_count, np.float32(bone.ik.unit_angle), links)
    return fields


def expected_material(material):
    return dict(vars(material), sphere_mode=pmx.SPHERE_MODES[material.sphere_mode])


def expected_morph(morph):
    return dict(vars(morph), kind=pmx.MORPH_KINDS[morph.kind])


def expected_frame(frame):
    return dict(
        vars(frame), elements=tuple((pmx.ELEMENT_KINDS[kind], i) for kind, i in frame.elements)
    )


def expected_body(body):
    return dict(vars(body), shape=pmx.SHAPES[body.shape], mode=pmx.BODY_MODES[body.mode])


def expected_joint(joint):
    return dict(vars(joint), kind=pmx.JOINT_KINDS[joint.kind])


SECTIONS = {
    "bones": expected_bone,
    "morphs": expected_morph,
    "materials": expected_material,
    "display_frames": expected_frame,
    "rigid_bodies": expected_body,
    "joints": expected_joint,
}


def same(value, expected):
    """Equal values, with numbers as float32."""
    if isinstance(expected, np.ndarray):
        return value.shape == expected.shape and np.array_equal(value, expected.astype(value.dtype))
    if isinstance(expected, tuple):
        return (
            isinstance(value, tuple)
            and len(value) == len(expected)
            and all(map(same, value, expected))
        )
    if isinstance(expected, float | np.floating):
        return np.float32(value) == np.float32(expected)
    return value == expected and (value is None) == (expected is None)


def assert_same_records(records, expected):
    assert len(records) == len(expected)
    for i, (record, fields) in enumerate(zip(records, expected, strict=True)):
        assert set(record._fields) == set(fields), f"record {i}"
        for name, value in fields.items():
            assert same(getattr(record, name), value), (
                f"[{i}].{name}: {getattr(record, name)!r}, expected {value!r}"
            )


@pytest.fixture(scope="module")
def pair(model_path):
    return mmdskin.load_model(str(model_path)), pmx.read(model_path)


@pytest.fixture(scope="module")
def sample_pair():
    data = sample.build_sample()
    return mmdskin.load_model(data), pmx.read(data)


def assert_same_arrays(model, file):
    for name in ARRAYS:
        value, expected = getattr(model, name), getattr(file, name)
        assert value.shape == expected.shape, name
        assert value.dtype == expected.dtype, name
        assert np.array_equal(value, expected), name


def assert_same_texts(model, file):
    for name in ("name", "name_english", "comment", "comment_english"):
        assert getattr(model, name) == getattr(file, name), name
    assert model.version == pytest.approx(file.version)
    assert list(model.textures) == file.textures


def test_arrays_of_real_models(pair):
    assert_same_arrays(*pair)


def test_texts_of_real_models(pair):
    assert_same_texts(*pair)


@pytest.mark.parametrize("section", SECTIONS)
def test_records_of_real_models(pair, section):
    model, file = pair
    assert_same_records(
        getattr(model, section), list(map(SECTIONS[section], getattr(file, section)))
    )


def test_arrays_of_the_sample(sample_pair):
    assert_same_arrays(*sample_pair)


def test_texts_of_the_sample(sample_pair):
    assert_same_texts(*sample_pair)


@pytest.mark.parametrize("section", SECTIONS)
def test_records_of_the_sample(sample_pair, section):
    model, file = sample_pair
    assert_same_records(
        getattr(model, section), list(map(SECTIONS[section], getattr(file, section)))
    )


def test_path_and_bytes_give_the_same_model(tmp_path):
    data = sample.build_sample()
    path = tmp_path / "見本の腕 モデル.pmx"
    path.write_bytes(data)
    for source in (path, str(path), data, bytearray(data), memoryview(data)):
        assert_same_arrays(mmdskin.load_model(source), pmx.read(data))


def test_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="無い"):
        mmdskin.load_model(tmp_path / "無い.pmx")


@pytest.mark.parametrize("encoding", pmx.ENCODINGS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_index_size_and_encoding(encoding, size):
    file = small_file(encoding=encoding, index_sizes=dict.fromkeys(pmx.INDEX_ORDER, size))
    data = pmx.write(file)
    model, file = mmdskin.load_model(data), pmx.read(data)
    assert_same_arrays(model, file)
    assert_same_texts(model, file)
    for section, convert in SECTIONS.items():
        assert_same_records(getattr(model, section), list(map(convert, getattr(file, section))))


@pytest.mark.parametrize("vertex_size, count", [(1, 200), (2, 40000)])
def test_vertex_indices_of_one_and_two_bytes_are_unsigned(vertex_size, count):
    file = rigid_file(count)
    file.triangles = np.int32([[0, 1, count - 1]])
    file.index_sizes = dict(pmx.index_sizes(file), v=vertex_size)
    file.materials = [pmx.Material("m", index_count=3)]
    assert np.array_equal(mmdskin.load_model(pmx.write(file)).triangles, file.triangles)


def test_negative_indices_are_nil():
    file = small_file()
    file.bones[1].parent, file.rigid_bodies[0].bone, file.materials[0].texture = -5, -100, -2
    model = mmdskin.load_model(pmx.write(file))
    assert (model.bones[1].parent, model.rigid_bodies[0].bone, model.materials[0].texture) == (
        -1,
    ) * 3


def test_indices_past_the_end_are_nil():
    file = small_file()
    file.bones[1].parent, file.materials[0].texture, file.joints[0].body_b = 100, 5, 7
    file.bone_indices[0, 0] = 99
    model = mmdskin.load_model(pmx.write(file))
    assert (model.bones[1].parent, model.materials[0].texture, model.joints[0].body_b) == (-1,) * 3
    assert model.bone_indices[0, 0] == -1


def test_more_than_eight_settings_bytes_are_skipped():
    data = pmx.write(small_file())
    longer = data[:8] + b"\x0a" + data[9:17] + b"\x07\x07" + data[17:]
    assert_same_arrays(mmdskin.load_model(longer), pmx.read(data))


def test_texts_end_at_the_first_nul_and_bad_units_are_replaced():
    file = small_file(name="前\0後".encode("utf-16-le"), comment=b"\x00\xd8A\x00")
    model = mmdskin.load_model(pmx.write(file))
    assert model.name == "前"
    assert model.comment == "\ufffdA"


def test_missing_soft_body_section_is_empty():
    data = pmx.write(small_file(soft_bodies=[]))
    assert data[-4:] == struct.pack("<i", 0)
    assert_same_arrays(mmdskin.load_model(data[:-4]), pmx.read(data))


def test_trailing_bytes_are_accepted():
    data = pmx.write(small_file())
    assert_same_arrays(mmdskin.load_model(data + b"\xff" * 100), pmx.read(data))


def test_point_and_line_triangles_are_kept():
    file = rigid_file(3)
    file.triangles = np.int32([[0, 0, 0], [0, 1, 0]])
    file.materials = [pmx.Material("点線", flags=0xC0, index_count=6)]
    assert np.array_equal(mmdskin.load_model(pmx.write(file)).triangles, file.triangles)
