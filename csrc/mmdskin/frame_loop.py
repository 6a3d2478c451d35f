# SPDX-License-Identifier: MIT
"""frames(): a dance as a loop."""

from __future__ import annotations

import _thread
import atexit
import os
import sys
from typing import TYPE_CHECKING, Literal

import numpy as np

import mmdskin
from mmdskin.argument import check_model, check_motion, frame_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import ArrayLike, NDArray

    from mmdskin import _Method

    _Numbers = NDArray[np.float64]
    _Pose = Callable[[_Numbers], mmdskin.Pose]
    _Poses = Generator[tuple[_Numbers, mmdskin.Pose], None, None]
    _Skin = Callable[[mmdskin.Pose, mmdskin.Skinned | None], mmdskin.Skinned]
    _Chunks = Iterator[tuple[_Numbers, mmdskin.Skinned]]

# Positions and normals of a core's frames: half of a usual second-level cache, which the mesh is in, too.
CACHE_BYTES = 1 << 20
# With fewer frames for each, pose() and skin() do not use several cores, and one core takes up to a quarter
# longer: only a batch is written past the caches. More in all take too much memory.
FRAMES_PER_CORE, MOST_FRAMES = 12, 192
MOST_THREADS = 256  # of pose() and skin()


def frames(
    model: mmdskin.Model,
    motion: mmdskin.Motion | None,
    frames: ArrayLike | None = None,
    *,
    chunk: int | None = None,
    physics: mmdskin.Physics | bool | None = None,
    ik: bool = True,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: bool = True,
    tangents: bool = False,
    backend: str = "auto",
    threads: int | None = None,
) -> _Chunks:
    """The frames of a dance, skinned, some at a time, in the memory of a few.

        for numbers, out in mmdskin.frames(model, motion):
            ...  # numbers (n,), out.positions (n,V,3)

    Yields the frame numbers (n,) float64, and a Skinned of (n,V,3). The next turn of the loop fills
    the same arrays again: copy what you keep. With physics, which takes one core, another thread
    simulates the next frames meanwhile; it has ended when the loop has, also after `break` or an
    exception, or soon after where Ctrl-C does not wait for it. A forked process that continues the
    loop of another gets a RuntimeError if that thread was at work when it was forked.

    frames: (F,) numbers in any order; None: all of the motion's frame_range.
    chunk: the largest n; None: as many as are fast, 1 MB of positions and normals for each core, but
    at least twelve frames.
    physics: True or a Physics, as in Model.pose(); one Simulation runs through all frames.
    ik: as in Model.pose(). The other options are those of skin().

    Raises ValueError for frames that are not (F,) or not finite, and for a chunk or threads below 1;
    the loop raises what Model.pose() and skin() raise.
    """
    check_model(model)
    check_motion(motion)
    numbers: range | _Numbers
    if frames is None:  # a range, as a key of a damaged file may be at frame 4,294,967,295
        first, last = motion.frame_range if motion is not None else (0, 0)
        numbers = range(first, last + 1)
    else:
        numbers = frame_numbers(frames)
    _check_positive("threads", threads)
    _check_positive("chunk", chunk)
    if chunk is None:
        cores = min(threads or os.cpu_count() or 1, MOST_THREADS)
        fitting = max(1, CACHE_BYTES // (24 * max(1, len(model.positions))))
        chunk = max(fitting * cores, min(FRAMES_PER_CORE * cores, MOST_FRAMES))

    def skin(posed: mmdskin.Pose, out: mmdskin.Skinned | None) -> mmdskin.Skinned:
        return mmdskin.skin(
            model,
            posed,
            method=method,
            sdef_blend=sdef_blend,
            correction=correction,
            normals=normals,
            tangents=tangents,
            backend=backend,
            out=out,
            threads=threads,
        )

    parts = (
        np.array(numbers[first : first + chunk], np.float64)
        for first in range(0, len(numbers), chunk)
    )
    poses: _Poses
    if physics is None or physics is False:  # model.pose() uses all cores by itself
        poses = ((part, model.pose(motion, part, ik=ik, threads=threads)) for part in parts)
    else:
        poses = _pose_ahead(parts, mmdskin.Simulation(model, motion, physics, ik=ik).pose)
    return _run(poses, skin)


def _check_positive(name: str, number: int | None) -> None:
    if number is None:
        return
    if not hasattr(number, "__index__"):
        raise TypeError(f"{name}: expected None or an integer, not {type(number)!r}")
    if number < 1:
        raise ValueError(f"{name}: {number}, expected at least 1")


# Held by threads at work: a program that ends in the middle of a loop waits for them. They add and
# remove their locks themselves, as Python runs signal handlers in the main thread only.
_at_work: set[_thread.LockType] = set()


def _wait_for_threads() -> None:
    for lock in list(_at_work):
        lock.acquire()


atexit.register(_wait_for_threads)
if hasattr(os, "register_at_fork"):  # the child has none of these threads
    os.register_at_fork(after_in_child=_at_work.clear)


class _Ahead:
    """A pose that another thread computes. That thread waits for nobody and ends by itself, so that
    an interrupt at any moment leaves nothing behind. threading.Thread would leave itself in a list
    of the module when it is interrupted while it starts."""

    def __init__(self, pose: _Pose, numbers: _Numbers) -> None:
        self._posed: mmdskin.Pose | BaseException | None = None
        self._process = os.getpid()
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        _thread.start_new_thread(self._work, (pose, numbers))

    def _work(self, pose: _Pose, numbers: _Numbers) -> None:
        _at_work.add(self._lock)
        try:
            self._posed = pose(numbers)
        except BaseException as error:
            self._posed = error
        del pose  # before the lock says that this thread has ended
        _at_work.discard(self._lock)
        self._lock.release()

    def wait(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # When Python ends, threads that have not begun never will, and modules are empty.
        if self._posed is None and not is_ending() and os.getpid() == self._process:
            with self._lock:
                pass

    def result(self) -> mmdskin.Pose:
        posed, self._posed = self._posed, None
        if posed is None:
            raise RuntimeError(
                "frames: this process was forked while another thread simulated; begin a new loop"
            )
        if isinstance(posed, BaseException):
            raise posed
        return posed


def _pose_ahead(parts: Iterator[_Numbers], pose: _Pose) -> _Poses:
    """The poses of all parts; the next one is computed while the caller uses one."""
    part = next(parts, None)
    if part is None:
        return
    # The first on this thread, which Ctrl-C interrupts: physics simulates up to it.
    posed = pose(part)
    for following in parts:
        ahead = _Ahead(pose, following)
        try:
            yield part, posed
        finally:
            ahead.wait()
        part, posed = following, ahead.result()
    yield part, posed


def _run(poses: _Poses, skin: _Skin) -> _Chunks:
    """The loop over checked arguments."""
    out: mmdskin.Skinned | None = None
    try:
        for part, posed in poses:
            if out is not None and len(part) < len(out.positions):
                out = _first(out, len(part))
            out = skin(posed, out)
            yield part, out
    finally:
        poses.close()


def _first(out: mmdskin.Skinned, count: int) -> mmdskin.Skinned:
    """The arrays of the first frames."""
    normals, tangents = (None if a is None else a[:count] for a in (out.normals, out.tangents))
    return mmdskin.Skinned(out.positions[:count], normals, tangents)
