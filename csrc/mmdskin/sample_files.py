# SPDX-License-Identifier: MIT
"""sample(): a model for everyone, which comes with the package."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import mmdskin
from mmdskin.new_file import new_file
from mmdskin.notebook import png

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILE = os.path.join(os.path.dirname(__file__), "dancer.npz")
_MODEL, _MOTION = "dancer.pmx", "dancer.vmd"


class Sample(NamedTuple):
    """What sample() returns. textures: as load_textures() returns them."""

    model: mmdskin.Model
    motion: mmdskin.Motion
    textures: dict[int, NDArray[np.uint8]]


def sample() -> Sample:
    """A dancer made by code: a Model, a Motion of 4 seconds, and the textures for render().

        model, motion, textures = mmdskin.sample()

    She has SDEF joints, IK, face morphs, a toon, a sphere map, and hair and a skirt for physics. The
    files are in the package (MIT licence); `python -m mmdskin sample` writes them into a folder.
    """
    members = _members()
    model = mmdskin.load_model(members[_MODEL].tobytes())
    motion = mmdskin.load_motion(members[_MOTION].tobytes())
    textures = {number: members[name] for number, name in enumerate(model.textures)}
    return Sample(model, motion, textures)


def write_sample(folder: str) -> tuple[str, str]:
    """Writes the model with its textures, and the motion; returns the paths of these two. Raises
    FileExistsError, and writes nothing, where another file would be replaced: textures have usual names.
    """
    contents = {
        os.path.join(folder, name): png(values) if values.ndim == 3 else values.tobytes()
        for name, values in _members().items()
    }
    for path, data in contents.items():
        if os.path.lexists(path) and not _has(path, data):
            raise FileExistsError(
                errno.EEXIST, "another file has this name; name an empty folder", path
            )
    for path, data in contents.items():
        with new_file(path) as file:
            file.write(data)
    return os.path.join(folder, _MODEL), os.path.join(folder, _MOTION)


def _has(path: str, data: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(data) + 1) == data


def _members() -> dict[str, NDArray[np.uint8]]:
    with np.load(_FILE) as archive:
        return dict(archive)
