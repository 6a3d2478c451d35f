# SPDX-License-Identifier: MIT
"""`Model.save`: the bytes that were read, or a file that the independent reader reads as the model."""

import io
import os
import pickle
import types
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from files import locations
from files import pmx_file as pmx
from files.pmd_file import write as pmd_bytes
from files.small import ARRAYS, rigid_file, small_file, small_pmd
from formats.test_model import SECTIONS, assert_same_records
from sample import model as sample

TEXTS = ("name", "name_english", "comment", "comment_english")
LETTERS = pmx.INDEX_ORDER


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def rewritten(data):
    return saved(mmdskin.load_model(data))


def hard_file(**changes):
    """A file without soft bodies, which a model does not hold."""
    return small_file(soft_bodies=[], **changes)


def assert_same_model(found, expected):
    for name in ARRAYS:
        one, other = getattr(found, name), getattr(expected, name)
        assert (one.dtype, one.shape) == (other.dtype, other.shape), name
        assert one.tobytes() == other.tobytes(), name
    for name in (*TEXTS, "textures"):
        assert getattr(found, name) == getattr(expected, name)
    for name in SECTIONS:
        assert_same_records(
            getattr(found, name), [record._asdict() for record in getattr(expected, name)]
        )


@pytest.mark.parametrize("encoding", pmx.ENCODINGS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_file_is_written_as_it_was_read(encoding, size):
    file = hard_file(encoding=encoding, index_sizes=dict.fromkeys(LETTERS, size))
    data = pmx.write(file)
    assert rewritten(data) == data


@pytest.mark.parametrize("version", [2.0, 2.1])
@pytest.mark.parametrize("sets", range(5))
def test_versions_and_additional_uvs_are_written(version, sets):
    file = hard_file(version=version)
    uvs = np.arange(len(file.positions) * sets * 4, dtype=np.float32)
    file.additional_uvs = uvs.reshape(len(file.positions), sets, 4)
    data = pmx.write(file)
    assert rewritten(data) == data


def test_the_sample_is_written_as_it_was_read():
    file = sample.sample()
    file.soft_bodies = []
    data = pmx.write(file)
    assert rewritten(data) == data


@pytest.mark.parametrize("path", locations.at_hand("pmx"), ids=lambda path: path.stem)
def test_real_files_are_written_as_they_were_read(path):
    model = mmdskin.load_model(path)
    if pmx.read(path).soft_bodies:
        with pytest.raises(ValueError, match="soft bodies"):
            model.save(io.BytesIO())
    else:
        assert saved(model) == path.read_bytes()


@pytest.mark.parametrize("encoding", pmx.ENCODINGS)
def test_texts_of_every_length_of_a_character_are_written(encoding):
    """One to four bytes of UTF-8, one or two units of UTF-16."""
    text = "aé左𠮷\U0010ffff\uffff\r\n"
    data = pmx.write(hard_file(encoding=encoding, name=text, comment="", textures=[text]))
    assert rewritten(data) == data
    assert pmx.read(rewritten(data)).name == text


@pytest.mark.parametrize("count, size", [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_indices_of_vertices_are_unsigned_and_have_as_few_bytes_as_they_need(count, size):
    """A file that says one byte but has more vertices cannot name them; it is given more."""
    file = rigid_file(count)
    file.index_sizes = dict.fromkeys(LETTERS, 1)
    found = pmx.read(rewritten(pmx.write(file)))
    assert found.index_sizes == {**file.index_sizes, "v": size}
    assert len(found.positions) == count


@pytest.mark.parametrize("count, size", [(127, 1), (128, 2), (32767, 2), (32768, 4)])
def test_other_indices_are_signed_and_have_as_few_bytes_as_they_need(count, size):
    file = rigid_file(1)
    file.bones = [pmx.Bone("b", parent=-1) for _ in range(count)]
    file.index_sizes = dict.fromkeys(LETTERS, 1)
    assert pmx.read(rewritten(pmx.write(file))).index_sizes["b"] == size


def test_a_pmd_becomes_a_pmx_2_0():
    model = mmdskin.load_model(pmd_bytes(small_pmd()))
    data = saved(model)
    again = mmdskin.load_model(data)
    assert (model.version, again.version) == (1.0, 2.0)
    assert_same_model(again, model)
    found = pmx.read(data)
    assert (found.version, found.encoding, found.trailing) == (2.0, "utf-16-le", b"")
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(model, name)), name
    for name, expected in SECTIONS.items():
        assert_same_records(getattr(model, name), [expected(one) for one in getattr(found, name)])


def test_a_file_that_was_cleaned_reads_as_the_cleaned_model():
    file = hard_file()
    file.positions[0, 0] = np.nan
    file.bones[0].parent = 300
    file.index_sizes = dict.fromkeys(LETTERS, 4)
    file.triangles[0] = 100000
    file.trailing = b"more"
    model = mmdskin.load_model(pmx.write(file))
    data = saved(model)
    assert_same_model(mmdskin.load_model(data), model)
    assert rewritten(data) == data == saved(model)
    assert pmx.read(data).trailing == b""


def test_a_model_is_saved_again_with_the_same_bytes_and_without_writing_them_again():
    model = mmdskin.load_model(pmx.write(hard_file()))
    taken = []
    for _ in range(3):
        model.save(types.SimpleNamespace(write=lambda data: taken.append(data) or len(data)))
    assert taken[0] == taken[1] and taken[1] is taken[2]


def test_a_model_with_soft_bodies_is_refused_and_nothing_is_written(tmp_path):
    model = mmdskin.load_model(pmx.write(small_file()))
    path = tmp_path / "a.pmx"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="without its soft bodies, so it cannot be saved"):
        model.save(path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.pmx"]


def test_paths_and_files_are_written(tmp_path):
    data = pmx.write(hard_file())
    model = mmdskin.load_model(data)
    for path in (tmp_path / "左.pmx", str(tmp_path / "b.pmx")):
        model.save(path)
        assert Path(path).read_bytes() == data
    with open(tmp_path / "c.pmx", "wb") as file:
        model.save(file)
    assert (tmp_path / "c.pmx").read_bytes() == data
    assert len(os.listdir(tmp_path)) == 3


def test_bad_targets_are_refused(tmp_path):
    model = mmdskin.load_model(pmx.write(hard_file()))
    with pytest.raises(TypeError, match="path: <class 'int'> is neither a path nor a file"):
        model.save(1)
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no such folder" / "a.pmx")
    with pytest.raises(IsADirectoryError if os.name != "nt" else PermissionError):
        model.save(tmp_path)


@pytest.mark.parametrize("name", ["a.pmd", "a.GLB", "a.vmd", b"a.obj"])
def test_a_model_is_not_saved_under_the_name_of_another_format(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = mmdskin.load_model(pmx.write(hard_file()))
    with pytest.raises(ValueError, match=r"path: .*: a model is written as .pmx$"):
        model.save(name)
    with open(name, "wb") as file, pytest.raises(ValueError, match="a model is written as"):
        model.save(file)
    assert Path(os.fsdecode(name)).read_bytes() == b""
    model.save("a.pmx.partial")  # says nothing about the format
    assert mmdskin.load_model("a.pmx.partial") == model


def test_a_pickled_model_is_saved_alike():
    data = pmx.write(hard_file(encoding="utf-8"))
    assert saved(pickle.loads(pickle.dumps(mmdskin.load_model(data)))) == data
