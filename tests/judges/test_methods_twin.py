# SPDX-License-Identifier: MIT
"""The judge of the methods against bulges: values computed by hand, and properties of the formulas."""

import numpy as np
import pytest
from judges import methods_twin as methods
from judges import twin

QUARTER = np.float64([np.eye(4), [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]])
SEGMENTS = np.float64([[[-4, 0, 0], [0, 0, 0]], [[0, 0, 0], [4, 0, 0]]])
PARENTS = [-1, 0]
# vertex, weight of the second bone, expected position
VALUES = {
    "bulge_free": [
        ((-0.5, -1, 0), 0.25, (-0.096799441, -1, 0)),
        ((0.25, -1, 0), 0.625, (0.944722777, -0.327870209, 0)),
        ((-0.5, 1, 0), 0.25, (-0.832988860, 0.745740946, 0)),
        ((0.5, -0.8, 0.6), 0.75, (0.839731779, 0.170418383, 0.543001418)),
        ((-1, 0, 0), 0.125, (-0.983305368, 0, 0)),
    ],
    "bulge_compensated": [
        ((-0.5, -1, 0), 0.25, (-0.017249928, -1.034286143, 0)),
        ((0.25, -1, 0), 0.625, (0.957225134, -0.354533691, 0)),
        ((-0.5, 1, 0), 0.25, (-0.753439347, 0.825290459, 0)),
        ((0.5, -0.8, 0.6), 0.75, (0.848328483, 0.090868870, 0.6)),
        ((-1, 0, 0), 0.125, (-0.983305368, -0.181963052, 0)),
    ],
    "centers_of_rotation": [
        ((-0.5, -1, 0), 0.25, (-0.051852366, -1.084311978, 0)),
        ((0.25, -1, 0), 0.625, (0.952271730, -0.364460314, 0)),
        ((-0.5, 1, 0), 0.25, (-0.788041785, 0.775264624, 0)),
        ((0.5, -0.8, 0.6), 0.75, (0.898354318, 0.125471308, 0.6)),
        ((-1, 0, 0), 0.125, (-0.929152684, -0.153481526, 0)),
    ],
}
CASES = [(method, *value) for method, values in VALUES.items() for value in values]


def one_vertex(v, w1):
    return twin.Mesh(np.float64([v]), [[0, 1]], [[1 - w1, w1]], normals=np.float64([[0, 1, 0]]))


def frame(method, mesh, matrices=QUARTER, **options):
    half = np.float64(mesh.positions) * [0.5, 0, 0]
    arguments = dict(segments=SEGMENTS, parents=PARENTS, centers=half) | options
    return methods.skin_frame(mesh, matrices, method=method, **arguments)


@pytest.mark.parametrize("method, v, w1, expected", CASES)
def test_values_of_a_right_angle(method, v, w1, expected):
    positions, _ = frame(method, one_vertex(v, w1))
    assert np.abs(positions[0] - expected).max() < 1e-8


@pytest.mark.parametrize("method", VALUES)
def test_the_rest_pose_is_the_mesh(method):
    mesh = one_vertex((-0.5, -1, 0), 0.25)
    positions, normals = frame(method, mesh, np.stack([np.eye(4)] * 2))
    assert np.abs(positions - mesh.positions).max() < 1e-12
    assert np.abs(normals - mesh.normals).max() < 1e-12


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ((0.5, 0.5), (0.5, 0.5), 0.125),
        ((0.5, 0.5), (0.6, 0.4), 0.0441455329406),
        ((0.25, 0.75), (0.5, 0.5), 1.80980075271e-4),
        ((0.2, 0.3, 0.5), (0.3, 0.3, 0.4), 0.0574750129311),
    ],
)
def test_similarity_of_weights(a, b, expected):
    assert methods.similarity(a, b) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "w1, epsilon, expected",
    [
        (0.5, 0.1, (0.5, 0.5, 0)),
        (0.3, 0.1, (0.309755776, 0.499999996, 0)),
        (0.3, 10, (0.333333873, 0.666666127, 0)),
    ],
)
def test_centers_of_a_square(w1, epsilon, expected):
    """Two triangles whose weight of bone 1 is x, and a separate vertex of weight w1."""
    square = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (9, 9, 9)]
    second = np.float64([0, 1, 1, 0, w1])
    bones = np.where(np.float64([1 - second, second]).T > 0, [0, 1], -1)
    weights = np.float64([1 - second, second]).T
    pad = np.zeros((5, 2))
    found = methods.Influences(np.hstack([bones, pad - 1]).astype(int), np.hstack([weights, pad]))
    centers = methods.centers_of_rotation(
        square, np.int32([(0, 1, 2), (0, 2, 3)]), found, epsilon=epsilon
    )
    assert np.abs(centers[4] - expected).max() < 1e-7
    assert np.array_equal(centers[0], square[0])  # one influence: nothing is similar


def test_a_bone_without_length_takes_the_segment_of_what_it_copies_then_of_its_parent():
    from files import pmx_file as pmx

    bones = [
        pmx.Bone("arm", position=(0, 0, 0), tail_offset=(2, 0, 0)),
        pmx.Bone("twist", position=(1, 0, 0), parent=0),
        pmx.Bone("leg", position=(0, -1, 0), tail_offset=(0, -3, 0)),
        pmx.Bone("D", position=(0, -1, 0), parent=0, append=pmx.Append(2, 1.0)),
        pmx.Bone("alone", position=(5, 5, 5)),
    ]
    segments = methods.model_segments(bones)
    assert np.array_equal(segments[1], segments[0])
    assert np.array_equal(segments[3], segments[2])
    assert np.isnan(segments[4]).all()


def test_of_bones_side_by_side_nothing_is_pulled():
    """Two fingers of one hand: dual quaternions alone place their common vertex."""
    mesh = one_vertex((-0.5, -1, 0), 0.25)
    positions, _ = frame("bulge_free", mesh, parents=[-1, -1])
    bare, _, _ = twin.skin_frame(mesh, QUARTER, method="dual_quaternion")
    assert np.array_equal(positions, bare)
