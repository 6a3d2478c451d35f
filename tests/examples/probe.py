# SPDX-License-Identifier: MIT
"""An example with an instrumented task: probe.py die|orphan|kill|measure|change dataset_dask <arguments>"""

import importlib
import os
import signal
import sys
from pathlib import Path

import zarr

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "examples"))
import dataset_chunks  # noqa: E402

make, examine = dataset_chunks.make, dataset_chunks.examine


def die(part, settings, process=os.getpid):
    """Kill the process once, after the positions of a second chunk are written and before its normals."""
    flag = Path(settings.store + ".died")
    if 1 in part.blocks and not flag.exists():
        flag.touch()
        write = zarr.Array.__setitem__

        def write_until_normals(array, where, values):
            if array.basename == "normals" and where.start:
                os.kill(process(), signal.SIGKILL)
            write(array, where, values)

        zarr.Array.__setitem__ = write_until_normals
    return make(part, settings)


def orphan(part, settings):
    """The same to the parent, which is Dask's worker."""
    return die(part, settings, os.getppid)


def kill(part, settings):
    """Kill the process at every part of a model that is named kill."""
    if part.pair.model.name == "kill.pmx":
        os.kill(os.getpid(), signal.SIGKILL)
    return make(part, settings)


def measure(part, settings):
    """Write the peak memory of each worker, in kB, to a file named by its process id."""
    count = make(part, settings)
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    folder = Path(settings.store + ".memory")
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).write_text(status["VmHWM"].split()[0])
    return count


def change(file, settings):
    """Append to every file as soon as it was examined."""
    found = examine(file, settings)
    file.path.write_bytes(file.path.read_bytes() + b"more")
    return found


if __name__ == "__main__":
    probe, example = sys.argv.pop(1), sys.argv.pop(1)
    if probe == "change":
        dataset_chunks.examine = change
    else:
        dataset_chunks.make = {"die": die, "orphan": orphan, "kill": kill, "measure": measure}[
            probe
        ]
    sys.exit(1 if importlib.import_module(example).main() else 0)
