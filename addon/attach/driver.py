# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver of a display armature: what it waits for, and whether the model shows its pose source.

Handlers build it again where that has changed.
"""

import contextlib
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import FCurve, Object

from ..blender import caches, drivers, playhead, registration
from ..blender.user_error import UserError
from ..pose import ik_source, pose_source
from ..preview import switch
from ..scene import saved_state
from . import display_armature, driver_function

_BY_SOURCE = (
    f"{driver_function.FUNCTION}(self, depsgraph, frame)"  # `frame` makes it depend on time
)
_BY_ARMATURE = "0.0"
_MESH = "mesh"  # how names of variables for mesh objects begin
_PLAYED = {"SHAPE_KEYS", "MESH_CACHE"}  # targets of bakes that play the pose source
# By name of an armature: the states for which its driver was made.
_known: caches.Cache[tuple] = caches.of_file(10_000)


def build(display: Object, meshes: tuple | None = None) -> None:
    """Make the driver depend on what the pose that is shown depends on.

    `meshes`: the mesh objects of the model; without, as before.
    """
    playhead.keep_values(bpy.context.scene)
    if meshes is None:
        meshes = tuple(_meshes(display))
    root, armature = display.pose.bones[display_armature.ROOT], display.parent
    functions.install()
    driver = drivers.scripted(root, display_armature.DRIVEN)
    drivers.add_transform(driver, "armature", armature)
    for number, obj in enumerate(meshes):
        drivers.add_transform(driver, f"{_MESH}{number}", obj)
    settings = _shown(armature, meshes)
    driver.expression = _BY_ARMATURE
    if settings is not None:
        driver.expression = _BY_SOURCE
        is_solved = isinstance(settings, ik_source.Settings)
        with contextlib.suppress(UserError):  # which the panel shows
            solver = pose_source.load(armature, settings) if is_solved else None
            pose_source.wait_for(driver, armature, settings, solver)
        drivers.add_property(driver, "bones", display.data, "show_axes")
        if any(switch.is_live(obj) and not _is_played(obj) for obj in meshes):
            drivers.add_property(driver, driver_function.REST, armature.data, "pose_position")
            drivers.add_transform(driver, "edited", armature, armature.pose.bones[0].name)
        for number, obj in enumerate(meshes if is_solved else ()):
            if obj.data.shape_keys:
                drivers.add_keys(driver, f"{driver_function.KEYS}{number}", obj.data)
    _known.put(display.name, (_state(display, settings), _quick_state(display)))
    display.update_tag()


def is_current(display: Object) -> bool:
    settings = _shown(display.parent, tuple(_meshes(display)))
    return _known.get(display.name) == (_state(display, settings), _quick_state(display))


def is_current_on_frame(display: Object) -> bool:
    """As `is_current` on another frame, on which the driver reads the settings in any case."""
    known = _known.get(display.name)
    return known is not None and known[1] == _quick_state(display)


def curve_of(display: Object) -> FCurve | None:
    return drivers.find(display, driver_function.PATH)


def _driven() -> list[tuple[Object, FCurve]]:
    found = ((display, curve_of(display)) for display in display_armature.all_displays())
    return [(display, curve) for display, curve in found if curve is not None]


functions = drivers.Functions({driver_function.FUNCTION: driver_function.evaluate}, _driven)


def _shown(armature: Object, meshes: tuple) -> pose_source.Settings | None:
    """The Settings of the pose that the model shows, None for that of the armature."""
    if not any(switch.is_live(obj) or _is_played(obj) for obj in meshes):
        return None
    return pose_source.shown_settings_of(armature, bpy.context.scene)


def _is_played(obj: Object) -> bool:
    """Whether the mesh plays a bake of the pose source."""
    if not saved_state.exists(obj, saved_state.BAKE):
        return False
    try:
        return saved_state.load(obj, saved_state.BAKE).get("target") in _PLAYED
    except UserError:
        return False


def _state(display: Object, settings: pose_source.Settings | None) -> tuple:
    return display.parent.name, display_armature.followed(display), settings


def _quick_state(display: Object) -> tuple:
    """What the variables of the driver depend on, quickly."""
    parts = [
        (obj.name, saved_state.exists(obj, saved_state.BAKE), switch.is_live(obj))
        for obj in _meshes(display)
    ]
    settings = display.parent.mmdskin
    return display.parent.name, settings.source, settings.model_path, parts


def _meshes(display: Object) -> list[Any]:
    curve = curve_of(display)
    variables: Any = curve.driver.variables if curve else {}
    found: list[Any] = []
    while (name := f"{_MESH}{len(found)}") in variables:
        found.append(variables[name].targets[0].id)
    return [obj for obj in found if obj is not None]  # removed


@persistent
def _update_drivers(*_: object) -> None:
    """Another pose may be shown, or bones were renamed."""
    for display in _editable():
        if not is_current(display):
            display_armature.rename(display)
            build(display)


@persistent
def _update_drivers_on_frame(*_: object) -> None:
    for display in _editable():
        if not is_current_on_frame(display):
            build(display)


def _editable() -> list[Object]:
    """All display armatures that can be changed; those without a model are removed."""
    found = []
    for display in display_armature.all_displays():
        if display.library or display.override_library:
            continue
        # A deleted model is in no collection; one in a collection of no scene may come back.
        if display.parent is None or not display.parent.users_collection:
            display_armature.remove(display)
        else:
            found.append(display)
    return found


_HANDLERS = [("depsgraph_update_post", _update_drivers)]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS += [("render_init", _update_drivers), ("frame_change_post", _update_drivers_on_frame)]
register, unregister = registration.handlers(_HANDLERS)
