# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera of a VMD as a camera of the scene, set up as in mmd_tools.

An empty is the target and pivot of the camera; the camera is its child, at `distance` from it.
Keys, curves and cuts are the file's: docs/mmd-behavior.md#camera-light-shadow.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import bpy
import numpy as np
from bpy.types import Camera, Context, Object, Scene

from ..blender import actions, drivers, fcurves
from ..blender.native import mmdskin
from ..operator_base import importing
from ..operator_base.editing import Edit
from ..scene import saved_state
from ..scene.saved_state import MOTION
from . import bezier, keyframes

ANGLE = "mmd_angle"  # custom property of the camera in radians: Blender can only key the lens
ANGLE_PATH = f'["{ANGLE}"]'
_NAME = "MMD Camera"
ANGLES = 0.4, 179.5  # degrees that cameras show; Blender's lenses have at least 1 mm
_MOST = 1e6  # radians: the property has the curves of the file, whatever its angles
_DISTANCE = 45  # of MMD's default camera
_ORTHOGRAPHIC_HEIGHT = 25  # of the image at that distance, as in mmd_tools
_REACH = 10_000  # clip end in file units; MMD's stages are large
TYPES = {  # number of a curve for each type of cameras
    item.identifier: float(item.value) for item in Camera.bl_rna.properties["type"].enum_items
}


class CameraChannel(NamedTuple):
    """Where Blender has a value of MMD's camera."""

    owner: str  # "target", its child "camera", or that one's "data"
    path: str
    member: int  # of the property
    column: str  # of a CameraTrack
    axis: int  # of the column
    curve: int | None  # of the six curves of a track: x, y, z, rotation, distance, angle of view

    @property
    def place(self) -> tuple[str, int]:
        return self.path, self.member

    def values(self, track: "mmdskin.CameraTrack", scale: float) -> np.ndarray:
        """(K,) of the file, for Blender."""
        if self.path == "type":
            return np.where(track.perspective, TYPES["PERSP"], TYPES["ORTHO"])
        column = np.reshape(getattr(track, self.column), (len(track.frames), -1))
        return self.unit(scale) * column[:, self.axis]

    def unit(self, scale: float) -> float:
        """What Blender has for 1 in the file."""
        units = {"targets": scale, "distances": scale, "view_angles": math.pi / 180}
        return units.get(self.column, 1.0)


# The file's y is up. Swapping axes mirrors its rotations, which keeps their signs.
_AXES = ((0, 0), (1, 2), (2, 1))
CHANNELS = (
    *(CameraChannel("target", "location", index, "targets", axis, axis) for index, axis in _AXES),
    *(
        CameraChannel("target", "rotation_euler", index, "rotations", axis, 3)
        for index, axis in _AXES
    ),
    CameraChannel("camera", "location", 1, "distances", 0, 4),
    CameraChannel("data", ANGLE_PATH, 0, "view_angles", 0, 5),
    CameraChannel("data", "type", 0, "perspective", 0, None),
)


def add(
    context: Context, path: str, track: "mmdskin.CameraTrack", frames: np.ndarray, scale: float
) -> Object:
    """Add a camera with the keys of a file at these scene frames, and make it the active camera."""
    target, camera = _objects(context, scale, float(track.view_angles.max()))
    owners: dict[str, Any] = {"target": target, "camera": camera, "data": camera.data}
    for owner, block in owners.items():
        put(actions.Curves(actions.channels(block)[0]), owner, track, frames, scale)
    before = context.scene.camera
    CameraState(path, _digest(target), before.name if before else "").write(target)
    context.scene.camera = camera
    return camera


def put(
    curves: actions.Curves,
    owner: str,
    track: "mmdskin.CameraTrack",
    frames: np.ndarray,
    scale: float,
) -> None:
    """Key the target, the camera object or its data."""
    cuts = bezier.cuts(track.frames)
    for channel in CHANNELS:
        if channel.owner != owner:
            continue
        times, values = frames, channel.values(track, scale)
        if channel.curve is None:  # keys at changes, and the first
            times, values = keyframes.at_changes(times, values)
            handles = bezier.steps(times, values)
        else:
            handles = bezier.handles(times, values, track.interpolation[:, channel.curve], cuts)
        curves.write(channel.path, times, values, handles, index=channel.member)


@dataclass
class CameraState(saved_state.SavedState):
    """How to clear an imported camera; stored on its target."""

    PROPERTY: ClassVar[str] = MOTION

    path: str = ""
    digest: str = ""  # of the keyframes
    before: str = ""  # name of the scene's camera before, "" for none


def imported(scene: Scene) -> list[Object]:
    """The targets of the scene's imported cameras, without those of other files."""
    return [obj for obj in scene.objects if obj.type == "EMPTY" and saved_state.is_own(obj, MOTION)]


def clear(edit: Edit, scene: Scene, targets: Iterable[Object]) -> list[str]:
    """Remove imported cameras, which an edit has saved, at its end; show the scene's camera from before.

    Returns the names of those that the user has edited: they are kept.
    """
    kept, cleared = [], []
    for target in targets:
        state = CameraState.read(target)
        del target[MOTION]
        if state.digest != _digest(target):
            kept.append(target.name)
            continue
        if scene.camera in target.children:
            scene.camera = bpy.data.objects.get(state.before)
        cleared.append(target)
    edit.on_success(_remove, cleared)
    return kept


def _remove(targets: list[Object]) -> None:
    """Remove cameras, and of their data and actions those that nothing else uses."""
    blocks = dict.fromkeys(block for target in targets for block in _blocks(target))
    objects = [block for block in blocks if isinstance(block, Object)]
    data = [block for block in blocks if not isinstance(block, Object)]
    played = list(dict.fromkeys(action for target in targets for action in _actions(target)))
    bpy.data.batch_remove(objects)
    for unused in (data, played):
        bpy.data.batch_remove([block for block in unused if not block.users])


def _blocks(target: Object) -> list[Any]:
    cameras = [obj for obj in target.children if obj.type == "CAMERA"]
    return [target, *cameras, *(obj.data for obj in cameras)]


def _actions(target: Object) -> list[Any]:
    players = [block.animation_data for block in _blocks(target) if block.animation_data]
    return [data.action for data in players if data.action]


def _digest(target: Object) -> str:
    curves = [curve for action in _actions(target) for curve in actions.curves_of(action)]
    return fcurves.digest(curves, with_handles=True)


def _objects(context: Context, scale: float, widest: float) -> tuple[Object, Object]:
    """The target and the camera, which can show an angle of view of so many degrees."""
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
    data.sensor_fit = "VERTICAL"  # MMD's angle of view is vertical
    data.clip_start, data.clip_end = min(data.clip_start, scale), _REACH * scale
    data.display_size = 5 * scale
    data.dof.focus_object = target
    data[ANGLE] = math.radians(30)
    data.id_properties_ui(ANGLE).update(
        subtype="ANGLE", min=-_MOST, max=_MOST, description="Vertical field of view"
    )
    least, most = np.radians(ANGLES)
    needed = 2.001 * math.tan(min(math.radians(widest), most) / 2)
    data.sensor_height = max(data.sensor_height, needed)
    lens = f"{data.sensor_height} / 2 / tan(min(max(angle, {least}), {most}) / 2)"
    drivers.drive(data, "lens", lens, angle=(data, ANGLE_PATH))
    height = f"{_ORTHOGRAPHIC_HEIGHT} / {_DISTANCE} * abs(distance)"
    drivers.drive(data, "ortho_scale", height, distance=(camera, "location[1]"))
    return target, camera
