# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver of a display armature: what it waits for, whether the model shows its pose source, and the
function that it calls.

Handlers build it again where that has changed.
"""

import contextlib
from collections.abc import Set
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, FCurve, Object, PoseBone

from ..blender import caches, details, drivers, evaluated_bones, playhead
from ..blender.drivers import Awaited
from ..blender.user_error import UserError
from ..physics import playback
from ..pose import ik_source, pose_source, skinner
from ..preview import switch
from ..scene import saved_state
from . import display_armature

_FUNCTION = "mmdskin_attach"
_PATH = f'pose.bones["{display_armature.ROOT}"].{display_armature.DRIVEN}'
_BY_SOURCE = f"{_FUNCTION}(self, depsgraph, frame)"  # `frame` makes it depend on time
_BY_ARMATURE = "0.0"
_KEYS = "key"  # how names of its variables for shape keys begin
_MESH = "mesh"  # how names of variables for mesh objects begin
_PLAYED = {"SHAPE_KEYS", "MESH_CACHE"}  # targets of bakes that play the pose source
_READY = "ready"  # in the cache of the display armature's Bones
_STILL = np.eye(4, dtype=np.float32)[None]
# By name of an armature: the state for which its driver was made.
_known: caches.Cache[tuple] = caches.of_file(10_000)


def build(display: Object, meshes: tuple = ()) -> None:
    """Make the driver depend on what the pose that is shown depends on.

    `meshes`: mesh objects of the model, besides those that it knows.
    """
    playhead.keep_values(bpy.context.scene)
    meshes = tuple(dict.fromkeys((*_meshes(display), *meshes)))
    root, armature = display.pose.bones[display_armature.ROOT], display.parent
    functions.install()
    awaited = {"armature": Awaited(armature)}
    awaited |= {f"{_MESH}{number}": Awaited(obj) for number, obj in enumerate(meshes)}
    settings = _shown(armature, meshes)
    if settings is not None:
        is_solved = isinstance(settings, ik_source.Settings)
        with contextlib.suppress(UserError):  # which the panel shows
            awaited |= pose_source.awaited(armature, pose_source.load(armature, settings))
        awaited["bones"] = Awaited(display.data, path="show_axes")
        if any(switch.is_live(obj) and not _is_played(obj) for obj in meshes):
            awaited |= pose_source.awaited_rest(armature)
        keyed = [obj.data for obj in meshes if is_solved and obj.data.shape_keys]
        awaited |= {f"{_KEYS}{number}": drivers.keys_of(one) for number, one in enumerate(keyed)}
    expression = _BY_SOURCE if settings is not None else _BY_ARMATURE
    drivers.scripted(root, display_armature.DRIVEN, expression, awaited)
    _known.put(display.name, _state(display))
    display.update_tag()


def curve_of(display: Object) -> FCurve | None:
    return drivers.find(display, _PATH)


def _driven() -> list[tuple[Object, FCurve]]:
    found = ((display, curve_of(display)) for display in display_armature.all_displays())
    return [(display, curve) for display, curve in found if curve is not None]


def _shown(armature: Object, meshes: tuple) -> pose_source.Settings | None:
    """The Settings of the pose that the model shows, None for that of the armature."""
    if not any(switch.is_live(obj) or _is_played(obj) for obj in meshes):
        return None
    return pose_source.settings_of(armature, bpy.context.scene, live=True)


def _is_played(obj: Object) -> bool:
    """Whether the mesh plays a bake of the pose source."""
    try:
        return saved_state.load(obj, saved_state.BAKE).get("target") in _PLAYED
    except UserError:
        return False


def _state(display: Object) -> tuple:
    """What the driver is made for."""
    meshes = _meshes(display)
    parts = [(obj.name, saved_state.is_baked(obj), switch.is_live(obj)) for obj in meshes]
    followed = display_armature.followed(display)
    return display.parent.name, followed, _shown(display.parent, meshes), parts


def _meshes(display: Object) -> tuple:
    variables, found = _variables(display), list[Any]()
    while (name := f"{_MESH}{len(found)}") in variables:
        found.append(variables[name].targets[0].id)
    return tuple(obj for obj in found if obj is not None)  # removed


# The function that it calls in every evaluation, on any thread


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
    original, posed = display.original, False
    # Blender silently ignores writes to linked data.
    if display.is_evaluated and not (original.library or original.override_library):
        try:
            posed = _pose(display, depsgraph, frame)
        except Exception as error:
            details.log(error, f"Display armature '{display.name}'")
        _copy_transforms(display, not posed)
    return float(posed)


def _pose(display: Object, depsgraph: Depsgraph, frame: float) -> bool:
    armature, bones = display.parent, evaluated_bones.of(display)
    if armature is None or armature.pose is None:  # its library is missing
        return False
    now = evaluated_bones.at(depsgraph, armature, frame)
    settings = pose_source.settings_at(now)
    if settings is None:
        return False
    # Where the mesh plays a bake, it does not show the armature's Rest Position.
    if now.is_at_rest and pose_source.REST in _variables(display):
        still = _STILL.repeat(len(bones.names), 0)
        display.pose.bones.foreach_set("matrix_basis", still.ravel())
        return True
    ready = _prepared(display, bones, playback.shared(now, settings))
    keys: dict[str, float] = {}
    if ready.keys:
        awaited = skinner.awaited_values(_variables(display), _KEYS, ready.keys)
        keys = ik_source.of_all_meshes(awaited)
    shown = ready.opened.shown(now, keys)
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
            if constraint.mute != on:  # all are alike, and right
                return
            muted = [not on if one == constraint else one.mute for one in bone.constraints]
            bone.constraints.foreach_set("mute", muted)


def _variables(display: Object) -> Any:
    curve = curve_of(display)
    return curve.driver.variables if curve else {}


def _prepared(display: Object, bones: evaluated_bones.Bones, opened: pose_source.Opened) -> _Ready:
    ready = bones.cache.get(_READY)
    if ready is not None and ready.opened is opened:
        return ready
    followed = display_armature.followed(display)
    followers = bones.indices(followed)
    above = [display.pose.bones[name].parent.name for name in followed]
    rests = bones.rests[followers].transpose(0, 2, 1).astype(np.float64)
    sources = opened.rig.bone_indices(
        [*followed.values(), *(followed.get(name, "") for name in above)]
    )
    to_own = np.linalg.inv(rests) @ opened.rig.to_armature
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


functions = drivers.Functions({_FUNCTION: evaluate}, _driven)


# Handlers


@persistent
def _update_drivers(*_: object) -> None:
    """Another pose may be shown, bones may be renamed, or the model removed."""
    for display in display_armature.all_displays():
        if display.library or display.override_library:
            continue
        # A deleted model is in no collection; one in a collection of no scene may come back.
        if display.parent is None or not display.parent.users_collection:
            display_armature.remove(display)
        elif _known.get(display.name) != _state(display):
            display_armature.rename(display)
            build(display)


_HANDLERS = [("depsgraph_update_post", _update_drivers)]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS += [("render_init", _update_drivers), ("frame_change_post", _update_drivers)]
register, unregister = functions.with_handlers(_HANDLERS)
