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


# The properties of models only: the fields that follow, which few users change.
MORE = (
    "physics_ground_height",
    "physics_gravity",
    "physics_iterations",
    "physics_teleport",
)


class Settings(NamedTuple):
    ground: bool = True
    settle: int = 300  # steps in the first pose
    hz: int = 60  # steps per second
    start: int = 0  # frame of the motion
    ground_height: float = 0.0  # in file units
    gravity: tuple[float, float, float] = (0.0, 0.0, -98.0)  # the same, along Blender's axes
    iterations: int = 10
    teleport: float = 0.0

    def record(self) -> "mmdskin.Physics":
        x, y, z = self.gravity
        return native.load().Physics(
            gravity=(x, z, y),
            hz=self.hz,
            iterations=self.iterations,
            ground=self.ground and (self.ground_height or True),
            start=self.start,
            settle=self.settle,
            teleport=self.teleport,
        )


def moved_bones(pmx: "mmdskin.Model") -> set[int]:
    """Indices of the bones that rigid bodies move."""
    return {body.bone for body in pmx.rigid_bodies if body.mode != "follow_bone"} - {-1}


def settings_of(owner: Any, overrides: dict[str, Any] | None = None) -> Settings | None:
    """The Settings of a model, None without physics; `overrides`, by name, replace them."""
    overrides = overrides or {}
    switch, *fields = (overrides.get(name, getattr(owner, name)) for name in PROPERTIES)
    return Settings(*fields)._replace(**_more_of(owner)) if switch else None


def of_import(owner: Any, options: Any, start: int) -> Settings:
    """The Settings of an operator's options, and of a model that the operator has no options for."""
    ground, settle, hz = (getattr(options, name) for name in PROPERTIES[1:-1])
    return Settings(ground, settle, hz, start, **_more_of(owner))


def _more_of(owner: Any) -> dict[str, Any]:
    values = {name.removeprefix("physics_"): getattr(owner, name) for name in MORE}
    return values | {"gravity": tuple(values["gravity"])}
