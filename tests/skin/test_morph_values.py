# SPDX-License-Identifier: MIT
"""Morphed texture coordinates and materials: `Model.uvs_at`, `Model.materials_at`,
`Model.texture_factors_at`, impulses."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from judges import twin
from judges.pose_rigs import morph

NUMBERS = ("diffuse", "specular", "specular_power", "ambient", "edge_color", "edge_size")
NEUTRAL = {0: np.ones(28), 1: np.zeros(28)}


def uv_source(*morphs, extra=0):
    """Five vertices with main coordinates and `extra` additional sets."""
    n, r = 5, np.random.default_rng(3)
    m = pmx.PMX(2.1, bones=[pmx.Bone("b")], morphs=list(morphs))
    m.positions, m.normals = np.zeros((n, 3), "f4"), np.tile(np.float32([0, 1, 0]), (n, 1))
    m.uvs, m.additional_uvs = r.random((n, 2), "f4"), r.random((n, extra, 4), "f4")
    m.deform, m.bone_indices = np.zeros(n, "u1"), np.tile(np.int32([0, -1, -1, -1]), (n, 1))
    m.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (n, 1))
    m.sdef, m.edge_scales = np.zeros((n, 3, 3), "f4"), np.ones(n, "f4")
    m.triangles = np.int32([[0, 1, 2]])
    return m


def load(source):
    return mmdskin.load_model(pmx.write(source))


def uvs_by_hand(source, weights, channel):
    """The definition in float64."""
    if channel == 0:
        uvs = source.uvs.astype(np.float64)
    else:
        uvs = np.zeros((len(source.uvs), 4))
        if channel <= source.additional_uvs.shape[1]:
            uvs += source.additional_uvs[:, channel - 1]
    for m, w in zip(source.morphs, twin.effective_weights(source.morphs, weights), strict=True):
        if pmx.MORPH_KINDS[m.kind] == ("uv" if channel == 0 else f"uv{channel}"):
            np.add.at(uvs, m.indices, w * m.values[:, : uvs.shape[1]].astype(np.float64))
    return uvs


def uv_morphs():
    kinds = ["uv", "uv1", "uv2", "uv3", "uv4"]
    morphs = [
        morph(k, k, (i, 1, 2, 3, 4), (4, 0.5, 0.25, 8, 9), (4, 1, 1, 1, 1))
        for i, k in enumerate(kinds)
    ]
    morphs.append(morph("second", "uv", (0, -0.5, 0.5, 7, 7)))
    morphs.append(morph("group", "group", *((i, 0.5) for i in range(6))))
    return [*morphs, morph("flip", "flip", (0, 3.0))]


# Texture coordinates


@pytest.mark.parametrize("extra", [0, 1, 2, 4])
@pytest.mark.parametrize("channel", range(5))
def test_uv_morphs_move_their_channel(channel, extra):
    source = uv_source(*uv_morphs(), extra=extra)
    r = np.random.default_rng(extra)
    weights = r.uniform(-1, 2, (6, 8)).astype("f4")
    found = load(source).uvs_at(weights, channel)
    assert found.shape == (6, 5, 2 if channel == 0 else 4)
    for f in range(6):
        np.testing.assert_allclose(found[f], uvs_by_hand(source, weights[f], channel), atol=2e-5)


def test_channels_that_a_model_lacks_start_at_zero():
    model = load(uv_source(*uv_morphs(), extra=1))
    assert (model.uvs_at(np.zeros(8), 4) == 0).all()
    assert model.uvs_at(np.eye(8)[4], channel=4)[4].tolist() == [2.5, 3.25, 12, 14]
    assert (model.uvs_at(np.zeros(8), 1) == model.additional_uvs[:, 0]).all()


def test_zero_weights_give_the_coordinates_of_the_file():
    model = load(uv_source(*uv_morphs()))
    found = model.uvs_at(np.zeros(8))
    assert (found == model.uvs).all()
    assert found.dtype == np.float32
    found[:] = 9
    assert (model.uvs != 9).all()


@pytest.mark.parametrize("shape", [(8,), (0, 8), (1, 8), (3, 8)])
def test_coordinates_have_as_many_frames_as_the_weights(shape):
    model = load(uv_source(*uv_morphs()))
    assert model.uvs_at(np.zeros(shape), 2).shape == (*shape[:-1], 5, 4)


@pytest.mark.parametrize("channel", [-1, 5, 2**31 - 1])
def test_other_channels_are_refused(channel):
    with pytest.raises(ValueError, match="channel"):
        load(uv_source()).uvs_at(np.zeros(0), channel)


@pytest.mark.parametrize(
    "bad", [[0], np.zeros((2, 7)), np.zeros((1, 1, 8)), [np.nan] * 8, 0.0, "x"]
)
@pytest.mark.parametrize("call", ["uvs_at", "materials_at", "texture_factors_at"])
def test_weights_that_do_not_fit_are_refused(call, bad):
    with pytest.raises((ValueError, TypeError), match="morph_weights"):
        getattr(load(uv_source(*uv_morphs())), call)(bad)


def test_uv_morphs_of_missing_vertices_have_no_effect():
    source = uv_source(morph("uv", "uv", (200, 1, 1, 1, 1), (1, 1, 1, 1, 1)))
    model = load(source)
    moved = model.uvs_at([1]) - model.uvs
    np.testing.assert_allclose(moved, [(0, 0), (1, 1), (0, 0), (0, 0), (0, 0)], atol=1e-6)


# Materials


def material_source(*morphs):
    m = uv_source(*morphs)
    r = np.random.default_rng(5)

    def some(n):
        return tuple(r.random(n).astype("f4").tolist())

    m.textures = ["t.png"]
    m.materials = [
        pmx.Material(
            name, name + "E", some(4), some(3), *some(1), some(3), 0x1F, some(4), *some(1),
            texture=0, sphere_mode=1, shared_toon=True, toon=3, memo="memo", index_count=3 * (i == 0),
        )
        for i, name in enumerate("abc")
    ]  # fmt: skip
    return m


def change(op, index=0, **numbers):
    """A material offset: columns not named are neutral."""
    sizes = dict(diffuse=4, specular=3, specular_power=1, ambient=3, edge_color=4, edge_size=1)
    values, at = NEUTRAL[op].copy(), 0
    for name, size in sizes.items():
        if name in numbers:
            values[at : at + size] = numbers[name]
        at += size
    return (index, op, *values)


def numbers_of(material):
    """The 16 values that morphs can change."""
    return np.concatenate([np.atleast_1d(getattr(material, name)) for name in NUMBERS])


def materials_by_hand(source, weights):
    factors = np.ones((len(source.materials), 16))
    summands = np.zeros((len(source.materials), 16))
    for m, w in zip(source.morphs, twin.effective_weights(source.morphs, weights), strict=True):
        if pmx.MORPH_KINDS[m.kind] != "material":
            continue
        for i, values in zip(m.indices, m.values.astype(np.float64), strict=True):
            to = slice(None) if i < 0 else i
            if values[0] == 0:
                factors[to] *= 1 + w * (values[1:17] - 1)
            else:
                summands[to] += w * values[1:17]
    return np.array([numbers_of(m) for m in source.materials]) * factors + summands


def test_factors_multiply_and_summands_add():
    dark = morph("dark", "material", change(0, diffuse=0.5, edge_size=0))
    glow = morph("glow", "material", change(1, ambient=(0.1, 0.2, 0.3), specular_power=4))
    source = material_source(dark, glow)
    first = load(source).materials_at([1, 0.5])[0]
    was = source.materials[0]
    np.testing.assert_allclose(first.diffuse, np.multiply(was.diffuse, 0.5), atol=1e-7)
    np.testing.assert_allclose(first.ambient, np.add(was.ambient, (0.05, 0.1, 0.15)), atol=1e-7)
    assert first.specular_power == pytest.approx(was.specular_power + 2)
    assert first.edge_size == 0
    assert first.specular == load(source).materials[0].specular


def random_morphs(seed):
    r = np.random.default_rng(seed)
    morphs = [
        morph(
            str(i),
            "material",
            *((int(r.integers(-1, 3)), int(r.integers(2)), *r.normal(size=28)) for _ in range(4)),
        )
        for i in range(5)
    ]
    return [
        *morphs,
        morph("g", "group", (0, 0.5), (3, -1)),
        morph("f", "flip", (1, 0.25), (2, 1.0)),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_material_morphs_match_the_definition(seed):
    source = material_source(*random_morphs(seed))
    weights = np.random.default_rng(seed + 99).uniform(-1, 2, 7).astype("f4")
    found = [numbers_of(m) for m in load(source).materials_at(weights)]
    np.testing.assert_allclose(found, materials_by_hand(source, weights), rtol=1e-5, atol=1e-5)


def test_the_order_of_material_morphs_does_not_matter():
    source_morphs = random_morphs(1)[:5]
    weights = np.float32([0.5, -1, 1, 0.25, 2])
    forward = load(material_source(*source_morphs)).materials_at(weights)
    backward = load(material_source(*source_morphs[::-1])).materials_at(weights[::-1])
    for a, b in zip(forward, backward, strict=True):
        np.testing.assert_allclose(numbers_of(a), numbers_of(b), rtol=1e-6)


def test_index_minus_one_means_all_materials():
    model = load(material_source(morph("all", "material", change(1, -1, edge_size=1))))
    found = model.materials_at([1])
    assert [a.edge_size - b.edge_size for a, b in zip(found, model.materials, strict=True)] == [
        pytest.approx(1)
    ] * 3


def test_morphed_materials_are_complete_records():
    model = load(material_source(morph("m", "material", change(0, diffuse=0.5))))
    found = model.materials_at([1])
    assert type(found) is tuple
    assert found[1:] == model.materials[1:]
    assert found[0]._replace(diffuse=model.materials[0].diffuse) == model.materials[0]
    assert model.materials_at([0]) == model.materials


def test_materials_at_takes_a_single_frame():
    with pytest.raises(ValueError, match="morph_weights"):
        load(material_source(morph("m", "material"))).materials_at(np.zeros((2, 1)))


# Texture factors


def factors_by_hand(source, weights):
    """(M,2,3,4): columns 17 to 28 of the morphs' records, multiplied and added."""
    found = np.stack([np.ones((3, 12)), np.zeros((3, 12))], 1)
    for m, w in zip(source.morphs, twin.effective_weights(source.morphs, weights), strict=True):
        if pmx.MORPH_KINDS[m.kind] != "material":
            continue
        for i, values in zip(m.indices, m.values.astype(np.float64), strict=True):
            to = slice(None) if i < 0 else i
            if values[0] == 0:
                found[to, 0] *= 1 + w * (values[17:] - 1)
            else:
                found[to, 1] += w * values[17:]
    return found.reshape(3, 2, 3, 4)


@pytest.mark.parametrize("seed", range(3))
def test_texture_factors_match_the_definition(seed):
    source = material_source(*random_morphs(seed))
    weights = np.random.default_rng(seed + 7).uniform(-1, 2, (2, 7)).astype("f4")
    found = load(source).texture_factors_at(weights)
    expected = [factors_by_hand(source, row) for row in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(load(source).texture_factors_at(weights[1]), found[1])


@pytest.mark.parametrize("column", range(12))
def test_each_texture_factor_has_its_place(column):
    values = np.ones(28)
    values[16 + column] = 0.25
    source = material_source(morph("m", "material", (1, 0, *values)))
    expected = np.stack([np.ones((3, 12)), np.zeros((3, 12))], 1)
    expected[1, 0, column] = 0.625
    found = load(source).texture_factors_at([0.5])
    np.testing.assert_array_equal(found, expected.reshape(3, 2, 3, 4))


# Impulses


def test_impulse_morphs_can_be_read_and_move_no_vertex():
    impulse = morph("i", "impulse", (0, 1, 2, 3, 4, 5, 6, 7))
    source = uv_source(impulse)
    source.rigid_bodies = [pmx.RigidBody("body", bone=0)]
    model = load(source)
    assert model.morphs[0].kind == "impulse"
    assert model.morphs[0].values.tolist() == [[1, 2, 3, 4, 5, 6, 7]]
    pose = model.pose_from(np.zeros((1, 3)), [[0, 0, 0, 1]], [1.0])
    assert (pose.bone_matrices == np.eye(4)).all()
    assert (mmdskin.skin(model, pose, backend="cpu").positions == 0).all()


def test_results_that_overflow_are_not_finite_and_leave_other_vertices_alone():
    """As the docstring of skin() says: a weight of a motion file may be 3e38."""
    mesh = mmdskin.Mesh(
        [[1, 2, 3], [4, 5, 6]], [[0], [0]], [[1], [1]], morphs=[([0], [[100, 0, 0]])]
    )
    found = mmdskin.skin(mesh, np.eye(4)[None], [3e38]).positions
    assert not np.isfinite(found[0]).all() and found[1].tolist() == [4, 5, 6]
