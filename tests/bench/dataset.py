# SPDX-License-Identifier: MIT
"""Frames per second of docs/examples/dataset_dask.py with one and two workers: dataset.py model motion

Run by bench.py in the examples' Python; prints a JSON line. The clusters take turns, the best round
of each counts, and they write into memory where there is a folder of it, so that the disk is not
what is measured.
"""

import contextlib
import io
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "examples"))
import dataset_chunks  # noqa: E402
import dataset_dask  # noqa: E402

ROUNDS = 5


def folder_for(size):
    """A folder in memory if that many bytes fit, else None: the default folder."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2 * size else None


def rate(client, models, motions):
    """Frames per second while a data set is written."""
    with tempfile.TemporaryDirectory(dir=folder_for(4e9)) as out:
        arguments = [str(models), str(motions), out, "--quiet"]
        options = dataset_chunks.parser("").parse_args(arguments)
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            if dataset_chunks.build(options, dataset_dask.on(client)):
                raise RuntimeError("the data set is not complete")
        seconds = time.perf_counter() - start
        group = next(Path(out).glob("*/*"))
        frames = json.loads((group / "positions/zarr.json").read_text("utf-8"))["shape"][0]
    return frames / seconds


def main(*files):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        models, motions = (Path(folder, Path(file).suffix) for file in files)
        for target, file in zip((models, motions), files, strict=True):
            target.mkdir()
            shutil.copy(file, target)
        clients = {}
        for workers in (1, 2):
            client = dataset_dask.local(workers, dashboard_address=":0")
            clients[workers] = stack.enter_context(client)
        rates = {workers: [] for workers in clients}
        for _ in range(ROUNDS):
            for workers, client in clients.items():
                rates[workers].append(rate(client, models, motions))
    print(json.dumps({workers: max(found) for workers, found in rates.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
