# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be undone on an object, as JSON in one of its custom properties, saved with the file.

Another version of the add-on may have written it: what it did not note has its default.
"""

import json
from collections.abc import Callable

import bpy

from .user_error import UserError

# The custom properties.
PREVIEW, BAKE, MOTION = "mmdskin_preview", "mmdskin_bake", "mmdskin_motion"
POSES = "single_poses"  # in a bake's state: poses of driven keys, and the keys that gather
VERSION = 2  # of what is written now; 0.1 wrote no number


def load(obj: bpy.types.ID, name: str, defaults: Callable[[], dict]) -> dict:
    """The state that `store` has kept, as a new dict; the defaults where there is none."""
    if name not in obj:
        return defaults()
    try:
        saved = dict(json.loads(obj[name]))
    except (TypeError, ValueError):  # edited by hand
        saved = {}
    if saved.pop("version", 1) > VERSION:
        raise UserError("'{name}' was saved by a newer MMD Skin: update the add-on", name=obj.name)
    return {**defaults(), **saved}


def store(obj: bpy.types.ID, name: str, state: dict) -> None:
    obj[name] = json.dumps({"version": VERSION, **state})
