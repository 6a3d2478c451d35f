# SPDX-License-Identifier: MIT
"""Wrong arguments raise an error that names the item and its limit, and never crash."""

import math

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import rigid_file

NAN, INF = math.nan, math.inf
REFUSED = (TypeError, ValueError)


def mesh(n=3, **changes):
    arrays = {
        "positions": np.zeros((n, 3), "f4"),
        "bone_indices": np.zeros((n, 2), "i4"),
        "bone_weights": np.full((n, 2), 0.5, "f4"),
        "normals": np.ones((n, 3), "f4"),
        "tangents": np.ones((n, 4), "f4"),
        "deform": np.full(n, 3, "u1"),
        "sdef": np.zeros((n, 3, 3), "f4"),
        "morphs": [(np.int32([0, 2]), np.ones((2, 3), "f4"))],
    }
    arrays |= changes
    positional = [arrays.pop(name) for name in ("positions", "bone_indices", "bone_weights")]
    return mmdskin.Mesh(*positional, **arrays)


def rest(bones=1):
    return np.tile(np.eye(4, dtype="f4"), (bones, 1, 1))


def with_value(shape, index, value, dtype="f4"):
    array = np.ones(shape, dtype)
    array[index] = value
    return array


# Mesh

WRONG_SHAPES = {
    "positions": [(3,), (3, 2), (3, 4), (3, 3, 1), (4, 3), ()],
    "bone_indices": [(3,), (2, 2), (3, 0), (3, 5), (3, 3)],
    "bone_weights": [(3,), (4, 2), (3, 1), (3, 2, 1)],
    "normals": [(3,), (2, 3), (3, 4)],
    "tangents": [(3,), (3, 2), (3, 5), (2, 4)],
    "deform": [(2,), (3, 1), ()],
    "sdef": [(3, 9), (2, 3, 3), (3, 3), (3, 2, 3)],
}


@pytest.mark.parametrize(
    "name, shape", [(k, s) for k, shapes in WRONG_SHAPES.items() for s in shapes]
)
def test_mesh_arrays_of_the_wrong_shape_are_refused(name, shape):
    dtype = {"bone_indices": "i4", "deform": "u1"}.get(name, "f4")
    with pytest.raises(ValueError):
        mesh(**{name: np.zeros(shape, dtype)})


@pytest.mark.parametrize("name", WRONG_SHAPES)
@pytest.mark.parametrize("value", ["text", object(), np.array(["a", "b", "c"]), {}, 1j])
def test_mesh_arrays_that_are_not_numbers_are_refused(name, value):
    with pytest.raises(REFUSED):
        mesh(**{name: value})


@pytest.mark.parametrize("name", ["bone_indices", "deform"])
def test_fractions_are_refused_as_indices(name):
    with pytest.raises(REFUSED):
        mesh(**{name: np.full(WRONG_SHAPES and ((3, 2) if name == "bone_indices" else 3), 0.5)})


@pytest.mark.parametrize("name", ["positions", "bone_weights", "normals", "tangents", "sdef"])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_the_first_number_that_is_not_finite_is_named(name, value):
    shape = {"bone_weights": (3, 2), "tangents": (3, 4), "sdef": (3, 3, 3)}.get(name, (3, 3))
    with pytest.raises(ValueError, match=rf"{name}.*vertex 1\b"):
        mesh(**{name: with_value(shape, (slice(1, None), 0), value)})


@pytest.mark.parametrize("bone", [-2, -(2**31)])
def test_negative_bones_are_refused(bone):
    with pytest.raises(ValueError, match=f"vertex 2.*{bone}"):
        mesh(bone_indices=with_value((3, 2), (2, 1), bone, "i4"))


def test_bone_indices_out_of_range_are_refused():
    with pytest.raises((ValueError, TypeError, OverflowError)):
        mesh(bone_indices=with_value((3, 2), (2, 1), 2**40, "i8"))


def test_a_huge_bone_index_needs_that_many_matrices_but_no_memory():
    huge = mesh(bone_indices=with_value((3, 2), (2, 1), 2**31 - 1, "i4"))
    with pytest.raises(ValueError, match="bone"):
        mmdskin.skin(huge, rest(4))


@pytest.mark.parametrize("kind", [5, 255])
def test_unknown_deform_types_are_refused(kind):
    with pytest.raises(ValueError, match=f"vertex 1.*{kind}"):
        mesh(deform=with_value(3, 1, kind, "u1"))


@pytest.mark.parametrize(
    "morphs",
    [
        pytest.param([(np.int32([3]), np.zeros((1, 3), "f4"))], id="vertex out of range"),
        pytest.param([(np.int32([-1]), np.zeros((1, 3), "f4"))], id="negative vertex"),
        pytest.param([(np.int32([0]), np.zeros((2, 3), "f4"))], id="lengths differ"),
        pytest.param([(np.int32([0]), np.zeros((1, 2), "f4"))], id="two columns"),
        pytest.param([(np.int32([0]), np.full((1, 3), NAN, "f4"))], id="NaN"),
        pytest.param([(np.int32([[0]]), np.zeros((1, 3), "f4"))], id="rank"),
        pytest.param([np.zeros((2, 3))[0]], id="not a pair"),
        pytest.param([()], id="empty pair"),
        pytest.param([1], id="number"),
        pytest.param(7, id="not a sequence"),
    ],
)
def test_bad_morphs_are_refused(morphs):
    with pytest.raises(REFUSED):
        mesh(morphs=morphs)


@pytest.mark.parametrize("arguments", [(), (1,), (np.zeros((3, 3), "f4"),)])
def test_missing_arguments_are_a_type_error(arguments):
    with pytest.raises(TypeError):
        mmdskin.Mesh(*arguments)


# skin


@pytest.mark.parametrize("not_a_mesh", [None, 1, "model", np.zeros((3, 3)), object()])
def test_a_mesh_of_another_type_is_a_type_error(not_a_mesh):
    with pytest.raises(TypeError):
        mmdskin.skin(not_a_mesh, rest())


@pytest.mark.parametrize(
    "shape",
    [(), (4, 4), (3, 4), (1, 3, 3), (7,), (1, 8), (1, 4, 3), (1, 1, 1, 4, 4), (0, 4, 4), (0,)],
)
def test_matrices_of_the_wrong_shape_are_refused(shape, kernel):
    with pytest.raises(ValueError):
        mmdskin.skin(mesh(), np.zeros(shape, "f4"), backend=kernel)


@pytest.mark.parametrize("matrices", [None, "text", object(), [["a"] * 4] * 4, 1j])
def test_matrices_that_are_not_numbers_are_refused(matrices):
    with pytest.raises(REFUSED):
        mmdskin.skin(mesh(), matrices)


def test_an_object_in_place_of_an_array_is_named_by_its_type():
    one = mmdskin.Pose(rest(), None)
    for given, shown in (
        (None, "<class 'NoneType'>"),
        ((each for each in rest()), "<class 'generator'>"),
        ({"左ひじ": 1}, "<class 'dict'>"),
        ([one, one], "a list of <class 'mmdskin.Pose'>"),
        ((one, one), "a tuple of <class 'mmdskin.Pose'>"),
    ):
        with pytest.raises(TypeError) as refused:
            mmdskin.skin(mesh(), given)
        assert str(refused.value) == f"bone_matrices: expected numbers, not {shown}"
    with pytest.raises(TypeError, match="morph_weights: expected numbers, not <class 'mmdskin.P"):
        mmdskin.skin(mesh(), rest(), mmdskin.Pose(rest(), np.zeros(1)))


@pytest.mark.parametrize("rows", [[[1, 2], [3]], [(1, 2), (3,)], ((1, 2), (3,)), [[(1, 2), (3,)]]])
def test_rows_of_different_lengths_are_refused(rows):
    # numpy 1.22 makes an array of lists
    with pytest.raises(REFUSED, match="bone_matrices: (setting an array element|dtype object)"):
        mmdskin.skin(mesh(), rows)


@pytest.mark.parametrize("number", [10**400, -(10**400), 2**64])
def test_integers_that_no_array_holds_are_refused_as_values(number):
    """Neither with OverflowError nor with the TypeError of an array of objects."""
    with pytest.raises(ValueError, match="bone_matrices: a number is too large"):
        mmdskin.skin(mesh(), [[number] * 4] * 4)


@pytest.mark.parametrize("value", [NAN, INF])
def test_matrices_that_are_not_finite_are_refused_and_named(value):
    matrices = np.tile(rest(5), (3, 1, 1, 1))
    matrices[1, 4, 2, 3] = matrices[2, 0, 0, 0] = value
    with pytest.raises(ValueError, match=r"1.*4"):
        mmdskin.skin(mesh(), matrices)


@pytest.mark.parametrize("value", [NAN, -INF])
def test_weights_that_are_not_finite_are_refused_and_named(value):
    with pytest.raises(ValueError, match="0"):
        mmdskin.skin(mesh(), rest(), np.float32([value]))


@pytest.mark.parametrize(
    "weights", [np.zeros(2), np.zeros((1, 1, 1)), np.zeros(()), "text", [[1, 2], [3]]]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(REFUSED):
        mmdskin.skin(mesh(), rest(), weights)


def test_a_model_needs_exactly_its_number_of_bones():
    model = mmdskin.load_model(pmx.write(rigid_file(3)))
    for count in (0, 2):
        with pytest.raises(ValueError, match="bone"):
            mmdskin.skin(model, rest(count))


def test_a_mesh_accepts_more_matrices_than_it_needs():
    assert mmdskin.skin(mesh(), rest(9)).positions.shape == (3, 3)


@pytest.mark.parametrize("option", ["method", "sdef_blend", "backend"])
@pytest.mark.parametrize("value", ["", "nonsense", "MMD", "cpu:", "cpu:nonsense", "gl:", 3, None])
def test_unknown_options_are_refused(option, value):
    with pytest.raises((*REFUSED, mmdskin.BackendError)):
        mmdskin.skin(mesh(), rest(), **{option: value})


def test_the_error_for_a_missing_kernel_lists_the_available_ones(kernels):
    available = ", ".join(kernel.removeprefix("cpu:") for kernel in kernels)
    with pytest.raises(
        mmdskin.BackendError, match=f'^backend: kernel "mmx" is unknown .* here: {available}$'
    ):
        mmdskin.skin(mesh(), rest(), backend="cpu:mmx")


WRONG_TYPES = {
    "method": lambda value: mmdskin.skin(mesh(), rest(), method=value),
    "sdef_blend": lambda value: mmdskin.skin(mesh(), rest(), sdef_blend=value),
    "backend": lambda value: mmdskin.skin(mesh(), rest(), backend=value),
    "bone_matrices": lambda value: mmdskin.skin(mesh(), [[1, 2], [value]]),
    "samples": lambda value: mmdskin.render(
        mesh(triangles=[[0, 1, 2]]), mmdskin.skin(mesh(), rest()), samples=value
    ),
    "channel": lambda value: mmdskin.load_model(pmx.write(rigid_file(3))).uvs_at([], value),
    "model": lambda value: mmdskin.Simulation(value),
    "hz": lambda value: mmdskin.World([], [], hz=value),
    "seconds": lambda value: mmdskin.Simulation(mmdskin.load_model(pmx.write(rigid_file(3)))).step(
        seconds=value
    ),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_an_argument_of_another_type_is_named(name):
    with pytest.raises(REFUSED, match=f"^{name}: "):
        WRONG_TYPES[name]([])


def test_a_null_character_in_an_option_is_refused():
    with pytest.raises(ValueError, match="^method: .*null character"):
        mmdskin.skin(mesh(), rest(), method="mmd\0")


def test_options_are_keyword_only():
    with pytest.raises(TypeError):
        mmdskin.skin(mesh(), rest(), None, "mmd")


@pytest.mark.parametrize("out", [1, (), np.zeros((3, 3), "f4"), (np.zeros((3, 3), "f4"),), "out"])
def test_out_of_another_type_is_refused(out):
    with pytest.raises(REFUSED):
        mmdskin.skin(mesh(), rest(), out=out)


@pytest.mark.parametrize("source", [None, 1, object(), 1.5, ["a"]])
def test_load_model_of_neither_a_path_nor_bytes_is_a_type_error(source):
    with pytest.raises(TypeError):
        mmdskin.load_model(source)
