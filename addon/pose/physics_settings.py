# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the physics simulation, and gravity's keyframes: its value at each frame."""

import hashlib
import math
from typing import Any, NamedTuple

import numpy as np
from bpy.types import FCurve, Object

from ..blender import actions, blender_versions, caches, fcurves
from ..blender.native import mmdskin
from ..blender.user_error import UserError

# The properties of models and operators that define Settings: a switch, then the fields.
PROPERTIES = "physics", "physics_ground", "physics_settle", "physics_hz", "physics_start"
# The properties of models only: the fields that follow, which few users change.
MORE = "physics_ground_height", "physics_gravity", "physics_iterations", "physics_teleport"
RARE = "physics_settle", "physics_start"  # of PROPERTIES: which few users change, too
LIVE = "physics_live"  # of models only
_GRAVITY = "mmdskin.physics_gravity"
_MAX_ROWS = 100_000  # of gravity
# By `identity` of the armature object: what its rows were made of, and they.
_gravity: caches.Cache[tuple[tuple, "GravityRows"]] = caches.of_file()


class Member(NamedTuple):
    """A model of a group that is simulated together."""

    name: str  # of its armature object
    world: tuple[float, ...]  # its world matrix, row by row
    settings: Any  # of its pose source, without the group


class Timing(NamedTuple):
    """The animation times of the frames of a simulation, of which a second has 30."""

    first: float  # of frame 0
    rate: float  # from each frame to the next
    last: float  # after which the value stays


class GravityRows(NamedTuple):
    """Gravity along Blender's axes at frames 0, 1, …; the last one applies afterwards."""

    numbers: bytes  # float64

    def __str__(self) -> str:
        return hashlib.sha256(self.numbers).hexdigest()

    def array(self) -> np.ndarray:
        """(F, 3)."""
        return np.frombuffer(self.numbers).reshape(-1, 3)


class Settings(NamedTuple):
    ground: bool = True
    settle: int = 300  # steps in the first pose
    hz: int = 60  # steps per second
    start: int = 0  # frame of the motion
    ground_height: float = 0.0  # in file units
    # The same, along Blender's axes.
    gravity: tuple[float, ...] | GravityRows = (0.0, 0.0, -98.0)
    iterations: int = 10
    teleport: float = 0.0
    live: bool = False  # whether hair moves while the model is posed
    group: tuple[Member, ...] = ()  # all members, if there are several

    @property
    def own(self) -> tuple:
        """What a simulation of the model alone depends on."""
        return self[:-2]

    def record(self) -> "mmdskin.Physics":
        keyed = isinstance(self.gravity, GravityRows)
        gravity = self.gravity.array() if keyed else np.array(self.gravity)
        return mmdskin.Physics(
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
    return settings.physics and settings.source != "ARMATURE"


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


def settings_of(owner: Any, overrides: dict[str, Any], timing: Timing) -> Settings | None:
    """The Settings of a model, None without physics; `overrides`, by name, replace them."""
    if not overrides.get(PROPERTIES[0], getattr(owner, PROPERTIES[0])):
        return None
    fields = (overrides.get(name, getattr(owner, name)) for name in PROPERTIES[1:])
    return Settings(*fields)._replace(live=getattr(owner, LIVE), **_more_of(owner, timing))


def of_import(owner: Any, options: Any, start: int, timing: Timing) -> Settings:
    """The Settings of an operator's options, and of a model that the operator has no options for."""
    ground, settle, hz = (getattr(options, name) for name in PROPERTIES[1:-1])
    return Settings(ground, settle, hz, start, **_more_of(owner, timing))


def _more_of(owner: Any, timing: Timing) -> dict[str, Any]:
    values = {name.removeprefix("physics_"): getattr(owner, name) for name in MORE}
    now = tuple(values["gravity"])
    rows = _gravity_rows(owner.id_data, now, timing)
    return values | {"gravity": now if rows is None else rows}


def _gravity_rows(armature: Object, now: tuple[float, ...], timing: Timing) -> GravityRows | None:
    """The GravityRows of keyframes; `now` is the value of axes without any. None without keyframes."""
    found = _gravity_curves(armature.original)
    if not found:
        return None
    still = [0.0 if axis in found else value for axis, value in enumerate(now)]
    shapes = b"".join(fcurves.shape(curve) for curve in found.values())
    key = (tuple(still), timing, hashlib.sha256(shapes).digest())
    identity = blender_versions.identity(armature)
    known = _gravity.get(identity)
    if known is None or known[0] != key:
        known = _gravity.put(identity, (key, _sampled_gravity(found, still, timing)))
    return known[1]


def _gravity_curves(armature: Object) -> dict[int, FCurve]:
    """By axis."""
    data = armature.animation_data
    played = actions.played(data) if data is not None else ()
    curves = [(axis, one.find(_GRAVITY, index=axis)) for one in played for axis in range(3)]
    return {
        axis: curve
        for axis, curve in curves
        if curve is not None and len(curve.keyframe_points) and not curve.mute
    }


def _sampled_gravity(found: dict[int, FCurve], still: list[float], timing: Timing) -> GravityRows:
    ends = [curve.range()[1] for curve in found.values()]
    count = math.ceil((max(timing.last, *ends) - timing.first) / timing.rate) + 1
    rows = np.tile(np.array(still, np.float64), (min(max(count, 1), _MAX_ROWS), 1))
    for axis, curve in found.items():
        for number in range(len(rows)):
            rows[number, axis] = curve.evaluate(timing.first + number * timing.rate)
    same = np.flatnonzero((rows != rows[-1]).any(axis=1))
    return GravityRows(rows[: same[-1] + 2 if len(same) else 1].tobytes())
