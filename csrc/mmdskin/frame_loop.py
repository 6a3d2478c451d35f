# SPDX-License-Identifier: MIT
"""frames(): a dance as a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

import mmdskin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    _Numbers = NDArray[np.float64]
    _Pose = Callable[[_Numbers], mmdskin.Pose]
    _Skin = Callable[[mmdskin.Pose, mmdskin.Skinned | None], mmdskin.Skinned]
    _Method = Literal[
        "mmd",
        "linear",
        "dual_quaternion",
        "bulge_free",
        "bulge_compensated",
        "centers_of_rotation",
    ]
    _Chunks = Iterator[tuple[_Numbers, mmdskin.Skinned]]

CHUNK_BYTES = 1 << 24  # of positions and normals: about what the caches of a few cores hold


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
    the same arrays again: copy what you keep. Another thread poses the next frames meanwhile; it
    has ended when the loop has, also after `break` or an exception.

    frames: (F,) numbers in any order; None: all of the motion's frame_range.
    chunk: the largest n; None: as many as fit into 16 MB, but 8.
    physics: True or a Physics, as in Model.pose(); one Simulation runs through all frames.
    ik: as in Model.pose(). The other options are those of skin().

    Raises ValueError for frames that are not (F,) and a chunk below 1; the loop raises what
    Model.pose() and skin() raise.
    """
    if not isinstance(model, mmdskin.Model):
        raise TypeError(f"model: expected a Model, not {type(model)!r}")
    if motion is not None and not isinstance(motion, mmdskin.Motion):
        raise TypeError(f"motion: expected a Motion or None, not {type(motion)!r}")
    if frames is None:
        first, last = motion.frame_range if motion is not None else (0, 0)
        frames = np.arange(first, last + 1)
    numbers = np.array(frames, np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"frames: shape {numbers.shape}, expected (F,)")
    if chunk is None:
        chunk = max(8, CHUNK_BYTES // (24 * max(1, len(model.positions))))
    if chunk < 1:
        raise ValueError(f"chunk: {chunk}, expected at least 1")
    pose: _Pose
    if physics is None or physics is False:
        pose = lambda some: model.pose(motion, some, ik=ik, threads=threads)  # noqa: E731
    else:
        pose = mmdskin.Simulation(model, motion, physics, ik=ik).pose

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

    parts = [numbers[first : first + chunk] for first in range(0, len(numbers), chunk)]
    return _run(parts, pose, skin)


def _run(parts: list[_Numbers], pose: _Pose, skin: _Skin) -> _Chunks:
    """The loop over checked arguments."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    if not parts:
        return
    out: mmdskin.Skinned | None = None
    # The first poses on this thread, which Ctrl-C interrupts: physics simulates up to them.
    posed = pose(parts[0])
    with ThreadPoolExecutor(1, "mmdskin-pose") as thread:
        for number, part in enumerate(parts):
            following = parts[number + 1 : number + 2]
            ahead = [thread.submit(pose, some) for some in following]
            if out is not None and len(part) < len(out.positions):
                out = _first(out, len(part))
            out = skin(posed, out)
            yield part, out
            if ahead:
                posed = ahead[0].result()


def _first(out: mmdskin.Skinned, count: int) -> mmdskin.Skinned:
    """The arrays of the first frames."""
    normals, tangents = (None if a is None else a[:count] for a in (out.normals, out.tangents))
    return mmdskin.Skinned(out.positions[:count], normals, tangents)
