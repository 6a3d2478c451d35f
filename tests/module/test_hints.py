# SPDX-License-Identifier: MIT
"""Errors of usual mistakes say what to do instead."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import small_file
from sample import motion as sample_motion


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(pmx.write(small_file(soft_bodies=[])))


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(sample_motion.build_motion())


POSE = r"Model\.pose\(\) makes the pose of a frame of a Motion"
SLIDERS = r"morph_weights: expected numbers, not .*dict.*; Model\.sliders\(\) makes them"


def test_a_motion_is_posed_first(model, motion):
    with pytest.raises(TypeError, match=f"bone_matrices: .*Motion'>; {POSE}"):
        mmdskin.skin(model, motion)
    with pytest.raises(TypeError, match=f"skinned: .*; {POSE}"):
        mmdskin.render(model, motion)
    with pytest.raises(TypeError, match=f"pose: .*; {POSE}"):
        model.joint_positions(motion)


def test_a_file_is_loaded_first(model):
    for call in (model.pose, lambda motion: mmdskin.frames(model, motion)):
        with pytest.raises(TypeError, match=r"motion: .*str'>; load_motion\(\) reads a file"):
            call("dance.vmd")
    for call in (mmdskin.Simulation, lambda model: mmdskin.frames(model, None)):
        with pytest.raises(TypeError, match=r"model: .*str'>; load_model\(\) reads a file"):
            call("miku.pmx")
    with pytest.raises(TypeError, match=r"mesh: .*str'>; load_model\(\) reads a file"):
        mmdskin.skin("miku.pmx", np.eye(4)[None])


def test_names_of_morphs_become_weights_by_sliders(model, motion):
    matrices = model.pose(motion).bone_matrices
    for call in (
        lambda weights: mmdskin.skin(model, matrices, morph_weights=weights),
        model.materials_at,
        model.uvs_at,
    ):
        with pytest.raises(TypeError, match=SLIDERS):
            call({"あ": 1})
        call(model.sliders({}))


@pytest.mark.parametrize("path", ["a.png", b"a.png"])
def test_paths_of_textures_are_read_by_load_textures(model, path):
    with pytest.raises(TypeError, match=r"textures\[0\]: .*; load_textures\(\) reads the files"):
        mmdskin.render(model, model.pose(), textures={0: path})


@pytest.mark.parametrize("added", [-5, 2])
def test_other_positions_need_other_arrays_of_the_vertices(model, added):
    count = len(model.positions)
    with pytest.raises(ValueError) as refused:
        model.replace(positions=np.zeros((count + added, 3)), uvs=None)
    assert str(refused.value).startswith(
        f"positions: {count + added} vertices, but the model has {count}: replace normals, "
        "additional_uvs, edge_scales, deform, bone_indices, bone_weights, sdef, too"
    )
    defaults = dict.fromkeys(
        ("normals", "uvs", "additional_uvs", "edge_scales", "deform", "bone_indices"),
    ) | dict.fromkeys(("bone_weights", "sdef"))
    new = model.replace(
        positions=np.zeros((count + added, 3)), triangles=None, materials=(), morphs=(),
        display_frames=(), **defaults,
    )  # fmt: skip
    assert len(new.positions) == count + added and new.bones == model.bones
