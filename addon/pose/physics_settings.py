# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the physics simulation."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..blender import native
from ..blender.user_error import UserError
from . import gravity_keys

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
RARE = "physics_settle", "physics_start"  # of PROPERTIES: which few users change, too
LIVE = "physics_live"  # of models only


class Member(NamedTuple):
    """A model of a group that is simulated together."""

    name: str  # of its armature object
    world: tuple[float, ...]  # its world matrix, row by row
    settings: Any  # of its pose source, without the group


class Settings(NamedTuple):
    ground: bool = True
    settle: int = 300  # steps in the first pose
    hz: int = 60  # steps per second
    start: int = 0  # frame of the motion
    ground_height: float = 0.0  # in file units
    # The same, along Blender's axes.
    gravity: tuple[float, ...] | gravity_keys.Rows = (0.0, 0.0, -98.0)
    iterations: int = 10
    teleport: float = 0.0
    live: bool = False  # whether hair moves while the model is posed
    group: tuple[Member, ...] = ()  # all members, if there are several

    @property
    def own(self) -> tuple:
        """What a simulation of the model alone depends on."""
        return self[:-2]

    def record(self) -> "mmdskin.Physics":
        keyed = isinstance(self.gravity, gravity_keys.Rows)
        gravity = self.gravity.array() if keyed else np.array(self.gravity)
        return native.load().Physics(
            gravity=gravity[..., [0, 2, 1]],
            hz=self.hz,
            iterations=self.iterations,
            ground=self.ground and (self.ground_height or True),
            start=self.start,
            settle=self.settle,
            teleport=self.teleport,
        )


def is_simulated(settings: Any) -> bool:
    """Whether a model with these properties has physics."""
    return settings.physics and settings.source in {"IK", "MOTION"}


def nothing_to_simulate(name: str) -> UserError:
    """The error for a model without physics."""
    return UserError(
        "'{name}' has no physics to simulate: set Pose Source to MMD's IK or Motion File, and"
        " turn Physics on",
        name=name,
    )


def moved_bones(pmx: "mmdskin.Model") -> set[int]:
    """Indices of the bones that rigid bodies move."""
    return {body.bone for body in pmx.rigid_bodies if body.mode != "follow_bone"} - {-1}


def settings_of(
    owner: Any, overrides: dict[str, Any], timing: gravity_keys.Timing
) -> Settings | None:
    """The Settings of a model, None without physics; `overrides`, by name, replace them."""
    if not overrides.get(PROPERTIES[0], getattr(owner, PROPERTIES[0])):
        return None
    fields = (overrides.get(name, getattr(owner, name)) for name in PROPERTIES[1:])
    return Settings(*fields)._replace(live=getattr(owner, LIVE), **_more_of(owner, timing))


def of_import(owner: Any, options: Any, start: int, timing: gravity_keys.Timing) -> Settings:
    """The Settings of an operator's options, and of a model that the operator has no options for."""
    ground, settle, hz = (getattr(options, name) for name in PROPERTIES[1:-1])
    return Settings(ground, settle, hz, start, **_more_of(owner, timing))


def _more_of(owner: Any, timing: gravity_keys.Timing) -> dict[str, Any]:
    values = {name.removeprefix("physics_"): getattr(owner, name) for name in MORE}
    now = tuple(values["gravity"])
    rows = gravity_keys.rows_of(owner.id_data, now, timing)
    return values | {"gravity": now if rows is None else rows}
