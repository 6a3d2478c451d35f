# SPDX-License-Identifier: MIT
"""`skin` on every backend against independent references and the float64 twin."""

import json
from functools import cache

import mmdskin
import numpy as np
import pytest
from conftest import published_file, recorded_file
from files import locations, pmd_file
from files import pmx_file as pmx
from judges import twin
from judges.check_values import CHECKS, PIVOT, QUARTER, W
from sample import model as sample

# tolerances in model units and in components of a unit normal
POSITION, NORMAL, KERNELS_APART, IDENTITY = 2e-5, 1e-5, 1e-5, 4e-6


@cache
def load(path):
    read = pmd_file.read_as_pmx if path.suffix == ".pmd" else pmx.read
    return mmdskin.load_model(path), read(path)


def random_rotations(rng, n):
    q = rng.normal(size=(n, 4))
    return twin.quaternion_matrix(q / np.linalg.norm(q, axis=1, keepdims=True))


def random_rigid(rng, n):
    m = np.tile(np.eye(4), (n, 1, 1))
    m[:, :3, :3] = random_rotations(rng, n)
    m[:, :3, 3] = rng.uniform(-3, 3, (n, 3))
    return m.astype(np.float32)


def random_affine(rng, n):
    """Rotation x stretch x rotation with stretches of 0.5 to 2, some of them mirrored."""
    m = random_rigid(rng, n).astype(np.float64)
    stretch = rng.uniform(0.5, 2, (n, 3)) * np.where(rng.random((n, 1)) < 0.2, [[-1, 1, 1]], 1)
    m[:, :3, :3] = m[:, :3, :3] * stretch[:, None] @ random_rotations(rng, n)
    return m.astype(np.float32)


def near_rest(rng, n):
    """Like poses: rotations of up to 100 degrees, so that neighboring bones are never opposite."""
    m = np.tile(np.eye(4), (n, 1, 1))
    axis = rng.normal(size=(n, 3))
    half = rng.uniform(0, np.radians(50), (n, 1))
    m[:, :3, :3] = twin.quaternion_matrix(
        np.concatenate(
            [axis / np.linalg.norm(axis, axis=1, keepdims=True) * np.sin(half), np.cos(half)], 1
        )
    )
    m[:, :3, 3] = rng.uniform(-3, 3, (n, 3))
    return m.astype(np.float32)


def random_weights(rng, model):
    return rng.uniform(0, 1, len(model.morphs)).astype(np.float32)


def judge(model, file, matrices, weights, backend, **options):
    out = mmdskin.skin(model, matrices, weights, backend=backend, **options)
    positions, normals, _ = twin.skin(file, matrices, weights, **options)
    assert abs(out.positions - positions).max(initial=0) <= POSITION
    assert abs(out.normals - normals).max(initial=0) <= NORMAL


REFERENCES = sorted(
    path.name for path in (locations.SHARED / "reference").glob("*randglobal*.npz")
) or ["*randglobal*.npz"]


def same_pivot(file, matrices):
    """Vertices whose QDEF blend does not depend on the pivot: the reference takes slot 0 even if its
    weight is zero, we take the slot with the largest weight."""
    q = twin.quaternions(twin.rotations(np.asarray(matrices, np.float64)))[file.bone_indices]
    weights, _ = twin.normalized_weights(file)
    pivot = np.take_along_axis(q, weights.argmax(1)[:, None, None], 1)[:, 0]

    def signs(to):
        return np.where(np.einsum("vki,vi->vk", q, to) < 0, -1, 1)

    relative = signs(q[:, 0]) * signs(pivot)
    relative = np.where(weights != 0, relative, 0)
    return (file.deform != twin.QDEF) | (abs(relative.sum(1)) == (weights != 0).sum(1))


@pytest.fixture(params=REFERENCES)
def reference(request):
    data = dict(np.load(recorded_file(request.param)))
    path = published_file(json.loads(str(data["meta"]))["model"])
    data["weights"] = np.zeros(len(load(path)[1].morphs), np.float32)
    by_name = dict(zip(data.get("morph_names", []), data["morph_weights"], strict=True))
    for i, morph in enumerate(load(path)[1].morphs):
        data["weights"][i] = by_name.get(morph.name, 0)
    return *load(path), data


def test_positions_equal_the_independent_reference(reference, backend):
    model, file, data = reference
    out = mmdskin.skin(
        model, data["node_skin"], data["weights"], sdef_blend="slerp", backend=backend
    )
    judged = same_pivot(file, data["node_skin"])[data["vertex_index"]]
    assert judged.mean() > 0.75
    difference = abs(out.positions[data["vertex_index"]] - data["positions"]).max(1)
    assert difference[judged].max() <= POSITION


def test_normals_equal_the_independent_reference(reference, backend):
    """Only types that rotate normals; the reference has no inverse transpose."""
    model, file, data = reference
    index = data["vertex_index"]
    judged = same_pivot(file, data["node_skin"])[index]
    judged &= np.isin(file.deform[index], (twin.BDEF1, twin.SDEF, twin.QDEF))
    out = mmdskin.skin(
        model, data["node_skin"], data["weights"], sdef_blend="slerp", backend=backend
    )
    length = np.linalg.norm(file.normals[index], axis=1)
    judged &= abs(length - 1) < 1e-3
    if not judged.any():
        pytest.skip("no vertex of this file is judged")
    assert abs(out.normals[index] - data["normals"])[judged].max() <= NORMAL


@pytest.mark.parametrize("kind", [random_rigid, random_affine, near_rest])
def test_models_agree_with_float64(model_path, backend, kind):
    model, file = load(model_path)
    rng = np.random.default_rng(1)
    judge(model, file, kind(rng, len(model.bones)), random_weights(rng, model), backend)


@pytest.mark.parametrize("method", ["mmd", "linear", "dual_quaternion"])
@pytest.mark.parametrize("sdef_blend", ["nlerp", "slerp"])
def test_sample_agrees_with_float64(backend, method, sdef_blend):
    model, file = sample_pair()
    rng = np.random.default_rng(2)
    matrices = near_rest(rng, len(model.bones))
    judge(
        model,
        file,
        matrices,
        random_weights(rng, model),
        backend,
        method=method,
        sdef_blend=sdef_blend,
    )


@cache
def sample_pair():
    return mmdskin.load_model(sample.build_sample()), pmx.read(sample.build_sample())


@pytest.mark.parametrize(
    "pose, angle", [(sample.bend, 120), (sample.twist, 150), (sample.bend, 175)]
)
def test_sample_poses_agree_with_float64(backend, pose, angle):
    model, file = sample_pair()
    judge(model, file, pose(angle), None, backend)


def test_identity_matrices_move_no_vertex(model_path, backend):
    model, _ = load(model_path)
    out = mmdskin.skin(
        model, np.tile(np.eye(4, dtype="f4"), (len(model.bones), 1, 1)), backend=backend
    )
    assert abs(out.positions - model.positions).max(initial=0) <= IDENTITY


def test_identity_matrices_move_no_deform_type(backend):
    model, _ = sample_pair()
    out = mmdskin.skin(model, sample.bend(0), backend=backend)
    assert set(model.deform) == {0, 1, 2, 3, 4}
    assert abs(out.positions - model.positions).max() <= IDENTITY


@pytest.mark.parametrize("degrees", [179, 179.9, 179.99])
def test_normals_of_an_almost_singular_blend_are_precise(backend, degrees):
    """An equal blend of rotations almost 180 degrees apart is almost singular, and float loses digits."""
    rng = np.random.default_rng(9)
    turns = random_rotations(rng, 2)
    half = np.radians(degrees / 2)
    fold = twin.quaternion_matrix(
        np.array([0.6, 0, 0.8, 0]) * np.sin(half) + [0, 0, 0, np.cos(half)]
    )
    matrices = np.tile(np.eye(4), (2, 1, 1))
    matrices[:, :3, :3] = turns[0], turns[0] @ fold
    n = 100
    normals = rng.normal(size=(n, 3)).astype(np.float32)
    arrays = np.zeros((n, 3), "f4"), np.tile(np.int32([0, 1]), (n, 1)), np.full((n, 2), 0.5, "f4")
    matrices = matrices.astype(np.float32)
    out = mmdskin.skin(mmdskin.Mesh(*arrays, normals=normals), matrices, backend=backend)
    exact = twin.skin(twin.Mesh(*arrays, normals=normals), matrices)[1]
    assert abs(out.normals - exact).max() <= NORMAL


def test_kernels_agree_with_scalar(model_path, kernel):
    model, _ = load(model_path)
    rng = np.random.default_rng(3)
    matrices, weights = near_rest(rng, len(model.bones)), random_weights(rng, model)
    out = mmdskin.skin(model, matrices, weights, backend=kernel)
    scalar = mmdskin.skin(model, matrices, weights, backend="cpu:scalar")
    assert abs(out.positions - scalar.positions).max(initial=0) <= KERNELS_APART
    assert abs(out.normals - scalar.normals).max(initial=0) <= KERNELS_APART


def test_a_frame_alone_equals_the_frame_of_a_batch_bit_for_bit(backend):
    model, _ = sample_pair()
    rng = np.random.default_rng(4)
    frames = np.stack([near_rest(rng, len(model.bones)) for _ in range(5)])
    weights = np.stack([random_weights(rng, model) for _ in range(5)])
    batch = mmdskin.skin(model, frames, weights, backend=backend)
    for i in range(5):
        alone = mmdskin.skin(model, frames[i], weights[i], backend=backend)
        assert np.array_equal(alone.positions, batch.positions[i])
        assert np.array_equal(alone.normals, batch.normals[i])


def as_mesh(file, keep):
    """A `Mesh` of some vertices of a PMX."""
    return mmdskin.Mesh(
        file.positions[keep],
        file.bone_indices[keep],
        file.bone_weights[keep],
        normals=file.normals[keep],
        deform=file.deform[keep],
        sdef=file.sdef[keep],
    )


def test_a_vertex_alone_equals_the_vertex_of_the_mesh_bit_for_bit(backend):
    model, file = sample_pair()
    matrices = near_rest(np.random.default_rng(5), len(model.bones))
    whole = mmdskin.skin(model, matrices, backend=backend)
    for v in range(0, len(model.positions), 97):
        out = mmdskin.skin(as_mesh(file, [v]), matrices, backend=backend)
        assert np.array_equal(out.positions[0], whole.positions[v])
        assert np.array_equal(out.normals[0], whole.normals[v])


def test_order_of_vertices_does_not_matter(backend):
    model, file = sample_pair()
    matrices = near_rest(np.random.default_rng(6), len(model.bones))
    order = np.random.default_rng(7).permutation(len(model.positions))
    out = mmdskin.skin(as_mesh(file, order), matrices, backend=backend)
    whole = mmdskin.skin(model, matrices, backend=backend)
    assert np.array_equal(out.positions, whole.positions[order])


def test_the_same_call_gives_the_same_bits(backend):
    model, _ = sample_pair()
    one, two = (mmdskin.skin(model, sample.bend(77), backend=backend) for _ in range(2))
    assert np.array_equal(one.positions, two.positions)
    assert np.array_equal(one.normals, two.normals)


def test_many_frames_agree_with_single_ones(backend):
    """The number of frames per draw must not matter."""
    model, _ = sample_pair()
    frames = np.stack([sample.bend(a) for a in np.linspace(0, 150, 150)])
    out = mmdskin.skin(model, frames, backend=backend)
    for i in (0, 75, 149):
        alone = mmdskin.skin(model, frames[i], backend=backend)
        assert np.array_equal(out.positions[i], alone.positions)


def unaligned(*shape):
    """Results that start in the middle of a cache line."""
    return np.full(np.prod(shape) + 1, np.nan, np.float32)[1:].reshape(shape)


@pytest.mark.parametrize("width", [0, 3, 4])
def test_streamed_results_equal_those_of_single_frames(backend, width):
    rng = np.random.default_rng(9)
    n, count = 40003, 20  # of 24 bytes at least, and an odd number of vertices
    blend = mmdskin.Mesh(
        rng.normal(size=(n, 3)),
        rng.integers(0, 5, (n, 2)),
        rng.random((n, 2)),
        normals=rng.normal(size=(n, 3)),
        tangents=rng.normal(size=(n, width)) if width else None,
    )
    frames = np.stack([near_rest(rng, 5) for _ in range(count)])
    shapes = [(count, n, 3), (count, n, 3), *([(count, n, width)] if width else [])]
    out = mmdskin.Skinned(*(unaligned(*shape) for shape in shapes), *[None] * (not width))
    mmdskin.skin(blend, frames, tangents=bool(width), backend=backend, out=out)
    for i in (0, 11, count - 1):
        alone = mmdskin.skin(blend, frames[i], tangents=bool(width), backend=backend)
        for whole, single in zip(out, alone, strict=True):
            assert single is None or np.array_equal(whole[i], single)


@pytest.mark.parametrize("kind, blend, position, normal", CHECKS)
def test_check_values(backend, kind, blend, position, normal):
    mesh = mmdskin.Mesh(
        np.float32([[1, 2, 0.5]]),
        np.int32([[0, 1]]),
        np.float32([[W, 1 - W]]),
        normals=np.float32([[0.6, 0.8, 0]]),
        deform=np.uint8([kind]),
        sdef=np.float32([[PIVOT, (0, 1, 0), (0, 2.2, 0)]]),
    )
    out = mmdskin.skin(mesh, QUARTER, sdef_blend=blend, backend=backend)
    assert np.allclose(out.positions[0], position, atol=3e-6)
    assert np.allclose(out.normals[0], normal, atol=1e-5)


def test_equal_matrices_move_all_types_alike(backend):
    """docs/mmd-behavior.md#check-sdef-identity, for every type."""
    model, _ = sample_pair()
    m = random_rigid(np.random.default_rng(8), 1)[0]
    out = mmdskin.skin(model, np.tile(m, (len(model.bones), 1, 1)), backend=backend)
    expected = model.positions.astype(np.float64) @ m[:3, :3].T.astype(np.float64) + m[:3, 3]
    assert abs(out.positions - expected).max() <= POSITION


@pytest.mark.parametrize("kind", [random_rigid, random_affine, near_rest])
@pytest.mark.parametrize("width", [3, 4])
def test_tangents_agree_with_float64(backend, kind, width):
    """Only vertices whose tangent is not almost parallel to the normal."""
    _, file = sample_pair()
    rng = np.random.default_rng(10)
    tangents = rng.normal(size=(len(file.positions), width)).astype(np.float32)
    matrices = kind(rng, len(file.bones))
    options = {"normals": file.normals, "deform": file.deform, "sdef": file.sdef}
    arrays = file.positions, file.bone_indices, file.bone_weights
    mesh = mmdskin.Mesh(*arrays, tangents=tangents, **options)
    out = mmdskin.skin(mesh, matrices, tangents=True, backend=backend)
    judge = twin.Mesh(*arrays, tangents=tangents, **options)
    exact = twin.skin(judge, matrices, tangents=True)[2]
    linear = np.einsum(
        "vk,vkij->vij", twin.normalized_weights(judge)[0], matrices[file.bone_indices, :3, :3]
    )
    good = np.linalg.cond(linear) < 20
    good &= abs((twin.normalized_or(tangents[:, :3]) * file.normals).sum(1)) < 0.9
    assert good.mean() > 0.5
    assert abs(out.tangents - exact)[good].max() <= 2e-5
