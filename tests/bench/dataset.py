# SPDX-License-Identifier: MIT
"""Frames per second of docs/examples/dataset_dask.py with one and two workers: dataset.py model motion

Run by bench.py in the examples' Python; prints a JSON line, also with the share of the processor time
of two workers that is Dask's, not the computation's. The clusters take turns, the best round of each
counts, and they write into memory where there is a folder of it, so that the disk is not what is
measured.
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
import numpy as np  # noqa: E402
import psutil  # noqa: E402

ROUNDS = 5


def folder_for(size):
    """A folder in memory if that many bytes fit, else None: the default folder."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2 * size else None


def processor_seconds():
    """Of the processes that compute, and of all others: this one and Dask's workers."""
    own, seconds = psutil.Process(), np.zeros(2)
    for process in (own, *own.children(recursive=True)):
        times = process.cpu_times()
        computes = any("dataset_process.serve" in word for word in process.cmdline())
        seconds[0 if computes else 1] += times.user + times.system
    return seconds


def rate(client, models, motions):
    """Frames per second while a data set is written, and the processor time that it takes."""
    with tempfile.TemporaryDirectory(dir=folder_for(4e9)) as out:
        arguments = [str(models), str(motions), out, "--quiet"]
        options = dataset_chunks.parser("").parse_args(arguments)
        before, start = processor_seconds(), time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            if dataset_chunks.build(options, dataset_dask.on(client)):
                raise RuntimeError("the data set is not complete")
        seconds, taken = time.perf_counter() - start, processor_seconds() - before
        group = next(Path(out).glob("*/*"))
        frames = json.loads((group / "positions/zarr.json").read_text("utf-8"))["shape"][0]
    return frames / seconds, taken


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
        runs = {workers: [] for workers in clients}
        for _ in range(ROUNDS):
            for workers, client in clients.items():
                runs[workers].append(rate(client, models, motions))
    result = {workers: max(found for found, _ in of) for workers, of in runs.items()}
    computing, other = sum(taken for _, taken in runs[2])
    print(json.dumps({**result, "dask": other / (computing + other)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
