# SPDX-License-Identifier: GPL-3.0-or-later
"""The VMD or VPD file that animates a model, merged into earlier ones.

The settings have these as text. Each is found from the folder of the newest file, which follows moved
projects and libraries, else by its absolute path.
"""

import contextlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bpy.types import Object, Scene

from ..blender import file_access, playhead
from ..blender.user_error import UserError
from ..scene import model_file, setting_paths
from . import physics_settings, scene_motion
from .scene_motion import Motion

SOURCE = "MOTION"  # the item of the setting
# The properties of models and operators that define Settings.
PROPERTIES = ("source", "model_path", "motion_path", "motion_start", "motion_real_time")
FRAMES_PER_SECOND = 30  # of every VMD


class Earlier(NamedTuple):
    path: str  # absolute
    start: float  # scene frame that shows its frame 0


class Settings(NamedTuple):
    """Which motion animates a model, and how its time maps to the scene's."""

    model_path: str  # may be empty: then the file that the armature was imported from
    motion_path: str
    start: float = 1.0  # scene frame that shows frame 0
    real_time: bool = True  # 30 motion frames per second, else one per scene frame
    fps: float = 30.0  # of the scene
    physics: physics_settings.Settings | None = None  # None without physics
    earlier: tuple[Earlier, ...] = ()  # that the motion is merged into, oldest first

    @property
    def first(self) -> float:
        """The scene frame that shows frame 0 of the merged motion."""
        return min([self.start, *(one.start for one in self.earlier)])


def settings_of(armature: Object, scene: Scene, overrides: dict | None = None) -> Settings | None:
    """The Settings of a model, None if no motion file animates it.

    `overrides`: properties by name that replace the model's own.
    """
    own, overrides = armature.mmdskin, overrides or {}
    if overrides.get("source", own.source) != SOURCE:
        return None
    values = {name: overrides.get(name, getattr(own, name)) for name in PROPERTIES}
    path = setting_paths.absolute(armature, "motion_path", overrides)
    earlier = "" if "motion_path" in overrides else own.motion_earlier
    settings = Settings(
        setting_paths.absolute(armature, "model_path", overrides),
        path,
        values["motion_start"],
        values["motion_real_time"],
        playhead.fps(scene),
        earlier=read_earlier(earlier, path),
    )
    has_rate = settings.real_time and settings.fps > 0
    rate = settings.fps / FRAMES_PER_SECOND if has_rate else 1.0
    timing = physics_settings.Timing(settings.first, rate, playhead.end(scene))
    return settings._replace(physics=physics_settings.settings_of(own, overrides, timing))


def load(armature: Object, settings: Settings) -> Motion:
    """The Motion of Settings for an armature object."""
    if not settings.motion_path:
        raise UserError("No motion file selected: choose a .vmd or .vpd file")
    rate = speed(settings)
    path = setting_paths.resolved(settings.motion_path)
    rig = model_file.rig(armature, settings.model_path)
    motion = model_file.load_motion(path, rig.pmx)
    unmatched = motion.unmatched(rig.pmx)
    moved = len(motion.bones) + len(motion.morphs)
    if moved == len(unmatched.bones) + len(unmatched.morphs):
        name = os.path.basename(path)
        if moved:
            raise UserError(
                "'{file}' does not animate any bone or morph of '{name}'",
                file=name,
                name=armature.name,
            )
        raise UserError(
            "'{file}' cannot animate a model: it has no keyframes for bones or morphs", file=name
        )
    keys = scene_motion.morphs_of_keys(rig.pmx, armature)
    newest = Motion(rig, motion, path, settings.start, rate, keys, settings)
    earlier = [
        replace(newest, motion=model_file.load_motion(file, rig.pmx), path=file, start=start)
        for file, start in settings.earlier
    ]
    whole = scene_motion.merged([*earlier, newest])
    if settings.physics is not None:
        scene_motion.check_rate(whole, newest)
    return whole


def speed(settings: Settings) -> float:
    """Motion frames per scene frame."""
    if not settings.real_time:
        return 1.0
    if not settings.fps > 0:
        raise UserError(
            "The scene's frame rate of {fps} is not valid: choose a frame rate above 0",
            fps=settings.fps,
        )
    return FRAMES_PER_SECOND / settings.fps


def written_earlier(earlier: Sequence[Earlier], newest: str) -> str:
    """The text for files, oldest first, with the absolute path of the newest one; "" for none."""
    folder = os.path.dirname(newest)
    entries = [[_relative(path, folder), path, start] for path, start in earlier]
    return json.dumps(entries, ensure_ascii=False) if entries else ""


def read_earlier(text: str, newest: str) -> tuple[Earlier, ...]:
    """The files of a text, of which entries that were damaged are left out."""
    folder, found = os.path.dirname(newest), []
    with contextlib.suppress(ValueError, TypeError):
        for entry in json.loads(text or "[]"):
            with contextlib.suppress(ValueError, TypeError):
                relative, path, start = entry
                beside = os.path.normpath(os.path.join(folder, relative)) if relative else path
                chosen = beside if file_access.exists(beside) else os.fspath(path)
                if math.isfinite(start):
                    found.append(Earlier(chosen, float(start)))
    return tuple(found)


def _relative(path: str, folder: str) -> str:
    """With slashes, as a .blend may be opened on another system; "" on another drive."""
    try:
        return os.path.relpath(path, folder).replace("\\", "/")
    except ValueError:
        return ""
