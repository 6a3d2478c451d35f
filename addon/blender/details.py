# SPDX-License-Identifier: GPL-3.0-or-later
"""The log: what modules read, cache and skip, and unexpected errors, each kind once.

import logging
logging.basicConfig()
logging.getLogger("mmdskin").setLevel("DEBUG")
"""

import logging
import traceback

import bpy

from . import ADDON
from .user_error import UserError

_told: set[tuple] = set()


def logger(module: str) -> logging.Logger:
    """The logger of a module, such as mmdskin.scene.model_file, by its `__name__`."""
    return logging.getLogger(f"mmdskin{module.removeprefix(ADDON)}")


_logger = logger(ADDON)


def log(error: Exception, doing: str) -> None:
    """Log an error that only a sentence in the panel would tell; those for users need no log."""
    if isinstance(error, UserError):
        return
    frames = traceback.extract_tb(error.__traceback__)
    place = (frames[-1].filename, frames[-1].lineno) if frames else None
    kind = (type(error), place, wanted())
    if kind in _told:
        return
    _told.add(kind)
    text = f"{doing}: {type(error).__name__}: {error}"
    _logger.error(text, exc_info=error if wanted() else None)


def wanted() -> bool:
    """The preference Details in the Console."""
    addon: bpy.types.Addon | None = bpy.context.preferences.addons.get(ADDON)
    return bool(addon and getattr(addon.preferences, "details", False))
