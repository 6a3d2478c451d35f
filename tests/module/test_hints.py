# SPDX-License-Identifier: MIT
"""Errors of usual mistakes say what to do instead."""

import os
import pathlib

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import small_file
from retarget import bodies
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


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path])
def test_a_file_is_loaded_first(model, motion, kind):
    """Wherever its path is passed in place of what the file holds."""
    pose, path = model.pose(), kind("miku")
    skeleton, Motion = model.skeleton, mmdskin.Motion
    calls = {
        r"(motion|like): .*; load_motion\(\) reads a file": [
            lambda: model.pose(path),
            lambda: mmdskin.frames(model, path),
            lambda: mmdskin.save_glb("dance.glb", model, path),
            lambda: mmdskin.Simulation(model, path),
            lambda: Motion.from_poses(model, pose, like=path),
        ],
        r"(skinned|shown): .*; load_motion\(\) reads a file": [
            lambda: mmdskin.render(model, path),
            lambda: mmdskin.framing(model, path),
        ],
        r"(pose|bone_matrices): .*; Model\.pose\(\) makes it of a Motion, and load_motion\(\)": [
            lambda: mmdskin.skin(model, path),
            lambda: model.joint_positions(path),
            lambda: Motion.from_poses(model, path),
        ],
        r"(model|models\[0\]|target|made_for): .*; load_model\(\) reads a file": [
            lambda: mmdskin.Simulation(path),
            lambda: mmdskin.frames(path, None),
            lambda: mmdskin.load_textures(path),
            lambda: mmdskin.save_glb("dance.glb", path),
            lambda: mmdskin.scaled(path, 2),
            lambda: mmdskin.merged([path]),
            lambda: motion.for_model(path),
            lambda: motion.for_model(model, made_for=path),
            lambda: motion.unmatched(path),
            lambda: motion.save("dance.vpd", model=path),
            lambda: mmdskin.load_motion(b"", model=path),
            lambda: Motion.from_poses(path, pose),
            lambda: Motion.from_locals(path, model.locals_of(pose)),
            lambda: Motion.from_skeleton(path, skeleton, pose),
        ],
        r"(mesh|models): .*; load_model\(\) reads a file": [
            lambda: mmdskin.skin(path, pose),
            lambda: mmdskin.render(path, pose),
            lambda: mmdskin.framing(path),
            lambda: mmdskin.merged(path),
        ],
        r"(skeleton|source|target): .*; load_bvh\(\) or load_gltf\(\) reads a file": [
            lambda: Motion.from_skeleton(model, path, pose),
            lambda: mmdskin.retarget(path, pose, skeleton),
            lambda: mmdskin.retarget(bodies.dancer().skeleton, pose, path),
        ],
    }
    for words, refused in calls.items():
        for call in refused:
            with pytest.raises(TypeError, match=words):
                call()


def test_a_model_has_a_skeleton(model):
    with pytest.raises(TypeError, match=r"source: .*Model'>; Model\.skeleton is one"):
        mmdskin.retarget(model, model.pose(), model.skeleton)


def test_classes_of_files_say_what_makes_them():
    with pytest.raises(TypeError, match=r"load_model\(\) and Model\.from_arrays\(\) make a Model"):
        mmdskin.Model("miku.pmx")
    with pytest.raises(TypeError, match=r"load_motion\(\) and Motion\.from_tracks\(\) make a"):
        mmdskin.Motion("dance.vmd")
    with pytest.raises(TypeError, match="not safe"):
        object.__new__(mmdskin.Model)


def test_models_are_merged_in_a_list(model):
    for one in (model, None):
        with pytest.raises(TypeError, match="models: expected a list of models, not <class"):
            mmdskin.merged(one)


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
        ("all", "frames: dtype <U3, expected numbers"),
        (["1"], "frames: dtype <U1, expected numbers"),
        ([10**400], "frames: a number is too large"),
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
        with pytest.raises((TypeError, ValueError), match=words):
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
