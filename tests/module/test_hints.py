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
    for call in (
        model.pose,
        lambda motion: mmdskin.frames(model, motion),
        lambda motion: mmdskin.save_glb("dance.glb", model, motion),
    ):
        with pytest.raises(TypeError, match=r"motion: .*str'>; load_motion\(\) reads a file"):
            call("dance.vmd")
    for call in (
        mmdskin.Simulation,
        lambda model: mmdskin.frames(model, None),
        mmdskin.load_textures,
        lambda model: mmdskin.save_glb("dance.glb", model),
        lambda model: mmdskin.scaled(model, 2),
        lambda model: mmdskin.merged([model]),
    ):
        with pytest.raises(TypeError, match=r"model(s\[0\])?: .*str'>; load_model\(\)"):
            call("miku.pmx")
    for call in (lambda mesh: mmdskin.skin(mesh, np.eye(4)[None]), mmdskin.framing):
        with pytest.raises(TypeError, match=r"mesh: .*str'>; load_model\(\) reads a file"):
            call("miku.pmx")


def test_classes_of_files_say_what_makes_them():
    with pytest.raises(TypeError, match=r"load_model\(\) and Model\.from_arrays\(\) make a Model"):
        mmdskin.Model("miku.pmx")
    with pytest.raises(TypeError, match=r"load_motion\(\) and Motion\.from_tracks\(\) make a"):
        mmdskin.Motion("dance.vmd")
    with pytest.raises(TypeError, match="not safe"):
        object.__new__(mmdskin.Model)


def test_models_are_merged_in_a_list(model):
    with pytest.raises(TypeError, match="models: expected a list of models, not one Model"):
        mmdskin.merged(model)


@pytest.mark.parametrize(
    ("size", "error", "words"),
    [
        (300, TypeError, r"size: expected \(width, height\), two integers"),
        ((300, 1.5), TypeError, r"size: expected \(width, height\), two integers"),
        ((0, 300), ValueError, "size: 0 x 300, expected at least 1 x 1"),
    ],
)
def test_a_size_has_two_numbers(model, size, error, words):
    """As render() says."""
    with pytest.raises(error, match=words):
        mmdskin.framing(model, size=size)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ("all", "frames: expected numbers"),
        (5, r"frames: shape \(\), expected \(F,\)"),
        ([0, np.nan], r"frames\[1\] is NaN"),
    ],
)
def test_frames_are_a_list_of_numbers(model, motion, tmp_path, frames, words):
    for call in (
        lambda: mmdskin.frames(model, motion, frames),
        lambda: mmdskin.framing(model, motion, frames),
        lambda: mmdskin.save_glb(tmp_path / "a.glb", model, motion, frames),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert np.isfinite(mmdskin.framing(model, motion, []).position).all()


def test_files_have_the_ending_of_their_format(model, tmp_path):
    picture = mmdskin.Rendered(np.zeros((2, 2, 4), np.uint8), None, None, None)
    with pytest.raises(ValueError, match=r"path: .*a\.jpg: a picture is written as \.png"):
        picture.save(tmp_path / "a.jpg")
    with pytest.raises(ValueError, match=r"path: .*a\.gltf: a glTF file is written as \.glb"):
        mmdskin.save_glb(tmp_path / "a.gltf", model)
    with pytest.raises(ValueError, match=r"path: .*a\.png: a model is written as \.pmx"):
        model.save(tmp_path / "a.png")
    assert not [*tmp_path.iterdir()]


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
