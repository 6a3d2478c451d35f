# SPDX-License-Identifier: GPL-3.0-or-later
"""The function that the driver of anchors calls in every evaluation, on any thread."""

from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import blender_versions, details, playhead
from ..physics import cache, key_inputs, keyed
from ..pose import ik_source, motion_source, pose_source
from . import anchors

FUNCTION = "mmdskin_attach"
KEYS = "key"  # how names of driver variables for shape keys begin

_installed = False  # whether the driver namespace has our function


class _Ready(NamedTuple):
    """Anchors that were read for posing, and the state for which they were read."""

    names: list[str]  # of all pose bones
    settings: pose_source.Settings
    simulation: cache.Cache | None
    bones: list[str]  # of the model
    numbers: np.ndarray  # indices of the anchors' bones that follow them
    to_rest: np.ndarray  # (B, 4, 4) float64 of these bones
    from_rest: np.ndarray
    opened: pose_source.Opened
    keys: frozenset[str]  # the shape keys that move bones


_ready: dict[int, _Ready] = {}  # by `identity` of the anchors


def install() -> None:
    """Add the function to the driver namespace."""
    global _installed
    bpy.app.driver_namespace[FUNCTION] = tick
    _installed = True


def is_installed() -> bool:
    return _installed


def uninstall() -> bool:
    """Remove it; returns whether it was installed."""
    global _installed
    was, _installed = _installed, False
    if was:
        bpy.app.driver_namespace.pop(FUNCTION, None)
    return was


def forget(own: bpy.types.Object | None = None) -> None:
    """Discard what was read of anchors, or of all."""
    if own is None:
        _ready.clear()
    else:
        _ready.pop(blender_versions.identity(own), None)


def tick(root: bpy.types.PoseBone, depsgraph: bpy.types.Depsgraph, frame: float) -> float:
    """Pose the evaluated anchors; never raises, since that would disable the driver.

    Returns whether it did: if not, the bones copy those of the armature.
    """
    if playhead.is_unseen(depsgraph):
        return getattr(root, anchors.SWITCH)
    own: Any = root.id_data
    try:
        return float(_pose(own, depsgraph, frame))
    except Exception as error:
        details.log(error, f"Attach to Bone of '{own.name}'")
    return 0.0


def open_source(armature: bpy.types.Object, settings: pose_source.Settings) -> pose_source.Opened:
    """The pose source of Settings, with the physics that MMD Skinning shows."""
    opened = pose_source.load(armature, settings)
    if isinstance(opened, motion_source.Motion):
        assert isinstance(settings, motion_source.Settings)
        return cache.played(opened, armature, settings)
    return keyed.with_physics(opened, armature)


def _pose(own: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float) -> bool:
    # Blender silently ignores writes to linked data.
    if not own.is_evaluated or own.original.library or own.original.override_library:
        return False
    armature = own.parent
    settings = pose_source.settings_of(armature, depsgraph.scene) if armature else None
    if settings is None:
        return False
    ready = _prepared(own, armature, settings)
    matrices = _matrices(ready, own, armature, frame)
    basis = np.zeros((len(ready.names), 4, 4), np.float32)
    basis[:] = np.eye(4)
    basis[ready.numbers] = (ready.from_rest @ matrices @ ready.to_rest).transpose(0, 2, 1)
    own.pose.bones.foreach_set("matrix_basis", basis.ravel())
    return True


def _matrices(
    ready: _Ready, own: bpy.types.Object, armature: bpy.types.Object, frame: float
) -> np.ndarray:
    if isinstance(ready.opened, ik_source.Solver):
        return ready.opened.matrices(armature, ready.bones, _key_values(ready, own), frame)
    return ready.opened.matrices(ready.bones, [frame])[0]


def _key_values(ready: _Ready, own: bpy.types.Object) -> dict[str, float]:
    """Values of the shape keys that move bones."""
    values: dict[str, float] = {}
    for variable in variables(own) if ready.keys else ():
        if variable.name.startswith(KEYS):
            blocks = variable.targets[0].id.key_blocks
            for name in ready.keys & set(blocks.keys()):
                values[name] = 0.0 if blocks[name].mute else blocks[name].value
    return values


def variables(own: bpy.types.Object) -> Any:
    """The variables of the anchors' driver."""
    path = f'pose.bones["{anchors.ROOT}"].{anchors.SWITCH}'
    return own.animation_data.drivers.find(path).driver.variables


def _prepared(
    own: bpy.types.Object, armature: bpy.types.Object, settings: pose_source.Settings
) -> _Ready:
    number = blender_versions.identity(own)
    names = own.pose.bones.keys()
    simulation = cache.read_for(armature)[0] if settings.physics else None
    ready = _ready.get(number)
    if (
        ready is not None
        and (ready.names, ready.settings) == (names, settings)
        and ready.simulation is simulation
        and (not isinstance(ready.opened, ik_source.Solver) or ready.opened.fits(armature))
    ):
        return ready
    opened = open_source(armature, settings)
    keys: set[str] = set()
    if isinstance(opened, ik_source.Solver):
        keys = key_inputs.Inputs(opened, np.empty(0, np.intp)).keys
    rests = np.empty((len(names), 4, 4), np.float32)
    own.data.bones.foreach_get("matrix_local", rests.ravel())
    followed = anchors.followed(own)
    bones = list(followed.values())
    numbers = np.array([names.index(name) for name in followed], np.intp)
    to_rest = rests[numbers].transpose(0, 2, 1).astype(np.float64)
    ready = _ready[number] = _Ready(
        names,
        settings,
        simulation,
        bones,
        numbers,
        to_rest,
        np.linalg.inv(to_rest),
        opened,
        frozenset(keys),
    )
    return ready
