# SPDX-License-Identifier: MIT
"""The data set of dataset_chunks.py by Dask: here, or on a cluster whose workers see the same files.

python dataset_dask.py models/ motions/ dances.zarr --workers 8
python dataset_dask.py /net/models /net/motions /net/dances.zarr --scheduler tcp://head:8786
"""

import sys
from itertools import islice

import dask
import dataset_chunks
from distributed import Client, as_completed

# How often Dask looks after itself. As it comes, that takes a tenth of the workers' time and more of
# the scheduler's than the tasks do; a cluster of your own may have the same in its configuration.
WATCH = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
}


def on(client):
    """An engine: two tasks a thread in flight; Dask gives those of a worker that died to another."""

    def engine(function, items, settings):
        items, doing = iter(items), {}
        done = as_completed(loop=client.loop, with_results=True, raise_errors=False)

        def submit(count):
            for item in islice(items, count):
                future = client.submit(function, item, settings, pure=False)
                doing[future] = item
                done.add(future)

        submit(2 * sum(client.nthreads().values()))
        for future, result in done:
            error = future.exception() if future.status == "error" else None
            yield doing.pop(future), result, error
            submit(1)

    return engine


def local(workers, **options):
    """A client of so many workers here; None: one a core."""
    dask.config.set(WATCH)  # for good: workers that die are started again
    return Client(n_workers=workers, threads_per_worker=1, **options)


def main():
    arguments = dataset_chunks.parser("On Dask workers.")
    arguments.add_argument(
        "--scheduler", help="address of a running cluster, such as tcp://head:8786"
    )
    arguments.add_argument("--workers", type=int, help="without a cluster; default: one a core")
    options = arguments.parse_args()
    if options.scheduler is None:
        with local(options.workers) as client:
            return dataset_chunks.build(options, on(client))
    with Client(options.scheduler) as client:
        client.wait_for_workers(1)
        client.upload_file(dataset_chunks.__file__)
        return dataset_chunks.build(options, on(client))


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
