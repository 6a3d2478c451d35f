# SPDX-License-Identifier: MIT
"""docs/examples/contact_sheet.py on the sample character."""

import importlib.util

import mmdskin
import numpy as np
import pytest
from conftest import ROOT
from files import pmx_file
from files.small import rigid_file
from PIL import Image
from sample.character import dance, model


@pytest.fixture(scope="module")
def example():
    path = ROOT / "docs/examples/contact_sheet.py"
    spec = importlib.util.spec_from_file_location("contact_sheet", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def raised(dancer, *heights):
    """Poses of the whole model, moved up."""
    root = np.array([(0, height, 0) for height in heights])
    return dancer.pose_from({"全ての親": (root, None)})


def test_measurements_of_a_model_that_moves_as_a_whole(example):
    dancer = mmdskin.load_model(model.build_character())
    found = example.Measured(dancer)
    hair = [body.bone for body in dancer.rigid_bodies if body.mode != "follow_bone"]
    lowest = dancer.positions[np.isin(dancer.bone_indices[:, 0], hair), 1].min()
    assert lowest > dancer.positions[:, 1].min() + 1
    found.add(raised(dancer, 0, -30))
    assert np.isclose(found.way, 30)
    found.add(raised(dancer, 5, 6, 4.5))
    assert np.isclose(found.way, 1.5)
    assert np.isclose(found.lowest, lowest - 30)
    assert found.stretch < 1e-4


def test_a_stretched_edge_is_measured(example):
    """A corner of a triangle with legs of length 1 moves up by 2: one leg grows from 1 to 3."""
    file = rigid_file(3)
    file.positions = np.float32([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    file.triangles = np.int32([(0, 1, 2)])
    file.bones.append(pmx_file.Bone("tip"))
    file.bone_indices[2, 0] = 1
    triangle = mmdskin.load_model(pmx_file.write(file))
    found = example.Measured(triangle)
    found.add(triangle.pose_from({"tip": (np.array([(0, 2, 0)]), None)}))
    assert np.isclose(found.stretch, 2)
    assert found.lowest == np.inf  # no body moves any of it


def test_a_sheet_shows_pairs_and_a_table(gl, example, tmp_path, capsys, monkeypatch):
    path = tmp_path / "sheet.png"
    monkeypatch.setattr(example, "CELL", (80, 110))
    example.main(
        *(model.write_character(tmp_path), dance.write_dance(tmp_path), path), "30", "60.5"
    )
    page = np.asarray(Image.open(path)).astype(int)
    width, height = example.CELL
    assert page.shape == (height + 12, 3 * (2 * width + 12), 3)
    for column in range(2):
        left = column * (2 * width + 12) + 6
        pair = page[30:, left : left + 2 * width].reshape(-1, 2, width, 3).transpose(1, 0, 2, 3)
        drawn = (pair < 250).any(axis=-1).mean(axis=(1, 2))
        assert (drawn > 0.05).all()
        differs = (np.abs(pair[0] - pair[1]) > 20).any(axis=-1).mean()
        assert 0.002 < differs < 0.2  # hair and skirt differ, the rest does not
    table = [line.split() for line in capsys.readouterr().out.splitlines()[1:3]]
    assert [row[:2] for row in table] == [["without", "physics"], ["with", "physics"]]
    plain, simulated = (np.array(row[2:], float) for row in table)
    assert plain[2] == 0
    assert simulated[0] > -0.3
    # On this path Bullet 2.75 moves the ends of bodies by 0.097; the mesh reaches farther.
    assert simulated[2] < 0.12
