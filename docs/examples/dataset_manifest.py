# SPDX-License-Identifier: MIT
"""The manifest of a data set, a Parquet file with a row for each pair of a model and a motion.

A file that cannot be read has a row of its own, in which the other file is null.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fsspec
import mmdskin
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 1000  # in memory at a time
SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("motion", pa.string()),
        ("model_name", pa.string()),
        ("motion_name", pa.string()),
        ("model_sha256", pa.string()),
        ("motion_sha256", pa.string()),
        ("frames", pa.list_(pa.int64())),  # start, stop, step
        ("physics", pa.bool_()),
        ("arrays", pa.list_(pa.string())),
        ("dtype", pa.string()),
        ("unmatched_bones", pa.list_(pa.string())),
        ("unmatched_morphs", pa.list_(pa.string())),
        ("terms", pa.string()),
        ("mmdskin", pa.string()),
        ("error", pa.string()),
    ]
)


def place(store: str) -> str:
    """dances.parquet for dances.zarr."""
    return os.path.splitext(store.rstrip("/"))[0] + ".parquet"


def terms(path: Path, model: mmdskin.Model) -> str:
    """What a model's author says in the file, and the text files beside it."""
    comments = dict.fromkeys((model.comment.strip(), model.comment_english.strip()))
    beside = sorted(file.name for file in path.parent.glob("*.txt"))
    return "\n\n".join([*filter(None, comments), *(f"See {name}" for name in beside)])


def write(path: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write all rows, which are dicts; names that no text can hold are escaped."""
    local = "://" not in path
    partial = path + ".partial" if local else path
    with fsspec.open(partial, "wb") as file, pq.ParquetWriter(file, SCHEMA) as writer:
        rows = [valid(row) for row in rows]
        for first in range(0, max(1, len(rows)), ROWS):
            writer.write_table(pa.Table.from_pylist(rows[first : first + ROWS], SCHEMA))
    if local:
        os.replace(partial, path)


def valid(value: Any) -> Any:
    """Names that MMD has cut inside a character hold surrogates, which UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: valid(one) for key, one in value.items()}
    return [valid(one) for one in value] if isinstance(value, list) else value
