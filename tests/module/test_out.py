# SPDX-License-Identifier: MIT
"""Arrays that others own: `out` is filled, or refused and left alone; arguments are read from tensors."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import small_file
from module.moves import CLOSE, REST, XYZ, model_with, shift


def test_out_is_filled_and_returned(backend):
    model = model_with()
    out = mmdskin.Skinned(np.full((2, 3), 9, "f4"), np.full((2, 3), 9, "f4"), None)
    returned = mmdskin.skin(model, shift(1, 2, 3), out=out, backend=backend)
    assert returned.positions is out.positions
    assert returned.normals is out.normals
    assert np.allclose(out.positions, [(1, 2, 3)] * 2, **CLOSE)


def test_out_gets_the_same_values_as_new_arrays(backend):
    model = mmdskin.load_model(pmx.write(small_file()))
    matrices = np.tile(REST, (4, len(model.bones), 1, 1)) + np.float32(0.01)
    expected = mmdskin.skin(model, matrices, backend=backend)
    out = mmdskin.Skinned(*(np.empty_like(array) for array in expected[:2]), None)
    mmdskin.skin(model, matrices, out=out, backend=backend)
    assert all(map(np.array_equal, out[:2], expected[:2]))


def valid():
    return np.full((2, 3), 9, np.float32)


def read_only():
    array = valid()
    array.flags.writeable = False
    return array


BAD_OUT = {
    "normals missing": lambda: (valid(), None, None),
    "positions missing": lambda: (None, valid(), None),
    "tangents passed, not requested": lambda: (valid(), valid(), valid()),
    "shape": lambda: (np.zeros((3, 3), "f4"), valid(), None),
    "frames": lambda: (np.zeros((1, 2, 3), "f4"), valid(), None),
    "dtype": lambda: (valid(), valid().astype("f8"), None),
    "byte order": lambda: (valid().astype(">f4"), valid(), None),
    "memory order": lambda: (np.asfortranarray(valid()), valid(), None),
    "not contiguous": lambda: (np.zeros((2, 6), "f4")[:, ::2], valid(), None),
    "read-only": lambda: (valid(), read_only(), None),
}


@pytest.mark.parametrize("case", BAD_OUT)
def test_an_invalid_out_is_refused_and_not_written(backend, case):
    arrays = BAD_OUT[case]()
    before = [None if array is None else array.copy() for array in arrays]
    with pytest.raises(ValueError, match="out"):
        mmdskin.skin(model_with(), shift(1, 2, 3), out=mmdskin.Skinned(*arrays), backend=backend)
    for array, old in zip(arrays, before, strict=True):
        assert array is old is None or np.array_equal(array, old)


class Tensor:
    """As of PyTorch: it shares its memory by `__array__`, and says where that is."""

    def __init__(self, array, device=1, shares=True):
        self.array, self._device, self._shares = array, device, shares

    def __array__(self, dtype=None, copy=None):
        return self.array if self._shares else self.array.copy()

    def __dlpack_device__(self):
        return self._device, 0


class Interface:
    def __init__(self, array):
        self._array, self.__array_interface__ = array, array.__array_interface__


class Exporter:
    """What shares its memory by DLPack and by nothing else."""

    def __init__(self, array, device=1):
        self._array, self._device = array, device

    def __dlpack__(self, **arguments):
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._device, 0


writes_dlpack = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.2.5",
    reason="NumPy before 2.2.5 makes all arrays of DLPack read-only",
)


@pytest.mark.parametrize(
    "wrap",
    [
        Tensor,
        Interface,
        memoryview,
        lambda array: Tensor(array, device=3),
        pytest.param(Exporter, marks=writes_dlpack),
    ],
    ids=["tensor", "interface", "buffer", "pinned", "dlpack"],
)
def test_tensors_are_filled_as_arrays_are(wrap):
    arrays = np.zeros((2, 2, 3), np.float32)
    model = model_with(*XYZ)
    out = mmdskin.Skinned(wrap(arrays[0]), wrap(arrays[1]), None)
    wanted = mmdskin.skin(model, shift(1, 2, 3))
    assert mmdskin.skin(model, shift(1, 2, 3), out=out) is out
    assert (arrays[0] == wanted.positions).all()
    assert (arrays[1] == wanted.normals).all()


reads_dlpack = pytest.mark.skipif(
    not hasattr(np, "from_dlpack"), reason="NumPy reads DLPack from 1.23 on"
)


@reads_dlpack
def test_arguments_are_read_by_dlpack():
    model, pose = model_with(*XYZ), shift(1, 2, 3)
    found = mmdskin.skin(model, Exporter(pose), Exporter(np.zeros(len(model.morphs))))
    assert found.positions.tobytes() == mmdskin.skin(model, pose).positions.tobytes()


@reads_dlpack
def test_an_argument_that_exports_nothing_is_refused_by_name():
    """As on a graphics card."""

    class OnCard(Exporter):
        def __dlpack__(self, **arguments):
            raise BufferError("on a card")

    with pytest.raises(ValueError, match="bone_matrices: on a card"):
        mmdskin.skin(model_with(*XYZ), OnCard(shift(1, 2, 3)))


def test_pytorch_is_filled():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = model_with(*XYZ)
    out = mmdskin.Skinned(torch.zeros(2, 3), torch.zeros(2, 3), None)
    mmdskin.skin(model, shift(1, 2, 3), out=out)
    assert (out.positions.numpy() == mmdskin.skin(model, shift(1, 2, 3)).positions).all()


@pytest.mark.parametrize(
    ("member", "error", "message"),
    [
        (Tensor(np.zeros((2, 3), np.float32), 2), ValueError, "positions: on device 2, expected"),
        (Tensor(np.zeros((2, 3), np.float32), 1, False), TypeError, "memory NumPy shares, not"),
        (Tensor(np.zeros((2, 3))), ValueError, "positions: dtype float64, expected float32"),
        (Tensor(np.zeros((2, 2), np.float32)), ValueError, r"positions: shape \(2, 2\), expected"),
        ([[0.0] * 3] * 2, TypeError, "memory NumPy shares, not <class 'list'>"),
        (memoryview(bytes(24)).cast("f", (2, 3)), ValueError, "positions: read-only"),
    ],
    ids=["gpu", "copies", "dtype", "shape", "list", "read-only"],
)
def test_memory_that_cannot_be_filled_is_refused(member, error, message):
    normals = np.zeros((2, 3), np.float32)
    with pytest.raises(error, match=message):
        mmdskin.skin(model_with(*XYZ), REST, out=mmdskin.Skinned(member, normals, None))
    assert (normals == 0).all()


def test_members_of_out_that_overlap_are_refused():
    memory = np.zeros((3, 3), np.float32)
    with pytest.raises(ValueError, match="overlap"):
        mmdskin.skin(model_with(), REST, out=mmdskin.Skinned(memory[:2], memory[1:], None))
    assert not memory.any()


def test_out_that_overlaps_an_input_is_refused():
    memory = np.zeros(64, np.float32)
    memory[:16] = REST.ravel()
    out = mmdskin.Skinned(memory[10:16].reshape(2, 3), valid(), None)
    with pytest.raises(ValueError, match="overlap"):
        mmdskin.skin(model_with(), memory[:16].reshape(1, 4, 4), out=out)
    assert np.array_equal(memory[:16], REST.ravel())


def test_out_that_overlaps_the_weights_is_refused():
    memory = np.zeros(6, np.float32)
    out = mmdskin.Skinned(memory.reshape(2, 3), valid(), None)
    with pytest.raises(ValueError, match="overlap"):
        mmdskin.skin(model_with(*XYZ), REST, memory[:3], out=out)


def test_out_without_normals_if_they_are_not_requested(backend):
    out = mmdskin.Skinned(valid(), None, None)
    assert mmdskin.skin(model_with(), REST, normals=False, out=out, backend=backend).normals is None
