# SPDX-License-Identifier: MIT
"""The recipes of docs/recipes.md run as they are printed; what they write is read here by its bytes."""

import json
import re
import struct
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from module import docs_examples
from sample.character import dance, model
from test_dataset import run  # noqa: F401

RECIPES = docs_examples.of_page("docs/recipes.md")


@pytest.fixture
def follow(run, tmp_path):  # noqa: F811
    """Runs the recipe that has a word, in a folder with the dancer; its output, model and motion."""
    model.write_character(tmp_path)
    dance.write_dance(tmp_path)

    def call(word):
        (recipe,) = (one for one in RECIPES if word in one)
        (tmp_path / "recipe.py").write_text(recipe, encoding="utf-8")
        said = run(tmp_path / "recipe.py", cwd=tmp_path)
        dancer = mmdskin.load_model(tmp_path / "dancer.pmx")
        return said, dancer, mmdskin.load_motion(tmp_path / "dancer.vmd")

    return call


def test_every_recipe_is_followed():
    """Here or, as those that need no other library, by test_readme.py."""
    words = re.findall(r'follow\("(.*)"\)', Path(__file__).read_text(encoding="utf-8"))
    here = docs_examples.runnable_here().values()
    assert [one for one in RECIPES if one not in here and not any(w in one for w in words)] == []


def glb(path):
    """The JSON of a GLB, and a function that reads an accessor."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    described, binary = json.loads(data[20 : 20 + length]), data[28 + length :]
    kinds = {5126: "f4", 5125: "u4", 5123: "u2"}
    widths = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}

    def read(index):
        accessor = described["accessors"][index]
        view = described["bufferViews"][accessor["bufferView"]]
        count = accessor["count"] * widths[accessor["type"]]
        found = np.frombuffer(
            binary, kinds[accessor["componentType"]], count, view.get("byteOffset", 0)
        )
        return found.reshape(accessor["count"], -1)

    return described, read


def meters(positions):
    return np.asarray(positions) * (1, 1, -1) / 12.5


def test_trimesh(follow, tmp_path):
    said, dancer, motion = follow("trimesh")
    wanted = meters(mmdskin.skin(dancer, dancer.pose(motion, 130)).positions)
    assert said.startswith(f"{np.ptp(wanted[:, 1]):.2f} m tall")
    lines = (tmp_path / "frame.obj").read_text().splitlines()
    found = [line.split()[1:4] for line in lines if line.startswith("v ")]
    assert np.abs(np.array(found, float) - wanted).max() < 1e-5
    described, read = glb(tmp_path / "frame.glb")
    shape = described["meshes"][0]["primitives"][0]
    assert np.abs(read(shape["attributes"]["POSITION"]) - wanted).max() < 1e-5


def test_pyvista(follow, tmp_path):
    follow("pyvista")
    assert len([*tmp_path.glob("frame*.vtp")]) == 3


def test_jax(follow):
    said, dancer, _ = follow("import jax")
    assert f"({len(dancer.positions)}, 3)" in said
    assert int(said.split("%")[0].split()[-1]) < 50


def test_jax_takes_read_only_arrays_but_not_by_dlpack(run, tmp_path):  # noqa: F811
    """As docs/api.md says."""
    model.write_character(tmp_path)
    lines = (
        "import jax.numpy as jnp, mmdskin, numpy as np",
        "positions = mmdskin.load_model('dancer.pmx').positions",
        "print(np.array_equal(jnp.asarray(positions), positions))",
        "print(np.array_equal(jnp.from_dlpack(positions.copy()), positions))",
        "try: jnp.from_dlpack(positions)",
        "except BufferError as error: print(error)",
    )
    (tmp_path / "script.py").write_text("\n".join(lines))
    said = run(tmp_path / "script.py", cwd=tmp_path).splitlines()
    assert said[-3:-1] == ["True", "True"] and "readonly" in said[-1]


def test_point_caches(follow, tmp_path):
    _, dancer, motion = follow("POINTCACHE2")
    wanted = mmdskin.skin(dancer, dancer.pose(motion, 40)).positions
    pc2 = np.fromfile(tmp_path / "dance.pc2", "<f4", offset=32).reshape(61, -1, 3)
    mdd = np.fromfile(tmp_path / "dance.mdd", ">f4", offset=8 + 4 * 61).reshape(61, -1, 3)
    assert np.abs(pc2[40] - wanted[:, [0, 2, 1]] / 12.5).max() < 1e-6
    assert np.abs(mdd[40] - meters(wanted)).max() < 1e-6


def test_a_model_from_arrays(follow, tmp_path):
    """Its base is closed to the outside, and its tip reaches the IK bone."""
    said, *_ = follow("from_arrays")
    assert said.startswith("the tip is at [4. 6. 2.]")
    model = mmdskin.load_model(tmp_path / "tentacle.pmx")
    assert (model.name, len(model.bones), len(model.triangles)) == ("触手", 5, 768)
    out = model.positions[:, [0, 2]] / np.linalg.norm(model.positions[:, [0, 2]], axis=1)[:, None]
    assert (model.normals[:, [0, 2]] * out).sum(1).min() > 0.9
