# SPDX-License-Identifier: GPL-3.0-or-later
"""Bone keys of a VMD as the bytes of the file.

A motion has quaternions of unit length and one of the four copies of each curve. So keys that come
from a file get its very bytes again when they are written.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..import_motion.kept_files import Kept
from .timing import Timing

_RECORD = np.dtype(
    [
        ("name", "S15"),
        ("number", "<u4"),
        ("values", "<u4", 7),  # float32 bits of translation and rotation
        ("curves", "u1", 64),
    ]
)
_FIELD = 30  # bytes before the model's name
_FLAG = slice(2, 4)  # bytes of `curves` that say whether rigid bodies move the bone …
_OFF = (0x63, 0x0F)  # … and say no so


class Exact(NamedTuple):
    """Which keys of a bone are the file's."""

    numbers: np.ndarray  # (K,) of the exported file
    known: np.ndarray  # (K,) bool: their values
    kept: np.ndarray  # (K,) bool: their curves


def restore(
    saved: bytes, files: Sequence[Kept], timing: Timing, exact: Mapping[str, Exact]
) -> bytes:
    """The saved VMD with the bytes of the files, oldest first, in the keys that are theirs."""
    if not exact:
        return saved
    data = bytearray(saved)
    records = _records(data)
    originals = _merged(files, timing)
    flags = {_encoded(name): _flags(one) for name, one in exact.items()}
    for record in records:
        name, number = bytes(record["name"]), int(record["number"])
        original = originals.get(name, {}).get(number)
        known, kept = flags.get(name, {}).get(number, (False, False))
        if original is None or not known:
            continue
        record["values"] = original["values"]
        if kept:
            flag = record["curves"][_FLAG].copy()
            record["curves"] = original["curves"]
            if _is_off(flag) != _is_off(original["curves"][_FLAG]):
                record["curves"][_FLAG] = flag
    return bytes(data)


def _records(data: bytes | bytearray) -> np.ndarray:
    """A view of the bone keys."""
    start = _FIELD + (10 if data[:25] == b"Vocaloid Motion Data file" else 20)
    count = int(np.frombuffer(data, "<u4", 1, start)[0])
    count = min(count, (len(data) - start - 4) // _RECORD.itemsize)
    return np.frombuffer(data, _RECORD, count, start + 4)


def _merged(files: Iterable[Kept], timing: Timing) -> dict[bytes, dict[int, np.ndarray]]:
    """{name: {frame of the exported file: record}}, merged as `merge.merged` does."""
    found: dict[bytes, dict[int, np.ndarray]] = {}
    for file in files:
        records = _records(file.data)
        numbers = np.rint(timing.of_times(file.start + records["number"] / file.speed))
        newest: dict[bytes, dict[int, np.ndarray]] = {}
        for name, number, record in zip(
            records["name"].tolist(), numbers.astype(np.int64).tolist(), records, strict=True
        ):
            newest.setdefault(name.partition(b"\0")[0], {})[number] = record
        encoding = file.motion.encoding
        for name, keys in newest.items():
            if encoding != "cp932":
                name = _encoded(name.decode(encoding, "surrogateescape"))
            first = min(keys)
            earlier = found.get(name, {})
            found[name] = {k: v for k, v in earlier.items() if k < first} | keys
    return found


def _flags(exact: Exact) -> dict[int, tuple[bool, bool]]:
    columns = (exact.numbers.tolist(), exact.known.tolist(), exact.kept.tolist())
    return {number: (known, kept) for number, known, kept in zip(*columns, strict=True)}


def _is_off(flag: np.ndarray) -> bool:
    return tuple(flag.tolist()) == _OFF


def _encoded(name: str) -> bytes:
    return name.encode("cp932", "replace")[:15]
