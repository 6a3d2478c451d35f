# SPDX-License-Identifier: MIT
"""The group of a model and a motion in dances.zarr, and how its blocks of frames are computed.

    positions, normals    (frame, vertex, axis), --dtype
    bone_matrices         (frame, bone, row, column), float32: skinning matrices
    joints                (frame, bone, axis), float32: where the bones are
    morph_weights         (frame, morph), float32
    frame                 the number of each frame
    triangles, uvs        of the model
    written               1 for each block of frames whose arrays are written
    attributes            names, SHA-256 of both files, settings; if they change, the group is rebuilt

--arrays chooses among the first five; NaN where missing. A block is a chunk, or a shard of several.
Dimensions have names, so that xarray.open_zarr reads a group.
"""

import hashlib
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import mmdskin
import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, ZstdCodec

LOADERS: dict[str, Callable[[bytes], mmdskin.Model | mmdskin.Motion]] = {
    ".pmx": mmdskin.load_model,
    ".pmd": mmdskin.load_model,
    ".vmd": mmdskin.load_motion,
    ".vpd": mmdskin.load_motion,
}
ARRAYS = ("positions", "normals", "bone_matrices", "joints", "morph_weights")
COMPRESSORS = {
    "none": None,
    "lz4": BloscCodec(cname="lz4", shuffle="bitshuffle"),
    "zstd": ZstdCodec(level=3),
}
zarr.config.set(
    {"array.write_empty_chunks": True}
)  # otherwise it first compares all values with NaN


Array = NDArray[Any]


class Settings(NamedTuple):
    store: str
    dtype: str = "float32"
    frames: slice = slice(None)
    chunk_mb: float = 32
    shard_mb: float = 0
    arrays: tuple[str, ...] = ARRAYS[:2]
    physics: bool = False
    compress: str = "none"


class File(NamedTuple):
    path: Path
    name: str  # relative to the given folder
    sha256: str = ""
    frames: range = range(0)  # chosen frames of a motion

    def __str__(self) -> str:
        return self.name


class Pair(NamedTuple):
    model: File
    motion: File

    def __str__(self) -> str:
        return f"{self.model}/{self.motion}"


class Part(NamedTuple):
    """Some blocks of a pair, by index."""

    pair: Pair
    blocks: list[int]

    def __str__(self) -> str:
        return f"{self.pair}, blocks {self.blocks}"


@lru_cache(maxsize=4)
def load(file: File) -> mmdskin.Model | mmdskin.Motion:
    data = file.path.read_bytes()
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise ValueError(f"{file} was changed after this run started")
    return LOADERS[file.path.suffix.lower()](data)


def loaded(pair: Pair) -> tuple[mmdskin.Model, mmdskin.Motion]:
    model, motion = load(pair.model), load(pair.motion)
    assert isinstance(model, mmdskin.Model) and isinstance(motion, mmdskin.Motion)
    return model, motion


# The group


def attributes(
    pair: Pair, settings: Settings, model: mmdskin.Model, motion: mmdskin.Motion
) -> dict[str, Any]:
    unmatched, frames = motion.unmatched(model), pair.motion.frames
    return {
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
        "arrays": list(settings.arrays),
        "physics": settings.physics,
        "compress": settings.compress,
        "mmdskin": mmdskin.__version__,
    }


def opened(
    pair: Pair, settings: Settings, model: mmdskin.Model, attributes: dict[str, Any]
) -> zarr.Group:
    """The group of a pair; created, or replaced, unless the store has it with these attributes."""
    group = zarr.open_group(settings.store, path=str(pair), mode="a")
    if dict(group.attrs) != attributes:
        group = create(pair, settings, model)
        group.attrs.put(attributes)  # last: a group without attributes is rebuilt
    return group


def create(pair: Pair, settings: Settings, model: mmdskin.Model) -> zarr.Group:
    """An empty group."""
    frames = len(pair.motion.frames)
    chunk, block = lengths(frames, settings, model)
    group = zarr.create_group(settings.store, path=str(pair), overwrite=True)
    for name, (shape, dimensions, dtype) in described(model, settings.dtype).items():
        if name in settings.arrays:
            group.create_array(
                name,
                shape=(frames, *shape),
                chunks=(chunk, *shape),
                shards=(block, *shape) if settings.shard_mb else None,
                dtype=dtype,
                compressors=COMPRESSORS[settings.compress],
                fill_value=np.nan,
                dimension_names=("frame", *dimensions),
            )
    numbers = np.asarray(pair.motion.frames, np.int32)
    group.create_array("frame", data=numbers, dimension_names=("frame",))
    group.create_array("triangles", data=model.triangles, dimension_names=("triangle", "corner"))
    group.create_array("uvs", data=model.uvs, dimension_names=("vertex", "uv"))
    blocks = -(-frames // block)
    group.create_array(
        "written", shape=(blocks,), chunks=(1,), dtype="uint8", dimension_names=("block",)
    )
    return group


def described(
    model: mmdskin.Model, dtype: str
) -> dict[str, tuple[tuple[int, ...], tuple[str, ...], str]]:
    """{name: (shape and dimensions of a frame, data type)} of the arrays that have frames."""
    vertices, bones = len(model.positions), len(model.bones)
    return {
        "positions": ((vertices, 3), ("vertex", "axis"), dtype),
        "normals": ((vertices, 3), ("vertex", "axis"), dtype),
        "bone_matrices": ((bones, 4, 4), ("bone", "row", "column"), "float32"),
        "joints": ((bones, 3), ("bone", "axis"), "float32"),
        "morph_weights": ((len(model.morphs),), ("morph",), "float32"),
    }


def lengths(frames: int, settings: Settings, model: mmdskin.Model) -> tuple[int, int]:
    """How many frames a chunk has, and a block."""
    vertices = len(model.positions) if is_skinned(settings) else 0
    frame_bytes = 24 * vertices + 64 * len(model.bones)  # input and output of skin() in memory
    chunk = min(frames, max(1, int(settings.chunk_mb * 1e6 / frame_bytes)))
    chunks = max(1, int(settings.shard_mb * 1e6 / (frame_bytes * chunk)))
    return chunk, chunk * min(chunks, -(-frames // chunk))


def member(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """An array of a group."""
    found = group[name]
    assert isinstance(found, zarr.Array)
    return found


def values(array: zarr.Array[Any], span: slice = slice(None)) -> Array:
    """What an array holds at these indices of its first dimension."""
    return np.asarray(array[span])


def block_length(group: zarr.Group) -> int:
    """Frames per block."""
    array = next(member(group, name) for name in ARRAYS if name in group)
    return (array.shards or array.chunks)[0]


def is_skinned(settings: Settings) -> bool:
    return "positions" in settings.arrays or "normals" in settings.arrays


# Its frames


def make(part: Part, settings: Settings) -> int:
    """Compute the blocks of a part, and return their number of frames."""
    model, motion = loaded(part.pair)
    group = zarr.open_group(settings.store, path=str(part.pair), mode="r+")
    pose: Callable[[Array], mmdskin.Pose[Array]] = (
        mmdskin.Simulation(model, motion).pose
        if settings.physics
        else partial(model.pose, motion, threads=1)  # a worker has one core
    )
    return sum(make_block(group, model, pose, settings, number) for number in part.blocks)


def make_block(
    group: zarr.Group,
    model: mmdskin.Model,
    pose_of: Callable[[Array], mmdskin.Pose[Array]],
    settings: Settings,
    number: int,
) -> int:
    """Pose and skin the frames of one block, and return their number."""
    length = block_length(group)
    span = slice(number * length, (number + 1) * length)
    pose = pose_of(values(member(group, "frame"), span))
    made = {"bone_matrices": pose.bone_matrices, "morph_weights": pose.morph_weights}
    if "joints" in settings.arrays:
        made["joints"] = model.joint_positions(pose)
    if is_skinned(settings):
        positions, normals = room(len(pose.bone_matrices), len(model.positions))
        has_normals = "normals" in settings.arrays
        out = mmdskin.Skinned(positions, normals if has_normals else None, None)
        # OpenGL rounds differently.
        mmdskin.skin(model, pose, normals=has_normals, backend="cpu", out=out, threads=1)
        made.update(positions=positions, normals=normals)
    for name in settings.arrays:
        array = member(group, name)
        array[span] = made[name].astype(array.dtype, copy=False)
    member(group, "written")[number] = 1  # each write is atomic, and this is the last one
    return len(pose.bone_matrices)


kept = threading.local()


def room(frames: int, vertices: int) -> Array:
    """Two output arrays. Each thread reuses them: fresh memory costs more than skinning."""
    shape = (2, frames, vertices, 3)
    arrays: Array | None = getattr(kept, "arrays", None)
    if arrays is None or arrays.shape != shape:
        kept.arrays = arrays = None  # frees the old arrays first
        kept.arrays = arrays = np.empty(shape, np.float32)
    return arrays
