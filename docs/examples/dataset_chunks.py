# SPDX-License-Identifier: MIT
"""Skinned dances as a data set in Zarr: its contents, and how each part is computed.

    python dataset_chunks.py models/ motions/ dances.zarr --frames 0:300 --dtype float16

combines every model with every motion, on one core; dataset_dask.py and dataset_ray.py run the same
tasks on many cores. Run it again after an interruption, or with more files: it keeps what exists.
A pair of files is one group, dances.zarr/<model file>/<motion file>:

    positions, normals    (frame, vertex, axis), in chunks of frames; NaN where missing
    triangles, uvs        of the model
    written               1 for each chunk of frames whose positions and normals are written
    attributes            names, SHA-256 of both files, frames; if they change, the group is rebuilt
"""

import argparse
import hashlib
import os
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import mmdskin
import numpy as np
import zarr
from tqdm import tqdm

LOADERS = {
    ".pmx": mmdskin.load_model,
    ".pmd": mmdskin.load_model,
    ".vmd": mmdskin.load_motion,
    ".vpd": mmdskin.load_motion,
}
PART_CHUNKS = 16  # per task at most: half a second, 1 % of it in Dask's scheduler
zarr.config.set(
    {"array.write_empty_chunks": True}
)  # otherwise it first compares all values with NaN


class Settings(NamedTuple):
    store: str
    dtype: str
    frames: slice
    chunk_mb: float


class File(NamedTuple):
    path: Path
    name: str  # relative to the given folder
    sha256: str = ""
    frames: range = range(0)  # chosen frames of a motion

    def __str__(self):
        return self.name


class Pair(NamedTuple):
    model: File
    motion: File

    def __str__(self):
        return f"{self.model}/{self.motion}"


class Part(NamedTuple):
    """Some chunks of a pair, by index."""

    pair: Pair
    chunks: list[int]

    def __str__(self):
        return f"{self.pair}, chunks {self.chunks}"


class Plan(NamedTuple):
    parts: list[Part]
    frames_there: int
    warning: str


# The tasks that workers run: examine each file, plan each pair, make each part of a pair.


def examine(file, settings):
    """Return the file with its hash and frames, or raise an error that says what is wrong."""
    data = file.path.read_bytes()
    found = LOADERS[file.path.suffix.lower()](data)
    file = file._replace(sha256=hashlib.sha256(data).hexdigest())
    if isinstance(found, mmdskin.Motion):
        file = file._replace(frames=range(found.frame_range[1] + 1)[settings.frames])
        if not file.frames:
            raise ValueError(f"no frame is chosen: it ends at frame {found.frame_range[1]}")
    return file


def plan(pair, settings):
    """Create the group of a pair if necessary, and return what is missing."""
    model, motion = load(pair.model), load(pair.motion)
    unmatched = motion.unmatched(model)
    frames = pair.motion.frames
    attributes = {
        "model": pair.model.name,
        "model_name": model.name,
        "model_sha256": pair.model.sha256,
        "motion": pair.motion.name,
        "motion_name": motion.name,
        "motion_sha256": pair.motion.sha256,
        "unmatched_bones": list(unmatched.bones),
        "unmatched_morphs": list(unmatched.morphs),
        "frames": [frames.start, frames.stop, frames.step],
        "frames_per_second": 30,
        "dtype": settings.dtype,
        "mmdskin": mmdskin.__version__,
    }
    group = zarr.open_group(settings.store, path=str(pair), mode="a")
    if dict(group.attrs) != attributes:
        group = create_group(pair, settings, model)
        group.attrs.put(attributes)  # last: a group without attributes is rebuilt
    written, length = group["written"][:], chunk_length(group)
    there = sum(len(frames[i * length : (i + 1) * length]) for i in np.flatnonzero(written))
    missing = np.flatnonzero(written == 0).tolist()
    tracks = len(motion.bones) + len(motion.morphs)
    unrelated = tracks == len(unmatched.bones) + len(unmatched.morphs)
    return Plan(
        divide(pair, missing),
        there,
        "the motion names no bone or morph of the model" if unrelated else "",
    )


def divide(pair, chunks):
    """Long parts first, which keep an engine's overhead small, then shorter ones, so that all
    workers finish together."""
    parts = []
    while chunks:
        count = min(PART_CHUNKS, max(2, len(chunks) // 4))
        parts.append(Part(pair, chunks[:count]))
        chunks = chunks[count:]
    return parts


def make(part, settings):
    """Compute the chunks of a part, and return their number of frames."""
    model, motion = load(part.pair.model), load(part.pair.motion)
    group = zarr.open_group(settings.store, path=str(part.pair), mode="r+")
    frames = part.pair.motion.frames
    return sum(make_chunk(group, model, motion, frames, number) for number in part.chunks)


def make_chunk(group, model, motion, frames, number):
    """Pose and skin the frames of one chunk, and return their number."""
    length = chunk_length(group)
    span = slice(number * length, (number + 1) * length)
    pose = model.pose(motion, np.asarray(frames[span]), threads=1)  # a worker has one core
    out = mmdskin.Skinned(*room(len(pose.bone_matrices), len(model.positions)), None)
    mmdskin.skin(model, pose, backend="cpu", out=out, threads=1)  # OpenGL rounds differently
    for name in ("positions", "normals"):
        array = group[name]
        array[span] = getattr(out, name).astype(array.dtype, copy=False)
    group["written"][number] = 1  # each write is atomic, and this is the last one
    return len(frames[span])


# Shared by the tasks

kept = threading.local()


def room(frames, vertices):
    """Two output arrays. Each thread reuses them: fresh memory costs more than skinning."""
    shape = (2, frames, vertices, 3)
    if getattr(kept, "arrays", None) is None or kept.arrays.shape != shape:
        kept.arrays = None  # frees the old arrays first
        kept.arrays = np.empty(shape, np.float32)
    return kept.arrays


@lru_cache(maxsize=4)
def load(file):
    data = file.path.read_bytes()
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise ValueError(f"{file} was changed after this run started")
    return LOADERS[file.path.suffix.lower()](data)


def chunk_length(group):
    """Frames per chunk."""
    return group["positions"].chunks[0]


def create_group(pair, settings, model):
    """An empty group, uncompressed: compression would take several times as long as skinning."""
    frames, vertices = len(pair.motion.frames), len(model.positions)
    frame_bytes = 24 * vertices + 64 * len(model.bones)  # input and output of skin() in memory
    length = min(frames, max(1, int(settings.chunk_mb * 1e6 / frame_bytes)))
    group = zarr.create_group(settings.store, path=str(pair), overwrite=True)
    for name in ("positions", "normals"):
        group.create_array(
            name,
            shape=(frames, vertices, 3),
            chunks=(length, vertices, 3),
            dtype=settings.dtype,
            compressors=None,
            fill_value=np.nan,
            dimension_names=("frame", "vertex", "axis"),
        )
    group.create_array("triangles", data=model.triangles)
    group.create_array("uvs", data=model.uvs)
    group.create_array("written", shape=(-(-frames // length),), chunks=(1,), dtype="uint8")
    return group


# Shared by the engines


def one_by_one(function, items, settings):
    """An engine: yields (item, result, error) of every item, in order of completion."""
    for item in items:
        try:
            result, error = function(item, settings), None
        except Exception as raised:
            result, error = None, raised
        yield item, result, error


def build(options, engine):
    """Compute everything that is missing; print a line per failure and return their number."""
    settings = Settings(options.store, options.dtype, options.frames, options.chunk_mb)
    failures = []

    def results(function, items):
        for item, result, error in engine(function, items, settings):
            if error is None:
                yield item, result
            else:
                failures.append(f"{item}: {type(error).__name__}: {error}")

    def files(folder, *suffixes):
        paths = (path for path in folder.rglob("*") if path.suffix.lower() in suffixes)
        listed = (File(path, path.relative_to(folder).as_posix()) for path in paths)
        return sorted(file for _, file in results(examine, listed))

    models = files(options.models, ".pmx", ".pmd")
    motions = files(options.motions, ".vmd", ".vpd")
    pairs = (Pair(model, motion) for model in models for motion in motions)
    frames = len(models) * sum(len(motion.frames) for motion in motions)
    with tqdm(total=frames, unit=" frames", disable=options.quiet) as progress:

        def parts():
            for pair, found in results(plan, pairs):
                progress.update(found.frames_there)
                if found.warning:
                    tqdm.write(f"{pair}: {found.warning}", file=sys.stderr)
                yield from found.parts

        for _, count in results(make, parts()):
            progress.update(count)
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(models)} models, {len(motions)} motions, {len(failures)} failures")
    return len(failures)


def parser(description):
    """The arguments that all engines have."""

    def some_frames(text):
        return slice(*(int(number) if number else None for number in text.split(":")))

    def folder(text):
        return Path(text).resolve(strict=True)

    def store(text):
        return text if "://" in text else os.path.abspath(text)

    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument(
        "models", type=folder, help="folder with .pmx and .pmd files, searched recursively"
    )
    arguments.add_argument(
        "motions", type=folder, help="folder with .vmd and .vpd files, searched recursively"
    )
    arguments.add_argument(
        "store", type=store, help="Zarr store: a folder or any URL that fsspec opens"
    )
    arguments.add_argument("--dtype", choices=("float32", "float16"), default="float32")
    arguments.add_argument(
        "--frames",
        type=some_frames,
        default=slice(None),
        help="a slice as in Python: start:stop or :stop:step",
    )
    arguments.add_argument(
        "--chunk-mb",
        type=float,
        default=32,
        help="size of a chunk's positions and normals, as float32",
    )
    arguments.add_argument("--quiet", action="store_true", help="no progress bar")
    return arguments


def main():
    return build(parser("Builds the data set on one core.").parse_args(), one_by_one)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
