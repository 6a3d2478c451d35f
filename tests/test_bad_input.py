# SPDX-License-Identifier: MIT
"""Wrong arguments and damaged files: an error with its place or a defined result, never a crash."""

import math
import random
import struct
import time
from functools import cache
from pathlib import Path

import mmdskin
import numpy as np
import pmx_file as pmx
import pytest
from test_model import rigid_file, small_file

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
    given = [arrays.pop(name) for name in ("positions", "bone_indices", "bone_weights")]
    return mmdskin.Mesh(*given, **arrays)


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
def test_mesh_arrays_that_are_no_numbers_are_refused(name, value):
    with pytest.raises(REFUSED):
        mesh(**{name: value})


@pytest.mark.parametrize("name", ["bone_indices", "deform"])
def test_fractions_are_no_indices(name):
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


def test_bone_indices_that_do_not_fit_are_refused():
    with pytest.raises((ValueError, TypeError, OverflowError)):
        mesh(bone_indices=with_value((3, 2), (2, 1), 2**40, "i8"))


def test_a_huge_bone_index_asks_for_as_many_matrices_and_no_memory():
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
        pytest.param([np.zeros((2, 3))[0]], id="no pair"),
        pytest.param([()], id="empty pair"),
        pytest.param([1], id="number"),
        pytest.param(7, id="no sequence"),
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
def test_what_is_no_mesh_is_a_type_error(not_a_mesh):
    with pytest.raises(TypeError):
        mmdskin.skin(not_a_mesh, rest())


@pytest.mark.parametrize(
    "shape", [(), (4, 4), (1, 3, 4), (1, 4, 3), (1, 1, 1, 4, 4), (0, 4, 4), (0,)]
)
def test_matrices_of_the_wrong_shape_are_refused(shape, kernel):
    with pytest.raises(ValueError):
        mmdskin.skin(mesh(), np.zeros(shape, "f4"), backend=kernel)


@pytest.mark.parametrize("matrices", [None, "text", object(), [["a"] * 4] * 4, 1j])
def test_matrices_that_are_no_numbers_are_refused(matrices):
    with pytest.raises(REFUSED):
        mmdskin.skin(mesh(), matrices)


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


def test_a_model_wants_exactly_its_bones():
    model = mmdskin.load_model(pmx.write(rigid_file(3)))
    for count in (0, 2):
        with pytest.raises(ValueError, match="bone"):
            mmdskin.skin(model, rest(count))


def test_a_mesh_takes_more_matrices_than_it_needs():
    assert mmdskin.skin(mesh(), rest(9)).positions.shape == (3, 3)


@pytest.mark.parametrize("option", ["method", "sdef_blend", "backend"])
@pytest.mark.parametrize("value", ["", "nonsense", "MMD", "cpu:", "cpu:nonsense", "gl:", 3, None])
def test_unknown_words_are_refused(option, value):
    with pytest.raises((*REFUSED, mmdskin.BackendError)):
        mmdskin.skin(mesh(), rest(), **{option: value})


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        mmdskin.skin(mesh(), rest(), None, "mmd")


@pytest.mark.parametrize("out", [1, (), np.zeros((3, 3), "f4"), (np.zeros((3, 3), "f4"),), "out"])
def test_out_that_is_no_skinned_is_refused(out):
    with pytest.raises(REFUSED):
        mmdskin.skin(mesh(), rest(), out=out)


@pytest.mark.parametrize("source", [None, 1, object(), 1.5, ["a"]])
def test_load_model_of_neither_path_nor_bytes_is_a_type_error(source):
    with pytest.raises(TypeError):
        mmdskin.load_model(source)


# files


@cache
def small():
    return pmx.layout(small_file())


def assert_format_error(data, section=None, offset=None):
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_model(bytes(data))
    error = caught.value
    assert isinstance(error.section, str)
    assert 0 <= error.offset <= len(data)
    if section is not None:
        assert error.section == section
    if offset is not None:
        assert error.offset == offset


@pytest.mark.parametrize(
    "data", [b"", b"P", b"PMX", b"PMX ", b"Pmx ", b"\0" * 100, b"MThd" * 50, "文字".encode() * 20]
)
def test_what_is_no_model_is_a_format_error(data):
    assert_format_error(data)


@pytest.mark.parametrize("version", [0.0, 1.0, 1.99, 2.2, 3.0, NAN, INF, -2.0])
def test_other_versions_are_refused(version):
    data = bytearray(small()[0])
    data[4:8] = struct.pack("<f", version)
    assert_format_error(data)


@pytest.mark.parametrize(
    "offset, value",
    [
        (8, 7),
        (8, 0),
        (9, 2),
        (9, 255),
        (10, 5),
        *((at, size) for at in range(11, 17) for size in (0, 3, 5, 8)),
    ],
)
def test_bad_settings_are_refused(offset, value):
    data = bytearray(small()[0])
    data[offset] = value
    assert_format_error(data)


HUGE = [-1, -(2**31), 2**31 - 1, 2**31 - 2, 2**30, 2**29, 2**28 + 1, 119304648, 10**7]
SECTIONS = [
    "vertices",
    "faces",
    "textures",
    "materials",
    "bones",
    "morphs",
    "display_frames",
    "rigid_bodies",
    "joints",
    "soft_bodies",
]


@pytest.mark.parametrize("section", SECTIONS)
def test_impossible_counts_are_refused_at_once(section):
    data, marks = small()
    at = marks[section]
    for count in HUGE:
        with bounded(len(data)):
            assert_format_error(data[:at] + struct.pack("<i", count) + data[at + 4 :])


class bounded:
    """Within a second, and within 64 MiB more than the file needs."""

    def __init__(self, size):
        self.limit = size + 64 * 2**20

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        self.before, self.start = memory("VmRSS"), time.perf_counter()

    def __exit__(self, *_):
        assert time.perf_counter() - self.start < 1
        assert memory("VmHWM") - self.before < self.limit


def memory(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


@pytest.mark.parametrize(
    "section", ["vertices[2]", "materials[1]", "bones[3]", "morphs[4]", "joints[0]"]
)
def test_the_error_names_the_section_and_the_byte(section):
    data, marks = small()
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_model(data[: marks[section] + 7])
    assert caught.value.section == section
    assert marks[section] <= caught.value.offset <= marks[section] + 7
    assert section in str(caught.value)


@pytest.mark.parametrize("kind", [5, 255])
def test_unknown_deform_types_in_files_are_refused(kind):
    data, marks = small()
    at = marks["vertices[3]"] + 48  # position, normal, uv, one additional uv
    assert data[at] == small_file().deform[3]
    assert_format_error(data[:at] + bytes([kind]) + data[at + 1 :], "vertices[3]")


def test_unknown_morph_kinds_are_refused():
    file = small_file()
    data, marks = pmx.layout(file)
    at = (
        marks["morphs[2]"]
        + 8
        + len((file.morphs[2].name + file.morphs[2].name_english).encode("utf-16-le"))
        + 1
    )
    assert data[at] == file.morphs[2].kind
    assert_format_error(data[:at] + b"\x0b" + data[at + 1 :], "morphs[2]")


def test_every_truncation_of_a_small_file_is_refused():
    data, marks = small()
    for size in range(len(data)):
        if size == marks["soft_bodies"]:
            continue  # a 2.1 file may end before its soft bodies
        with pytest.raises(mmdskin.FormatError):
            mmdskin.load_model(data[:size])


@pytest.mark.parametrize(
    "name, step", [("test_hair_physics", 1), ("mmt_test_model", 37), ("初音ミク", 9973)]
)
def test_truncations_of_real_files_are_refused(shared, name, step):
    data = next(shared.glob(f"models/**/{name}.pmx")).read_bytes()
    for size in [*range(0, len(data), step), len(data) - 1]:
        with pytest.raises(mmdskin.FormatError):
            mmdskin.load_model(data[:size])


def touch(model):
    """Reads everything, and holds the model to what a loaded model promises."""
    for name in (
        "positions",
        "normals",
        "uvs",
        "additional_uvs",
        "edge_scales",
        "bone_weights",
        "sdef",
    ):
        assert np.isfinite(getattr(model, name)).all(), name
    assert model.bone_indices.max(initial=-1) < len(model.bones)
    assert model.bone_indices.min(initial=0) >= -1
    assert model.triangles.max(initial=0) < max(len(model.positions), 1)
    assert model.triangles.min(initial=0) >= 0
    assert all(-1 <= bone.parent < len(model.bones) for bone in model.bones)
    for section in ("morphs", "materials", "display_frames", "rigid_bodies", "joints", "textures"):
        repr(list(getattr(model, section)))
    weights = np.ones(len(model.morphs), "f4")
    out = mmdskin.skin(model, rest(len(model.bones)), weights, backend="cpu")
    assert out.positions.shape == model.positions.shape


def flip_bytes(data, count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        yield bytes(changed)


def assert_survives(data, count, seed):
    loaded = 0
    with bounded_each(len(data), count) as one:
        for changed in flip_bytes(data, count, seed):
            with one:
                try:
                    model = mmdskin.load_model(changed)
                except mmdskin.FormatError as error:
                    assert 0 <= error.offset <= len(changed)
                    continue
                loaded += 1
                touch(model)
    assert 0 < loaded <= count


class bounded_each:
    """Each pass within a second; all of them together within the memory of one."""

    def __init__(self, size, count):
        self.whole, self.count = bounded(size), count

    def __enter__(self):
        self.whole.__enter__()
        outer = self

        class One:
            def __enter__(self):
                self.start = time.perf_counter()

            def __exit__(self, *_):
                assert time.perf_counter() - self.start < 1
                outer.count -= 1

        return One()

    def __exit__(self, kind, *_):
        if kind is None:
            assert memory("VmHWM") - self.whole.before < self.whole.limit
            assert self.count == 0


@pytest.mark.parametrize("seed", range(4))
def test_byte_flips_of_a_small_file(seed):
    assert_survives(small()[0], 2000, seed)


@pytest.mark.parametrize("seed", range(4, 8))
def test_byte_flips_of_a_real_file(shared, seed):
    assert_survives((shared / "models" / "mmt_test_model.pmx").read_bytes(), 500, seed)


def test_numbers_that_are_not_finite_become_zero():
    file = small_file()
    file.positions[1, 2], file.normals[0, 0], file.bone_weights[5, 0] = NAN, INF, -INF
    file.bones[2].position, file.morphs[0].values[1, 1] = (NAN, 1.0, INF), NAN
    model = mmdskin.load_model(pmx.write(file))
    touch(model)
    assert model.positions[1, 2] == model.normals[0, 0] == 0
    assert model.bones[2].position == (0, 1, 0)
    assert model.morphs[0].values[1, 1] == 0


def test_triangles_that_point_nowhere_are_dropped():
    file = rigid_file(3)
    file.triangles = np.int32([[0, 1, 2], [0, 1, 3], [2, 1, 0]])
    file.materials = [pmx.Material("m", index_count=9)]
    model = mmdskin.load_model(pmx.write(file))
    assert np.array_equal(model.triangles, [[0, 1, 2], [2, 1, 0]])


def test_offsets_of_morphs_that_point_nowhere_do_nothing():
    file = rigid_file(2)
    file.morphs = [pmx.Morph("m", indices=np.int32([9, 1]), values=np.ones((2, 3), "f4"))]
    out = mmdskin.skin(mmdskin.load_model(pmx.write(file)), rest(), np.ones(1, "f4"))
    assert np.array_equal(out.positions, [(0, 0, 0), (1, 1, 1)])


def test_parents_in_a_circle_are_detached():
    file = small_file()
    file.bones[1].parent, file.bones[2].parent, file.bones[3].parent = 3, 1, 2
    bones = mmdskin.load_model(pmx.write(file)).bones
    for start in range(len(bones)):
        at, seen = start, set()
        while at >= 0:
            assert at not in seen
            seen.add(at)
            at = bones[at].parent


def test_a_file_of_nothing_but_zero_counts_loads():
    model = mmdskin.load_model(pmx.write(pmx.PMX(version=2.1)))
    assert (len(model.positions), len(model.bones), len(model.morphs)) == (0, 0, 0)
    assert mmdskin.skin(model, rest(0)).positions.shape == (0, 3)
