# SPDX-License-Identifier: MIT
"""python -m mmdskin skin: the vertices of a dance as a file, in the memory of a few frames."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
import zipfile
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

import mmdskin
from mmdskin import command_input
from mmdskin.command_console import Progress
from mmdskin.new_file import new_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    _Floats = NDArray[np.floating[Any]]
    _Chunks = Iterator[tuple[_Floats, _Floats | None]]

FPS = 30


def run(options: Any) -> int:
    command_input.check_output(options.output, options.model, options.motion)
    model = command_input.load_model(options.model)
    motion = command_input.load_motion(options.motion, options.encoding, model)
    numbers = command_input.frame_numbers(options.motion, motion, options.frames)
    suffix = os.path.splitext(options.output)[1].lower()
    normals = suffix == ".npz" and not options.no_normals
    dance = mmdskin.frames(
        model,
        motion,
        numbers,
        physics=command_input.physics(options),
        method=options.method,
        normals=normals,
        backend=options.backend,
        threads=options.threads,
    )
    with new_file(options.output) as file, Progress("frame", len(numbers), options.progress) as bar:

        def chunks() -> _Chunks:
            for part, out in dance:
                out = mmdskin.convert(out, to=options.to)
                yield out.positions, out.normals
                bar.add(len(part))

        FORMATS[suffix](file, Dance(model, numbers, options.to, normals, options.output), chunks())
    return 0


class Dance:
    """What is known of a dance before its vertices."""

    def __init__(
        self, model: mmdskin.Model, numbers: NDArray[np.int64], to: Any, normals: bool, path: str
    ) -> None:
        self.model, self.numbers, self.to, self.normals = model, numbers, to, normals
        self.shape = (len(numbers), len(model.positions), 3)
        self.folder = os.path.dirname(os.path.realpath(path))


def _write_npy(file: BinaryIO, dance: Dance, chunks: _Chunks) -> None:
    """NumPy: positions (F,V,3), float32, which np.load(mmap_mode="r") maps."""
    _write_header(file, dance.shape)
    for positions, _ in chunks:
        file.write(positions.astype("<f4").tobytes())


def _write_header(file: Any, shape: tuple[int, ...]) -> None:
    described = {"descr": "<f4", "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, described)


def _write_npz(file: BinaryIO, dance: Dance, chunks: _Chunks) -> None:
    """NumPy: frames, positions, normals, triangles and uvs. Normals wait in a file of their own, as
    an archive is written one member after the other."""
    model, to = dance.model, dance.to
    small = {
        "frames": dance.numbers,
        "triangles": mmdskin.convert(model.triangles, "triangles", to=to),
        "uvs": mmdskin.convert(model.uvs, "uvs", to=to).astype("<f4"),
    }
    with (
        zipfile.ZipFile(file, "w") as archive,
        tempfile.TemporaryFile(dir=dance.folder) as waiting,
    ):

        def member(name: str) -> Any:
            return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)

        for name, array in small.items():
            with member(name) as one:
                npy.write_array(one, np.ascontiguousarray(array), allow_pickle=False)
        with member("positions") as one:
            _write_header(one, dance.shape)
            for positions, normals in chunks:
                one.write(positions.astype("<f4").tobytes())
                if normals is not None:
                    waiting.write(normals.astype("<f4").tobytes())
        if dance.normals:
            waiting.seek(0)
            with member("normals") as one:
                _write_header(one, dance.shape)
                shutil.copyfileobj(waiting, one, 1 << 20)


def _write_pc2(file: BinaryIO, dance: Dance, chunks: _Chunks) -> None:
    """Point cache of 3ds Max, Maya and Blender."""
    count, vertices, _ = dance.shape
    first, step = dance.numbers[0], dance.numbers[1] - dance.numbers[0] if count > 1 else 1
    file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, vertices, first, step, count))
    for positions, _ in chunks:
        file.write(positions.astype("<f4").tobytes())


def _write_mdd(file: BinaryIO, dance: Dance, chunks: _Chunks) -> None:
    """LightWave's point cache, with the seconds of frames."""
    file.write(struct.pack(">ii", *dance.shape[:2]))
    file.write((dance.numbers / FPS).astype(">f4").tobytes())
    for positions, _ in chunks:
        file.write(positions.astype(">f4").tobytes())


FORMATS: dict[str, Callable[[BinaryIO, Dance, _Chunks], None]] = {
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".pc2": _write_pc2,
    ".mdd": _write_mdd,
}
