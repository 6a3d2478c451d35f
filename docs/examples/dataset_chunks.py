# SPDX-License-Identifier: MIT
"""Dances as a data set in Zarr: its contents, and how each part is computed.

    python dataset_chunks.py models/ motions/ dances.zarr --frames 0:300 --dtype float16
    python dataset_chunks.py models/ motions/ dances.zarr --pairs pairs.csv --physics --arrays joints

combines every model with every motion, or the pairs of a list, on one core; dataset_dask.py and
dataset_ray.py run the same tasks on many cores. Run it again after an interruption, or with more
files: it keeps what exists. A pair of files is one group, dances.zarr/<model file>/<motion file>,
which dataset_group.py describes. dances.parquet lists all pairs: files and hashes, frames, names that
did not match, the comments of models, where authors put their terms of use, and errors.
"""

import argparse
import csv
import hashlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import dataset_group
import dataset_manifest
import mmdskin
import numpy as np
from dataset_group import File, Pair, Part, Settings, make
from tqdm import tqdm

MODELS, MOTIONS = (".pmx", ".pmd"), (".vmd", ".vpd")
Item = TypeVar("Item", bound=File | Pair | Part)
Result = TypeVar("Result")
PART_BLOCKS = 16  # per task at most: half a second, 1 % of it in Dask's scheduler


class Engine(Protocol):
    """Calls a function with items: yields (item, result, error) of each, in order of completion."""

    def __call__(
        self,
        function: Callable[[Item, Settings], Any],
        items: Iterable[Item],
        settings: Settings,
        /,
    ) -> Iterator[tuple[Item, Any, Exception | None]]: ...


class Plan(NamedTuple):
    parts: list[Part]
    frames_there: int
    warning: str
    record: dict[str, Any]  # the pair's row in the manifest


# The tasks that workers run: examine each file, plan each pair, make each part of a pair (dataset_group).


def examine(file: File, settings: Settings) -> File:
    """Return the file with its hash and frames, or raise an error that says what is wrong."""
    data = file.path.read_bytes()
    found = dataset_group.LOADERS[file.path.suffix.lower()](data)
    file = file._replace(sha256=hashlib.sha256(data).hexdigest())
    if isinstance(found, mmdskin.Motion):
        file = file._replace(frames=range(found.frame_range[1] + 1)[settings.frames])
        if not file.frames:
            raise ValueError(f"no frame is chosen: it ends at frame {found.frame_range[1]}")
    return file


def plan(pair: Pair, settings: Settings) -> Plan:
    """Create the group of a pair if necessary, and return what is missing."""
    model, motion = dataset_group.loaded(pair)
    attributes = dataset_group.attributes(pair, settings, model, motion)
    group = dataset_group.opened(pair, settings, model, attributes)
    written = dataset_group.values(dataset_group.member(group, "written"))
    length = dataset_group.block_length(group)
    frames = pair.motion.frames
    there = sum(len(frames[i * length : (i + 1) * length]) for i in np.flatnonzero(written))
    missing = np.flatnonzero(written == 0).tolist()
    # A simulation runs from the start: one task for all.
    parts = [Part(pair, missing)] if settings.physics and missing else divide(pair, missing)
    tracks = len(motion.bones) + len(motion.morphs)
    unmatched = len(attributes["unmatched_bones"]) + len(attributes["unmatched_morphs"])
    unrelated = tracks == unmatched
    return Plan(
        parts,
        there,
        "the motion names no bone or morph of the model" if unrelated else "",
        {**attributes, "terms": dataset_manifest.terms(pair.model.path, model)},
    )


def divide(pair: Pair, blocks: list[int]) -> list[Part]:
    """Long parts first, which keep an engine's overhead small, then shorter ones, so that all
    workers finish together."""
    parts: list[Part] = []
    while blocks:
        count = min(PART_BLOCKS, max(2, len(blocks) // 4))
        parts.append(Part(pair, blocks[:count]))
        blocks = blocks[count:]
    return parts


# Shared by the engines


def one_by_one(
    function: Callable[[Item, Settings], Any], items: Iterable[Item], settings: Settings, /
) -> Iterator[tuple[Item, Any, Exception | None]]:
    """The engine for one core."""
    for item in items:
        try:
            result = function(item, settings)
        except Exception as error:
            yield item, None, error
        else:
            yield item, result, None


def build(options: argparse.Namespace, engine: Engine) -> int:
    """Compute everything that is missing; print a line per failure and return their number."""
    settings = Settings(
        options.store,
        options.dtype,
        options.frames,
        options.chunk_mb,
        options.shard_mb,
        tuple(name for name in dataset_group.ARRAYS if name in options.arrays),
        options.physics,
        options.compress,
    )
    rows: dict[str, dict[str, Any]] = {}
    failures: list[str] = []

    def results(
        function: Callable[[Item, Settings], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        for item, result, error in engine(function, items, settings):
            if error is None:
                yield item, result
                continue
            text = f"{type(error).__name__}: {error}"
            failures.append(f"{item}: {text}")
            row_of(item.pair if isinstance(item, Part) else item)["error"] = text

    def row_of(item: File | Pair) -> dict[str, Any]:
        """The row of a pair, or of a file that cannot be read."""
        if isinstance(item, File):
            kind = "model" if item.path.suffix.lower() in MODELS else "motion"
            return rows.setdefault(str(item), {kind: str(item)})
        return rows.setdefault(str(item), {"model": str(item.model), "motion": str(item.motion)})

    def examined(files: list[File]) -> dict[str, File]:
        return {file.name: file for file in sorted(file for _, file in results(examine, files))}

    listed = read_pairs(options.pairs) if options.pairs else None
    names: list[set[str] | None] = [None, None]
    if listed is not None:
        names = [{pair[i] for pair in listed} for i in (0, 1)]
    models = examined(files(options.models, MODELS, names[0]))
    motions = examined(files(options.motions, MOTIONS, names[1]))
    if listed is None:
        listed = [(model, motion) for model in models for motion in motions]
    pairs = [
        Pair(models[model], motions[motion])
        for model, motion in listed
        if model in models and motion in motions
    ]
    frames = sum(len(pair.motion.frames) for pair in pairs)
    with tqdm(total=frames, unit=" frames", disable=options.quiet) as progress:

        def parts() -> Iterator[Part]:
            for pair, found in results(plan, pairs):
                row_of(pair).update(found.record)
                progress.update(found.frames_there)
                if found.warning:
                    tqdm.write(f"{pair}: {found.warning}", file=sys.stderr)
                yield from found.parts

        for _, count in results(make, parts()):
            progress.update(count)
    dataset_manifest.write(dataset_manifest.place(settings.store), [rows[k] for k in sorted(rows)])
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(models)} models, {len(motions)} motions, {len(failures)} failures")
    return len(failures)


def files(folder: Path, suffixes: tuple[str, ...], names: Collection[str] | None) -> list[File]:
    """The files of a folder and the folders in it, or those with these names."""
    if names is not None:
        return [File(folder / name, name) for name in sorted(names)]
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in suffixes)
    return [File(path, path.relative_to(folder).as_posix()) for path in paths]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """[(model, motion)] of a CSV file: names relative to the folders, in columns of these names."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if not {"model", "motion"} <= {*(reader.fieldnames or ())}:
            sys.exit(f"{path}: the first line must name the columns model and motion")
        return [*dict.fromkeys((row["model"], row["motion"]) for row in reader)]


def parser(description: str) -> argparse.ArgumentParser:
    """The arguments that all engines have."""

    def some_frames(text: str) -> slice:
        return slice(*(int(number) if number else None for number in text.split(":")))

    def existing(text: str) -> Path:
        return Path(text).resolve(strict=True)

    def store(text: str) -> str:
        if text.startswith("file://"):
            text = url2pathname(urlsplit(text).path)
        return text if "://" in text else os.path.abspath(text)

    arguments = argparse.ArgumentParser(description=description)
    add = arguments.add_argument
    add("models", type=existing, help="folder with .pmx and .pmd files, searched recursively")
    add("motions", type=existing, help="folder with .vmd and .vpd files, searched recursively")
    add("store", type=store, help="Zarr store: a folder or any URL that fsspec opens")
    add("--pairs", type=existing, help="CSV file with columns model and motion; default: all pairs")
    add("--physics", action="store_true", help="simulate hair and clothes")
    add(
        "--arrays",
        nargs="+",
        choices=dataset_group.ARRAYS,
        default=dataset_group.ARRAYS[:2],
        help="what to store",
    )
    add("--dtype", choices=("float32", "float16"), default="float32", help="of vertices")
    add(
        "--frames",
        type=some_frames,
        default=slice(None),
        help="a slice as in Python: start:stop or :stop:step",
    )
    add("--chunk-mb", type=float, default=32, help="size of a chunk, as float32")
    add("--shard-mb", type=float, default=0, help="size of a file of several chunks; 0: one each")
    add("--compress", choices=[*dataset_group.COMPRESSORS], default="none")
    add("--quiet", action="store_true", help="no progress bar")
    return arguments


def main() -> int:
    return build(parser("Builds the data set on one core.").parse_args(), one_by_one)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
