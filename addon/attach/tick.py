# SPDX-License-Identifier: GPL-3.0-or-later
"""The function that the driver of a display armature calls in every evaluation, on any thread."""

from typing import Any, NamedTuple

import bpy
import numpy as np

from ..blender import blender_versions, details, playhead
from ..physics import playback
from ..pose import ik_source, pose_source
from . import display

FUNCTION = "mmdskin_attach"
KEYS = "key"  # how names of driver variables for shape keys begin
PATH = f'pose.bones["{display.ROOT}"].{display.DRIVEN}'

_installed = False  # whether the driver namespace has our function


class _Ready(NamedTuple):
    """A display armature that was read for posing, and what it was read for."""

    names: list[str]  # of all pose bones
    opened: pose_source.Opened
    followers: np.ndarray  # (K,) indices of the bones that follow the model's
    sources: np.ndarray  # (K,) indices of the file's bones, or -1
    parents: np.ndarray  # (K,) the same of their parents
    to_own: np.ndarray  # (K, 4, 4) float64: from the file's space to the bones' own at rest
    from_own: np.ndarray
    keys: set[str]  # the shape keys that move bones


_ready: dict[int, _Ready] = {}  # by `identity` of the display armature


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
    """Discard what was read of a display armature, or of all."""
    if own is None:
        _ready.clear()
    else:
        _ready.pop(blender_versions.identity(own), None)


def tick(root: bpy.types.PoseBone, depsgraph: bpy.types.Depsgraph, frame: float) -> float:
    """Pose the evaluated display armature; never raises, since that would disable the driver.

    Returns whether it did: if not, the bones copy those of the armature.
    """
    if playhead.is_unseen(depsgraph):
        return getattr(root, display.DRIVEN)
    own: Any = root.id_data
    posed = False
    # Blender silently ignores writes to linked data.
    if own.is_evaluated and not (own.original.library or own.original.override_library):
        try:
            posed = _pose(own, depsgraph, frame)
        except Exception as error:
            details.log(error, f"Display armature '{own.name}'")
        _copy_transforms(own, not posed)
    return float(posed)


def _pose(own: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float) -> bool:
    armature = own.parent
    settings = pose_source.settings_of(armature, depsgraph.scene) if armature else None
    if settings is None:
        return False
    ready = _prepared(own, playback.shared(armature, settings))
    shown = pose_source.shown(ready.opened, armature, _key_values(ready, own), frame)
    shown = np.concatenate([shown, np.eye(4, dtype=np.float32)[None]]).astype(np.float64)
    matrices = _relative(shown[ready.sources], shown[ready.parents])
    basis = np.zeros((len(ready.names), 4, 4), np.float32)
    basis[:] = np.eye(4)
    basis[ready.followers] = (ready.to_own @ matrices @ ready.from_own).transpose(0, 2, 1)
    own.pose.bones.foreach_set("matrix_basis", basis.ravel())
    return True


def _relative(matrices: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """(K, 4, 4) rigid transforms, each after undoing that of its parent."""
    back = parents[:, :3, :3].transpose(0, 2, 1)
    moved = matrices.copy()
    moved[:, :3, 3] -= parents[:, :3, 3]
    moved[:, :3] = back @ moved[:, :3]
    return moved


def _copy_transforms(own: bpy.types.Object, on: bool) -> None:
    """Let the evaluated bones copy those of the armature, or not.

    By `foreach_set`, which tags nothing for an update. Blender resets it in each new copy.
    """
    for bone in own.pose.bones:
        constraint: Any = bone.constraints.get(display.CONSTRAINT)
        if constraint is not None:
            if constraint.mute != on:  # all are alike
                return
            muted = [not on if one == constraint else one.mute for one in bone.constraints]
            bone.constraints.foreach_set("mute", muted)


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
    """The variables of the driver."""
    return own.animation_data.drivers.find(PATH).driver.variables


def _prepared(own: bpy.types.Object, opened: pose_source.Opened) -> _Ready:
    number, names = blender_versions.identity(own), own.pose.bones.keys()
    ready = _ready.get(number)
    if ready is not None and ready.opened is opened and ready.names == names:
        return ready
    followed = display.followed(own)
    places = {name: place for place, name in enumerate(names)}
    followers = np.array([places[name] for name in followed], np.intp)
    above = [own.pose.bones[name].parent.name for name in followed]
    rests = np.empty((len(names), 4, 4), np.float32)
    own.data.bones.foreach_get("matrix_local", rests.ravel())
    from_own = rests[followers].transpose(0, 2, 1).astype(np.float64)
    placement = opened.placement
    ready = _ready[number] = _Ready(
        names,
        opened,
        followers,
        placement.numbers(followed.values()),
        placement.numbers(followed.get(name, "") for name in above),
        np.linalg.inv(from_own) @ placement.to_armature,
        np.linalg.inv(placement.to_armature) @ from_own,
        opened.acting_of(opened.keys) if isinstance(opened, ik_source.Solver) else set(),
    )
    return ready
