# SPDX-License-Identifier: GPL-3.0-or-later
"""What the shape keys of a bake cost: memory, and time on every frame that is shown."""

import ctypes
import os
import pathlib
from collections.abc import Iterable

from bpy.types import Object

from ..blender.translations import tr

# Their number from which playback may be slower than the screen. Measured: 1,000 keys with curves take
# 60 to 90 ms a frame in Blender 3.4 to 4.5 and 25 ms in 5.2, half of them a quarter of that, whatever
# the number of vertices.
_SLOW = 400


def warning(meshes: Iterable[Object], count: int) -> str:
    """What to tell before a bake into shape keys, "" if they fit into memory."""
    size = 12 * count * sum(len(obj.data.vertices) for obj in meshes)  # bytes of positions
    peak = 2 * size  # with the copy that Blender evaluates
    free = available()
    if free is None or peak <= free:
        return ""
    return tr(
        "{frames} shape keys need {size:.1f} GB, {peak:.1f} GB with the copy that Blender"
        " evaluates, and {free:.1f} GB are free: bake into a mesh cache",
        frames=count,
        size=size / 1e9,
        peak=peak / 1e9,
        free=free / 1e9,
    )


def slowness(count: int) -> str:
    """What to tell before a bake into shape keys that play slowly, "" for few."""
    if count < _SLOW:
        return ""
    return tr(
        "{frames} shape keys play slowly: 1,000 take Blender 25 to 90 ms a frame, a mesh cache less"
        " than 1 ms",
        frames=count,
    )


def available() -> int | None:
    """Free memory in bytes, None if unknown."""
    if os.name == "nt":
        # MEMORYSTATUSEX: its size and the load, then the total and the available memory.
        status = (ctypes.c_uint64 * 8)(64)
        done = ctypes.windll.kernel32.GlobalMemoryStatusEx(status)  # type: ignore[attr-defined]
        return status[2] if done else None
    try:
        for line in pathlib.Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
        return None
    except OSError:  # macOS: does not tell what is free
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
