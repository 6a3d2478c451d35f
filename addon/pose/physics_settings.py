# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the physics simulation."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ..blender import native

if TYPE_CHECKING:
    import mmdskin

# The properties of models and operators that define Settings: a switch, then the fields.
PROPERTIES = (
    "physics",
    "physics_ground",
    "physics_settle",
    "physics_hz",
    "physics_start",
)


class Settings(NamedTuple):
    ground: bool = True
    settle: int = 300  # steps in the first pose
    hz: int = 60  # steps per second
    start: int = 0  # frame of the motion

    def record(self) -> "mmdskin.Physics":
        return native.load().Physics(**self._asdict())


def moved_bones(pmx: "mmdskin.Model") -> set[int]:
    """Indices of the bones that rigid bodies move."""
    return {body.bone for body in pmx.rigid_bodies if body.mode != "follow_bone"} - {-1}


def settings_of(owner: Any, overrides: dict[str, Any] | None = None) -> Settings | None:
    """The Settings in an owner's properties, None without physics; `overrides`, by name, replace them."""
    overrides = overrides or {}
    switch, *fields = (overrides.get(name, getattr(owner, name)) for name in PROPERTIES)
    return Settings(*fields) if switch else None
