# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that a VMD can store: 15 bytes of a bone or morph, in cp932."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..blender.user_error import UserError

if TYPE_CHECKING:
    import mmdskin

_MOST = 15  # bytes
OF_SAVE = {"STOP": "error", "OMIT": "omit", "CUT": "cut"}  # Long Names as `names` of `Motion.save`


def check(motion: "mmdskin.Motion", long_names: str) -> list[str]:
    """The names of keys that MMD will not find; UserError with all of them if it is to stop there.

    `Motion.save` leaves out keys without an effect: of bones and morphs at rest and IK that stays on.
    """
    switches = motion.properties
    acting = [
        *(track.name for track in motion.bones if _acts(track)),
        *(track.name for track in motion.morphs if np.any(track.weights)),
        *(switches.ik_names[number] for number in np.flatnonzero(~switches.ik_enabled.all(axis=0))),
    ]
    found = [name for name in dict.fromkeys(acting) if not _fits(name)]
    if found and long_names == "STOP":
        raise UserError(
            "MMD cannot find bones and morphs whose names are longer than 15 bytes or not in"
            " cp932: {names}. Rename them in PMX Editor, or set Long Names to Leave Out",
            names=", ".join(f"'{name}'" for name in found),
        )
    return found


def _acts(track: "mmdskin.BoneTrack") -> bool:
    """Whether a bone moves, or its physics is switched off."""
    moves = np.any(track.translations) or np.any(track.rotations[:, :3])
    return bool(moves or not np.all(track.physics))


def _fits(name: str) -> bool:
    try:
        return len(name.encode("cp932", "surrogateescape")) <= _MOST
    except UnicodeEncodeError:
        return False


def listed(names: Iterable[str]) -> str:
    """Names for people; bytes that are not text are shown as such."""
    shown = (name.encode("utf-8", "replace").decode("utf-8") for name in names)
    return ", ".join(shown)
