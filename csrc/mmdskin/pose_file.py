# SPDX-License-Identifier: MIT
"""Writes VPD as MMD does: CR LF, cp932, six decimals. docs/mmd-behavior.md#vpd"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from mmdskin import _mmdskin  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    import mmdskin

    _Track = mmdskin.BoneTrack | mmdskin.MorphTrack

_DECIMALS = 1_000_000
# Changes of four numbers, 81 in all, that change none first.
_STEPS = np.array([[(0.0, 1.0, -1.0)[n // 3**i % 3] for i in range(4)] for n in range(81)])


def contents(pose: mmdskin.Motion, cut_names: bool) -> bytes:
    """The first key of every bone and morph. Names fit, or are cut."""
    # It ends at a semicolon, line end or comment, begins after blanks, and has no block.
    title = re.sub(r"[;{\r\n]|/(?=/)|^[ \t]", "_", pose.name)
    parts: list[str | bytes] = [
        "Vocaloid Pose Data file\r\n\r\n",
        *_mmdskin._cp932([title]),
        ".osm;\t\t// 親ファイル名\r\n",
        f"{len(pose.bones)};\t\t\t\t// 総ポーズボーン数\r\n\r\n",
    ]
    rotations = np.array([bone.rotations[0] for bone in pose.bones], np.float32).reshape(-1, 4)
    turns = zip(_millionths(rotations).tolist(), np.signbit(rotations).tolist(), strict=True)
    rows = zip(_encoded("bones", pose.bones, cut_names), pose.bones, turns, strict=True)
    for i, (name, bone, turn) in enumerate(rows):
        moved = ",".join(f"{x:.6f}" for x in bone.translations[0].tolist())
        turned = ",".join(map(_decimal, *turn))
        parts += (f"Bone{i}{{", name, f"\r\n  {moved};\t\t\t\t// trans x,y,z\r\n")
        parts.append(f"  {turned};\t\t// Quaternion x,y,z,w\r\n}}\r\n\r\n")
    for i, (name, morph) in enumerate(
        zip(_encoded("morphs", pose.morphs, cut_names), pose.morphs, strict=True)
    ):
        weight = f"\r\n  {morph.weights[0]:.6f};\t\t\t\t// weight\r\n}}\r\n\r\n"
        parts += (f"Morph{i}{{", name, weight)
    return b"".join(part if isinstance(part, bytes) else part.encode("cp932") for part in parts)


def _encoded(kind: str, tracks: Iterable[_Track], cut: bool) -> Iterable[bytes]:
    """Their names. Cut ones may become equal; then a reader would lose one."""
    names = [track.name for track in tracks]
    if cut:
        names = [re.sub(r"[\r\n]|/(?=/)", "?", name) for name in names]
    first: dict[bytes, int] = {}
    for i, name in enumerate(_mmdskin._cp932(names)):
        if first.setdefault(name, i) != i:
            raise ValueError(
                f"{kind}[{i}] and {kind}[{first[name]}] have the same name in the file"
            )
    return first


def _millionths(rotations: NDArray[np.float32]) -> NDArray[np.int64]:
    """Of unit quaternions. A reader normalizes them, which moves some that have been read from a
    file by one: of the 81 around, those are taken that give the same rotation."""
    around = np.rint(np.abs(rotations.astype(float)) * _DECIMALS)[:, None] + _STEPS
    read = np.copysign((around / _DECIMALS).astype(np.float32), rotations[:, None]).astype(float)
    x, y, z, w = np.moveaxis(read, -1, 0)
    square = (x * x + y * y + z * z + w * w)[..., None]
    # As mmd_track_sanitize_rotation() does.
    unit = np.abs(square - 1) <= 1.2e-7
    again = np.where(unit, read, read * (1 / np.sqrt(square))).astype(np.float32)
    same = (again.view(np.uint32) == rotations.view(np.uint32)[:, None]) & (around >= 0)
    best = same.all(-1).argmax(1)  # the first, the nearest, if none is the same
    return np.take_along_axis(around, best[:, None, None], 1)[:, 0].astype(np.int64)


def _decimal(millionths: int, negative: bool) -> str:
    return f"{'-' if negative else ''}{millionths // _DECIMALS}.{millionths % _DECIMALS:06}"
