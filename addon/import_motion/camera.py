# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera of a VMD as a camera of the scene, laid out as users of mmd_tools know it.

An empty is what the camera looks at and turns about; the camera is its child, `distance` behind it.
Keys, curves and cuts are the file's: docs/mmd-behaviour.md#camera-light-shadow.
"""

import math
from typing import TYPE_CHECKING

import bpy
import numpy as np

from .. import actions, importing
from . import bezier

if TYPE_CHECKING:
    import mmdskin

ANGLE = "mmd_angle"  # custom property of the camera, radians: Blender can key the lens only
_NAME = "MMD Camera"
_ANGLES = math.radians(0.4), math.radians(172)  # what Blender's lenses can show
_DISTANCE = 45  # of MMD's camera where nothing was keyed
_ORTHOGRAPHIC_HEIGHT = 25  # of the picture at that distance, as in mmd_tools
_REACH = 10_000  # units of the file that are seen; MMD's stages are large
_TYPES = {True: "PERSP", False: "ORTHO"}


def add(
    context: bpy.types.Context, track: "mmdskin.CameraTrack", frames: np.ndarray, scale: float
) -> bpy.types.Object:
    """A camera with the keys of the track on these frames of the scene, which shows it."""
    target, camera = _objects(context, scale)
    # Neighbouring keys are a cut, however many frames of the scene lie between them.
    cuts = np.append(np.diff(track.frames.astype(np.int64)) <= 1, True)

    def key(block, path, index, values, curves):
        curve = actions.new_curve(actions.channels(block)[0], path, index)
        actions.write(curve, frames, values, bezier.handles(frames, values, curves, cuts))

    # The file's y is up. Its turns are seen in a mirror, which leaves their signs.
    for index, axis in enumerate((0, 2, 1)):
        curves = track.interpolation
        key(target, "location", index, scale * track.targets[:, axis], curves[:, axis])
        key(target, "rotation_euler", index, track.rotations[:, axis], curves[:, 3])
    key(camera, "location", 1, scale * track.distances, track.interpolation[:, 4])
    angles = np.clip(np.radians(track.view_angles.astype(np.float64)), *_ANGLES)
    key(camera.data, f'["{ANGLE}"]', 0, angles, track.interpolation[:, 5])
    _key_type(camera.data, frames, track.perspective)
    context.scene.camera = camera
    return camera


def _objects(context, scale):
    collection = importing.collection(context)
    target = bpy.data.objects.new(_NAME, None)
    camera = bpy.data.objects.new(_NAME, bpy.data.cameras.new(_NAME))
    for obj in (target, camera):
        collection.objects.link(obj)
    target.rotation_mode = "YXZ"
    target.location.z = 10 * scale
    target.empty_display_size = 5 * scale
    camera.parent = target
    camera.location.y = -_DISTANCE * scale
    camera.rotation_euler.x = math.pi / 2
    data = camera.data
    data.sensor_fit = "VERTICAL"  # MMD's angle is that of the picture's height
    data.clip_start, data.clip_end = min(data.clip_start, scale), _REACH * scale
    data.display_size = 5 * scale
    data.dof.focus_object = target
    data[ANGLE] = math.radians(30)
    data.id_properties_ui(ANGLE).update(
        subtype="ANGLE", min=_ANGLES[0], max=_ANGLES[1], description="Vertical field of view"
    )
    _drive(data, "lens", f"{data.sensor_height} / 2 / tan(angle / 2)", angle=(data, f'["{ANGLE}"]'))
    height = f"{_ORTHOGRAPHIC_HEIGHT} / {_DISTANCE} * abs(distance)"
    _drive(data, "ortho_scale", height, distance=(camera, "location[1]"))
    return target, camera


def _drive(data, path, expression, **variables):
    """Let a property follow others; the expression is one that needs no Python."""
    driver = data.driver_add(path).driver
    for name, (block, source) in variables.items():
        variable = driver.variables.new()
        variable.name = name
        variable.targets[0].id_type = "CAMERA" if isinstance(block, bpy.types.Camera) else "OBJECT"
        variable.targets[0].id = block
        variable.targets[0].data_path = source
    driver.expression = expression


def _key_type(data, frames, perspective):
    """Keyframes where the projection changes, and at the first key."""
    changes = np.flatnonzero(np.append(True, perspective[1:] != perspective[:-1]))
    numbers = data.bl_rna.properties["type"].enum_items
    values = np.array([numbers[_TYPES[bool(perspective[i])]].value for i in changes], np.float64)
    curve = actions.new_curve(actions.channels(data)[0], "type")
    actions.write(curve, frames[changes], values, bezier.steps(frames[changes], values))
