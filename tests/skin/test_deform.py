# SPDX-License-Identifier: MIT
"""Weights, normals, tangents, rotations and their fallbacks, type by type, on small meshes.

Expected values are computed by hand. Other tests compare with the float64 twin.
"""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import rigid_file

BDEF1, BDEF2, BDEF4, SDEF, QDEF = range(5)
NIL = -1
CLOSE = {"atol": 2e-6, "rtol": 0}
POINT = (1.0, 2.0, 0.5)
CENTERS = ((0.0, 1.5, 0.0), (0.0, 1.0, 0.0), (0.0, 2.2, 0.0))


def affine(linear=None, move=(0, 0, 0)):
    m = np.eye(4, dtype=np.float32)
    if linear is not None:
        m[:3, :3] = linear
    m[:3, 3] = move
    return m


def turn(degrees, axis="z"):
    a = np.radians(degrees)
    c, s = np.cos(a), np.sin(a)
    return {
        "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


def mesh(bones, weights, kind=None, point=POINT, **arrays):
    """One vertex."""
    if kind == SDEF:
        arrays.setdefault("sdef", [CENTERS])
    rows = {name: np.float32(value) for name, value in arrays.items()}
    deform = None if kind is None else np.uint8([kind])
    return mmdskin.Mesh(
        np.float32([point]), np.int32([bones]), np.float32([weights]), deform=deform, **rows
    )


def skinned(mesh, matrices, backend, **options):
    """Position, normal and tangent of the vertex; None for those that it lacks."""
    out = mmdskin.skin(mesh, np.float32(matrices), backend=backend, **options)
    return [None if array is None else array[0].copy() for array in out]


def position(mesh, matrices, backend, **options):
    return skinned(mesh, matrices, backend, **options)[0]


LEFT, UP = affine(move=(1, 0, 0)), affine(move=(0, 2, 0))
FAR = affine(move=(1000, 1000, 1000))


# influences


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_one_to_four_influences(backend, k):
    matrices = [affine(move=(i, 0, 0)) for i in range(4)]
    moved = position(mesh(range(k), [1 / k] * k), matrices, backend)
    assert np.allclose(moved, np.add(POINT, [sum(range(k)) / k, 0, 0]), **CLOSE)


def test_no_deform_means_bdef4(backend):
    moved = position(mesh([0, 1, 2, 3], [0.25] * 4), [LEFT, LEFT, UP, UP], backend)
    assert np.allclose(moved, np.add(POINT, [0.5, 1, 0]), **CLOSE)


def test_minus_one_is_an_empty_slot(backend):
    moved = position(mesh([NIL, 1, NIL, 0], [0.5, 0.25, 0.5, 0.25]), [LEFT, UP], backend)
    assert np.allclose(moved, np.add(POINT, [0.5, 1, 0]), **CLOSE)


def test_bdef1_uses_slot_0_with_weight_1(backend):
    moved = position(mesh([0, 1], [0.125, 0.5], BDEF1), [LEFT, FAR], backend)
    assert np.allclose(moved, np.add(POINT, [1, 0, 0]), **CLOSE)


@pytest.mark.parametrize("kind", [BDEF2, SDEF])
def test_bdef2_and_sdef_use_slots_0_and_1(backend, kind):
    matrices = [affine(turn(30)), affine(turn(-20)), FAR]
    two = position(mesh([0, 1], [0.5, 0.5], kind), matrices, backend)
    four = position(mesh([0, 1, 2, 2], [0.5, 0.5, 0.75, 1], kind), matrices, backend)
    assert np.array_equal(four, two)


def test_unused_slots_may_hold_any_bone(backend):
    """Two matrices are enough, as the bone in the unused slot is ignored."""
    moved = position(mesh([0, 1, 77], [0.5, 0.5, 1], BDEF2), [LEFT, UP], backend)
    assert np.allclose(moved, np.add(POINT, [0.5, 1, 0]), **CLOSE)


@pytest.mark.parametrize("kind", [BDEF2, BDEF4, SDEF, QDEF])
def test_weights_are_divided_by_their_sum(backend, kind):
    matrices = [affine(turn(40), (1, 0, 0)), affine(turn(-10), (0, 1, 0))]
    whole = position(mesh([0, 1], [0.75, 0.25], kind), matrices, backend)
    half = position(mesh([0, 1], [0.375, 0.125], kind), matrices, backend)
    assert np.allclose(half, whole, **CLOSE)


@pytest.mark.parametrize("kind", [BDEF1, BDEF2, BDEF4, SDEF, QDEF])
def test_a_vertex_without_influences_does_not_move(backend, kind):
    alone = mesh([NIL, NIL], [0.5, 0.5], kind, normals=[[0, 3, 0]])
    where, normal, _ = skinned(alone, [FAR], backend)
    assert np.array_equal(where, np.float32(POINT))
    assert np.allclose(normal, (0, 1, 0), **CLOSE)


@pytest.mark.parametrize("weights", [(0, 0), (0.5, -0.5), (0.3, -0.3)])
def test_weights_that_sum_to_zero_do_not_move_the_vertex(backend, weights):
    assert np.array_equal(position(mesh([0, 1], weights), [LEFT, FAR], backend), np.float32(POINT))


def test_a_vertex_without_influences_is_only_morphed(backend):
    moved = mmdskin.Mesh(
        np.float32([POINT]),
        np.int32([[NIL]]),
        np.float32([[1]]),
        morphs=[(np.int32([0]), np.float32([[1, 2, 3]]))],
    )
    out = mmdskin.skin(moved, np.zeros((0, 4, 4), "f4"), np.float32([0.5]), backend=backend)
    assert np.allclose(out.positions[0], np.add(POINT, [0.5, 1, 1.5]), **CLOSE)


def test_a_nil_bone_in_a_file_counts_as_weight_zero(backend):
    file = rigid_file(1)
    file.positions[:], file.deform[:] = POINT, BDEF2
    file.bone_indices[0, :2], file.bone_weights[0, :2] = (NIL, 0), (0.75, 0.25)
    model = mmdskin.load_model(pmx.write(file))
    out = mmdskin.skin(model, LEFT[None], backend=backend)
    assert np.allclose(out.positions[0], np.add(POINT, [1, 0, 0]), **CLOSE)


def test_negative_weights_extrapolate(backend):
    moved = position(mesh([0, 1], [1.5, -0.5]), [LEFT, UP], backend)
    assert np.allclose(moved, np.add(POINT, [1.5, -1, 0]), **CLOSE)


def test_an_sdef_vertex_without_sdef_is_an_error():
    with pytest.raises(ValueError, match=r"vertex 0.*sdef"):
        mmdskin.Mesh(
            np.zeros((1, 3), "f4"),
            np.int32([[0, 1]]),
            np.float32([[0.5, 0.5]]),
            deform=np.uint8([SDEF]),
        )


# normals


def test_a_mesh_without_normals_gives_none(backend):
    assert skinned(mesh([0], [1]), [LEFT], backend)[1:] == [None, None]


@pytest.mark.parametrize("kind", [BDEF1, BDEF2, BDEF4, SDEF, QDEF])
def test_normals_have_unit_length_whatever_the_inputs(backend, kind):
    long = mesh([0, 1], [0.5, 0.5], kind, normals=[[30, 40, 0]])
    normal = skinned(long, [affine(turn(90)), affine(turn(90))], backend)[1]
    assert np.allclose(normal, (-0.8, 0.6, 0), **CLOSE)


@pytest.mark.parametrize("kind", [BDEF1, BDEF2, BDEF4, SDEF, QDEF])
def test_a_zero_normal_stays_zero(backend, kind):
    flat = mesh([0, 1], [0.5, 0.5], kind, normals=[[0, 0, 0]])
    normal = skinned(flat, [affine(turn(40)), affine(turn(-40))], backend)[1]
    assert np.array_equal(normal, (0, 0, 0))


def test_normals_transform_by_the_inverse_transpose(backend):
    """Stretching x by two makes the normal of the slope (1, 1) steeper."""
    slope = mesh([0], [1], BDEF1, normals=[[1, 1, 0]])
    normal = skinned(slope, [affine(np.diag([2, 1, 1]))], backend)[1]
    assert np.allclose(normal, np.array([1, 2, 0]) / 5**0.5, **CLOSE)


def test_normals_of_a_blend_transform_by_its_inverse_transpose(backend):
    n = np.array([1, 2, 3]) / 14**0.5
    matrices = [affine(turn(np.degrees(1.2), "x")), affine(turn(np.degrees(-0.9), "z"))]
    normal = skinned(mesh([0, 1], [0.5, 0.5], BDEF2, normals=[n]), matrices, backend)[1]
    assert np.allclose(normal, (0.232724, -0.127853, 0.964102), **CLOSE)


def test_mirroring_keeps_normals_outside(backend):
    """The cofactor matrix alone would flip them; the sign of the determinant corrects that."""
    wall = mesh([0], [1], BDEF1, normals=[[1, 0, 0]])
    normal = skinned(wall, [affine(np.diag([-1, 1, 1]))], backend)[1]
    assert np.allclose(normal, (-1, 0, 0), **CLOSE)


def test_a_singular_matrix_counts_as_a_positive_determinant(backend):
    floor = mesh([0], [1], BDEF1, normals=[[0.6, 0.8, 0]])
    normal = skinned(floor, [affine(np.diag([1, 0, 1]))], backend)[1]
    assert np.allclose(normal, (0, 1, 0), **CLOSE)


def test_the_rest_normal_is_kept_if_the_inverse_transpose_gives_zero(backend):
    lost = mesh([0], [1], BDEF1, normals=[[3, 4, 0]])
    normal = skinned(lost, [affine(np.zeros((3, 3)))], backend)[1]
    assert np.allclose(normal, (0.6, 0.8, 0), **CLOSE)


def test_normals_can_be_left_out(backend):
    with_normals = mesh([0], [1], normals=[[0, 1, 0]])
    assert skinned(with_normals, [LEFT], backend, normals=False)[1] is None


# tangents


def test_tangents_follow_the_matrix_and_stay_orthogonal_to_the_normal(backend):
    """A shear by x += y: the tangent along y is sheared, and the normal stays orthogonal to it."""
    shear = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    wall = mesh([0], [1], BDEF1, normals=[[1, 0, 0]], tangents=[[0, 1, 0]])
    _, normal, tangent = skinned(wall, [affine(shear)], backend, tangents=True)
    assert np.allclose(normal, np.array([1, -1, 0]) / 2**0.5, **CLOSE)
    assert np.allclose(tangent, np.array([1, 1, 0]) / 2**0.5, **CLOSE)


@pytest.mark.parametrize("kind", [SDEF, QDEF])
def test_tangents_of_sdef_and_qdef_are_rotated(backend, kind):
    matrices = [affine(turn(80)), affine(turn(20))]
    strip = mesh([0, 1], [0.5, 0.5], kind, normals=[[0, 0, 1]], tangents=[[5, 0, 0]])
    _, normal, tangent = skinned(strip, matrices, backend, tangents=True)
    assert np.allclose(normal, (0, 0, 1), **CLOSE)
    assert np.allclose(tangent, turn(50)[:, 0], **CLOSE)


def test_tangents_are_made_orthogonal_to_the_normal_at_rest_too(backend):
    lean = mesh([0], [1], normals=[[0, 1, 0]], tangents=[[1, 1, 0]])
    tangent = skinned(lean, [affine()], backend, tangents=True)[2]
    assert np.allclose(tangent, (1, 0, 0), **CLOSE)


@pytest.mark.parametrize("handedness", [1, -1])
def test_handedness_is_kept(backend, handedness):
    strip = mesh([0], [1], normals=[[0, 1, 0]], tangents=[[2, 0, 0, handedness]])
    tangent = skinned(strip, [affine(turn(90, "y"))], backend, tangents=True)[2]
    assert np.allclose(tangent, (0, 0, -1, handedness), **CLOSE)


def test_a_zero_tangent_stays_zero(backend):
    strip = mesh([0], [1], normals=[[0, 1, 0]], tangents=[[0, 0, 0]])
    assert np.array_equal(skinned(strip, [affine(turn(9))], backend, tangents=True)[2], (0, 0, 0))


def test_a_tangent_parallel_to_the_normal_stays_the_rest_tangent(backend):
    strip = mesh([0], [1], normals=[[0, 1, 0]], tangents=[[0, 4, 0]])
    tangent = skinned(strip, [affine(np.diag([1, 2, 1]))], backend, tangents=True)[2]
    assert np.allclose(tangent, (0, 1, 0), **CLOSE)


def test_tangents_are_only_computed_on_request(backend):
    strip = mesh([0], [1], normals=[[0, 1, 0]], tangents=[[1, 0, 0]])
    assert skinned(strip, [LEFT], backend)[2] is None


def test_requesting_tangents_that_the_mesh_lacks_is_an_error():
    with pytest.raises(ValueError, match="tangent"):
        mmdskin.skin(mesh([0], [1], normals=[[0, 1, 0]]), LEFT[None], tangents=True)


def test_a_mesh_with_tangents_but_no_normals_is_an_error():
    with pytest.raises(ValueError, match="normals"):
        mesh([0], [1], tangents=[[1, 0, 0]])


# rotations of SDEF and QDEF


@pytest.mark.parametrize("kind", [SDEF, QDEF])
def test_the_rotation_is_gram_schmidt_on_columns_x_and_y(backend, kind):
    """Both bones have the same skewed matrix: column x keeps its direction, z is x × y."""
    skew = np.array([[0, -2, 0.3], [3, 1, 0.1], [0, 0, 0.5]])
    normal = skinned(
        mesh([0, 1], [0.5, 0.5], kind, normals=[[1, 2, 3]]), [affine(skew), affine(skew)], backend
    )[1]
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert np.allclose(normal, quarter @ [1, 2, 3] / 14**0.5, **CLOSE)


@pytest.mark.parametrize("kind", [SDEF, QDEF])
@pytest.mark.parametrize("linear", [np.diag([-1.0, 1, 1]), np.diag([1.0, 1, 0]), np.zeros((3, 3))])
def test_a_matrix_without_positive_determinant_is_skinned_linearly(backend, kind, linear):
    matrices = [affine(turn(50), (1, 0, 0)), affine(linear, (0, 1, 0))]
    arrays = {"normals": [[0.6, 0, 0.8]]}
    special = skinned(mesh([0, 1], [0.75, 0.25], kind, **arrays), matrices, backend)
    linear = skinned(mesh([0, 1], [0.75, 0.25], BDEF2, **arrays), matrices, backend)
    assert np.allclose(special[:2], linear[:2], **CLOSE)


def test_a_bad_matrix_of_weight_zero_does_not_matter(backend):
    matrices = [affine(turn(50)), affine(turn(-30)), affine(-np.eye(3))]
    three = position(mesh([0, 1, 2], [0.5, 0.5, 0], QDEF), matrices, backend)
    two = position(mesh([0, 1], [0.5, 0.5], QDEF), matrices, backend)
    assert np.allclose(three, two, **CLOSE)


@pytest.mark.parametrize(
    "bones, weights, sdef",
    [
        pytest.param((0, 1), (1, 0), CENTERS, id="w0 is 1"),
        pytest.param((0, 1), (0, 1), CENTERS, id="w0 is 0"),
        pytest.param((1, 1), (0.5, 0.5), CENTERS, id="equal bones"),
        pytest.param((0, 1), (0.5, 0.5), np.zeros((3, 3)), id="no C, R0, R1"),
        pytest.param((0, NIL), (0.5, 0.5), CENTERS, id="nil bone"),
    ],
)
def test_sdef_that_degenerates_is_bdef2(backend, bones, weights, sdef):
    """With a scaled matrix the two types differ, which makes the fallback visible."""
    matrices = [affine(2 * turn(40), (1, 0, 0)), affine(3 * turn(-40), (0, 1, 0))]
    special = position(mesh(bones, weights, SDEF, sdef=[sdef]), matrices, backend)
    linear = position(mesh(bones, weights, BDEF2), matrices, backend)
    assert np.allclose(special, linear, **CLOSE)


def test_a_degenerate_sdef_vertex_keeps_its_type_in_the_model():
    file = rigid_file(1)
    file.deform[:], file.bone_indices[0, :2], file.bone_weights[0, :2] = SDEF, (0, 0), (1, 0)
    assert mmdskin.load_model(pmx.write(file)).deform[0] == SDEF


def test_only_the_difference_of_r0_and_r1_matters(backend):
    matrices = [affine(turn(70)), affine(turn(-20), (0, 1, 0))]
    c, r0, r1 = np.array(CENTERS)
    here = position(mesh([0, 1], [0.75, 0.25], SDEF), matrices, backend)
    there = position(
        mesh([0, 1], [0.75, 0.25], SDEF, sdef=[[c, r0 + 5, r1 + 5]]), matrices, backend
    )
    assert np.allclose(here, there, atol=5e-6, rtol=0)


def test_sdef_does_not_depend_on_the_order_of_its_bones(backend):
    matrices = [affine(turn(70)), affine(turn(-20), (0, 1, 0))]
    c, r0, r1 = CENTERS
    here = position(mesh([0, 1], [0.75, 0.25], SDEF), matrices, backend)
    there = position(mesh([1, 0], [0.25, 0.75], SDEF, sdef=[[c, r1, r0]]), matrices, backend)
    assert np.allclose(here, there, **CLOSE)


def test_qdef_ignores_scale(backend):
    plain = [affine(turn(60), (1, 0, 0)), affine(turn(-20), (0, 1, 0))]
    scaled = [affine(3 * turn(60), (1, 0, 0)), affine(0.25 * turn(-20), (0, 1, 0))]
    vertex = mesh([0, 1], [0.5, 0.5], QDEF)
    assert np.allclose(position(vertex, scaled, backend), position(vertex, plain, backend), **CLOSE)


THIRDS = [affine(turn(angle), (i, 0, 0)) for i, angle in enumerate((0, 115, 230))]


def test_qdef_uses_the_hemisphere_of_the_largest_weight(backend):
    """0, 115 and 230 degrees: relative to the first bone the third is -130, relative to the second
    +115. Quaternions about z are half angles in a plane."""
    half = np.radians([0, 57.5, 115])
    for weights, signs in (((0.5, 0.3, 0.2), (1, 1, -1)), ((0.2, 0.5, 0.3), (1, 1, 1))):
        x, y = np.dot(np.multiply(weights, signs), np.stack([np.cos(half), np.sin(half)], 1))
        normal = skinned(mesh([0, 1, 2], weights, QDEF, normals=[[1, 0, 0]]), THIRDS, backend)[1]
        assert np.allclose(normal, turn(2 * np.degrees(np.arctan2(y, x)))[:, 0], **CLOSE)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_qdef_does_not_depend_on_the_order_of_influences(backend, order):
    weights = np.array([0.2, 0.5, 0.3])
    moved = position(mesh(order, weights[list(order)], QDEF), THIRDS, backend)
    assert np.allclose(moved, position(mesh([0, 1, 2], weights, QDEF), THIRDS, backend), **CLOSE)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_the_first_of_equal_largest_weights_decides(backend, order):
    """Bones 0 and 2 have the same weight and are in opposite hemispheres."""
    half = dict(enumerate(np.radians([0, 57.5, 115])))
    shares = {0: 0.4, 1: 0.2, 2: 0.4}
    first = order[0]
    q = {b: np.array([np.cos(a), np.sin(a)]) for b, a in half.items()}
    total = sum(w * q[b] * (1 if q[b] @ q[first] >= 0 else -1) for b, w in shares.items())
    weights = [shares[b] for b in order]
    normal = skinned(mesh(order, weights, QDEF, normals=[[1, 0, 0]]), THIRDS, backend)[1]
    assert np.allclose(normal, turn(2 * np.degrees(np.arctan2(*total[::-1])))[:, 0], **CLOSE)


def test_qdef_that_cancels_is_skinned_linearly(backend):
    """Half angles of 0, 85, -85, 0 degrees: the weighted quaternions sum to zero, the weights to 1."""
    side = 0.5 / (1 - np.cos(np.radians(85)))
    weights = [0.6, side, side, 1 - 0.6 - 2 * side]
    moves = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]
    matrices = [affine(turn(a), m) for a, m in zip((0, 170, -170, 0), moves, strict=True)]
    moved = position(mesh([0, 1, 2, 3], weights, QDEF), matrices, backend)
    expected = sum(
        w * (m[:3, :3] @ POINT + m[:3, 3]) for w, m in zip(weights, matrices, strict=True)
    )
    assert np.allclose(moved, expected, atol=1e-5, rtol=0)


# methods


@pytest.mark.parametrize("kind", [SDEF, QDEF])
def test_method_linear_skins_every_type_linearly(backend, kind):
    matrices = [affine(turn(80), (1, 0, 0)), affine(turn(-30))]
    arrays = {"normals": [[0.6, 0.8, 0]]}
    special = skinned(mesh([0, 1], [0.5, 0.5], kind, **arrays), matrices, backend, method="linear")
    linear = skinned(mesh([0, 1], [0.5, 0.5], BDEF2, **arrays), matrices, backend)
    assert np.allclose(special[:2], linear[:2], **CLOSE)


@pytest.mark.parametrize("kind", [BDEF2, BDEF4, SDEF])
def test_method_dual_quaternion_skins_every_type_as_qdef(backend, kind):
    matrices = [affine(turn(80), (1, 0, 0)), affine(turn(-30))]
    arrays = {"normals": [[0.6, 0.8, 0]]}
    options = {"method": "dual_quaternion"}
    other = skinned(mesh([0, 1], [0.5, 0.5], kind, **arrays), matrices, backend, **options)
    qdef = skinned(mesh([0, 1], [0.5, 0.5], QDEF, **arrays), matrices, backend)
    assert np.allclose(other[:2], qdef[:2], **CLOSE)


def test_sdef_blend_chooses_between_nlerp_and_slerp(backend):
    """Weight 1/4 of a rotation by 120 degrees: slerp gives 30, normalized lerp 23.41 degrees."""
    strip = mesh([0, 1], [0.75, 0.25], SDEF, normals=[[1, 0, 0]])
    matrices = [affine(), affine(turn(120))]
    nlerp = 2 * np.degrees(np.arctan2(0.25 * np.sin(np.pi / 3), 0.75 + 0.25 * np.cos(np.pi / 3)))
    for blend, angle in (("slerp", 30), ("nlerp", nlerp)):
        normal = skinned(strip, matrices, backend, sdef_blend=blend)[1]
        assert np.allclose(normal, turn(angle)[:, 0], **CLOSE)


def test_a_tangent_close_to_the_normal_is_still_made_orthogonal_to_it(backend):
    strip = mesh([0], [1], normals=[[0, 1, 0]], tangents=[[0.01, 1, 0]])
    tangent = skinned(strip, [affine()], backend, tangents=True)[2]
    assert np.allclose(tangent, (1, 0, 0), atol=1e-5, rtol=0)
