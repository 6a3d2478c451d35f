# SPDX-License-Identifier: MIT
"""Memory that comes to an end, in an interpreter with short_memory.c preloaded."""

import ctypes
import gc
import sys

left = ctypes.c_int.in_dll(ctypes.CDLL(None), "allocations_left")


class MallocInfo(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = (
        ("before", ctypes.c_size_t * 7),
        ("used", ctypes.c_size_t),
        ("behind", ctypes.c_size_t * 2),
    )


malloc_info = ctypes.CDLL(None).mallinfo2
malloc_info.restype = MallocInfo


def allocations(work):
    """How many the module makes in `work`."""
    left.value = most = 10**6
    try:
        work()
        return most - left.value
    finally:
        left.value = -1


def starve(work, least, prepare=tuple):
    """The module's own memory: at least so many allocations fail, each time with what `prepare`
    makes anew."""
    for count in range(10**4):
        given = prepare()
        left.value = count
        try:
            work(*given)
            break
        except MemoryError as error:
            assert str(error) in ("", "out of memory"), error
        finally:
            spent, left.value = left.value, -1
        work(*given)
    assert spent >= 0 and count >= least, (spent, count)


def starve_python(work, least, look=tuple):
    """The same for objects and arrays, whose memory is Python's: from a number of allocations on
    none is left, or only the next one fails. What `look` sees is not changed by a failure."""
    import _testcapi

    for count in range(10**4):
        failures = 0
        for last in (0, count + 1):
            before = look()
            _testcapi.set_nomemory(count, last)
            try:
                work()
                continue
            except MemoryError:
                failures += 1
            finally:
                _testcapi.remove_mem_hooks()
            assert look() == before, count
        if failures == 0:
            break
    assert count >= least, count


def held():
    """Blocks of Python's, and bytes of all the rest."""
    gc.collect()
    return sys.getallocatedblocks(), malloc_info().used


def check_no_leak(work):
    """Once what is made at first use is there, it holds no more after than before."""
    now = None
    for _ in range(20):
        before = now
        work()
        now = held()
        if now == before:
            return
    raise AssertionError(f"held more and more, at last {before}, {now}")
