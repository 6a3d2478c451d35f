# SPDX-License-Identifier: MIT
"""mmdskin.sample(): the dancer of tests/sample, in the package."""

import mmdskin
import numpy as np
import pytest
from sample import packed
from sample.character import model as character


@pytest.fixture(scope="module")
def sample():
    return mmdskin.sample()


def test_its_files_are_what_the_code_makes(sample):
    """Not byte for byte: NumPy's functions differ in the last digit from version to version."""
    made = packed.members()
    with np.load(packed.TARGET) as kept:
        assert list(kept) == list(made)
        for name in kept:
            same = kept[name].shape == made[name].shape
            assert same and (kept[name] != made[name]).mean() < 0.01, name
    assert packed.TARGET.stat().st_size < 400_000


def test_it_is_the_dancer(sample):
    made = character.character()
    for name, step in (("positions", packed.PLACE), ("uvs", packed.UV), ("sdef", packed.PLACE)):
        assert np.abs(getattr(sample.model, name) - getattr(made, name)).max() <= 0.51 * step
    assert not any(sample.motion.unmatched(sample.model))
    assert set(sample.textures) == set(range(len(sample.model.textures)))
    assert all(image.shape[2] == 4 for image in sample.textures.values())


def test_its_files_can_be_written(sample, tmp_path):
    from mmdskin import command_line

    assert command_line.main(["sample", str(tmp_path / "dancer")]) == 0
    model = mmdskin.load_model(tmp_path / "dancer/dancer.pmx")
    assert model == sample.model
    assert mmdskin.load_motion(tmp_path / "dancer/dancer.vmd") == sample.motion
    pytest.importorskip("PIL")
    textures = mmdskin.load_textures(model)
    assert all(np.array_equal(textures[i], image) for i, image in sample.textures.items())


def test_its_files_replace_no_others(tmp_path, capsys):
    """skin.png and hair.png are usual names of textures."""
    from mmdskin import command_line

    (tmp_path / "skin.png").write_bytes(b"mine")
    assert command_line.main(["sample", str(tmp_path)]) == 1
    assert "skin.png: another file has this name; name an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["skin.png"]
    assert (tmp_path / "skin.png").read_bytes() == b"mine"
    for _ in range(2):  # its own files are left as they are
        assert command_line.main(["sample", str(tmp_path / "dancer")]) == 0


def test_its_file_is_the_same_each_time():
    assert packed.pack() == packed.pack()
