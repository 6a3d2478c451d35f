# SPDX-License-Identifier: MIT
"""How fast two cores of this machine are for independent work, measured in the same rounds."""

import contextlib
import multiprocessing
import time

READY, START, END = range(3)


def _work(make_call, conn, clock):
    call = make_call()
    call()
    conn.send_bytes(b"made")
    while conn.recv_bytes():
        clock[READY] = 1
        while not clock[START]:
            pass
        call()
        clock[END] = time.perf_counter()


@contextlib.contextmanager
def beside(make_call):
    """A function that runs the call here and in a second process at the same time, and returns the
    seconds until both are done. The second process is already running when the clock starts, so only
    the speed of the cores is measured. `make_call` must be a function at a module's top level.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    clock = context.RawArray("d", 3)
    process = context.Process(target=_work, args=(make_call, there, clock), daemon=True)
    process.start()
    there.close()
    call = make_call()
    call()
    here.recv_bytes()

    def seconds():
        clock[:] = 0, 0, 0
        here.send_bytes(b"go")
        while not clock[READY]:
            pass
        start = clock[START] = time.perf_counter()
        call()
        end = time.perf_counter()
        while not clock[END]:
            pass
        return max(end, clock[END]) - start

    yield seconds
    here.send_bytes(b"")
    process.join()
