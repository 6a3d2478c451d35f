# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all, by the module."""

import importlib
from typing import TYPE_CHECKING

from . import native

if TYPE_CHECKING:
    from mmdskin.new_file import NewFile


def create(path: str) -> "NewFile":
    """A file that is to become `path`; raises OSError, and UserError without the module."""
    native.load()
    new: NewFile = importlib.import_module("mmdskin.new_file").NewFile(path)
    return new
