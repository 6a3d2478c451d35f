# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion files that a model's motion file is merged into, as text in its settings.

Each is found from the folder of the newest file, which follows moved projects and libraries, else by
its absolute path.
"""

import json
import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..blender import input_files


class Earlier(NamedTuple):
    path: str  # absolute
    start: float  # scene frame that shows its frame 0


def written(earlier: Sequence[Earlier], newest: str) -> str:
    """The text for files, oldest first, with the absolute path of the newest one; "" for none."""
    folder = os.path.dirname(newest)
    entries = [[_relative(path, folder), path, start] for path, start in earlier]
    return json.dumps(entries, ensure_ascii=False) if entries else ""


def read(text: str, newest: str) -> tuple[Earlier, ...]:
    """The files of a text, of which entries that were damaged are left out."""
    try:
        entries: Any = json.loads(text) if text else []
    except ValueError:
        return ()
    entries = entries if isinstance(entries, list) else []
    folder = os.path.dirname(newest)
    return tuple(_found(*entry, folder=folder) for entry in entries if _is_entry(entry))


def _found(relative: str, path: str, start: float, folder: str) -> Earlier:
    beside = os.path.normpath(os.path.join(folder, relative)) if relative else path
    return Earlier(beside if input_files.exists(beside) else path, float(start))


def _is_entry(entry: Any) -> bool:
    if not (isinstance(entry, list) and len(entry) == 3):
        return False
    *paths, start = entry
    is_number = isinstance(start, (int, float)) and math.isfinite(start)
    return is_number and all(isinstance(path, str) for path in paths)


def _relative(path: str, folder: str) -> str:
    """With slashes, as a .blend may be opened on another system; "" on another drive."""
    try:
        return os.path.relpath(path, folder).replace("\\", "/")
    except ValueError:
        return ""
