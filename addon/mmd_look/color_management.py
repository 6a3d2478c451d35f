# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a scene's color management shows colors as they are, which the look needs."""

from typing import Any

import bpy

_AS_THEY_ARE: dict[str, Any] = {
    "view_transform": "Standard",
    "look": "None",
    "exposure": 0.0,
    "gamma": 1.0,
    "use_curve_mapping": False,
}


def changes_colors(scene: bpy.types.Scene) -> bool:
    settings = scene.view_settings
    return any(getattr(settings, name) != value for name, value in _AS_THEY_ARE.items())


def show_as_they_are(scene: bpy.types.Scene) -> None:
    for name, value in _AS_THEY_ARE.items():
        setattr(scene.view_settings, name, value)
