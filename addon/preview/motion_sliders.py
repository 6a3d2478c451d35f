# SPDX-License-Identifier: GPL-3.0-or-later
"""The sliders of UV and material morphs of a model that a motion file animates: drivers set them.

A group acts through its children, as on the mesh, whose vertex morphs `driver_function` takes from the file. The
sliders have their own values again once the file no longer animates the model.
"""

import contextlib
from dataclasses import dataclass, field
from typing import ClassVar

import bpy
from bpy.types import Depsgraph, FCurve, Object

from ..blender import actions, caches, details, drivers, evaluated_bones, playhead
from ..blender.user_error import UserError
from ..pose import motion_source, pose_source
from ..scene import saved_state, sliders

FUNCTION = "mmdskin_slider"
# By `identity` of the armature object.
_opened: caches.Cache[motion_source.Motion] = caches.of_file()


@dataclass
class SliderState(saved_state.SavedState):
    PROPERTY: ClassVar[str] = "mmdskin_motion_sliders"

    values: dict[str, float] = field(default_factory=dict)  # of driven sliders, from before
    animated: bool = False  # whether the armature object had animation data


def weight(armature: Object, depsgraph: Depsgraph, frame: float, number: int) -> float:
    """What a driver calls: the weight of a morph of the file; never raises, as that would disable it."""
    try:
        if not armature.is_evaluated:
            return 0.0
        now = evaluated_bones.at(depsgraph, armature, frame)
        # Without physics, which moves no morph, settings are read only once.
        settings = pose_source.settings_at(now, {"physics": False})
        if not isinstance(settings, motion_source.Settings):
            return 0.0
        motion = _opened.get(now.bones.identity)
        if motion is None or motion.settings != settings:
            motion = _opened.put(now.bones.identity, motion_source.load(armature, settings))
        return float(motion.morph_weights(now.frame)[0, number])
    except UserError:  # which the panel shows, as the mesh has the same
        return 0.0
    except Exception as error:
        details.log(error, f"Sliders of '{armature.name}'")
        return 0.0


def follow(armature: Object) -> None:
    """Drive the sliders if a motion file animates the model, else bring their own values back."""
    if armature.library:
        return
    wanted = _wanted(armature)
    found = {curve.data_path: curve.driver for curve in _drivers(armature)}
    if wanted:
        armature.update_tag()
    if wanted == {path: driver.expression for path, driver in found.items()}:
        return
    playhead.keep_values(bpy.context.scene)
    state = SliderState.read(armature)
    if not state.values:
        state.animated = armature.animation_data is not None
    for name in [name for name in state.values if sliders.path(name) not in wanted]:
        armature.driver_remove(sliders.path(name))
        value = state.values.pop(name)
        if name in armature:
            armature[name] = value
    for path, expression in wanted.items():
        if path not in found:
            if drivers.find(armature, path):
                continue  # by the user
            name = bpy.utils.unescape_identifier(path[2:-2])
            state.values[name] = armature[name]
            sliders.widen(armature, name)
            drivers.scripted(armature, path, expression)
        else:
            found[path].expression = expression
    if state.values:
        state.write(armature)
    else:
        saved_state.remove(armature, SliderState.PROPERTY)
        if not state.animated:
            actions.clear_if_empty(armature)
    armature.update_tag()


def driven() -> list[tuple[Object, FCurve]]:
    """The drivers of sliders, each with its armature object."""
    found: list[tuple[Object, FCurve]] = []
    for obj in (obj for obj in bpy.data.objects if obj.type == "ARMATURE"):
        with contextlib.suppress(UserError):  # saved by a newer version
            found += [(obj, curve) for curve in _drivers(obj)]
    return found


def _wanted(armature: Object) -> dict[str, str]:
    """The expression for the path of each slider that the file sets."""
    settings = motion_source.settings_of(armature, bpy.context.scene, {"physics": False})
    if settings is None:
        return {}
    try:
        pmx = motion_source.load(armature, settings).rig.pmx
    except UserError:  # which the panel shows
        return {}
    found = {}
    for number, (morph, _, name) in enumerate(sliders.of_morphs(armature, pmx)):
        if name not in armature:
            continue
        if morph.kind == "material" or morph.kind.startswith("uv"):
            found[sliders.path(name)] = f"{FUNCTION}(self, depsgraph, frame, {number})"
        elif morph.kind == "group":
            found[sliders.path(name)] = "0.0"
    return found


def _drivers(armature: Object) -> list[FCurve]:
    """Our drivers."""
    paths = set(map(sliders.path, SliderState.read(armature).values))
    return [curve for curve in drivers.of(armature) if curve.data_path in paths]
