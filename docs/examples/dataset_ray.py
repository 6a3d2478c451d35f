# SPDX-License-Identifier: MIT
"""The data set of dataset_chunks.py with Ray, here or on a cluster whose nodes see the same files.

python dataset_ray.py models/ motions/ dances.zarr --workers 8
python dataset_ray.py /net/models /net/motions /net/dances.zarr --address auto
"""

import sys
from itertools import islice
from pathlib import Path

import dataset_chunks
import ray


def engine(function, items, settings):
    """An engine with two tasks per core in flight. Ray reassigns the tasks of a worker that died."""
    items, doing = iter(items), {}
    remote = ray.remote(max_retries=2)(function)  # if it kills its worker
    most = 2 * int(ray.cluster_resources()["CPU"])
    while True:
        for item in islice(items, most - len(doing)):
            doing[remote.remote(item, settings)] = item
        if not doing:
            return
        [done], _ = ray.wait(list(doing))
        try:
            result, error = ray.get(done), None
        except ray.exceptions.RayError as raised:
            result, error = None, getattr(raised, "cause", raised)
        yield doing.pop(done), result, error


def main():
    arguments = dataset_chunks.parser("Builds the data set on Ray workers.")
    arguments.add_argument("--address", help="address of a running cluster, such as auto")
    arguments.add_argument("--workers", type=int, help="without a cluster; default: one per core")
    options = arguments.parse_args()
    ray.init(
        options.address or "local",
        num_cpus=options.workers,
        runtime_env={"working_dir": str(Path(__file__).parent)},
    )
    return dataset_chunks.build(options, engine)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
