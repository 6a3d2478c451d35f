# SPDX-License-Identifier: GPL-3.0-or-later
"""The function that the driver of a display armature calls in every evaluation, on any thread."""

from collections.abc import Set
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Depsgraph, Object, PoseBone

from ..blender import details, evaluated_bones, playhead
from ..physics import playback
from ..pose import ik_source, pose_source, skinner
from . import display_armature

FUNCTION = "mmdskin_attach"
KEYS = "key"  # how names of driver variables for shape keys begin
REST = "rest"  # the driver variable for the armature's Rest Position
PATH = f'pose.bones["{display_armature.ROOT}"].{display_armature.DRIVEN}'

# In the cache of the display armature's Bones.
_WRITABLE, _COPIES, _READY = "writable", "copies", "ready"
_STILL = np.eye(4, dtype=np.float32)[None]


class _Ready(NamedTuple):
    """A display armature that was read for posing, and what it was read for."""

    opened: pose_source.Opened
    size: int  # number of the display armature's bones
    followers: np.ndarray  # (K,) indices of the bones that follow the model's
    sources: np.ndarray  # (2 K,) indices of the file's bones, then of their parents
    still: np.ndarray  # which of these the file does not have
    from_own: np.ndarray  # (K, 4, 4) float64, by column: from the bones' own space at rest
    to_own: np.ndarray  # to the file's, and back: (K, 4, 3), as the rest is always the same
    keys: Set[str]  # the shape keys that move bones


def evaluate(root: PoseBone, depsgraph: Depsgraph, frame: float) -> float:
    """Pose the evaluated display armature; never raises, since that would disable the driver.

    Returns whether it did: if not, the bones copy those of the armature.
    """
    if playhead.skips_live_update(depsgraph):
        return getattr(root, display_armature.DRIVEN)
    display: Any = root.id_data
    posed = False
    if display.is_evaluated and _is_writable(display, bones := evaluated_bones.of(display)):
        try:
            posed = _pose(display, bones, depsgraph, frame)
        except Exception as error:
            details.log(error, f"Display armature '{display.name}'")
        copies = not posed
        if bones.cache.get(_COPIES) != copies:
            _copy_transforms(display, copies)
            bones.cache[_COPIES] = copies
    return float(posed)


def _is_writable(display: Object, bones: evaluated_bones.Bones) -> bool:
    """Blender silently ignores writes to linked data."""
    if _WRITABLE not in bones.cache:
        original = display.original
        bones.cache[_WRITABLE] = not (original.library or original.override_library)
    return bones.cache[_WRITABLE]


def _pose(
    display: Object, bones: evaluated_bones.Bones, depsgraph: Depsgraph, frame: float
) -> bool:
    armature = display.parent
    if armature is None or armature.pose is None:  # its library is missing
        return False
    now = evaluated_bones.at(depsgraph, armature, frame)
    settings = pose_source.shown_settings_at(now)
    if settings is None:
        return False
    # Where the mesh plays a bake, it does not show the armature's Rest Position.
    if pose_source.is_at_rest(armature) and REST in _variables(display):
        still = _STILL.repeat(len(bones.names), 0)
        display.pose.bones.foreach_set("matrix_basis", still.ravel())
        return True
    ready = _prepared(display, bones, playback.shared(now, settings))
    shown = ready.opened.shown(now, _key_values(ready, display))
    display.pose.bones.foreach_set("matrix_basis", _basis(ready, shown).ravel())
    return True


def _basis(ready: _Ready, shown: np.ndarray) -> np.ndarray:
    """(B, 4, 4) float32 by column: the local matrices of all bones.

    Those of followers are the rigid transforms of their sources, each after undoing that of its
    parent.
    """
    matrices = shown[ready.sources].astype(np.float64)
    if len(ready.still):
        matrices[ready.still] = _STILL
    moved, parents = matrices[: len(ready.followers)], matrices[len(ready.followers) :]
    moved[:, :3, 3] -= parents[:, :3, 3]
    turns = parents[:, :3, :3] @ ready.to_own[:, :3]
    found = ready.from_own @ (moved[:, :3].transpose(0, 2, 1) @ turns)
    found[:, 3] += ready.to_own[:, 3]
    basis = _STILL.repeat(ready.size, 0)
    basis[ready.followers, :, :3] = found
    return basis


def _copy_transforms(display: Object, on: bool) -> None:
    """Let the evaluated bones copy those of the armature, or not.

    By `foreach_set`, which tags nothing for an update. Blender resets it in each new copy.
    """
    for bone in display.pose.bones:
        constraint: Any = bone.constraints.get(display_armature.CONSTRAINT)
        if constraint is not None:
            if constraint.mute != on:  # all are alike
                return
            muted = [not on if one == constraint else one.mute for one in bone.constraints]
            bone.constraints.foreach_set("mute", muted)


def _key_values(ready: _Ready, display: Object) -> dict[str, float]:
    """Values of the shape keys that move bones."""
    if not ready.keys:
        return {}
    return ik_source.of_all_meshes(skinner.awaited_values(_variables(display), KEYS, ready.keys))


def _variables(display: Object) -> Any:
    return display.animation_data.drivers.find(PATH).driver.variables


def _prepared(display: Object, bones: evaluated_bones.Bones, opened: pose_source.Opened) -> _Ready:
    ready = bones.cache.get(_READY)
    if ready is not None and ready.opened is opened:
        return ready
    followed = display_armature.followed(display)
    followers = bones.indices(followed)
    above = [display.pose.bones[name].parent.name for name in followed]
    rests = bones.rests[followers].transpose(0, 2, 1).astype(np.float64)
    placement = opened.placement
    sources = placement.bone_indices(
        [*followed.values(), *(followed.get(name, "") for name in above)]
    )
    to_own = np.linalg.inv(rests) @ placement.to_armature
    ready = bones.cache[_READY] = _Ready(
        opened,
        len(bones.names),
        followers,
        sources,
        np.flatnonzero(sources < 0),
        np.ascontiguousarray(np.linalg.inv(to_own).transpose(0, 2, 1)),
        np.ascontiguousarray(to_own.transpose(0, 2, 1)[..., :3]),
        opened.acting_keys,
    )
    return ready
