# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a scene's color management shows colors as they are, which the look needs."""

from typing import Any

from bpy.types import Scene

_UNCHANGED_COLORS: dict[str, Any] = {
    "view_transform": "Standard",
    "look": "None",
    "exposure": 0.0,
    "gamma": 1.0,
    "use_curve_mapping": False,
}


def changes_colors(scene: Scene) -> bool:
    settings = scene.view_settings
    return any(getattr(settings, name) != value for name, value in _UNCHANGED_COLORS.items())


def use_standard_colors(scene: Scene) -> None:
    for name, value in _UNCHANGED_COLORS.items():
        setattr(scene.view_settings, name, value)
