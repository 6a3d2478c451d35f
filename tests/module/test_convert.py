# SPDX-License-Identifier: MIT
"""Coordinates of other programs: by hand, and by what must not change."""

import mmdskin
import numpy as np
import pytest
from sample.character import model as character

OTHERS = ["blender", "gltf", "opengl", "smpl"]

# Her left hand, the top of her head, and a step in front of her, in MMD: at +x, +y and -z.
BODY = [[6.25, 0, 0], [0, 20, 0], [0, 0, -12.5]]
WANTED = {
    "mmd": BODY,
    "blender": [[0.5, 0, 0], [0, 0, 1.6], [0, -1, 0]],  # faces -Y
    "gltf": [[0.5, 0, 0], [0, 1.6, 0], [0, 0, 1]],  # faces +Z
    "smpl": [[0.5, 0, 0], [0, 1.6, 0], [0, 0, 1]],
    "opengl": [[6.25, 0, 0], [0, 20, 0], [0, 0, 12.5]],
}


@pytest.fixture(scope="module")
def dancer():
    file = character.character()
    return np.float32(file.positions), np.float32(file.normals), np.int32(file.triangles)


@pytest.mark.parametrize("to", WANTED)
def test_left_up_and_front_are_where_each_program_has_them(to):
    np.testing.assert_allclose(mmdskin.convert(BODY, "positions", to=to), WANTED[to], rtol=1e-15)
    lengths = np.linalg.norm(WANTED[to], axis=1, keepdims=True)
    directions = mmdskin.convert(BODY / np.linalg.norm(BODY, axis=1, keepdims=True), "normals", to=to)  # fmt: skip
    np.testing.assert_allclose(directions, WANTED[to] / lengths, rtol=1e-15)


@pytest.mark.parametrize("to", OTHERS)
def test_triangles_face_outwards_as_normals_do(dancer, to):
    """By the right-hand rule, which all of them use; in MMD by the left hand, with the same sum."""
    positions = mmdskin.convert(dancer[0], "positions", to=to)
    normals = mmdskin.convert(dancer[1], "normals", to=to)
    triangles = mmdskin.convert(dancer[2], "triangles", to=to)
    a, b, c = positions[triangles].transpose(1, 0, 2)
    area = np.cross(b - a, c - a)
    outwards = (area * normals[triangles].sum(1)).sum(1)
    assert (outwards[np.linalg.norm(area, axis=1) > 1e-12] > 0).mean() > 0.99


def test_a_turn_by_the_left_hand_is_a_turn_back_by_the_right():
    """From +x to +y, in MMD and glTF; in Blender from +X to +Z."""
    turn = np.eye(4)
    turn[:2, :2] = [[0, -1], [1, 0]]
    turn[:3, 3] = (12.5, 0, 25)
    quaternion = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    found = mmdskin.convert(turn, "matrices", to="gltf")
    np.testing.assert_allclose(found[:3], [[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, -2]])
    np.testing.assert_array_equal(mmdskin.convert(quaternion, "quaternions", to="gltf"), quaternion)
    found = mmdskin.convert(turn, "matrices", to="blender")
    np.testing.assert_allclose(found[:3], [[0, 0, -1, 1], [0, 1, 0, 2], [1, 0, 0, 0]])
    half = np.sqrt(0.5)  # from +X to +Z is a turn about -Y
    np.testing.assert_array_equal(
        mmdskin.convert(quaternion, "quaternions", to="blender"), [half, 0, -half, 0]
    )


@pytest.mark.parametrize("to", OTHERS)
def test_skinning_commutes_with_conversion(to):
    rng = np.random.default_rng(1)
    matrix, point = np.eye(4), rng.normal(size=3)
    matrix[:3] += rng.normal(size=(3, 4))
    moved = matrix[:3, :3] @ point + matrix[:3, 3]
    there = mmdskin.convert(matrix, "matrices", to=to)
    found = there[:3, :3] @ mmdskin.convert(point, "positions", to=to) + there[:3, 3]
    np.testing.assert_allclose(found, mmdskin.convert(moved, "positions", to=to), atol=1e-12)


@pytest.mark.parametrize("to", ["blender", "opengl", "smpl"])
def test_v_points_up(to):
    np.testing.assert_allclose(mmdskin.convert([0.25, 0.125], "uvs", to=to), [0.25, 0.875])


def test_v_points_down_in_gltf():
    np.testing.assert_array_equal(mmdskin.convert([0.25, 0.125], "uvs", to="gltf"), [0.25, 0.125])


@pytest.mark.parametrize("to", OTHERS)
def test_the_bitangent_points_upwards_in_the_image(to):
    """In MMD w * cross(normal, tangent) points along v, downwards: see skin()."""
    normal, tangent = [0.0, 0.0, -1.0], [1.0, 0.0, 0.0, 1.0]
    up = -np.cross(normal, tangent[:3])
    n = mmdskin.convert(normal, "normals", to=to)
    t = mmdskin.convert(tangent, "tangents", to=to)
    np.testing.assert_allclose(t[3] * np.cross(n, t[:3]), mmdskin.convert(up, "normals", to=to))


@pytest.mark.parametrize("world", OTHERS)
@pytest.mark.parametrize(
    "kind, shape",
    [
        ("positions", (1000, 3)),
        ("normals", (1000, 3)),
        ("uvs", (1000, 2)),
        ("tangents", (1000, 4)),
        ("quaternions", (1000, 4)),
        ("matrices", (300, 4, 4)),
        ("matrices", (300, 3, 4)),
    ],
)
def test_values_come_back_exactly(world, kind, shape):
    values = np.random.default_rng(2).normal(size=shape).astype(np.float32) * 20
    there = mmdskin.convert(values, kind, to=world)
    again = mmdskin.convert(there, kind, source=world)
    assert again.dtype == np.float32
    np.testing.assert_array_equal(again, values)


@pytest.mark.parametrize("world", OTHERS)
def test_triangles_come_back_exactly(world, dancer):
    there = mmdskin.convert(dancer[2], "triangles", to=world)
    np.testing.assert_array_equal(mmdskin.convert(there, "triangles", source=world), dancer[2])


def test_from_one_program_to_another():
    np.testing.assert_allclose(
        mmdskin.convert([0.5, -1, 1.6], "positions", source="blender", to="gltf"),
        [0.5, 1.6, 1],
        rtol=1e-7,
    )


def test_records_are_converted_by_member():
    positions = np.float32([[0, 0, 12.5]])
    out = mmdskin.convert(mmdskin.Skinned(positions, None, np.float32([[0, 0, 1]])), to="gltf")
    assert out.normals is None
    np.testing.assert_array_equal(out.positions, [[0, 0, -1]])
    np.testing.assert_array_equal(out.tangents, [[0, 0, -1]])
    matrix = np.eye(4, dtype="f4")
    matrix[2, 3] = 12.5
    pose = mmdskin.convert(mmdskin.Pose(matrix[None], None), to="blender")
    np.testing.assert_array_equal(pose.bone_matrices[0, :3, 3], [0, 1, 0])
    camera = mmdskin.Camera((0, 10, -45), (0, 10, 0), (0, 1, 0), 30)
    there = mmdskin.convert(camera, to="blender")
    np.testing.assert_allclose(there.position, (0, -3.6, 0.8))
    np.testing.assert_array_equal(there.up, (0, 0, 1))
    assert there.fov == 30


def test_arguments_are_not_changed():
    for kind, values in (("uvs", np.ones((2, 2))), ("triangles", np.arange(3)), ("matrices", np.eye(4))):  # fmt: skip
        before = values.copy()
        for world in WANTED:
            found = mmdskin.convert(values, kind, to=world)
            assert not np.shares_memory(found, values)
        np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        (([1, 2, 3], "positions"), {"to": "maya"}, 'to: unknown "maya", expected one of mmd'),
        (([1, 2, 3], "positions"), {"source": "x"}, 'source: unknown "x"'),
        (([1, 2, 3],), {"to": "gltf"}, "kind: an array needs one of positions"),
        (([1, 2], "positions"), {}, r"positions: shape \(2,\), expected \(…, 3\)"),
        (([1, 2], "tangents"), {}, r"tangents: shape \(2,\), expected \(…, 3\) or \(…, 4\)"),
        ((mmdskin.Pose(np.eye(4)[None], None), "matrices"), {}, "kind: expected None for a Pose"),
    ],
)
def test_wrong_arguments_are_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        mmdskin.convert(*arguments, **options)
