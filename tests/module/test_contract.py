# SPDX-License-Identifier: MIT
"""The interface in detail: morph weights, batches, poses, enumerations."""

import gc

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import small_file
from module.moves import CLOSE, REST, XYZ, model_with, shift


def ratios(*values):
    return np.float32(values).reshape(-1, 1)


def group(name, children, *values):
    return pmx.Morph(name, kind=0, indices=np.int32(children), values=ratios(*values))


def flip(name, children, *values):
    return pmx.Morph(name, kind=9, indices=np.int32(children), values=ratios(*values))


def moved(model, backend, *weights):
    """The position of vertex 0, which is at the origin at rest."""
    return mmdskin.skin(model, REST, np.float32(weights), backend=backend).positions[0]


# morph weights


def test_vertex_morphs_are_applied_before_skinning(backend):
    turn = REST.copy()
    turn[0, :3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    out = mmdskin.skin(model_with(*XYZ), turn, np.float32([1, 0, 0.5]), backend=backend)
    assert np.allclose(out.positions[0], (0, 1, 0.5), **CLOSE)


def test_morphs_do_not_change_normals(backend):
    out = mmdskin.skin(model_with(*XYZ), REST, np.float32([3, 1, 2]), backend=backend)
    assert np.allclose(out.normals, [(0, 1, 0)] * 2, **CLOSE)


def test_groups_are_applied_by_skin(backend):
    model = model_with(*XYZ, group("群", [0, 2], 0.5, -2))
    assert np.allclose(moved(model, backend, 0, 0, 0, 0.5), (0.25, 0, -1), **CLOSE)


def test_own_weight_and_groups_add_up(backend):
    model = model_with(*XYZ, group("一", [0], 0.5), group("二", [0], 0.25))
    assert np.allclose(moved(model, backend, 1, 0, 0, 1, 1), (1.75, 0, 0), **CLOSE)


def test_groups_within_groups_have_no_effect(backend):
    model = model_with(*XYZ, group("内", [0], 1), group("外", [3, 1], 1, 1))
    assert np.allclose(moved(model, backend, 0, 0, 0, 0, 1), (0, 1, 0), **CLOSE)


def test_a_group_that_contains_itself_ignores_itself(backend):
    model = model_with(*XYZ, group("自", [3, 0], 1, 1))
    assert np.allclose(moved(model, backend, 0, 0, 0, 1), (1, 0, 0), **CLOSE)


@pytest.mark.parametrize(
    "value, place", [(0.2, (0, 0)), (0.4, (0.5, 0)), (0.7, (0, 0.25)), (1, (0, 0.25))]
)
def test_a_flip_selects_its_child_by_its_value(backend, value, place):
    """Child (int)((n + 1) w) - 1 of n = 2; none below a third."""
    model = model_with(*XYZ, flip("切替", [0, 1], 0.5, 0.25))
    assert np.allclose(moved(model, backend, 0, 0, 0, value)[:2], place, **CLOSE)


@pytest.mark.parametrize("value, place", [(-3, (0, 0)), (7, (0, 0.25))])
def test_a_flip_out_of_range_selects_none_or_the_last(backend, value, place):
    model = model_with(*XYZ, flip("切替", [0, 1], 0.5, 0.25))
    assert np.allclose(moved(model, backend, 0, 0, 0, value)[:2], place, **CLOSE)


def test_a_flip_replaces_the_weight_of_its_child(backend):
    model = model_with(*XYZ, flip("切替", [0], 0.5))
    assert np.allclose(moved(model, backend, 3, 0, 0, 1), (0.5, 0, 0), **CLOSE)


def test_a_group_drives_a_flip(backend):
    model = model_with(*XYZ, flip("切替", [0, 1], 0.5, 0.25), group("群", [3], 0.5))
    assert np.allclose(moved(model, backend, 0, 0, 0, 0, 0.9), (0.5, 0, 0), **CLOSE)


def test_a_flip_can_set_a_group_that_is_applied_in_the_second_pass(backend):
    model = model_with(*XYZ, group("群", [0], 1), flip("切替", [3], 0.5))
    assert np.allclose(moved(model, backend, 0, 0, 0, 0, 1), (0.5, 0, 0), **CLOSE)


def test_flips_are_applied_in_index_order(backend):
    model = model_with(*XYZ, flip("一", [4], 1), flip("二", [0], 0.5))
    assert np.allclose(moved(model, backend, 0, 0, 0, 1, 0), (0.5, 0, 0), **CLOSE)
    model = model_with(*XYZ, flip("二", [0], 0.5), flip("一", [3], 1))
    assert np.allclose(moved(model, backend, 0, 0, 0, 0, 1), (0, 0, 0), **CLOSE)


@pytest.mark.parametrize("weight", [-2.5, 3])
def test_weights_are_not_clamped(backend, weight):
    assert np.allclose(moved(model_with(*XYZ), backend, weight, 0, 0), (weight, 0, 0), **CLOSE)


def test_offsets_of_one_vertex_add_up(backend):
    twice = pmx.Morph("二重", indices=np.int32([0, 0]), values=np.float32([[1, 0, 0], [0, 2, 0]]))
    assert np.allclose(moved(model_with(twice), backend, 0.5), (0.5, 1, 0), **CLOSE)


def test_skin_ignores_bone_morphs(backend):
    values = np.float32([[5, 5, 5, 0, 0, 1, 0]])
    model = model_with(pmx.Morph("骨", kind=2, indices=np.int32([0]), values=values))
    assert np.array_equal(moved(model, backend, 1), (0, 0, 0))


def test_missing_weights_are_zero(backend):
    model = model_with(*XYZ)
    none = mmdskin.skin(model, shift(1, 2, 3), backend=backend)
    zero = mmdskin.skin(model, shift(1, 2, 3), np.zeros(3, "f4"), backend=backend)
    assert np.array_equal(none.positions, zero.positions)


def test_morphs_of_a_mesh_are_vertex_morphs(backend):
    mesh = mmdskin.Mesh(
        np.zeros((2, 3), "f4"),
        np.zeros((2, 1), "i4"),
        np.ones((2, 1), "f4"),
        morphs=[
            (np.int32([1]), np.float32([[1, 0, 0]])),
            (np.int32([0, 1]), np.float32([[0, 1, 0], [0, 0, 1]])),
        ],
    )
    out = mmdskin.skin(mesh, REST, np.float32([0.5, 2]), backend=backend)
    assert np.allclose(out.positions, [(0, 2, 0), (0.5, 0, 2)], **CLOSE)


# batches

BATCHES = [
    ((), (), ()),
    ((1,), (), (1,)),
    ((), (1,), (1,)),
    ((3,), (), (3,)),
    ((), (3,), (3,)),
    ((3,), (3,), (3,)),
    ((3,), (1,), (3,)),
    ((1,), (3,), (3,)),
    ((0,), (), (0,)),
    ((), (0,), (0,)),
    ((0,), (1,), (0,)),
]


@pytest.mark.parametrize("of_matrices, of_weights, result", BATCHES)
def test_a_single_frame_serves_all_frames_of_the_other(backend, of_matrices, of_weights, result):
    model = model_with(*XYZ)
    matrices = np.zeros((*of_matrices, 1, 4, 4), np.float32)
    matrices[...] = REST
    if of_matrices:
        matrices[:, 0, 0, 3] = np.arange(*of_matrices)
    weights = np.zeros((*of_weights, 3), np.float32)
    if of_weights:
        weights[:, 1] = np.arange(*of_weights)
    out = mmdskin.skin(model, matrices, weights, backend=backend)
    assert out.positions.shape == out.normals.shape == (*result, 2, 3)
    for f in range(*result or (0,)):
        x, y = f * (of_matrices == (3,)), f * (of_weights == (3,))
        assert np.allclose(out.positions[f, 0], (x, y, 0), **CLOSE)


def test_frame_counts_that_do_not_match_are_an_error():
    with pytest.raises(ValueError, match=r"2.*3|3.*2"):
        mmdskin.skin(model_with(*XYZ), np.tile(REST, (2, 1, 1, 1)), np.zeros((3, 3), "f4"))


@pytest.mark.parametrize("frames", [(), (0,), (4,)])
def test_a_mesh_without_vertices_is_valid(backend, frames):
    mesh = mmdskin.Mesh(
        np.zeros((0, 3), "f4"),
        np.zeros((0, 4), "i4"),
        np.zeros((0, 4), "f4"),
        normals=np.zeros((0, 3), "f4"),
    )
    out = mmdskin.skin(mesh, np.zeros((*frames, 0, 4, 4), "f4"), backend=backend)
    assert out.positions.shape == out.normals.shape == (*frames, 0, 3)


def test_outputs_are_float32_and_contiguous(backend):
    out = mmdskin.skin(model_with(), np.tile(REST, (2, 1, 1, 1)), backend=backend)
    for array in out[:2]:
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_other_numeric_types_are_converted(backend):
    model = model_with(*XYZ)
    expected = mmdskin.skin(model, shift(1, 2, 3), np.float32([1, 0, 0]), backend=backend)
    out = mmdskin.skin(model, shift(1, 2, 3).astype("f8").tolist(), [1, 0, 0], backend=backend)
    assert np.array_equal(out.positions, expected.positions)


def test_the_memory_order_of_matrices_does_not_matter(backend):
    rng = np.random.default_rng(0)
    matrices = np.tile(REST, (3, 1, 1, 1))
    matrices[:, 0, :3] += rng.normal(size=(3, 3, 4)).astype("f4")
    model = model_with()
    expected = mmdskin.skin(model, matrices, backend=backend)
    for same in (np.asfortranarray(matrices), matrices.astype(">f4"), matrices[::-1][::-1]):
        assert np.array_equal(
            mmdskin.skin(model, same, backend=backend).positions, expected.positions
        )


# poses


def test_a_pose_provides_matrices_and_weights(backend):
    pose = mmdskin.Pose(shift(1, 0, 0), np.float32([0, 1, 0]))
    out = mmdskin.skin(model_with(*XYZ), pose, backend=backend)
    assert np.allclose(out.positions[0], (1, 1, 0), **CLOSE)


def test_weights_passed_with_a_pose_replace_its_own(backend):
    pose = mmdskin.Pose(shift(1, 0, 0), np.float32([0, 1, 0]))
    out = mmdskin.skin(model_with(*XYZ), pose, np.float32([0, 0, 2]), backend=backend)
    assert np.allclose(out.positions[0], (1, 0, 2), **CLOSE)


def test_a_pose_without_weights_has_zero_weights(backend):
    out = mmdskin.skin(model_with(*XYZ), mmdskin.Pose(shift(1, 0, 0), None), backend=backend)
    assert np.allclose(out.positions[0], (1, 0, 0), **CLOSE)


@pytest.mark.parametrize(
    "kind, count", [(mmdskin.Skinned, 3), (mmdskin.Pose, 2), (mmdskin.Backend, 4)]
)
def test_results_are_plain_named_tuples(kind, count):
    assert issubclass(kind, tuple)
    assert len(kind._fields) == count
    values = list(range(count))
    record = kind(*values)
    assert record == kind(**dict(zip(kind._fields, values, strict=True)))
    assert [*record] == values
    assert record._replace(**{kind._fields[0]: 9})[0] == 9


# enumerations


def with_value(section, field, value, **needs):
    file = small_file()
    record = getattr(file, section)[0]
    for name, number in {field: value, **needs}.items():
        setattr(record, name, number)
    return getattr(getattr(mmdskin.load_model(pmx.write(file)), section)[0], field)


NAMES = [
    ("rigid_bodies", "shape", ("sphere", "box", "capsule")),
    ("rigid_bodies", "mode", ("follow_bone", "physics", "physics_and_bone")),
    ("joints", "kind", ("spring_6dof", "6dof", "point_to_point", "cone_twist", "slider", "hinge")),
    ("materials", "sphere_mode", ("none", "multiply", "add", "sub_texture")),
]


@pytest.mark.parametrize("section, field, names", NAMES, ids=lambda value: str(value)[:12])
def test_enumerations_are_strings(section, field, names):
    assert [with_value(section, field, number) for number in range(len(names))] == list(names)


def test_display_elements_are_strings_and_indices():
    frames = mmdskin.load_model(pmx.write(small_file())).display_frames
    assert frames[0].elements == (("bone", 0),)
    assert frames[1].elements[:2] == (("morph", 0), ("morph", 1))


def test_shared_toon_is_a_bool_and_toon_its_number():
    assert with_value("materials", "shared_toon", True, toon=9) is True
    assert with_value("materials", "toon", 9, shared_toon=True) == 9
    assert with_value("materials", "shared_toon", False, toon=0) is False


def test_fixed_axis_is_as_in_the_file():
    assert with_value("bones", "fixed_axis", (0.0, 2.0, 0.0)) == (0, 2, 0)


def test_an_append_without_a_source_is_as_in_the_file():
    append = with_value("bones", "append", pmx.Append(-1, 0.5, True, False, True))
    assert append == (-1, 0.5, True, False, True)


def test_a_pmx_2_0_file_with_qdef_loads():
    model = mmdskin.load_model(pmx.write(small_file(version=2.0)))
    assert 4 in model.deform


# classes and memory


def test_errors_have_the_documented_base_classes():
    assert issubclass(mmdskin.FormatError, ValueError)
    assert issubclass(mmdskin.BackendError, RuntimeError)


def test_models_and_meshes_are_immutable():
    model = model_with()
    for name in ("positions", "name", "bones", "new_attribute"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(model, name, None)
    assert not model.positions.flags.writeable
    with pytest.raises(ValueError, match=r"writ|WRIT"):
        model.positions.flags.writeable = True


def test_a_mesh_copies_its_arguments(backend):
    arrays = np.zeros((1, 3), "f4"), np.zeros((1, 1), "i4"), np.ones((1, 1), "f4")
    mesh = mmdskin.Mesh(*arrays)
    for array in arrays:
        array[:] = 7
    assert np.array_equal(mmdskin.skin(mesh, REST, backend=backend).positions, [(0, 0, 0)])


def test_nobody_sees_a_mesh_before_it_is_complete():
    """Arguments may run any code, such as a debugger's that looks at all objects."""
    seen = []

    class Spy:
        def __array__(self, *_arguments, **_options):
            seen.extend(o for o in gc.get_objects() if type(o) is mmdskin.Mesh)
            return np.zeros((1, 3), "f4")

    gc.collect()
    before = sum(type(o) is mmdskin.Mesh for o in gc.get_objects())
    mmdskin.Mesh(Spy(), np.zeros((1, 1), "i4"), np.ones((1, 1), "f4"))
    assert len(seen) == before


def test_copies_that_a_mesh_keeps_cannot_be_made_writable():
    """It was checked with their values: a triangle of other vertices would be read out of bounds."""
    mesh = mmdskin.Mesh(
        np.eye(3),
        np.zeros((3, 1), "i4"),
        np.ones((3, 1)),
        morphs=[([0], [(1, 2, 3)])],
        triangles=[(0, 1, 2)],
    )
    arguments, options = mesh.__getnewargs_ex__()
    for array in (*arguments, options["triangles"], *options["morphs"][0]):
        while isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match=r"writ|WRIT"):
                array.setflags(write=True)
            array = array.base


def test_a_view_keeps_its_model_alive():
    positions = mmdskin.load_model(pmx.write(small_file())).positions
    assert np.array_equal(positions, small_file().positions)


def test_arrays_of_a_model_are_views_not_copies():
    model = model_with()
    one, two = model.positions, model.positions
    assert np.shares_memory(one, two)


def test_cpu_is_one_of_the_kernels(kernels):
    model = mmdskin.load_model(pmx.write(small_file()))
    matrices = np.tile(REST, (len(model.bones), 1, 1)) + np.float32(0.01)
    out = mmdskin.skin(model, matrices, backend="cpu").positions
    named = [mmdskin.skin(model, matrices, backend=kernel).positions for kernel in kernels]
    assert any(np.array_equal(out, other) for other in named)
