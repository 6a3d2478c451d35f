# SPDX-License-Identifier: MIT
"""The data set of dataset_chunks.py with Dask, here or on a cluster whose workers see the same files.

python dataset_dask.py models/ motions/ dances.zarr --workers 8
python dataset_dask.py /net/models /net/motions /net/dances.zarr --scheduler tcp://head:8786
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import cloudpickle
import dask.config
import dataset_chunks
import dataset_group
import dataset_manifest
import dataset_process
from dataset_chunks import Engine, Item
from dataset_group import Settings
from distributed import Client, Future, as_completed

# How often Dask monitors itself. By default that takes a tenth of the workers' time, and more of the
# scheduler's time than the tasks. Use the same settings in the configuration of your own cluster.
# A task whose worker is killed fails at the third death. A worker holds one task at a time: otherwise
# those that wait for it fail, too. (A task that kills its own process fails without Dask's help.)
WATCH = {
    "distributed.scheduler.allowed-failures": 2,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
}


def on(client: Client) -> Engine:
    """An engine with two tasks per thread in flight. Dask reassigns the tasks of a worker that died."""

    def engine(
        function: Callable[[Item, Settings], Any], items: Iterable[Item], settings: Settings, /
    ) -> Iterator[tuple[Item, Any, Exception | None]]:
        items = iter(items)
        doing: dict[Future[Any], Item] = {}
        # Not with_results: if a worker dies with the result of a task that then fails, it never comes.
        done = as_completed(loop=client.loop)

        def submit(count: int) -> None:
            for item in islice(items, count):
                task = cloudpickle.dumps((function, item, settings))
                future = client.submit(dataset_process.run, task, pure=False)
                doing[future] = item
                done.add(future)

        threads: Any = client.nthreads()  # {worker: threads}
        submit(2 * sum(threads.values()))
        for future in done:
            try:
                result = future.result()
            except Exception as error:
                yield doing.pop(future), None, error
            else:
                yield doing.pop(future), result, None
            submit(1)

    return engine


def local(workers: int | None, **options: Any) -> Client:
    """A client of this many workers here; None: one per core."""
    dask.config.set(WATCH)  # permanently: workers that die are restarted
    return Client(n_workers=workers, threads_per_worker=1, **options)


def main() -> int:
    arguments = dataset_chunks.parser("Builds the data set on Dask workers.")
    arguments.add_argument(
        "--scheduler", help="address of a running cluster, such as tcp://head:8786"
    )
    arguments.add_argument("--workers", type=int, help="without a cluster; default: one per core")
    options = arguments.parse_args()
    if options.scheduler is None:
        with local(options.workers) as client:
            return dataset_chunks.build(options, on(client))
    with Client(options.scheduler) as client:
        client.wait_for_workers(1)
        for module in (dataset_process, dataset_group, dataset_manifest, dataset_chunks):
            client.upload_file(module.__file__)
        return dataset_chunks.build(options, on(client))


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
