# SPDX-License-Identifier: MIT
"""load_textures() and Model.path."""

import pickle
import sys
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from PIL import Image

RED, CLEAR = (255, 0, 0, 255), (1, 2, 3, 0)


@pytest.fixture
def folder(tmp_path):
    """A model with three textures, of which two are there."""
    names = ["Tex\\RED.png", "clear.png", "../outside.png"]
    mmdskin.Model.from_arrays(textures=names).save(tmp_path / "a" / "m.pmx")
    Image.new("RGB", (3, 2), RED[:3]).save(tmp_path / "a" / "tex" / "red.PNG")
    Image.new("RGBA", (1, 1), CLEAR).save(tmp_path / "a" / "clear.png")
    Image.new("RGB", (1, 1)).save(tmp_path / "outside.png")
    return tmp_path / "a"


@pytest.fixture(autouse=True)
def folders(tmp_path):
    (tmp_path / "a" / "tex").mkdir(parents=True)


def check(images):
    assert list(images) == [0, 1]
    assert images[0].dtype == np.uint8 and images[0].shape == (2, 3, 4)
    assert (images[0] == RED).all() and (images[1] == CLEAR).all()


def test_textures_are_found_beside_the_model_with_either_slash_and_in_any_case(folder):
    model = mmdskin.load_model(folder / "m.pmx")
    with pytest.warns(UserWarning, match=r"^texture \.\./outside\.png: not found$") as warned:
        check(mmdskin.load_textures(model))
    assert warned[0].filename == __file__  # the caller's


def test_a_folder_may_be_named(folder):
    model = mmdskin.load_model((folder / "m.pmx").read_bytes())
    with pytest.warns(UserWarning, match="outside"):
        check(mmdskin.load_textures(model, folder))
    with pytest.raises(ValueError, match="^folder: needed"):
        mmdskin.load_textures(model)


@pytest.mark.parametrize(("name", "error"), [("none", FileNotFoundError), ("clear.png", OSError)])
def test_a_folder_that_is_none_is_one_error(folder, name, error):
    """In place of a warning for each texture."""
    model = mmdskin.load_model(folder / "m.pmx")
    with pytest.raises(error, match=name):
        mmdskin.load_textures(model, folder / name)


def test_damaged_images_are_left_out_with_a_warning(folder):
    (folder / "clear.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    model = mmdskin.load_model(folder / "m.pmx").replace(textures=["clear.png"])
    with pytest.warns(UserWarning, match=r"clear\.png: cannot identify"):
        assert mmdskin.load_textures(model) == {}


def test_without_pillow_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    model = mmdskin.load_model(folder / "m.pmx").replace(textures=["clear.png"])
    with pytest.raises(ImportError, match="mmdskin\\[pictures\\]"):
        mmdskin.load_textures(model)


@pytest.mark.parametrize("of", [Path, str])
def test_a_model_knows_the_path_that_it_was_loaded_from(folder, monkeypatch, of):
    monkeypatch.chdir(folder)
    model = mmdskin.load_model(of("m.pmx"))
    assert model.path == model.replace(name="other").path == str(folder / "m.pmx")


def test_contents_and_open_files_have_no_path(folder):
    contents = (folder / "m.pmx").read_bytes()
    with open(folder / "m.pmx", "rb") as file:
        opened = mmdskin.load_model(file)
    for model in (opened, mmdskin.load_model(contents), pickle.loads(pickle.dumps(opened))):
        assert model.path is None and model == opened
