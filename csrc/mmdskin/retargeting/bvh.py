# SPDX-License-Identifier: MIT
"""load_bvh(): motion capture in Biovision's format, as a skeleton and its poses."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import warnings
from collections.abc import Container
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdskin import errors, file_io
from mmdskin.retargeting.bones import LARGEST, MOST_TRANSFORMS, RATES
from mmdskin.retargeting.skeleton import Skeleton

if TYPE_CHECKING:
    from mmdskin import _Source

_fail = functools.partial(errors.refuse, "BVH")
_MOST_JOINTS = 4096
_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # from where y is up
_FRAMES_AT_ONCE = 2048  # stay in the cache
_MOST_TEXT = 1 << 22  # bytes of the joints
_LONGEST_NUMBER = 64  # bytes, with the spaces around
_HIERARCHY = re.compile(rb"(\xef\xbb\xbf)?\s*HIERARCHY\s")
_MOTION = re.compile(rb"[\r\n][ \t}]*(MOTION)\s")
_FRAMES = re.compile(rb"MOTION\s+Frames:\s*(\d{1,10})\s+Frame\s+Time:\s*(\S+)", re.IGNORECASE)
_CHANNELS = {
    f"{axis}{kind}": (kind, i) for i, axis in enumerate("xyz") for kind in ("position", "rotation")
}
_JOINTS = ("ROOT", "JOINT", "END")
_NEXT = {  # which words may follow one
    **dict.fromkeys(_JOINTS, ("{",)),
    "{": ("OFFSET",),
    "OFFSET": ("CHANNELS", "JOINT", "END", "}"),
    **dict.fromkeys(("CHANNELS", "}"), ("JOINT", "END", "}")),
}


class _Joint(NamedTuple):
    name: str
    parent: int
    offset: list[float]
    channels: list[tuple[str, int]]


def load_bvh(
    source: _Source, /, *, up: Literal["y", "z"] | None = None
) -> tuple[Skeleton, NDArray[np.float64], float]:
    """Reads a BVH file: motion capture with its skeleton.

        skeleton, poses, fps = mmdskin.load_bvh("walk.bvh")
        motion, report = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)

    source: a path, the contents, or a file opened in mode "rb".
    up: the axis that points up: "y" in most files, "z" in those that Blender exports. None: "z"
        if the head is beside the hips with "y", at rest and in the middle of all frames.

    Returns (Skeleton, poses, fps): world transforms of the joints (F,B,4,4) float64 in MMD's axes
    and the file's own unit, which retargeting makes up for by the length of the
    legs; and frames per second. An end site is a bone "<joint> end". An offset is the place of a
    joint at rest and, unless it has position channels, in every frame.

    Raises FormatError for a file that is damaged or too large, and OSError.
    """
    if up not in ("y", "z", None):
        raise ValueError(f'up: "{up}", expected y or z')
    data = file_io.read(source)
    if not _HIERARCHY.match(data):
        _fail("header", "no HIERARCHY at its beginning: this is no BVH file")
    found = _MOTION.search(data)
    if not found:
        _fail("MOTION", "there is none: the file is cut off")
    end = found.start(1)
    if end > _MOST_TEXT:
        _fail("HIERARCHY", f"{end:,} bytes, expected at most {_MOST_TEXT:,}")
    joints = _hierarchy(_text(data[:end]))
    values, fps = _frames(data, end, joints)
    poses = _poses(joints, values)
    rest = _poses([joint._replace(channels=[]) for joint in joints], np.empty((1, 0)))[0]
    names, parents = [joint.name for joint in joints], [joint.parent for joint in joints]
    skeleton = Skeleton(names, parents, rest)
    if up == "z" or (up is None and _lies(skeleton, poses)):
        poses = _Z_UP @ poses @ _Z_UP.T
        skeleton = Skeleton(names, parents, _Z_UP @ rest @ _Z_UP.T)
    return skeleton, poses, fps


def _lies(skeleton: Skeleton, poses: NDArray[np.float64]) -> bool:
    """Whether the head is rather beside than above the hips, at rest and in the middle of all frames."""
    hips, head = (skeleton.human.get(slot) for slot in ("hips", "head"))
    if hips is None or head is None:
        return False
    still = skeleton.rest[head, :3, 3] - skeleton.rest[hips, :3, 3]
    moving = np.median(poses[:, head, :3, 3] - poses[:, hips, :3, 3], 0)
    _, y, z = np.abs([still, moving]).T
    return bool((z > 2 * y).all())


def _text(data: bytes) -> str:
    """Names are in any encoding."""
    for encoding in ("utf-8-sig", "cp932"):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding)
    return data.decode("latin-1")


def _number(word: str, section: str) -> float:
    value = np.nan
    with contextlib.suppress(ValueError):
        value = float(word)
    if not abs(value) <= LARGEST:
        _fail(section, f"{word[:40]}: expected a number of at most {LARGEST:g}")
    return value


def _hierarchy(text: str) -> list[_Joint]:
    joints: list[_Joint] = []
    inside: list[int] = []  # the joints around
    names: set[str] = set()
    expected: tuple[str, ...] = ("ROOT",)
    lines = text.replace("{", "\n{\n").replace("}", "\n}\n").splitlines()
    for word, *rest in filter(None, (line.split() for line in lines[1:])):
        section, key = f"joint {joints[-1].name}" if joints else "HIERARCHY", word.upper()
        if key not in expected:
            words = " or ".join(expected).replace("END", "End Site")
            _fail(section, f"{word[:40]}: expected {words}")
        expected = _NEXT[key]
        if key in _JOINTS:
            if key == "END":
                rest = [joints[inside[-1]].name, "end"]
            name = _free_name(" ".join(rest) or f"joint {len(joints)}", names)
            names.add(name)
            joints.append(_Joint(name, inside[-1] if inside else -1, [], []))
            inside.append(len(joints) - 1)
            if len(joints) > _MOST_JOINTS:
                _fail("HIERARCHY", f"over {_MOST_JOINTS:,} joints")
        elif key == "OFFSET":
            if len(rest) != 3:
                _fail(section, "expected one OFFSET of three numbers")
            joints[-1].offset.extend(_number(one, section) for one in rest)
        elif key == "CHANNELS":
            channels = [_CHANNELS[one] for one in map(str.lower, rest[1:]) if one in _CHANNELS]
            if len(set(channels)) != len(rest) - 1 or rest[0] != str(len(channels)):
                _fail(section, "expected CHANNELS with their number and names such as Xrotation")
            joints[-1].channels.extend(channels)
        elif key == "}":
            inside.pop()
            expected = expected if inside else ("ROOT",)
    if inside or not joints:
        _fail("HIERARCHY", "it ends in the middle of a joint")
    return joints


def _free_name(name: str, taken: Container[str]) -> str:
    """A name that no other joint has: some programs write one twice."""
    forms = itertools.chain([name], (f"{name} {count}" for count in itertools.count(2)))
    return next(form for form in forms if form not in taken)


def _frames(data: bytes, start: int, joints: list[_Joint]) -> tuple[NDArray[np.float64], float]:
    """The numbers of all channels (F,C), and frames per second."""
    head = _FRAMES.match(data, start)
    if not head:
        _fail("MOTION", "expected Frames: with their number, and Frame Time:")
    seconds = _number(head[2].decode("latin-1"), "Frame Time")
    if not 1 / RATES[1] <= seconds <= 1 / RATES[0]:
        expected = f"expected seconds, {1 / RATES[1]:g} to {1 / RATES[0]:g}"
        _fail("Frame Time", f"{seconds:g}: {expected}")
    count, channels = int(head[1]), sum(len(joint.channels) for joint in joints)
    if not count or not channels:
        _fail("MOTION", "no frames or no channels")
    if count * len(joints) > MOST_TRANSFORMS:
        what = f"{errors.counted(count, 'frame')} of {errors.counted(len(joints), 'joint')}"
        _fail("MOTION", f"{what}, expected at most {MOST_TRANSFORMS:,} in all")
    what = f"{errors.counted(count, 'frame')} of {errors.counted(channels, 'channel')}"
    size = len(data) - head.end()
    if not count * channels <= size <= _LONGEST_NUMBER * (count * channels + 8):
        _fail("MOTION", f"{errors.counted(size, 'byte')} for {what}")
    values = _numbers(data[head.end() :])
    if values.size != count * channels:
        _fail(
            "MOTION",
            f"{errors.counted(values.size, 'number')}, expected {what}: {count * channels:,}",
        )
    values = values.reshape(count, channels)
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST).all(1))  # NaN, too
    if len(bad):
        _fail(f"frame {bad[0]}", f"expected finite numbers of at most {LARGEST:g}")
    fps = 1 / seconds
    whole = abs(fps - round(fps)) < 1e-3 * fps  # 0.033333 are 30, not 30.0003
    return values, float(round(fps)) if whole else fps


def _numbers(text: bytes) -> NDArray[np.float64]:
    """numpy reads up to what is no number, and warns then."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            _fail("MOTION", "something that is no number")


def _poses(joints: list[_Joint], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """World transforms (F,B,4,4) in MMD's axes."""
    poses = np.zeros((len(values), len(joints), 4, 4))
    for first in range(0, len(values), _FRAMES_AT_ONCE):
        part = slice(first, first + _FRAMES_AT_ONCE)
        _pose(joints, np.ascontiguousarray(values[part].T), poses[part])
    return poses


def _pose(joints: list[_Joint], values: NDArray[np.float64], poses: NDArray[np.float64]) -> None:
    """A joint turns by its channels in their order, each about an axis of what the ones before it
    have turned: two columns of the matrix are mixed. The reflection diag(1, 1, -1) reverses turns
    about x and y."""
    count = values.shape[1]
    turns = {-1: np.repeat(np.eye(3)[..., None], count, 2)}  # column, row, frame
    positions = {-1: np.zeros((3, count))}
    rows = iter(values)
    for i, joint in enumerate(joints):
        above, turn = turns[joint.parent], turns[joint.parent].copy()
        place = np.repeat(np.array(joint.offset)[:, None], count, 1)
        for kind, axis in joint.channels:
            if kind == "position":
                place[axis] = next(rows)
                continue
            angle = np.radians(next(rows))
            cos, sin = np.cos(angle), np.sin(angle if axis == 2 else -angle)
            a, b = (axis + 1) % 3, (axis + 2) % 3
            turn[a], turn[b] = cos * turn[a] + sin * turn[b], cos * turn[b] - sin * turn[a]
        place[2] *= -1
        positions[i] = positions[joint.parent] + np.sum(above * place[:, None], 0)
        turns[i] = turn
        if np.abs(positions[i]).max() > LARGEST:
            _fail(f"joint {joint.name}", f"it is over {LARGEST:g} away")
        poses[:, i, :3, :3] = turn.transpose(2, 1, 0)
        poses[:, i, :3, 3] = positions[i].T
        poses[:, i, 3, 3] = 1
