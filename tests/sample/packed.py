# SPDX-License-Identifier: MIT
"""Writes csrc/mmdskin/dancer.npz, the files of `mmdskin.sample()`: the dancer, her dance and textures.

PYTHONPATH=tests python tests/sample/packed.py

Numbers are rounded, so that they compress: places to 1/1024 of a unit, a tenth of a millimeter.
"""

import dataclasses
import io
import zipfile
from pathlib import Path

import numpy as np
from files import pmx_file as pmx
from sample.character import dance, model, textures

TARGET = Path(__file__).resolve().parents[2] / "csrc/mmdskin/dancer.npz"
FOLDER = model.FOLDER
PLACE, UV, WEIGHT, NORMAL = 1 / 1024, 1 / 1024, 1 / 256, 1 / 128


def rounded(values, step):
    return (np.round(np.asarray(values) / step) * step).astype(np.float32)


def opaque(colors):
    return np.dstack([colors, np.full(colors.shape[:2], 255, np.uint8)])


def members():
    """{name: array} of all of it."""
    m = model.character()
    m = dataclasses.replace(
        m,
        positions=rounded(m.positions, PLACE),
        normals=rounded(m.normals, NORMAL),
        uvs=rounded(m.uvs, UV),
        bone_weights=rounded(m.bone_weights, WEIGHT),
        sdef=rounded(m.sdef, PLACE),
        textures=[name.removeprefix(f"{FOLDER}/") for name in m.textures],
        morphs=[dataclasses.replace(one, values=rounded(one.values, PLACE)) for one in m.morphs],
    )
    return {
        "dancer.pmx": np.frombuffer(pmx.write(m), np.uint8),
        "dancer.vmd": np.frombuffer(dance.build_dance(), np.uint8),
        **{f"{name}.png": opaque(paint()) for name, paint in textures.ALL.items()},
    }


def pack():
    """The bytes of the file, the same each time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in members().items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_LZMA)
    return file.getvalue()


if __name__ == "__main__":
    TARGET.write_bytes(pack())
