# SPDX-License-Identifier: MIT
"""Large results: their memory is kept for the next ones, and they are arrays as any other."""

import ctypes
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import mmdskin
import numpy as np
import pytest

multiarray = (np._core if hasattr(np, "_core") else np.core).multiarray
VERTICES = 10_000
PRELUDE = """
import os, sys
import mmdskin
import numpy as np

MB = 1 << 20

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB

def skin(megabytes, out=None):
    '''Positions of this size.'''
    frames = np.tile(np.eye(4, dtype=np.float32), (megabytes, 1, 1, 1))
    return mmdskin.skin(mesh, frames, out=out)

corner = np.full((MB // 12, 3), 2.0)
mesh = mmdskin.Mesh(corner, np.zeros((len(corner), 1), int), np.ones((len(corner), 1)))
skin(1)
mmdskin.shutdown()
at_start = resident()
"""
needs_linux = pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="this system has no /proc to measure memory"
)


def python(script):
    """The output of a script, as words."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def mesh():
    corners = np.arange(VERTICES * 3).reshape(VERTICES, 3)
    return mmdskin.Mesh(corners, np.zeros((VERTICES, 1), int), np.ones((VERTICES, 1)))


def moved(mesh, x=0.0):
    """Positions as a large array, by x along the first axis."""
    matrix = np.eye(4)[None]
    matrix[0, 0, 3] = x
    return mmdskin.skin(mesh, matrix).positions


def address(array):
    return array.__array_interface__["data"][0]


def test_only_large_results_are_of_our_allocator(mesh):
    small = mmdskin.skin(mmdskin.Mesh([[1, 2, 3]], [[0]], [[1]]), np.eye(4)[None]).positions
    names = [multiarray.get_handler_name(array) for array in (moved(mesh), small, np.empty(10**6))]
    assert names == ["mmdskin", "default_allocator", "default_allocator"]
    assert multiarray.get_handler_name() == "default_allocator"


def test_the_next_result_takes_the_memory_of_a_dropped_one(mesh):
    first = moved(mesh)
    second, place = moved(mesh), address(first)
    del first
    places = [address(moved(mesh, x)) for x in range(3)]
    assert places == [place] * 3 != [address(second)] * 3


def test_results_are_arrays_as_any_other(mesh):
    positions = moved(mesh)
    expected = np.arange(VERTICES * 3, dtype=np.float32).reshape(VERTICES, 3)
    flags = positions.flags
    assert flags.owndata and flags.writeable and flags.c_contiguous and flags.aligned
    assert type(positions) is np.ndarray and positions.base is None
    assert np.array_equal(pickle.loads(pickle.dumps(positions)), expected)
    positions.resize((3 * VERTICES, 3), refcheck=False)
    assert np.array_equal(positions[:VERTICES], expected) and not positions[VERTICES:].any()
    positions.resize((1, 3), refcheck=False)
    assert positions.tolist() == [[0, 1, 2]]
    positions.resize((0, 3), refcheck=False)
    positions.resize((VERTICES, 3), refcheck=False)
    assert not positions.any()
    del positions
    assert np.array_equal(moved(mesh), expected)


def test_any_thread_makes_and_frees_results(mesh):
    expected = moved(mesh).copy()
    shared, wrong = [moved(mesh)] * 4, []

    def work(number):
        for _ in range(200):
            shared[number - 1] = mine = moved(mesh, number)
            if not np.array_equal(mine, expected + np.float32([number, 0, 0])):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Allocator(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("functions", ctypes.c_void_p * 5),
    )


def test_an_allocator_that_the_program_has_chosen_makes_results_too(mesh):
    pointer, make = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    make.restype, make.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    table = ctypes.cast(pointer(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_allocator = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[304])
    default = ctypes.cast(table[306], ctypes.POINTER(ctypes.py_object))[0]
    chosen = Allocator.from_address(pointer(default, b"mem_handler"))
    chosen = Allocator(b"chosen", 1, chosen.functions)
    before = set_allocator(make(ctypes.addressof(chosen), b"mem_handler", None))
    try:
        positions = moved(mesh)
        assert multiarray.get_handler_name(positions) == "chosen"
        del positions
    finally:
        set_allocator(before)
    assert multiarray.get_handler_name(moved(mesh)) == "mmdskin"


@needs_linux
def test_at_most_64_mb_of_results_are_kept_until_shutdown():
    after, end = python(
        """
        results = [skin(10) for _ in range(20)]
        del results
        print(resident() - at_start)
        mmdskin.shutdown()
        print(resident() - at_start)
        """
    )
    assert 40 < float(after) < 66 and float(end) < 4


@needs_linux
def test_results_that_are_dropped_need_no_new_pages():
    counts = python(
        """
        import resource
        def new_pages():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for size in (1, 30, 100):
            skin(size)
            before = new_pages()
            for _ in range(10):
                skin(size)
            print(new_pages() - before)
        """
    )
    assert max(map(int, counts)) < 100  # of 2,560, 76,800 and 256,000


@needs_linux
def test_a_larger_result_is_kept_until_there_are_smaller_ones():
    large, small, end = python(
        """
        skin(100)
        print(resident() - at_start)
        skin(5)
        print(resident() - at_start)
        mmdskin.shutdown()
        print(resident() - at_start)
        """
    )
    assert 95 < float(large) < 115 and float(small) < 66 and float(end) < 4


@needs_linux
def test_results_of_changing_sizes_take_no_more_memory_at_once_than_arrays_of_numpy():
    script = """
        import resource
        for size in (50, 8, 40, 8, 60, 8):
            for _ in range(3):
                result = skin(size, {})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - at_start)
    """
    empty = "mmdskin.Skinned(np.empty((size, len(corner), 3), np.float32), None, None)"
    (kept,), (numpys,) = (python(script.format(out)) for out in ("None", empty))
    assert float(kept) < float(numpys) + 4


@needs_linux
def test_a_result_that_does_not_fit_is_refused_with_its_size():
    said, name = python(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        still = mmdskin.Mesh(np.zeros((10**6, 3)), np.zeros((10**6, 1), int), np.ones((10**6, 1)))
        try:
            mmdskin.skin(still, np.tile(np.eye(4, dtype=np.float32), (1000, 1, 1, 1)))
        except MemoryError as error:
            print("GiB" in str(error))
        print((skin(2).positions == 2).all())
        """
    )
    assert (said, name) == ("True", "True")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_while_results_are_made_makes_its_own():
    python(
        """
        import signal, threading
        running = True
        def work():
            while running:
                skin(1)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        kept = skin(1).positions
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                fine = (kept == 2).all() and all((skin(1).positions == 2).all() for _ in range(5))
                os._exit(0 if fine else 1)
            assert os.waitpid(child, 0)[1] == 0
        running = False
        """
    )


def test_a_program_ends_with_results_in_use():
    assert python(
        """
        import threading
        everything = [skin(1), mmdskin]
        everything.append(everything)
        def work():
            while True:
                everything[0] = skin(1)
        threading.Thread(target=work, daemon=True).start()
        print("end")
        """
    ) == ["end"]
