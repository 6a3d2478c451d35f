# SPDX-License-Identifier: MIT
"""The data set of dataset_chunks.py with Ray, here or on a cluster whose nodes see the same files.

python dataset_ray.py models/ motions/ dances.zarr --workers 8
python dataset_ray.py /net/models /net/motions /net/dances.zarr --address auto
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import dataset_chunks
import ray
from dataset_chunks import Item
from dataset_group import Settings
from ray.exceptions import RayError


def engine(
    function: Callable[[Item, Settings], Any], items: Iterable[Item], settings: Settings, /
) -> Iterator[tuple[Item, Any, Exception | None]]:
    """An engine with two tasks per core in flight. Ray reassigns the tasks of a worker that died."""
    items = iter(items)
    doing: dict[ray.ObjectRef[Any], Item] = {}
    remote = ray.remote(max_retries=2)(function)  # if it kills its worker
    most = 2 * int(ray.cluster_resources()["CPU"])
    while True:
        for item in islice(items, most - len(doing)):
            doing[remote.remote(item, settings)] = item
        if not doing:
            return
        [done], _ = ray.wait(list(doing))
        try:
            result = ray.get(done)
        except RayError as error:
            yield doing.pop(done), None, getattr(error, "cause", error)
        else:
            yield doing.pop(done), result, None


def main() -> int:
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
