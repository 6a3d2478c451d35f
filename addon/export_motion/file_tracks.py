# SPDX-License-Identifier: GPL-3.0-or-later
"""Tracks of a motion file with the frames of an export, and keys of visibility and IK switches.

A motion has quaternions of unit length and one of the four copies of each curve. So bone keys that
come from a file get its very bytes again when they are written.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..blender import native
from ..import_motion.original_keys import Kept
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin

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


def in_range(whole: Any, tracks: Any, timing: Timing) -> list[Any]:
    """Tracks of a file with the frames of the export, and only the keys within its range."""
    found = []
    for track in tracks:
        if not len(track.frames):
            continue
        numbers = np.rint(timing.of_times(whole.scene_frames(track.frames))).astype(np.int64)
        if hasattr(track, "weights"):
            inside = timing.within(numbers)
            weights = np.interp(inside, numbers, track.weights)
            found.append(morph_track(track.name, inside, weights))
            continue
        inside = (numbers >= timing.number) & (numbers < timing.number + timing.length)
        columns = [None if column is None else column[inside] for column in track[2:]]
        if inside.any():
            found.append(type(track)(track.name, numbers[inside], *columns))
    return found


def morph_track(name: str, numbers: np.ndarray, weights: np.ndarray) -> "mmdskin.MorphTrack":
    return native.load().MorphTrack(name, numbers, weights.astype(np.float32))


def property_keys(whole: Any, timing: Timing) -> Any:
    """The property keys of a file within the export; the state before it is a key at its start."""
    track = whole.motion.properties
    numbers = np.rint(timing.of_times(whole.scene_frames(track.frames))).astype(np.int64)
    inside = (numbers >= timing.number) & (numbers < timing.number + timing.length)
    before = np.flatnonzero(numbers < timing.number)
    if len(before) and timing.number not in numbers:
        inside[before[-1]] = True
        numbers[before[-1]] = timing.number
    inside[:-1] &= numbers[1:] > numbers[:-1]  # the last of several on one frame
    return type(track)(
        numbers[inside], track.visible[inside], track.ik_names, track.ik_enabled[inside]
    )


def are_on_frames(whole: Any, tracks: Any, timing: Timing) -> bool:
    """Whether all keys are on frames of the export."""
    times = [whole.scene_frames(track.frames) for track in tracks]
    return not times or timing.numbers_of(np.concatenate(times)) is not None


def is_simulated(pmx: Any, number: int) -> bool:
    """Whether a rigid body moves a bone."""
    return any(body.bone == number and body.mode != "follow_bone" for body in pmx.rigid_bodies)


def switches(
    pmx: "mmdskin.Model", numbers: np.ndarray, visible: np.ndarray, ik: np.ndarray
) -> "mmdskin.PropertyTrack":
    """A key at the first of the frames and at each change; like MMD, each names all IK bones.

    `visible` (F,) and `ik` (F, B) are values at frames `numbers` (F,) of the file.
    """
    goals = {bone.name: i for i, bone in reversed([*enumerate(pmx.bones)]) if bone.ik}
    names = tuple(dict.fromkeys(bone.name for bone in pmx.bones if bone.ik))
    states = ik[:, [goals[name] for name in names]]
    values = np.column_stack([visible, states])
    changes = np.flatnonzero(np.append(True, (values[1:] != values[:-1]).any(axis=1)))
    return native.load().PropertyTrack(numbers[changes], visible[changes], names, states[changes])


def restore(
    saved: bytes,
    files: Sequence[Kept],
    timing: Timing,
    exact: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> bytes:
    """The saved VMD with the bytes of the files, oldest first, in the keys that are theirs.

    `exact`: of bones, (K,) frames of keys of the exported file, and (K,) bool each whether their
    values and their curves are the files'.
    """
    if not exact:
        return saved
    data = bytearray(saved)
    records = _records(data)
    originals = _merged(files, timing)
    flags = {
        _encoded(name): {
            number: flags for number, *flags in zip(*(one.tolist() for one in columns), strict=True)
        }
        for name, columns in exact.items()
    }
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


def _is_off(flag: np.ndarray) -> bool:
    return tuple(flag.tolist()) == _OFF


def _encoded(name: str) -> bytes:
    return name.encode("cp932", "replace")[:15]
