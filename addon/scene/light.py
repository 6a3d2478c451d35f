# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD's light in a scene: one Sun, whose place gives the direction and whose color is MMD's.

MMD has one light for everything: a direction and a color in display numbers (0 to 1). The place of
the Sun, seen from its parent, an empty, is the direction to it; the Sun's color has MMD's numbers
as they are, like mmd_tools' lamp. So linear keyframes of place and color are MMD's light keys. A
constraint turns the Sun towards the empty, and drivers copy both to custom properties of the scene,
which materials read.

A VMD's self-shadow keys are custom properties of the Sun: mode (0 off, 1, 2) and distance.
"""

from collections.abc import Iterable
from typing import Any

import bpy
from mathutils import Vector

from ..blender import actions, drivers

# Custom properties of the scene.
DIRECTION, COLOR, ENERGY = "mmd_light_direction", "mmd_light_color", "mmd_light_energy"
SHADOW_MODE, SHADOW_DISTANCE = "mmd_shadow_mode", "mmd_shadow_distance"  # of the Sun
DEFAULT_DIRECTION = (0.5, -0.5, 1.0)  # to the light, in Blender's axes
DEFAULT_COLOR = (154 / 255,) * 3
DEFAULT_SHADOW = (0, 8875.0)  # mode and distance without keys
# The Sun's distance to the origin, in lengths of MMD's vector; a power of two, so that directions in
# float32 come back as they were.
LENGTHS = 2.0
_NAME = "MMD Light"
_TARGET = "MMD Light Target"  # the empty
_MARK = "mmdskin_light"  # custom property of the Sun
_ENERGY = 3.0  # lights what is not MMD's
_SHADOWS = 30.0  # before 4.2: how far from the camera there are shadows; closer means sharper


def of_scene(scene: bpy.types.Scene) -> bpy.types.Object | None:
    """The light of a scene, or None."""
    return next((obj for obj in scene.objects if obj.type == "LIGHT" and _MARK in obj), None)


def ensure(scene: bpy.types.Scene) -> bpy.types.Object:
    """The light of a scene; if there is none, a new one with MMD's default direction and color."""
    found = of_scene(scene)
    if found is None:
        found = _new(scene)
    if not _drives(scene, found):
        _connect(scene, found)
    return found


def remove_unused(scene: bpy.types.Scene) -> None:
    """Remove the scene's light and properties; a light that was animated or moved stays."""
    found = of_scene(scene)
    _disconnect(scene)
    # Other scenes may show it, too.
    shared = any(_drives(other, found) for other in bpy.data.scenes) if found else False
    if found is not None and not shared and _is_untouched(found):
        data: Any = found.data
        empty = found.parent
        bpy.data.objects.remove(found)
        if not data.users:  # no linked duplicate has it
            bpy.data.lights.remove(data)
        if empty is not None and not empty.children:
            bpy.data.objects.remove(empty)


def remove_untouched(scene: bpy.types.Scene) -> None:
    """Remove the scene's light with the properties, unless it was animated or moved."""
    found = of_scene(scene)
    if found is None or _is_untouched(found):
        remove_unused(scene)


def disconnect_lost(scene: bpy.types.Scene) -> None:
    """Remove the scene's properties if its light is gone."""
    if of_scene(scene) is None:
        _disconnect(scene)


def place(direction: Iterable[float]) -> Vector:
    """The Sun's location for a direction of MMD, in which the light goes, in the file's axes."""
    return -Vector(tuple(direction)).xzy * LENGTHS


def direction(location: Iterable[float]) -> Vector:
    """The inverse of `place`."""
    return -Vector(tuple(location)).xzy / LENGTHS


def has_defaults(sun: bpy.types.Object) -> bool:
    """Whether the Sun has MMD's default direction and color."""
    data: Any = sun.data
    moved = (sun.location - Vector(DEFAULT_DIRECTION) * LENGTHS).length > 1e-4
    dyed = (Vector(data.color) - Vector(DEFAULT_COLOR)).length > 1e-4
    return not (moved or dyed)


def shadow_distance(stored: Any) -> Any:
    """The distance as MMD's panel shows it, for one in a file."""
    return 10_000 - stored * 100_000


def stored_shadow_distance(shown: Any) -> Any:
    """The inverse of `shadow_distance`."""
    return (10_000 - shown) / 100_000


def _new(scene: bpy.types.Scene) -> bpy.types.Object:
    data: Any = bpy.data.lights.new(_NAME, "SUN")
    sun, empty = bpy.data.objects.new(_NAME, data), bpy.data.objects.new(_TARGET, None)
    sun[_MARK] = True
    for obj in (sun, empty):
        scene.collection.objects.link(obj)
    sun.parent = empty
    sun.location = Vector(DEFAULT_DIRECTION) * LENGTHS
    track: Any = sun.constraints.new("TRACK_TO")
    track.target, track.track_axis, track.up_axis = empty, "TRACK_NEGATIVE_Z", "UP_Y"
    data.color, data.energy = DEFAULT_COLOR, _ENERGY
    data.shadow_cascade_max_distance = _SHADOWS
    sun[SHADOW_MODE], sun[SHADOW_DISTANCE] = DEFAULT_SHADOW
    sun.id_properties_ui(SHADOW_MODE).update(
        min=0, max=2, description="Self-shadow mode of MMD's keyframes"
    )
    sun.id_properties_ui(SHADOW_DISTANCE).update(
        min=0.0, max=9999.0, description="Self-shadow distance of MMD's keyframes"
    )
    return sun


def _connect(scene: bpy.types.Scene, sun: bpy.types.Object) -> None:
    _disconnect(scene)
    scene[DIRECTION], scene[COLOR], scene[ENERGY] = DEFAULT_DIRECTION, DEFAULT_COLOR, _ENERGY
    energy, direction, color = (f'["{name}"]' for name in (ENERGY, DIRECTION, COLOR))
    drivers.drive(scene, energy, "x", x=(sun.data, "energy"))
    for index in range(3):
        place = sun, f"location[{index}]"
        drivers.drive(scene, direction, f"x/{LENGTHS}", index, x=place)
        drivers.drive(scene, color, "x", index, x=(sun.data, f"color[{index}]"))


def _disconnect(scene: bpy.types.Scene) -> None:
    for name in (DIRECTION, COLOR, ENERGY):
        if name in scene:
            scene.driver_remove(f'["{name}"]')
            del scene[name]
    actions.clear_if_empty(scene)


def _drives(scene: bpy.types.Scene, sun: bpy.types.Object) -> bool:
    curve = drivers.find(scene, f'["{DIRECTION}"]')
    read = curve.driver.variables if curve is not None and ENERGY in scene else ()
    return any(variable.targets[0].id == sun for variable in read)


def _is_untouched(sun: bpy.types.Object) -> bool:
    """Whether the user has left the Sun as it was made."""
    data: Any = sun.data
    moving = any(
        found.action or found.drivers or found.nla_tracks
        for block in (sun, data)
        if (found := block.animation_data)
    )
    return not moving and has_defaults(sun) and data.energy == _ENERGY
