# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all, by the module."""

import importlib
from typing import TYPE_CHECKING, Any

from . import native

if TYPE_CHECKING:
    from mmdskin.new_file import NewFile


def create(path: str) -> "NewFile":
    """A file that is to become `path`; raises OSError, and UserError without the module."""
    new: NewFile = _module().NewFile(path)
    return new


def check_replaceable(path: str) -> None:
    """Raises the OSError of writing to a path, before any work; UserError without the module."""
    _module().check_replaceable(path)


def _module() -> Any:
    native.load()
    return importlib.import_module("mmdskin.new_file")
