# SPDX-License-Identifier: GPL-3.0-or-later
"""How rigid bodies move what hangs from a motion's model."""

from typing import TYPE_CHECKING, Any, NamedTuple

from . import native

if TYPE_CHECKING:
    import mmdskin

# The properties of a model, and of operators, that Settings are read from: a switch, then the fields.
PROPERTIES = (
    "physics",
    "physics_ground",
    "physics_settle",
    "physics_hz",
    "physics_start",
)


class Settings(NamedTuple):
    ground: bool = True
    settle: int = 60  # steps held in the first pose
    hz: int = 60  # steps a second
    start: int = 0  # frame of the motion

    def record(self) -> "mmdskin.Physics":
        return native.load().Physics(**self._asdict())


def moved_bones(pmx: "mmdskin.Model") -> set[int]:
    """Numbers of the bones that rigid bodies move."""
    return {body.bone for body in pmx.rigid_bodies if body.mode != "follow_bone"} - {-1}


def of(owner: Any, given: dict[str, Any] | None = None) -> Settings | None:
    """What the properties of an owner say, None without physics; `given` goes before them."""
    given = given or {}
    switch, *fields = (given.get(name, getattr(owner, name)) for name in PROPERTIES)
    return Settings(*fields) if switch else None
