# SPDX-License-Identifier: MIT
"""Arguments as arrays that the extension module takes: what NumPy accepts, checked and converted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_CPU_DEVICES = {1, 3, 11}  # of DLPack: CPU, host memory of CUDA and of ROCm


def converted(
    argument: Any, name: str, dtype: str, most_axes: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """An argument as an array, and that as one of this dtype, C-contiguous and aligned.

    Raises TypeError or ValueError that begins with `name`: integers out of range and floats for integers
    are errors. An object with the method as_quat (scipy's Rotation) is an array of quaternions x y z w.
    """
    try:
        array = _base_array(argument)
    except (ValueError, BufferError) as error:  # such as that for rows of different lengths
        _refuse_record(argument, name, "numbers")
        raise ValueError(f"{name}: {error}") from None
    if array.ndim > most_axes:
        raise ValueError(f"{name}: {array.ndim} dimensions, expected at most {most_axes}")
    wanted = np.dtype(dtype)
    _check_kind(array, argument, name, wanted)
    if array.dtype != wanted:
        array_of_dtype = _checked_integers if wanted.kind in "iub" else _checked_floats
        return array, array_of_dtype(array, name, wanted)
    return array, np.require(array, wanted, ["C", "A"])


def check_shape(shape: tuple[int, ...], name: str, expected: tuple[int | str, ...]) -> None:
    """Letters stand for any length."""
    fits = len(shape) == len(expected)
    for have, want in zip(shape, expected, strict=False):
        fits = fits and (want == have or isinstance(want, str))
    if not fits:
        text = str(expected).replace("'", "")
        raise ValueError(f"{name}: shape {shape}, expected {text}")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy in the memory of a bytes object: an array that owns its memory could be made writable again."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def shared(argument: Any, name: str) -> NDArray[Any]:
    """An argument's own memory: what NumPy reads without a copy, such as PyTorch's tensors. Copies of what
    is not are in two places."""
    _check_device(argument, name)
    if _is_array_like(argument) or hasattr(argument, "__dlpack__"):
        array, again = _as_array(argument), _as_array(argument)
        if array.ctypes.data == again.ctypes.data:
            return array
    raise TypeError(f"{name}: expected an array whose memory NumPy shares, not {type(argument)!r}")


def _base_array(argument: Any) -> NDArray[Any]:
    """Not of a subclass, which is told of every copy and could modify ours."""
    if isinstance(argument, np.ndarray) or type(argument) in (float, int, list, tuple):
        return np.asarray(argument)
    return _as_array(argument.as_quat() if hasattr(argument, "as_quat") else argument)


def _as_array(argument: Any) -> NDArray[Any]:
    """numpy.asarray(), or for what has nothing but DLPack numpy.from_dlpack(), from NumPy 1.23 on."""
    if (
        hasattr(argument, "__dlpack__")
        and not _is_array_like(argument)
        and hasattr(np, "from_dlpack")
    ):
        return np.from_dlpack(argument)
    return np.asarray(argument)


def _is_array_like(argument: Any) -> bool:
    """Whether NumPy makes an array of numbers of it by itself, other than of a sequence."""
    try:
        memoryview(argument).release()
    except (TypeError, ValueError, BufferError):
        return hasattr(argument, "__array__") or hasattr(argument, "__array_interface__")
    return True


def _check_device(argument: Any, name: str) -> None:
    if not hasattr(argument, "__dlpack_device__"):
        return
    device = int(argument.__dlpack_device__()[0])
    if device not in _CPU_DEVICES:
        raise ValueError(
            f"{name}: on device {device}, expected memory of the CPU; skin into an array of it and copy"
        )


def _check_kind(array: NDArray[Any], argument: Any, name: str, wanted: np.dtype[Any]) -> None:
    kind, whole = array.dtype.kind, wanted.kind in "iub"
    fits = (
        kind in "iu"
        or (kind == "b" and wanted.kind in "fb")
        or (kind == "f" and not (whole and array.size))
    )
    if fits:
        return
    expected = {"b": "booleans", "f": "numbers"}.get(wanted.kind, "integers")
    given = f"dtype {array.dtype}, expected {expected}"
    if kind == "O":
        _refuse_record(argument, name, expected)  # before NumPy 1.24
        if any(isinstance(item, int) and not -(2**63) <= item < 2**63 for item in array.flat):
            raise ValueError(f"{name}: a number is too large")
        if array.ndim == 0:  # an array of one object
            given = f"expected {expected}, not {type(argument)!r}"
    raise TypeError(f"{name}: {given}{_hint(argument, name)}")


def _checked_floats(array: NDArray[Any], name: str, wanted: np.dtype[Any]) -> NDArray[Any]:
    if np.can_cast(array.dtype, wanted):
        return np.require(array, wanted, ["C", "A"])
    with np.errstate(all="ignore"):
        numbers = np.require(array, np.float64, ["C", "A"])
        narrow = numbers.astype(wanted, copy=False)
    too_large = (np.abs(numbers) > np.finfo(wanted).max) & np.isfinite(numbers)
    if reduced(too_large.any):
        at = np.unravel_index(np.argmax(too_large), numbers.shape)
        raise ValueError(f"{name}{_index(at)}: {numbers[at]:g} is too large for {wanted}")
    return narrow


def _checked_integers(array: NDArray[Any], name: str, wanted: np.dtype[Any]) -> NDArray[Any]:
    half = 1 << 8 * wanted.itemsize - 1
    least, most = {"b": (0, 1), "u": (0, 2 * half - 1), "i": (-half, half - 1)}[wanted.kind]
    if not array.size or least <= reduced(array.min) <= reduced(array.max) <= most:
        return array.astype(wanted, order="C")
    numbers = array.astype(np.int64)
    beyond = (numbers < least) | (numbers > most)
    if array.dtype.kind == "u":
        beyond |= numbers < 0  # from 2**63 on
    at = np.unravel_index(np.argmax(beyond), array.shape)
    raise ValueError(f"{name}{_index(at)}: {array[at]} is out of range for {wanted}")


def reduced(method: Callable[[], Any]) -> Any:
    """What a method of an array gives."""
    try:
        return method()
    except SystemError:  # as NumPy ends where memory is short
        raise MemoryError from None


def _index(at: tuple[Any, ...]) -> str:
    return f"[{', '.join(map(str, at))}]" if at else ""


def _refuse_record(argument: Any, name: str, expected: str) -> None:
    """Raises TypeError for a record, such as a Pose, in place of one of its arrays, and for a list or tuple
    of them, as a Simulation of several models returns."""
    record, container = argument, ""
    if isinstance(argument, (list, tuple)) and len(argument) and not _is_record(argument):
        record, container = (
            argument[0],
            f"a {'list' if isinstance(argument, list) else 'tuple'} of ",
        )
    if _is_record(record):
        raise TypeError(f"{name}: expected {expected}, not {container}{type(record)!r}")


def _is_record(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _hint(argument: Any, name: str) -> str:
    """What else to do with a value that is often passed as this argument."""
    if isinstance(argument, dict) and name == "morph_weights":
        return "; Model.sliders() makes them of a dict of names"
    if hasattr(argument, "camera_at"):
        return "; Model.pose() makes the pose of a frame of a Motion"
    is_path = isinstance(argument, (str, bytes, os.PathLike))
    if is_path and name.startswith("textures"):
        return "; load_textures() reads the files of a model"
    if is_path and name in ("pose", "bone_matrices"):
        return "; Model.pose() makes it of a Motion, and load_motion() reads a file"
    return ""
