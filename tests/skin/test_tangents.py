# SPDX-License-Identifier: MIT
"""Tangents made from texture coordinates: by hand, and against the float64 twin."""

import threading
from dataclasses import replace
from functools import cache

import mmdskin
import numpy as np
import pytest
from files import locations
from files import pmx_file as pmx
from files.small import rigid_file
from judges import twin

REST = np.eye(4, dtype=np.float32)[None]
CLOSE = {"atol": 2e-6, "rtol": 0}
CORNERS = np.float32([[0, 0, 0], [2, 0, 0], [2, 3, 0], [0, 3, 0]])
UVS = np.float32([[0, 1], [1, 1], [1, 0], [0, 0]])  # v goes down, as in MMD
TRIANGLES = np.int32([[0, 2, 1], [0, 3, 2]])


def card(positions=CORNERS, uvs=UVS, triangles=TRIANGLES, normal=(0, 0, -1)):
    """A model of one bone; by default a square that faces the viewer."""
    file = rigid_file(len(positions))
    file.positions, file.uvs = np.float32(positions), np.float32(uvs)
    file.normals = np.tile(np.float32(normal), (len(positions), 1))
    file.triangles = np.int32(triangles)
    file.materials = [pmx.Material("card", index_count=file.triangles.size)]
    return file


def tangents(file, matrices=REST, **options):
    return mmdskin.skin(mmdskin.load_model(pmx.write(file)), matrices, tangents=True, **options)


def test_tangents_point_along_u(backend):
    """u grows along +x. The normal -z times +x is -y, along which v grows: w is 1."""
    found = tangents(card(), backend=backend).tangents
    assert np.allclose(found, (1, 0, 0, 1), **CLOSE)


def test_a_mirrored_texture_has_the_opposite_handedness(backend):
    found = tangents(card(uvs=UVS * [-1, 1]), backend=backend).tangents
    assert np.allclose(found, (-1, 0, 0, -1), **CLOSE)


def test_tangents_rotate_with_the_bone(backend):
    turn = REST.copy()
    turn[0, :3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    found = tangents(card(), turn, backend=backend).tangents
    assert np.allclose(found, (0, 1, 0, 1), **CLOSE)


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("deform", ["linear", "mmd", "dual_quaternion", "centers_of_rotation"])
def test_a_mirrored_matrix_turns_the_bitangent(deform, width, backend):
    """Mirrored along y: u still grows along +x, v along +y, the normal is -z. By hand: -z times +x
    is -y, so w is -1. Mirrored along x: u grows along -x, v along -y; -z times -x is +y. Turned
    by 180 degrees: u grows along -x, v along +y."""
    frames = np.stack([np.eye(4, dtype="f4")] * 5)[:, None].repeat(2, 1)
    frames[1, :, 1, 1], frames[2, :, 0, 0] = -1, -1
    frames[3, :, 0, 0] = frames[3, :, 1, 1] = -1
    count = 40
    mesh = mmdskin.Mesh(
        np.tile(CORNERS, (count // 4, 1)),
        np.tile([0, 1], (count, 1)),
        np.tile([0.25, 0.75], (count, 1)),
        normals=np.tile([0.0, 0, -1], (count, 1)),
        tangents=np.tile([1.0, 0, 0, 1][:width], (count, 1)),
        deform=np.repeat([1, 3, 4, 3], count // 4),
        sdef=np.zeros((count, 3, 3)),
        centers=np.zeros((count, 3)),
    )
    out = mmdskin.skin(mesh, frames, method=deform, tangents=True, backend=backend)
    wanted = np.array([[1, 0, 0, 1], [1, 0, 0, -1], [-1, 0, 0, -1], [-1, 0, 0, 1], [1, 0, 0, 1]])
    assert np.allclose(out.tangents, wanted[:, None, :width], atol=2e-6)
    assert np.allclose(out.normals, [0, 0, -1], atol=2e-6)


def test_triangles_are_weighted_by_their_angle_at_the_vertex():
    """At the origin a triangle of 90 degrees whose u goes along x, and one of 45 whose u goes along
    -y: the sum is 2 x - y."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [-1, -1, 0]]
    uvs = [[0, 0], [1, 0], [0, 1], [0, 1], [1, 1]]
    found = tangents(card(points, uvs, [[0, 1, 2], [0, 3, 4]], (0, 0, 1))).tangents
    assert np.allclose(found[0, :3], np.array([2, -1, 0]) / 5**0.5, **CLOSE)


def test_the_size_of_a_triangle_does_not_matter():
    points = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-50, 0, 0], [0, -50, 0]])
    uvs = [[0, 0], [1, 0], [0, 1], [0, -1], [1, 0]]  # u along x, and along -y
    found = tangents(card(points, uvs, [[0, 1, 2], [0, 3, 4]], (0, 0, 1))).tangents
    assert np.allclose(found[0, :3], np.array([1, -1, 0]) / 2**0.5, **CLOSE)


def test_tangents_are_orthogonal_to_the_normal():
    lean = np.array([0.6, 0, -0.8])
    found = tangents(card(normal=lean)).tangents
    assert np.allclose(found, (0.8, 0, 0.6, 1), **CLOSE)


@pytest.mark.parametrize(
    "uvs",
    [
        [[0, 0], [1, 1], [2, 2], [0, 0], [1, 0], [0, 1]],  # in one line
        [[3, 3], [3, 3], [3, 3], [0, 0], [1, 0], [0, 1]],  # in one point
    ],
)
def test_triangles_without_texture_area_do_not_count(uvs):
    """Their vertices get the axis farthest from the normal, made orthogonal to it."""
    points = np.concatenate([CORNERS[:3], CORNERS[:3] + 9])
    found = tangents(card(points, uvs, [[0, 1, 2], [3, 4, 5]], (0, 0.6, 0.8))).tangents
    assert np.allclose(found[:3], (1, 0, 0, 1), **CLOSE)


def test_tangents_that_cancel_out_give_a_default_tangent():
    points = np.concatenate([CORNERS[[0, 1, 3]], CORNERS[[1, 3]]])
    uvs = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]
    found = tangents(card(points, uvs, [[0, 1, 2], [0, 3, 4]], (0, 0, -1))).tangents
    assert np.allclose(found[0], (1, 0, 0, 1), **CLOSE)


def test_a_vertex_without_triangle_and_normal_has_a_default_tangent():
    file = card(np.concatenate([CORNERS, [[9, 9, 9]]]), np.concatenate([UVS, [[0, 0]]]))
    file.normals[4] = 0
    assert np.allclose(tangents(file).tangents[4], (1, 0, 0, 1), **CLOSE)


@pytest.mark.parametrize("change", [{"uvs": np.zeros((4, 2))}, {"triangles": np.zeros((0, 3))}])
def test_a_model_without_texture_coordinates_has_no_tangents(change):
    with pytest.raises(ValueError, match="tangents: the mesh has none"):
        tangents(card(**change))


def test_concurrent_first_uses_make_tangents_once():
    model, found = mmdskin.load_model(pmx.write(card())), []
    barrier = threading.Barrier(8)

    def ask():
        barrier.wait()
        found.append(mmdskin.skin(model, REST, tangents=True, method="centers_of_rotation"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for out in found:
        assert np.allclose(out.tangents, (1, 0, 0, 1), **CLOSE)


def test_skinning_without_tangents_is_unchanged():
    model = mmdskin.load_model(pmx.write(card()))
    before = mmdskin.skin(model, REST)
    both = mmdskin.skin(model, REST, tangents=True)
    after = mmdskin.skin(model, REST)
    assert before.tangents is None and after.tangents is None
    for out in (both, after):
        assert np.array_equal(out.positions, before.positions)
        assert np.array_equal(out.normals, before.normals)


def test_out_receives_tangents_of_a_model():
    model = mmdskin.load_model(pmx.write(card()))
    out = mmdskin.Skinned(*(np.zeros((4, width), "f4") for width in (3, 3, 4)))
    assert mmdskin.skin(model, REST, tangents=True, out=out) is out
    assert np.allclose(out.tangents, (1, 0, 0, 1), **CLOSE)
    with pytest.raises(ValueError, match="out.tangents"):
        mmdskin.skin(model, REST, tangents=True, out=out._replace(tangents=out.normals))


# Real models


@cache
def real(path):
    file = pmx.read(path)
    rest = twin.uv_tangents(file.positions, file.normals, file.uvs, file.triangles)
    names = ("positions", "bone_indices", "bone_weights", "normals", "deform", "sdef")
    mesh = twin.Mesh(**{name: getattr(file, name) for name in names})
    return mmdskin.load_model(path), replace(mesh, tangents=rest)


def random_turns(count):
    turns = twin.normalized_or(np.random.default_rng(5).normal(size=(count, 4)))
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3] = twin.quaternion_matrix(turns)
    return matrices


def test_tangents_of_real_models_at_rest(model_path):
    model, mesh = real(model_path)
    matrices = np.tile(REST, (len(model.bones), 1, 1))
    if mesh.tangents is None:
        with pytest.raises(ValueError, match="tangents"):
            mmdskin.skin(model, matrices, tangents=True)
        return
    found = mmdskin.skin(model, matrices, tangents=True).tangents
    assert abs(found - mesh.tangents).max() < 1e-6


@pytest.mark.parametrize("method", ["mmd", "linear", "dual_quaternion"])
def test_tangents_of_real_models_in_random_poses(model_path, backend, method):
    model, mesh = real(model_path)
    if mesh.tangents is None:
        return  # see above
    matrices = random_turns(len(model.bones))
    found = mmdskin.skin(model, matrices, method=method, tangents=True, backend=backend)
    expected = twin.skin_frame(mesh, matrices, method=method, tangents=True)[2]
    assert abs(found.tangents - expected).max() < 2e-5
    assert abs((found.tangents[:, :3] * found.normals).sum(1)).max() < 1e-5


@pytest.mark.parametrize("method", ["bulge_free", "bulge_compensated", "centers_of_rotation"])
def test_tangents_of_the_methods_against_bulges(backend, method):
    """They rotate with the normals, by the rotation of dual quaternions."""
    model, _ = real(locations.at_hand_of("巡音ルカ.pmx", own="dancer.pmx")[0])
    matrices = random_turns(len(model.bones))
    found, base = (
        mmdskin.skin(model, matrices, method=name, tangents=True, backend=backend)
        for name in (method, "dual_quaternion")
    )
    assert abs(found.tangents - base.tangents).max() < 4e-5
