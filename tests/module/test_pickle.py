# SPDX-License-Identifier: MIT
"""Models, meshes and results can be pickled and copied."""

import copy
import multiprocessing
import pickle

import mmdskin
import numpy as np
import pytest
from sample import model as sample

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


def make_mesh(model):
    return mmdskin.Mesh(
        model.positions,
        model.bone_indices,
        model.bone_weights,
        normals=model.normals,
        tangents=np.roll(model.normals, 1, 1),
        deform=model.deform,
        sdef=model.sdef,
        morphs=[(m.indices, m.values) for m in model.morphs if m.kind == "vertex"],
    )


def assert_same_result(one, two, **options):
    matrices = sample.bend(70)
    a, b = (mmdskin.skin(m, matrices, backend="cpu", **options) for m in (one, two))
    assert np.array_equal(a.positions, b.positions)
    assert np.array_equal(a.normals, b.normals)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_can_be_pickled(model, protocol):
    other = pickle.loads(pickle.dumps(model, protocol))
    assert type(other) is mmdskin.Model
    assert other.name == model.name
    assert [bone.name for bone in other.bones] == [bone.name for bone in model.bones]
    assert_same_result(model, other)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_mesh_can_be_pickled(model, protocol):
    mesh = make_mesh(model)
    other = pickle.loads(pickle.dumps(mesh, protocol))
    assert type(other) is mmdskin.Mesh
    count = sum(morph.kind == "vertex" for morph in model.morphs)
    matrices, weights = sample.twist(70), np.resize(np.float32([0.5, 1, -2]), count)
    a, b = (mmdskin.skin(m, matrices, weights, tangents=True, backend="cpu") for m in (mesh, other))
    assert all(map(np.array_equal, a, b))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_models_and_meshes_can_be_copied(model, duplicate):
    assert_same_result(model, duplicate(model))
    assert_same_result(make_mesh(model), duplicate(make_mesh(model)))


def test_a_model_can_be_pickled_after_its_file_is_deleted(tmp_path):
    path = sample.write_sample(tmp_path)
    model = mmdskin.load_model(path)
    path.unlink()
    assert_same_result(model, pickle.loads(pickle.dumps(model)))


def test_results_and_records_can_be_pickled(model):
    for value in (
        mmdskin.skin(model, sample.bend(9), backend="cpu"),
        mmdskin.Pose(sample.bend(9), None),
    ):
        other = pickle.loads(pickle.dumps(value))
        assert type(other) is type(value)
        assert np.array_equal(other[0], value[0])
    for records in (model.bones, model.materials, mmdskin.backends()):
        assert pickle.loads(pickle.dumps(records[0])) == records[0]


def positions(job):
    return mmdskin.skin(*job, backend="cpu").positions


def test_models_can_be_sent_to_worker_processes(model):
    jobs = [(model, sample.bend(a)) for a in (0, 30, 60)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for job, result in zip(jobs, pool.map(positions, jobs), strict=True):
            assert np.array_equal(result, positions(job))


def test_damaged_pickles_are_refused(model):
    reduced = model.__reduce_ex__(4)
    with pytest.raises(mmdskin.FormatError):
        reduced[0](*[part[:1000] if isinstance(part, bytes) else part for part in reduced[1]])


@pytest.mark.parametrize("name", ["load_model", "load_motion", "skin", "render", "backends"])
def test_pickled_functions_are_those_of_the_package(name):
    """As in 0.1, when the package was one module: old pickles can be read, and new ones there."""
    pickled = pickle.dumps(getattr(mmdskin, name), 0)
    assert pickled.startswith(f"cmmdskin\n{name}\n".encode())
    assert pickle.loads(f"cmmdskin\n{name}\n.".encode()) is getattr(mmdskin, name)
