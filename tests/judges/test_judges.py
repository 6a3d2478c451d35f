# SPDX-License-Identifier: MIT
"""The judges themselves: the independent reader and writer, the float64 twin, the sample model."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from judges import pose_twin, twin
from judges.check_values import CHECKS, PIVOT, QUARTER, W
from sample import demo
from sample import model as sample


def test_reader_and_writer_reproduce_real_files(model_path):
    data = model_path.read_bytes()
    assert pmx.write(pmx.read(data)) == data


def test_reader_and_writer_reproduce_the_sample():
    assert pmx.write(pmx.read(sample.build_sample())) == sample.build_sample()


@pytest.mark.parametrize("kind, blend, position, normal", CHECKS)
def test_twin_gives_the_check_values(kind, blend, position, normal):
    mesh = twin.Mesh(
        np.float64([[1, 2, 0.5]]),
        [[0, 1]],
        [[W, 1 - W]],
        normals=np.float64([[0.6, 0.8, 0]]),
        deform=np.uint8([kind]),
        sdef=np.float64([[PIVOT, (0, 1, 0), (0, 2.2, 0)]]),
    )
    positions, normals, _ = twin.skin(mesh, QUARTER, sdef_blend=blend)
    assert np.allclose(positions[0], position, atol=1e-6)
    assert np.allclose(normals[0], normal, atol=1e-5)


@pytest.mark.parametrize("normalized", [pose_twin.normalized, twin.normalized_or])
def test_twins_normalize_float32_in_double(normalized):
    found = normalized(np.float32([0.1, -0.7, 0.3, 0.9]))
    assert abs(found @ found - 1) < 1e-15


def test_twin_moves_all_types_alike_when_matrices_are_equal():
    file = sample.sample()
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = twin.quaternion_matrix(np.array([0.5, -0.5, 0.5, 0.5])), (1, 2, 3)
    positions, _, _ = twin.skin(file, np.tile(m, (len(file.bones), 1, 1)))
    assert abs(positions - (file.positions @ m[:3, :3].T + m[:3, 3])).max() < 1e-12


def test_the_sample_has_one_of_everything():
    model = mmdskin.load_model(sample.build_sample())
    assert set(model.deform) == {0, 1, 2, 3, 4}
    kinds = {morph.kind for morph in model.morphs}
    assert kinds >= {"vertex", "group", "flip", "bone", "uv", "uv1", "material", "impulse"}
    assert any(bone.ik for bone in model.bones)
    assert sum(bone.append is not None for bone in model.bones) > 2
    assert model.rigid_bodies
    assert model.joints


@pytest.mark.parametrize("pose, angle", [(sample.bend, 120), (sample.twist, 150)])
def test_sdef_keeps_the_elbow_round_where_bdef2_collapses(backend, pose, angle):
    model = mmdskin.load_model(sample.build_sample())
    positions = mmdskin.skin(model, pose(angle), backend=backend).positions
    kept = {}
    for kind in sample.LIMBS:
        v = sample.limb_vertices(kind)
        kept[kind] = demo.narrowest(positions[v], model.positions[v])
    assert kept["SDEF"] > 0.98
    assert kept["QDEF"] > 0.98
    assert kept["BDEF2"] < 0.6
