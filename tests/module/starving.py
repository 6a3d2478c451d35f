# SPDX-License-Identifier: MIT
"""Running out of memory, in an interpreter with short_memory.c preloaded."""

import ctypes
import gc
import sys

left = ctypes.c_int.in_dll(ctypes.CDLL(None), "allocations_left")


class MallocInfo(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = (
        ("fields_before", ctypes.c_size_t * 7),
        ("used", ctypes.c_size_t),
        ("fields_after", ctypes.c_size_t * 2),
    )


malloc_info = ctypes.CDLL(None).mallinfo2
malloc_info.restype = MallocInfo


def allocations(work):
    """The number of allocations of the module in `work`."""
    left.value = enough = 10**6
    try:
        work()
        return enough - left.value
    finally:
        left.value = -1


def starve(work, at_least, prepare=tuple):
    """Fail each allocation of the module in turn, `at_least` so many, each time with new arguments
    from `prepare`."""
    for count in range(10**4):
        arguments = prepare()
        left.value = count
        try:
            work(*arguments)
            break
        except MemoryError as error:
            assert str(error) in ("", "out of memory"), error
        finally:
            remaining, left.value = left.value, -1
        work(*arguments)
    assert remaining >= 0 and count >= at_least, (remaining, count)


def starve_python(work, at_least, look=tuple):
    """The same for objects and arrays, which Python allocates: after a number of allocations all
    fail, or only the next one. A failure must not change what `look` returns."""
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
    assert count >= at_least, count


def allocated():
    """Blocks allocated by Python, and bytes by everything else."""
    gc.collect()
    sys._clear_type_cache()  # holds names of attributes, one per address of such a string
    return sys.getallocatedblocks(), malloc_info().used


def check_no_leak(work):
    """After caches are filled, `work` allocates no more than it frees."""
    now = None
    for _ in range(20):
        before = now
        work()
        now = allocated()
        if now == before:
            return
    raise AssertionError(f"memory keeps growing, at last from {before} to {now}")
